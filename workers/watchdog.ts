import { denyConnections } from '../src/egress/deny-connections.ts';
import { runWatchdog } from '../src/parsing/process/watchdog.ts';

denyConnections();

/** Entry point of the watchdog thread of a forked process that reads documents. */
runWatchdog();
