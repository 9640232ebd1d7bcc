import { parentPort, workerData } from 'node:worker_threads';
import { findWeakness } from '../src/accounts/password-strength.ts';
import { denyConnections } from '../src/egress/deny-connections.ts';

denyConnections();

/** Replies once with the weakness of the password in `workerData`, then ends. */
parentPort?.postMessage(findWeakness((workerData as { readonly password: string }).password));
