import { parentPort } from 'node:worker_threads';
import { setNiceness } from '../src/core/niceness.ts';
import { denyConnections } from '../src/egress/deny-connections.ts';
import { extractMainContent } from '../src/sources/web/extract-main-content.ts';

denyConnections();

/** Niceness of a thread whose work is less urgent than replies to requests. */
const niceness = 10;

setNiceness(niceness);

/** Replies to each page with its main content, or null. */
parentPort?.on('message', (html: string) => parentPort?.postMessage(extractMainContent(html)));
