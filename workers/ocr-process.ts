import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { serveOcr } from '../src/parsing/ocr/ocr-serve.ts';

refuseConnections();

/** Entry point of the forked process of the embedded OCR engine. */
serveOcr(new URL('./watchdog.js', import.meta.url));
