import { isMainThread } from 'node:worker_threads';
import { serveOcr } from '../src/parsing/ocr-serve.ts';
import { watchProcess } from '../src/parsing/parser-serve.ts';

/** The forked process of the embedded OCR engine; its one extra thread runs the same module as the watchdog. */
if (isMainThread) serveOcr(new URL(import.meta.url));
else watchProcess();
