import { denyConnections } from '../src/egress/deny-connections.ts';
import { serveOcr } from '../src/parsing/ocr/ocr-serve.ts';

denyConnections();

/** Entry point of the forked process of the embedded OCR engine. */
serveOcr(new URL('./watchdog.js', import.meta.url));
