import { shardCounts } from '../../src/core/limits.ts';
import { shardOf } from '../../src/index/shard-of.ts';
import t from '../support/tap.ts';

t.test('the shard of a path never changes: the data directory depends on it', async (t) => {
  const shards = ['note.txt', 'a', 'ünïcode/日本.pdf', ''].map((path) => shardOf(path, 64));
  t.same(shards, [46, 51, 17, 11]);
});

t.test('documents spread evenly over the shards', async (t) => {
  for (const shards of shardCounts) {
    const sizes = new Array<number>(shards).fill(0);
    for (let i = 0; i < 64_000; i += 1) sizes[shardOf(`folder/file-${i}.pdf`, shards)]! += 1;
    const mean = 64_000 / shards;
    t.ok(Math.max(...sizes) < mean * 1.2 + 1, `the fullest of ${shards} is within a fifth of the mean`);
    t.ok(Math.min(...sizes) > mean * 0.8 - 1, `so is the emptiest of ${shards}`);
  }
});
