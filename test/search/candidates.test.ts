import { join } from 'node:path';
import t from 'tap';
import type { CollectionIndex } from '../../src/engine/collection-index.ts';
import { CandidateList, findCandidates } from '../../src/search/candidates.ts';
import { cloud, makeDocument, openIndex, seededRandom, temporaryFolder } from '../engine/samples.ts';
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
    walked: false,
    elsewhere: { lexical: 0, similarity: 0 },
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

/** What a search of this depth answers where the collection holds `all`. */
function searched(all: ReturnType<typeof hits>, depth: number): ReturnType<typeof hits> {
  const rows = [...all.version.keys()];
  const best = (scores: Float32Array, among: readonly number[]) =>
    [...among].sort((a, b) => scores[b]! - scores[a]! || a - b).slice(0, depth);
  const near = best(all.similarity, rows);
  const withWords = best(
    all.lexical,
    rows.filter((row) => all.lexical[row]! > 0),
  );
  const found = [...new Set([...near, ...withWords])];
  const columnOf = <Column extends Float64Array | Float32Array | Uint32Array | Uint16Array>(column: Column) =>
    column.filter((_, row) => found.includes(row)) as Column;
  const { version, chunk, shard, similarity, lexical, shards, walked } = all;
  return {
    count: found.length,
    version: columnOf(version),
    chunk: columnOf(chunk),
    shard: columnOf(shard),
    similarity: columnOf(similarity),
    lexical: columnOf(lexical),
    shards,
    walked,
    elsewhere: {
      similarity: near.length < depth ? -2 : all.similarity[near.at(-1)!]!,
      lexical: withWords.length < depth ? 0 : all.lexical[withWords.at(-1)!]!,
    },
  };
}

t.test('few candidates that say they hold the best hold the best of the whole collection', async (t) => {
  let held = 0;
  let rounds = 0;
  for (let round = 0; round < 2_000; round += 1) {
    const all = hits(1 + chance.below(80));
    const spread = 1 + chance.below(40);
    all.lexical = all.lexical.map((score) => (score > 0 ? score + chance.below(spread) : 0));
    all.similarity = all.similarity.map((score) => score + chance.below(spread) / spread);
    const k = 1 + chance.below(6);
    const few = new CandidateList(searched(all, 1 + chance.below(30)));
    rounds += 1;
    const walked = new CandidateList({ ...searched(all, 80), walked: true });
    if (walked.holdsBest(k)) t.fail('nobody knows what a graph missed');
    if (!few.holdsBest(k)) continue;
    held += 1;
    const [found, wanted] = [few.best(k), new CandidateList(all).best(k)];
    if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted);
  }
  t.ok(held > rounds / 10 && held < (rounds * 9) / 10, `${held} of ${rounds} say so`);
});

const folder = temporaryFolder();
t.teardown(folder.remove);
const random = seededRandom(5);
const dimensions = 64;
const topics = 60;
const vectors = cloud(dimensions, topics, random);
const anyTopic = () => Math.floor(random() * topics);

/** Rows of which each has a word of its topic. */
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

t.test(
  'few candidates of an index that say they hold the best do, and never say so of a graph',
  async (t) => {
    for (const { rows, walks } of [
      { rows: 400, walks: false },
      { rows: 1_500, walks: false },
      { rows: 6_000, walks: true },
    ]) {
      const index = await filled(rows);
      let held = 0;
      for (let round = 0; round < 200; round += 1) {
        const topic = anyTopic();
        const terms = [{ text: '', hash: BigInt(topic), weight: 1, group: 0 }];
        const request = {
          vector: vectors(topic),
          analysed: { terms, words: [''] },
          filter: null,
          wide: false,
          deadlineMs: 60_000,
          caller: { gone: false, signal: new AbortController().signal },
        };
        const few = await findCandidates(index, { ...request, depth: 32 });
        const whole = await findCandidates(index, { ...request, depth: 100 });
        if (walks !== few.shards.some(({ strategy }) => strategy === 'graph')) t.fail('not what was meant');
        if (!few.holdsBest(10)) continue;
        held += 1;
        const [found, wanted] = [few.best(10), whole.best(10)];
        if (JSON.stringify(found) !== JSON.stringify(wanted)) t.same(found, wanted);
      }
      t.equal(held > 0, !walks, `${held} of 200 among ${rows} rows`);
      await index.close();
    }
  },
);

t.test('who gave a search up gets his own reason back', async (t) => {
  const index = await filled(100);
  const left = new Error('the client left');
  const request = {
    vector: vectors(),
    analysed: { terms: [], words: [] },
    filter: null,
    wide: false,
    depth: 10,
    deadlineMs: 60_000,
    caller: { gone: true, signal: AbortSignal.abort(left) },
  };
  await t.rejects(findCandidates(index, request), left);
  await index.close();
});
