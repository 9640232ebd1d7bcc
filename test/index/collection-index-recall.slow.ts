/** Recall as in collection-index-recall.test.ts on twice as many rows, and compared with hnswlib: 9 s of CPU time. */
import hnswlib from 'hnswlib-node';
import t from '../support/tap.ts';
import { checkRecall, RecallSample, recallAtEf20 } from './recall-sample.ts';

const sample = new RecallSample(t, 20_000);
const single = await sample.openFilledIndex(1);

for (const shards of [1, 8, 64]) {
  t.test(`at default settings, ${shards} shards find 95 of 100 nearest rows under any filter`, async (t) => {
    await checkRecall(t, sample, shards === 1 ? single : await sample.openFilledIndex(shards));
  });
}

t.test('at equal ef the recall of the graph is within 2 % of hnswlib', async (t) => {
  const { rows, queries, dimensions, nearestCount } = sample;
  const peer = new hnswlib.HierarchicalNSW('ip', dimensions);
  peer.initIndex(rows.length, 16, 200, 100);
  rows.forEach((row, i) => {
    peer.addPoint(Array.from(row), i);
  });
  peer.setEf(20);
  const found = queries.map((vector) => new Set(peer.searchKnn(Array.from(vector), nearestCount).neighbors));
  const [own, other] = [await recallAtEf20(sample, single), sample.recallOf(found, 0)];
  t.ok(own >= other - 0.02, `ours ${own.toFixed(4)}, hnswlib ${other.toFixed(4)}`);
});
