import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t from 'tap';
import { CollectionIndex, type FilterNode, type IndexError } from '../../src/index/collection-index.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { waitUntil } from '../timeouts.ts';
import {
  createTemporaryFolder,
  hitsOf,
  indexQuery,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from './samples.ts';

const folder = createTemporaryFolder();
t.teardown(folder.remove);
const vectors = randomClusters(8, 5, seededRandom(1));
const anything = { vector: vectors(), vectorCandidates: 100_000 };

let directories = 0;
function freshDirectory(): string {
  directories++;
  return join(folder.path, String(directories));
}

function hasCode(code: string) {
  return { name: 'IndexError', code };
}

t.test('unsupported kernels are rejected with a list of the supported ones', (t) => {
  const foreign = process.arch === 'x64' ? 'neon' : 'avx512';
  t.throws(() => CollectionIndex.useKernels(foreign), {
    name: 'AppError',
    code: 'invalid',
    message: new RegExp(`^The setting engineKernels is ${foreign}, but this processor supports only scalar`),
  });
  CollectionIndex.useKernels('scalar');
  CollectionIndex.useKernels('auto');
  t.end();
});

t.test('a document is invisible until it is committed, whole afterwards and gone once removed', async (t) => {
  const index = await openIndex(freshDirectory(), { shards: 8 });
  t.same(
    index.shards,
    Array.from({ length: 8 }, (_, shard) => ({ shard, sequence: -1, state: 'fresh', reason: null })),
  );
  await index.stage(makeDocument({ shard: 3, version: 7 }, [vectors(), vectors(), vectors()]));
  t.equal((await index.search(indexQuery(anything))).count, 0);
  index.commit({ sequence: 1, shard: 3, add: 7 });
  const hits = await hitsOf(index, anything);
  t.same(
    hits.map(({ version, chunk }) => [version, chunk]),
    [
      [7, 0],
      [7, 1],
      [7, 2],
    ],
  );
  index.commit({ sequence: 2, shard: 3, remove: 7 });
  t.equal((await index.search(indexQuery(anything))).count, 0);
  t.equal(index.count(null), 0);
  await index.close();
});

t.test('every hit carries both scores, whichever side found it', async (t) => {
  const index = await openIndex(freshDirectory());
  const near = vectors(0);
  const far = Float32Array.from(near, (value) => -value);
  await index.stage(makeDocument({ shard: 0, version: 1 }, [near, far], {}, [[[5n, 1, 0]], [[6n, 2, 1]]]));
  index.commit({ sequence: 1, shard: 0, add: 1 });
  const terms = [{ hash: 6n, weight: 1, group: 0 }];
  const [first, second] = await hitsOf(index, {
    vector: near,
    terms,
    vectorCandidates: 1,
    lexicalCandidates: 1,
  });
  t.ok(first && second);
  t.ok(Math.abs((first?.similarity ?? 0) - 1) < 1e-5 && Math.abs((second?.similarity ?? 0) + 1) < 1e-5);
  t.equal(first?.lexical, 0);
  t.ok((second?.lexical ?? 0) > 0);
  const lexicalOnly = await hitsOf(index, { terms });
  t.same(
    lexicalOnly.map(({ chunk, similarity, lexical }) => [chunk, similarity, lexical]),
    [[1, 0, second?.lexical]],
  );
  await index.close();
});

t.test('a cosine is exact for the given numbers, even for nearly equal vectors', async (t) => {
  const index = await openIndex(freshDirectory());
  // All vectors are within three degrees of the first, where half-precision numbers could not distinguish them.
  const random = seededRandom(2);
  const center = vectors();
  const rows = Array.from({ length: 300 }, () => {
    const aside = vectors();
    const row = center.map((value, i) => value + 0.05 * random() * aside[i]!);
    const length = Math.hypot(...row);
    return row.map((value) => value / length);
  });
  for (const [row, vector] of rows.entries()) {
    await index.stage(makeDocument({ shard: 0, version: row + 1 }, [vector]));
    index.commit({ sequence: row + 1, shard: 0, add: row + 1 });
  }
  const cosines = rows.map((row) => row.reduce((sum, value, i) => sum + value * center[i]!, 0));
  const hits = await hitsOf(index, { vector: center, vectorCandidates: 50 });
  t.equal(hits.length, 50);
  for (const { version, similarity } of hits)
    t.ok(Math.abs(similarity - cosines[version - 1]!) < 1e-6, `${similarity} for ${cosines[version - 1]}`);
  const best = [...cosines].sort((a, b) => b - a);
  const found = hits.map(({ version }) => cosines[version - 1]!).sort((a, b) => b - a);
  for (const [rank, cosine] of found.entries())
    t.ok(cosine > best[rank]! - 1e-6, `place ${rank + 1}: ${cosine}, not ${best[rank]}`);
  await index.close();
});

t.test('alternatives of one word count once, with the best of them', async (t) => {
  const index = await openIndex(freshDirectory());
  const rows = [
    [[1n, 1, 0]],
    [[2n, 1, 0]],
    [
      [1n, 1, 0],
      [2n, 1, 0],
    ],
    [[3n, 1, 0]],
  ] as const;
  for (const [i, row] of rows.entries()) {
    await index.stage(makeDocument({ shard: 0, version: i }, [vectors()], {}, [row]));
    index.commit({ sequence: i, shard: 0, add: i });
  }
  const together = await hitsOf(index, {
    terms: [
      { hash: 1n, weight: 1, group: 0 },
      { hash: 2n, weight: 0.5, group: 0 },
    ],
  });
  t.same(
    together.map(({ version }) => version),
    [0, 1, 2],
  );
  const [exact, alternative, both] = together.map(({ lexical }) => lexical);
  t.ok(Math.abs((exact ?? 0) - 2 * (alternative ?? 0)) < 1e-6, 'the weight counts');
  t.ok((both ?? 0) < (exact ?? 0) && (both ?? 0) > (exact ?? 0) * 0.7, 'once, in a longer row');
  await index.close();
});

t.test('filters: each operator, missing attributes, lists and nesting', async (t) => {
  const index = await openIndex(freshDirectory(), { shards: 8 });
  const documents: Record<string, string | string[]>[] = [
    { year: '2019', 'list:tags': ['a', 'b'] },
    { year: '2020', 'list:tags': [] },
    { year: '2021' },
    {},
    { year: '\u{1f600}' },
    { year: '\uffee' },
  ];
  for (const [i, attributes] of documents.entries()) {
    await index.stage(makeDocument({ shard: i, version: i }, i === 3 ? [] : [vectors()], attributes));
    index.commit({ sequence: i, shard: i, add: i });
  }
  const compare = (operator: 'eq' | 'ne' | 'gt' | 'gte' | 'lt' | 'lte', value: string): FilterNode => ({
    kind: 'compare',
    attribute: 'year',
    operator,
    value,
  });
  const member = (attribute: string, operator: 'in' | 'nin', values: string[]): FilterNode => ({
    kind: 'member',
    attribute,
    operator,
    values,
  });
  const cases: [string, FilterNode | null, number[]][] = [
    ['null is all', null, [0, 1, 2, 3, 4, 5]],
    ['eq', compare('eq', '2020'), [1]],
    ['ne is true for the missing', compare('ne', '2020'), [0, 2, 3, 4, 5]],
    ['gt goes by UTF-8 bytes', compare('gt', '\uffee'), [4]],
    ['gte', compare('gte', '2021'), [2, 4, 5]],
    ['lt', compare('lt', '2020'), [0]],
    ['lte', compare('lte', '2020'), [0, 1]],
    ['in', member('year', 'in', ['2019', '2021', 'x']), [0, 2]],
    ['in of nothing', member('year', 'in', []), []],
    ['nin', member('year', 'nin', ['2019', '2021']), [1, 3, 4, 5]],
    ['list in', member('list:tags', 'in', ['b', 'c']), [0]],
    ['list nin is true for empty and missing lists', member('list:tags', 'nin', ['b']), [1, 2, 3, 4, 5]],
    ['and', { kind: 'and', nodes: [compare('gt', '2019'), compare('lt', '2022')] }, [1, 2]],
    ['and of nothing', { kind: 'and', nodes: [] }, [0, 1, 2, 3, 4, 5]],
    ['or of nothing', { kind: 'or', nodes: [] }, []],
    [
      'nested',
      {
        kind: 'or',
        nodes: [
          { kind: 'and', nodes: [compare('lt', '2021'), member('list:tags', 'nin', ['a'])] },
          compare('eq', '2021'),
          compare('eq', '\u{1f600}'),
        ],
      },
      [1, 2, 4],
    ],
    ['an attribute that nobody has', { ...compare('eq', 'x'), attribute: 'nothing' } as FilterNode, []],
  ];
  for (const [title, filter, expected] of cases) {
    t.same(Array.from(await index.list(filter, 100)).sort(), expected, title);
    t.equal(index.count(filter), expected.length, title);
    const found = await hitsOf(index, { ...anything, terms: [{ hash: 1n, weight: 1, group: 0 }], filter });
    t.same(
      found.map(({ version }) => version),
      expected.filter((version) => version !== 3),
      `${title}, searched`,
    );
  }
  t.equal((await index.list(null, 2)).length, 2);
  t.equal((await index.list(null, 0)).length, 0);
  await index.close();
});

t.test('invalid input is rejected with its error code and changes nothing', async (t) => {
  const directory = freshDirectory();
  const index = await openIndex(directory);
  t.throws(() => index.commit({ sequence: 1, shard: 0, add: 1 }), hasCode('unstaged'));
  const fine = makeDocument({ shard: 0, version: 1 }, [vectors()]);
  await t.rejects(index.stage({ ...fine, vectors: new Float32Array(7) }), hasCode('invalid'));
  await t.rejects(index.stage({ ...fine, terms: new Uint8Array(3) }), hasCode('invalid'));
  await t.rejects(
    index.stage({ ...fine, vectors: new Float32Array(8).fill(Number.NaN) }),
    hasCode('invalid'),
  );
  await t.rejects(index.stage({ ...fine, shard: 1 }), hasCode('invalid'));
  await t.rejects(index.search(indexQuery({ vector: new Float32Array(9) })), TypeError);
  await index.stage(fine);
  index.commit({ sequence: 5, shard: 0, add: 1 });
  await index.stage({ ...fine, version: 2 });
  t.throws(() => index.commit({ sequence: 4, shard: 0, add: 2 }), hasCode('sequence'));
  index.discard(0, 2);
  index.discard(0, 2);
  t.throws(() => index.commit({ sequence: 6, shard: 0, add: 2 }), hasCode('unstaged'));
  await t.rejects(openIndex(directory, { dimensions: 9 }), hasCode('conflict'));
  t.equal(index.count(null), 1);
  await index.close();
});

t.test('hundreds of concurrent searches each get their own result', async (t) => {
  const index = await openIndex(freshDirectory());
  for (let version = 0; version < 20; version++) {
    const rows = Array.from({ length: 200 }, () => vectors());
    await index.stage(makeDocument({ shard: 0, version }, rows));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  const expected = Array.from({ length: 500 }, (_, i) => i + 1);
  const found = await Promise.all(
    expected.map((vectorCandidates) => index.search(indexQuery({ ...anything, vectorCandidates }))),
  );
  t.same(
    found.map(({ count }) => count),
    expected,
  );
  await index.close();
});

t.test('a search ends early at its deadline or when its signal is aborted', async (t) => {
  const index = await openIndex(freshDirectory());
  for (let version = 0; version < 40; version++) {
    await index.stage(
      makeDocument(
        { shard: 0, version },
        Array.from({ length: 100 }, () => vectors()),
      ),
    );
    index.commit({ sequence: version, shard: 0, add: version });
  }
  await t.rejects(index.search(indexQuery({ ...anything, deadlineMs: 0 })), hasCode('deadline'));
  await t.rejects(index.list(null, 10, 0), hasCode('deadline'));
  const before = new AbortController();
  before.abort();
  await t.rejects(
    index.search(indexQuery({ ...anything, caller: cancellationTokenWith(before.signal) })),
    hasCode('cancelled'),
  );
  const during = new AbortController();
  const searches = Array.from({ length: 300 }, () =>
    index.search(indexQuery({ ...anything, caller: cancellationTokenWith(during.signal) })).then(
      () => 'found',
      (error: IndexError) => error.code,
    ),
  );
  during.abort();
  const abortReasons = await Promise.all(searches);
  t.ok(abortReasons.includes('cancelled'));
  t.ok(abortReasons.every((abortReason) => abortReason === 'cancelled' || abortReason === 'found'));
  await index.close();
});

t.test('searches beyond the queue capacity fail with busy, the others succeed', async (t) => {
  const index = await openIndex(freshDirectory());
  await index.stage(
    makeDocument(
      { shard: 0, version: 1 },
      Array.from({ length: 1500 }, () => vectors()),
    ),
  );
  index.commit({ sequence: 1, shard: 0, add: 1 });
  const answers = Promise.all(
    Array.from({ length: 5000 }, () =>
      index.search(indexQuery(anything)).then(
        (hits) => hits.count,
        (error: IndexError) => error.code,
      ),
    ),
  );
  t.ok(CollectionIndex.queuedCalls() > 0);
  const abortReasons = await answers;
  t.ok(abortReasons.includes('busy'));
  t.ok(abortReasons.every((abortReason) => abortReason === 'busy' || abortReason === 1500));
  t.equal((await index.search(indexQuery(anything))).count, 1500, 'and then there is room again');
  t.equal(CollectionIndex.queuedCalls(), 0);
  await index.close();
});

t.test('a snapshot restores all results, and a damaged or missing file is reported', async (t) => {
  const directory = freshDirectory();
  const options = { shards: 8, dimensions: 8 };
  const ask = { ...anything, terms: [{ hash: 1n, weight: 1, group: 0 }] };
  let index = await openIndex(directory, options);
  t.same(await index.snapshot().then(({ sequence }) => sequence), -1, 'an empty collection has a snapshot');
  for (let version = 0; version < 50; version++) {
    const attributes = { mod: String(version % 3) };
    await index.stage(makeDocument({ shard: version % 8, version }, [vectors(), vectors()], attributes));
    index.commit({ sequence: version, shard: version % 8, add: version });
  }
  index.commit({ sequence: 50, shard: 1, remove: 1 });
  const { sequence, bytes } = await index.snapshot();
  t.equal(sequence, 50);
  t.ok(bytes > 0);
  const expected = await hitsOf(index, ask);
  await index.close();

  index = await openIndex(directory, options);
  t.ok(index.shards.every((shard) => shard.state === 'loaded' && shard.sequence === 50));
  t.same(await hitsOf(index, ask), expected);
  t.equal(index.count({ kind: 'compare', attribute: 'mod', operator: 'eq', value: '0' }), 17);
  t.equal((await index.snapshot()).bytes, 0, 'what did not change is not written again');
  index.commit({ sequence: 51, shard: 2, remove: 2 });
  t.equal((await index.snapshot()).sequence, 51);
  await index.close();

  const file = join(directory, 'index', 'shard-04.quarry');
  const damaged = readFileSync(file);
  damaged[damaged.length - 5] = (damaged[damaged.length - 5] ?? 0) ^ 1;
  writeFileSync(file, damaged);
  index = await openIndex(directory, options);
  t.match(index.shards[4], { state: 'damaged', sequence: -1, reason: /checksum/ });
  t.match(index.shards[3], { state: 'loaded', sequence: 50 });
  t.match(index.shards[2], { state: 'loaded', sequence: 51 });
  t.equal(index.count(null), 48 - 6);
  await index.drop();

  index = await openIndex(directory, options);
  t.ok(index.shards.every((shard) => shard.state === 'fresh'));
  await index.drop();
});

t.test('rows of removed versions are compacted during searches and staging', async (t) => {
  const index = await openIndex(freshDirectory());
  let sequence = 0;
  for (let round = 0; round < 60; round++) {
    const version = round + 1;
    await index.stage(
      makeDocument(
        { shard: 0, version },
        Array.from({ length: 40 }, () => vectors()),
        { round: String(round) },
      ),
    );
    sequence++;
    index.commit({ sequence, shard: 0, add: version, ...(round > 4 && { remove: version - 5 }) });
    t.equal((await index.search(indexQuery(anything))).count, Math.min(version, 5) * 40);
  }
  while (index.statistics().deadRows > 40 * 7) await new Promise((resolve) => setTimeout(resolve, 5));
  const statistics = index.statistics();
  t.equal(statistics.rows, 200);
  t.equal(statistics.documents, 5);
  const { vectors_in_file: inFile, ...bytes } = statistics.bytes;
  t.equal(inFile, 0, 'nothing was written to a file');
  const parts = ['attributes', 'codes', 'documents', 'links', 'postings', 'vectors_in_memory'];
  t.same(Object.keys(bytes).sort(), parts);
  t.ok(Object.values(bytes).every((count) => count > 0));
  await index.close();
});

t.test('a compaction that needs too much memory continues when memory is available', async (t) => {
  const index = await openIndex(freshDirectory());
  t.teardown(() => CollectionIndex.useMemoryBytesMax(0));
  CollectionIndex.useMemoryBytesMax(1);
  for (let version = 1; version <= 20; version++) {
    const rows = Array.from({ length: 40 }, () => vectors());
    await index.stage(makeDocument({ shard: 0, version }, rows, {}));
    index.commit({ sequence: version, shard: 0, add: version });
  }
  for (let version = 1; version <= 10; version++)
    index.commit({ sequence: 20 + version, shard: 0, remove: version });
  while (CollectionIndex.deferredCompactions() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(index.statistics(), { rows: 400, deadRows: 400, compactions: 0 });
  CollectionIndex.useMemoryBytesMax(0);
  while (index.statistics().deadRows > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.match(index.statistics(), { rows: 400, compactions: 1 });
  while (CollectionIndex.deferredCompactions() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
  // A deferred compaction must not block close().
  CollectionIndex.useMemoryBytesMax(1);
  for (let version = 11; version < 20; version++)
    index.commit({ sequence: 20 + version, shard: 0, remove: version });
  while (CollectionIndex.deferredCompactions() === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  await index.close();
  while (CollectionIndex.deferredCompactions() > 0) await new Promise((resolve) => setTimeout(resolve, 5));
});

t.test('close: at any time, twice, with running work; later calls fail with closed', async (t) => {
  const directory = freshDirectory();
  for (let round = 0; round < 20; round++) {
    const index = await openIndex(directory);
    const document = makeDocument(
      { shard: 0, version: round },
      Array.from({ length: 200 }, () => vectors()),
    );
    const work = [
      index.stage(document),
      index.search(indexQuery(anything)),
      index.list(null, 10),
      index.snapshot(),
      ...Array.from({ length: 50 }, () => index.search(indexQuery(anything))),
    ];
    for (let waits = round % 4; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
    const closing = index.close();
    t.equal(index.close(), closing);
    const abortReasons = await Promise.allSettled(work);
    for (const abortReason of abortReasons) {
      if (abortReason.status === 'rejected') t.match(abortReason.reason, hasCode('cancelled'));
    }
    await closing;
    t.throws(() => index.count(null), hasCode('closed'));
    t.throws(() => index.commit({ sequence: 100, shard: 0 }), hasCode('closed'));
    await t.rejects(index.stage(document), hasCode('closed'));
    await t.rejects(index.search(indexQuery(anything)), hasCode('closed'));
    await t.rejects(index.snapshot(), hasCode('closed'));
  }
});

t.test('close: each running search completes or is canceled', async (t) => {
  const directory = freshDirectory();
  for (let round = 0; round < 12; round++) {
    const index = await openIndex(directory, { shards: 16 });
    for (let shard = 0; shard < 16; shard++) {
      const rows = Array.from({ length: 250 }, () => vectors());
      await index.stage(makeDocument({ shard, version: round * 16 + shard }, rows));
      index.commit({ sequence: round * 16 + shard, shard, add: round * 16 + shard });
    }
    const work = Array.from({ length: 20 }, () => index.search(indexQuery(anything)));
    for (let waits = round; waits > 0; waits--) await new Promise((resolve) => setImmediate(resolve));
    const closing = index.close();
    for (const abortReason of await Promise.allSettled(work)) {
      if (abortReason.status === 'rejected') t.match(abortReason.reason, hasCode('cancelled'));
      else t.equal(abortReason.value.count, 4000);
    }
    await closing;
  }
});

t.test('a search reports the ef of each shard and whether it is calibrated', async (t) => {
  const index = await openIndex(freshDirectory(), { shards: 2 });
  for (let version = 0; version < 60; version++) {
    const rows = Array.from({ length: 100 }, () => vectors());
    await index.stage(makeDocument({ shard: version % 2, version }, rows));
    index.commit({ sequence: version, shard: version % 2, add: version });
  }
  const ask = async () => {
    const { shards, count } = await index.search(indexQuery({ vector: vectors(), vectorCandidates: 10 }));
    t.same(
      shards.map(({ shard, strategy }) => [shard, strategy]),
      [
        [0, 'graph'],
        [1, 'graph'],
      ],
    );
    t.equal(
      shards.reduce((sum, { candidates }) => sum + candidates, 0),
      count,
    );
    return shards[0]!;
  };
  const first = await ask();
  // Calibration runs once no search has run for a while.
  let last = first;
  const isCalibrated = async () => {
    last = await ask();
    return last.calibrated;
  };
  await waitUntil('the measurement', isCalibrated, 400);
  t.ok(last.effort > 0 && last.effort < first.effort, `${first.effort}, then ${last.effort}`);
  const result = await index.search(indexQuery({ vector: vectors(), vectorCandidates: 10, ef: 77 }));
  t.match(result.shards, [
    { effort: 77, calibrated: false },
    { effort: 77, calibrated: false },
  ]);
  await index.close();
});

t.test('two handles of one collection share its memory; drop closes both', async (t) => {
  const directory = freshDirectory();
  const [first, second] = await Promise.all([openIndex(directory), openIndex(directory)]);
  await first.stage(makeDocument({ shard: 0, version: 1 }, [vectors()]));
  first.commit({ sequence: 1, shard: 0, add: 1 });
  t.equal((await second.search(indexQuery(anything))).count, 1);
  await first.close();
  t.equal((await second.search(indexQuery(anything))).count, 1);
  const third = await openIndex(directory);
  await second.drop();
  await t.rejects(third.stage(makeDocument({ shard: 0, version: 2 }, [vectors()])), hasCode('closed'));
  const fourth = await openIndex(directory);
  t.equal(fourth.count(null), 0);
  await third.close();
  t.equal(fourth.count(null), 0);
  await fourth.close();
});

t.test('a directory that cannot be used is an error with its name', async (t) => {
  const path = freshDirectory();
  writeFileSync(path, 'a file');
  await t.rejects(
    CollectionIndex.open({ collectionId: 'x', dimensions: 8, shards: 1, directory: join(path, 'index') }),
    { ...hasCode('io'), message: path },
  );
});
