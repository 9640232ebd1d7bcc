import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { runWatchdog } from '../src/parsing/process/watchdog.ts';

refuseConnections();

/** The one extra thread of a forked process that reads documents. */
runWatchdog();
