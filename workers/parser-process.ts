import { serveParser } from '../src/parsing/parser-serve.ts';

/** The forked parser process. */
serveParser(new URL('./watchdog.js', import.meta.url));
