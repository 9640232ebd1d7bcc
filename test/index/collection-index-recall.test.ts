import t from '../support/tap.ts';
import { checkRecall, RecallSample, recallAtEf20 } from './recall-sample.ts';

const sample = new RecallSample(t, 10_000);
const single = await sample.openFilledIndex(1);

for (const shards of [1, 8, 64]) {
  t.test(`at default settings, ${shards} shards find 95 of 100 nearest rows under any filter`, async (t) => {
    await checkRecall(t, sample, shards === 1 ? single : await sample.openFilledIndex(shards));
  });
}

t.test('at equal ef the recall of the graph is within 2 % of hnswlib', async (t) => {
  // Measured; collection-index-recall.slow.ts compares with hnswlib itself, whose graph takes seconds to build.
  const peer = 0.99;
  const own = await recallAtEf20(sample, single);
  t.ok(own >= peer - 0.02, `ours ${own.toFixed(4)}, hnswlib ${peer}`);
});
