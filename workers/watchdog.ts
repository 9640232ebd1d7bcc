import { refuseConnections } from '../src/egress/refuse-connections.ts';
import { watchProcess } from '../src/parsing/watchdog.ts';

refuseConnections();

/** The one extra thread of a forked process that reads documents. */
watchProcess();
