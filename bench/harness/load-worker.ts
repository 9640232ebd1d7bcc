import { parentPort, workerData } from 'node:worker_threads';
import { assertDefined } from '../../src/core/assert.ts';
import type { LoadReply, LoadRequest } from './load-generator.ts';
import { type LoadTarget, runLoad } from './load-run.ts';

/**
 * Thread of the load generator. It runs nothing else, so that progress output and evaluation do not delay
 * requests.
 */
const port = assertDefined(parentPort, 'the load generator runs in a worker thread');
const targets = workerData as Readonly<Record<string, LoadTarget>>;

port.on('message', ({ target, job }: LoadRequest) => {
  runLoad(assertDefined(targets[target], `there is a target ${target}`), job).then(
    (outcome) => port.postMessage({ outcome } satisfies LoadReply),
    (error: Error) => port.postMessage({ failure: error.message } satisfies LoadReply),
  );
});
