import t from 'tap';
import { CandidateList } from '../../src/search/candidates.ts';
import type { Passage } from '../../src/search/passages.ts';
import { type Choice, choosePassages, cut, Quota } from '../../src/search/selection.ts';
import { callerWith } from '../base/caller.ts';

t.test('a document has no more results than it may, and each counts once', async (t) => {
  const quota = new Quota(2);
  t.same(
    [quota.take(1, 'a'), quota.take(1, 'a'), quota.take(1, 'b'), quota.take(1, 'c'), quota.take(2, 'a')],
    [true, false, true, false, true],
  );
  t.equal(quota.count, 3);
  t.same([quota.hasRoom(1), quota.hasRoom(2), quota.hasRoom(3)], [false, true, true]);
});

t.test('results are cut by number, by document and by score, in this order', async (t) => {
  const ordered = [0.9, 0.8, 0.7, 0.6, 0.5].map((score, i) => ({ score, version: i % 2 }));
  const scores = (k: number, maxPerDocument: number, minScore: number) =>
    cut(ordered, { k, maxPerDocument, minScore }, ({ version }) => version).map(({ score }) => score);
  t.same(scores(10, Infinity, 0), [0.9, 0.8, 0.7, 0.6, 0.5]);
  t.same(scores(3, Infinity, 0), [0.9, 0.8, 0.7]);
  t.same(scores(10, 1, 0), [0.9, 0.8]);
  t.same(scores(3, 2, 0), [0.9, 0.8, 0.7]);
  t.same(scores(10, 2, 0.7), [0.9, 0.8, 0.7], 'what has just the score stays');
  t.same(scores(10, 1, 0.95), []);
});

/** Rows of a collection, best first; `versionOf` says whose. */
function choice(rows: number, versionOf: (row: number) => number, fields: Partial<Choice>) {
  const depths: number[] = [];
  let read = 0;
  const made: Choice = {
    k: 10,
    pool: 10,
    depth: 32,
    perDocument: Number.POSITIVE_INFINITY,
    spares: Number.POSITIVE_INFINITY,
    find: async (depth) => {
      depths.push(depth);
      const count = Math.min(rows, depth);
      const of = <T>(each: (row: number) => T) => Array.from({ length: count }, (_, row) => each(row));
      return new CandidateList({
        count,
        version: Float64Array.from(of(versionOf)),
        chunk: Uint32Array.from(of((row) => row)),
        shard: new Uint16Array(count),
        similarity: Float32Array.from(of((row) => 1 - row / rows)),
        lexical: new Float32Array(count),
        shards: [],
      });
    },
    read: async (candidates) => {
      read += candidates.length;
      return candidates.map((candidate) => ({ candidate }) as unknown as Passage);
    },
    resultsOf: ({ candidate }) => [String(candidate.row)],
    caller: callerWith(),
    yieldToEventLoop: () => null,
    ...fields,
  };
  return { made, depths, read: () => read };
}

t.test('it looks only as deep as it must', async (t) => {
  const { made, depths, read } = choice(100_000, (row) => row, {});
  const { passages, complete } = await choosePassages(made);
  t.same(depths, [32]);
  t.equal(read(), 32);
  t.ok(passages.length >= 10 && complete);
});

t.test('what passes late is found', async (t) => {
  const { made, depths } = choice(3_000, (row) => row, {
    resultsOf: ({ candidate }) => (candidate.row % 500 === 499 ? ['x'] : []),
    k: 5,
    pool: 5,
  });
  const { passages, complete } = await choosePassages(made);
  t.same(
    passages.map(({ candidate }) => candidate.row),
    [499, 999, 1_499, 1_999, 2_499],
  );
  t.ok(complete);
  t.same(depths, [32, 128, 512, 2_048, 8_192]);
});

t.test('it ends when nothing is left, and at its limits when there is no end', async (t) => {
  const few = await choosePassages(choice(700, (row) => row, { resultsOf: () => [] }).made);
  t.match(few, { passages: [], checked: 700, complete: true });
  const endless = choice(1_000_000, (row) => row, { resultsOf: () => [] });
  const many = await choosePassages(endless.made);
  t.match(many, { passages: [], complete: false });
  t.ok(many.checked >= 4_096 && many.checked < 4_200, `${many.checked} passages`);
  t.ok(endless.depths.length < 8);
});

t.test(
  'a document of thousands of passages costs a few readings, and others are found behind it',
  async (t) => {
    const versionOf = (row: number) => (row < 9_000 ? 1 : row);
    const { made, read } = choice(9_100, versionOf, { k: 20, perDocument: 2, spares: 2 });
    const { passages, complete } = await choosePassages(made);
    const versions = passages.map(({ candidate }) => candidate.version);
    t.equal(versions.filter((version) => version === 1).length, 2);
    t.ok(versions.length >= 20 && complete);
    t.ok(read() < 500, `${read()} read`);
  },
);

t.test('who left is not looked for any longer', async (t) => {
  const left = new Error('the client left');
  const { made } = choice(1_000, (row) => row, { caller: callerWith(AbortSignal.abort(left)) });
  await t.rejects(choosePassages(made), left);
});
