import { isMainThread } from 'node:worker_threads';
import { serveParser, watchProcess } from '../src/parsing/parser-serve.ts';

/** The forked parser process; its one extra thread runs the same module as the watchdog. */
if (isMainThread) serveParser(new URL(import.meta.url));
else watchProcess();
