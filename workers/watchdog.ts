import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { runWatchdog } from '../src/parsing/process/watchdog.ts';

refuseConnections();

/** Entry point of the watchdog thread of a forked process that reads documents. */
runWatchdog();
