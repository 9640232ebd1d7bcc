import { denyConnections } from '../src/egress/deny-connections.ts';
import { serveParser } from '../src/parsing/process/parser-serve.ts';

denyConnections();

/** Entry point of the forked parser process. */
serveParser(new URL('./watchdog.js', import.meta.url));
