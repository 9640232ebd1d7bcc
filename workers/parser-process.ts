import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { serveParser } from '../src/parsing/process/parser-serve.ts';

refuseConnections();

/** Entry point of the forked parser process. */
serveParser(new URL('./watchdog.js', import.meta.url));
