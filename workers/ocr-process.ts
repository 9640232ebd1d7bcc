import { resetHeapFlag } from '../src/parsing/process/heap-flag.ts';

/** Entry point of the forked process of the embedded OCR engine. */

resetHeapFlag();
const { denyConnections } = await import('../src/egress/deny-connections.ts');
denyConnections();
const { serveOcr } = await import('../src/parsing/ocr/ocr-serve.ts');
serveOcr(new URL('./watchdog.js', import.meta.url));
