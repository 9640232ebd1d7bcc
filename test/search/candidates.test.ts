import { join } from 'node:path';
import type { CollectionIndex } from '../../src/index/collection-index.ts';
import { CandidateList, findCandidates } from '../../src/search/candidates.ts';
import { defaultWeights } from '../../src/search/fuse.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import {
  createTemporaryFolder,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from '../index/samples.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const testRandom = createTestRandom();

/** Hits with few distinct scores, so that there are many ties. */
function hits(count: number) {
  const some = (most: number) => Array.from({ length: count }, () => testRandom.below(most));
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

t.test(
  `the best n candidates are the first n of the full order, deterministically (seed ${testRandom.seed})`,
  async (t) => {
    for (let round = 0; round < 300; round += 1) {
      const list = new CandidateList(hits(testRandom.below(60)));
      const all = list.best();
      t.equal(all.length, list.length);
      all.slice(1).forEach((each, i) => {
        const before = all[i]!;
        const order = before.fused - each.fused || each.version - before.version || each.row - before.row;
        if (order <= 0) t.fail(`${JSON.stringify(before)} is before ${JSON.stringify(each)}`);
      });
      for (const count of [0, 1, testRandom.below(70), list.length, list.length + 1]) {
        const best = list.best(count);
        if (JSON.stringify(best) !== JSON.stringify(all.slice(0, count))) t.same(best, all.slice(0, count));
      }
      t.equal(list.countVersions(), new Set(all.map(({ version }) => version)).size);
    }
  },
);

const folder = createTemporaryFolder();
t.teardown(folder.remove);
const random = seededRandom(5);
const dimensions = 64;
const topics = 60;
const vectors = randomClusters(dimensions, topics, random);
const anyTopic = () => Math.floor(random() * topics);

/** Index of rows that each contain a word of their topic. */
async function filled(rows: number): Promise<CollectionIndex> {
  const index = await openIndex(join(folder.path, String(rows)), { dimensions });
  for (let version = 0; version * 100 < rows; version += 1) {
    const some = Array.from({ length: 100 }, anyTopic);
    const terms = some.map((topic) => [[BigInt(topic), 1 + Math.floor(random() * 5), 0]] as const);
    await index.stage(makeDocument({ shard: 0, version }, some.map(vectors), {}, terms));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  return index;
}

t.test('a canceled search rejects with the reason of its caller', async (t) => {
  const index = await filled(100);
  const left = new Error('the client disconnected');
  const request = {
    vector: vectors(),
    lexicalQuery: { terms: [], words: [], letterWords: [] },
    weights: defaultWeights,
    filter: null,
    isWide: false,
    depth: 10,
    deadlineMs: 60_000,
    caller: cancellationTokenWith(AbortSignal.abort(left)),
    yieldToEventLoop: () => null,
  };
  await t.rejects(findCandidates(index, request), left);
  await index.close();
});
