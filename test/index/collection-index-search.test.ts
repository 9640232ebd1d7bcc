import type { FilterNode } from '../../src/index/collection-index.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { anything, freshDirectory, vectors } from './collection-index-fixtures.ts';
import { hitsOf, indexQuery, makeDocument, openIndex, seededRandom } from './samples.ts';

t.test('every hit has both scores, regardless of the side that found it', async (t) => {
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
  t.ok(Math.abs((exact ?? 0) - 2 * (alternative ?? 0)) < 1e-6, 'the weight applies');
  t.ok((both ?? 0) < (exact ?? 0) && (both ?? 0) > (exact ?? 0) * 0.7, 'counted once, in a longer row');
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
    ['null matches all', null, [0, 1, 2, 3, 4, 5]],
    ['eq', compare('eq', '2020'), [1]],
    ['ne is true for the missing', compare('ne', '2020'), [0, 2, 3, 4, 5]],
    ['gt goes by UTF-8 bytes', compare('gt', '\uffee'), [4]],
    ['gte', compare('gte', '2021'), [2, 4, 5]],
    ['lt', compare('lt', '2020'), [0]],
    ['lte', compare('lte', '2020'), [0, 1]],
    ['in', member('year', 'in', ['2019', '2021', 'x']), [0, 2]],
    ['in with an empty list', member('year', 'in', []), []],
    ['nin', member('year', 'nin', ['2019', '2021']), [1, 3, 4, 5]],
    ['list in', member('list:tags', 'in', ['b', 'c']), [0]],
    ['list nin is true for empty and missing lists', member('list:tags', 'nin', ['b']), [1, 2, 3, 4, 5]],
    ['and', { kind: 'and', nodes: [compare('gt', '2019'), compare('lt', '2022')] }, [1, 2]],
    ['and without operands', { kind: 'and', nodes: [] }, [0, 1, 2, 3, 4, 5]],
    ['or without operands', { kind: 'or', nodes: [] }, []],
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
    ['an attribute that no document has', { ...compare('eq', 'x'), attribute: 'nothing' } as FilterNode, []],
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

t.test('filters of versions find documents in every shard, with and without other conditions', async (t) => {
  const index = await openIndex(freshDirectory(), { shards: 8 });
  for (let version = 0; version < 6; version += 1) {
    const attributes = { kind: version < 3 ? 'a' : 'b' };
    await index.stage(makeDocument({ shard: version % 8, version }, [vectors()], attributes));
    index.commit({ sequence: version, shard: version % 8, add: version });
  }
  index.commit({ sequence: 6, shard: 5, remove: 5 });
  const isB: FilterNode = { kind: 'compare', attribute: 'kind', operator: 'eq', value: 'b' };
  const among = (operator: 'in' | 'not_in', versions: number[]): FilterNode => ({
    kind: 'version',
    operator,
    versions,
  });
  const cases: [FilterNode, number[]][] = [
    [among('in', [1, 3, 5, 99]), [1, 3]],
    [among('in', []), []],
    [among('not_in', [0, 99]), [1, 2, 3, 4]],
    [among('not_in', []), [0, 1, 2, 3, 4]],
    [{ kind: 'and', nodes: [isB, among('not_in', [3])] }, [4]],
    [{ kind: 'or', nodes: [isB, among('in', [0])] }, [0, 3, 4]],
  ];
  for (const [filter, expected] of cases) {
    t.same(Array.from(await index.list(filter, 100)).sort(), expected);
    t.equal(index.count(filter), expected.length);
    const found = await hitsOf(index, { ...anything, terms: [{ hash: 1n, weight: 1, group: 0 }], filter });
    t.same(new Set(found.map(({ version }) => version)), new Set(expected));
  }
  await index.close();
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
