import { watchProcess } from '../src/parsing/watchdog.ts';

/** The one extra thread of a forked process that reads documents. */
watchProcess();
