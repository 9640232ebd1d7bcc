import { parentPort, workerData } from 'node:worker_threads';
import { present } from '../../src/base/assert.ts';
import { type ExactAnswers, type ExactTask, exactSearch } from './exact-search.ts';

/** A thread that finds the exact answers of some of the questions. */
const port = present(parentPort, 'exact answers are found in worker threads');

export type ExactReply = { readonly rows: number } | { readonly answers: readonly ExactAnswers[] };

const answers = await exactSearch(workerData as ExactTask, (rows) =>
  port.postMessage({ rows } satisfies ExactReply),
);
port.postMessage({ answers } satisfies ExactReply);
