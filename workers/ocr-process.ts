import { serveOcr } from '../src/parsing/ocr-serve.ts';

/** The forked process of the embedded OCR engine. */
serveOcr(new URL('./watchdog.js', import.meta.url));
