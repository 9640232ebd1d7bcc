import { resetHeapFlag } from '../src/parsing/process/heap-flag.ts';

/** Entry point of the forked parser process. */

resetHeapFlag();
const { denyConnections } = await import('../src/egress/deny-connections.ts');
denyConnections();
const { serveParser } = await import('../src/parsing/process/parser-serve.ts');
serveParser(new URL('./watchdog.js', import.meta.url));
