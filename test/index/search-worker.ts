/** Searches endlessly in a thread or a process, to be terminated from outside or by itself at any moment. */
import { parentPort, workerData } from 'node:worker_threads';
import { indexQuery, makeDocument, openIndex, randomClusters, seededRandom } from './samples.ts';

const [directory, exitMode] = (workerData ?? process.argv.slice(2)) as [string, 'never' | 'exit' | 'return'];
const index = await openIndex(directory, { dimensions: 32 });
const random = seededRandom(9);
const vectors = randomClusters(32, 4, random);
const rows = Array.from({ length: 500 }, () => vectors());
const work = () => [
  ...Array.from({ length: 200 }, () =>
    index.search(indexQuery({ vector: vectors(), vectorCandidates: 2000 })),
  ),
  index.stage(makeDocument({ shard: 0, version: Math.floor(random() * 1e9) }, rows)),
  index.snapshot(),
];
// When terminated, some of these promises never settle; their results are irrelevant.
const endless = async () => {
  for (;;) await Promise.allSettled(work());
};
parentPort?.postMessage('searching');
if (exitMode === 'exit') {
  void Promise.allSettled(work());
  setTimeout(() => process.exit(7), 20);
} else if (exitMode === 'return') {
  await Promise.allSettled(work());
} else {
  await endless();
}
