import { CandidateList } from '../../src/search/candidates.ts';
import type { ChunkHit } from '../../src/search/chunk-hits.ts';
import { limitResults, Quota, type SelectionOptions, selectChunks } from '../../src/search/selection.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

t.test('a document has at most its quota of results, each counted once', async (t) => {
  const quota = new Quota(2);
  t.same(
    [
      quota.tryAdd(1, 'a'),
      quota.tryAdd(1, 'a'),
      quota.tryAdd(1, 'b'),
      quota.tryAdd(1, 'c'),
      quota.tryAdd(2, 'a'),
    ],
    [true, false, true, false, true],
  );
  t.equal(quota.count, 3);
  t.same([quota.hasCapacity(1), quota.hasCapacity(2), quota.hasCapacity(3)], [false, true, true]);
});

t.test('results are limited by number, document and score, in this order', async (t) => {
  const ordered = [0.9, 0.8, 0.7, 0.6, 0.5].map((score, i) => ({ score, version: i % 2 }));
  const scores = (k: number, maxPerDocument: number, minScore: number) =>
    limitResults(ordered, { k, maxPerDocument, minScore }, ({ version }) => version).map(
      ({ score }) => score,
    );
  t.same(scores(10, Infinity, 0), [0.9, 0.8, 0.7, 0.6, 0.5]);
  t.same(scores(3, Infinity, 0), [0.9, 0.8, 0.7]);
  t.same(scores(10, 1, 0), [0.9, 0.8]);
  t.same(scores(3, 2, 0), [0.9, 0.8, 0.7]);
  t.same(scores(10, 2, 0.7), [0.9, 0.8, 0.7], 'a result with exactly the minimum score is kept');
  t.same(scores(10, 1, 0.95), []);
});

/** Selection over rows ordered by score; `versionOf` maps a row to its document version. */
function buildSelection(rows: number, versionOf: (row: number) => number, fields: Partial<SelectionOptions>) {
  const depths: number[] = [];
  let read = 0;
  const options: SelectionOptions = {
    k: 10,
    poolSize: 10,
    depth: 32,
    perDocument: Number.POSITIVE_INFINITY,
    extraPerDocument: Number.POSITIVE_INFINITY,
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
      return candidates.map((candidate) => ({ candidate }) as unknown as ChunkHit);
    },
    resultsOf: ({ candidate }) => [String(candidate.row)],
    caller: cancellationTokenWith(),
    yieldToEventLoop: () => null,
    ...fields,
  };
  return { options, depths, read: () => read };
}

t.test('selection searches only as deep as needed', async (t) => {
  const { options, depths, read } = buildSelection(100_000, (row) => row, {});
  const { chunkHits: passages, complete } = await selectChunks(options);
  t.same(depths, [32]);
  t.equal(read(), 32);
  t.ok(passages.length >= 10 && complete);
});

t.test('an accepted chunk at a low rank is found', async (t) => {
  const { options, depths } = buildSelection(3_000, (row) => row, {
    resultsOf: ({ candidate }) => (candidate.row % 500 === 499 ? ['x'] : []),
    k: 5,
    poolSize: 5,
  });
  const { chunkHits: passages, complete } = await selectChunks(options);
  t.same(
    passages.map(({ candidate }) => candidate.row),
    [499, 999, 1_499, 1_999, 2_499],
  );
  t.ok(complete);
  t.same(depths, [32, 128, 512, 2_048, 8_192]);
});

t.test('selection ends when no candidates are left, and at its limits', async (t) => {
  const few = await selectChunks(buildSelection(700, (row) => row, { resultsOf: () => [] }).options);
  t.match(few, { chunkHits: [], checked: 700, complete: true });
  const endless = buildSelection(1_000_000, (row) => row, { resultsOf: () => [] });
  const many = await selectChunks(endless.options);
  t.match(many, { chunkHits: [], complete: false });
  t.ok(many.checked >= 4_096 && many.checked < 4_200, `${many.checked} passages`);
  t.ok(endless.depths.length < 8);
});

t.test('a document of thousands of chunks costs few reads, and others behind it are found', async (t) => {
  const versionOf = (row: number) => (row < 9_000 ? 1 : row);
  const { options, read } = buildSelection(9_100, versionOf, {
    k: 20,
    perDocument: 2,
    extraPerDocument: 2,
  });
  const { chunkHits: passages, complete } = await selectChunks(options);
  const versions = passages.map(({ candidate }) => candidate.version);
  t.equal(versions.filter((version) => version === 1).length, 2);
  t.ok(versions.length >= 20 && complete);
  t.ok(read() < 500, `${read()} read`);
});

t.test('selection stops when the caller is canceled', async (t) => {
  const left = new Error('the client disconnected');
  const { options } = buildSelection(1_000, (row) => row, {
    caller: cancellationTokenWith(AbortSignal.abort(left)),
  });
  await t.rejects(selectChunks(options), left);
});
