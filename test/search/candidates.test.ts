import t from 'tap';
import { CandidateList } from '../../src/search/candidates.ts';
import { seeded } from '../store/seeded.ts';

const chance = seeded();

/** Hits of few distinct scores, so that many are equal. */
function hits(count: number) {
  const some = (most: number) => Array.from({ length: count }, () => chance.below(most));
  return {
    count,
    version: Float64Array.from(some(5)),
    chunk: Uint32Array.from({ length: count }, (_, i) => i),
    shard: new Uint16Array(count),
    similarity: Float32Array.from(some(4), (value) => value / 3 - 0.2),
    lexical: Float32Array.from(some(3)),
    shards: [],
  };
}

t.test(`the best few are the first of all, in one fixed order (seed ${chance.seed})`, async (t) => {
  for (let round = 0; round < 300; round += 1) {
    const list = new CandidateList(hits(chance.below(60)));
    const all = list.best();
    t.equal(all.length, list.length);
    all.slice(1).forEach((each, i) => {
      const before = all[i]!;
      const order = before.fused - each.fused || each.version - before.version || each.row - before.row;
      if (order <= 0) t.fail(`${JSON.stringify(before)} stands before ${JSON.stringify(each)}`);
    });
    for (const count of [0, 1, chance.below(70), list.length, list.length + 1]) {
      const best = list.best(count);
      if (JSON.stringify(best) !== JSON.stringify(all.slice(0, count))) t.same(best, all.slice(0, count));
    }
    t.equal(list.countVersions(), new Set(all.map(({ version }) => version)).size);
  }
});
