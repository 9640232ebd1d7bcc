import { parentPort, workerData } from 'node:worker_threads';
import { assertDefined } from '../../src/core/assert.ts';
import { type ExactNeighbors, type ExactTask, exactSearch } from './exact-search.ts';

/** Worker thread that computes the exact neighbors of some of the questions. */
const port = assertDefined(parentPort, 'exact answers are found in worker threads');

export type ExactReply = { readonly rows: number } | { readonly answers: readonly ExactNeighbors[] };

const neighbors = await exactSearch(workerData as ExactTask, (rows) =>
  port.postMessage({ rows } satisfies ExactReply),
);
port.postMessage({ answers: neighbors } satisfies ExactReply);
