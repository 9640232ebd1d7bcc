import type { FieldTypes } from '../../src/core/metadata-types.ts';
import type { IndexValue } from '../../src/index/encoding.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import { sortByMetadata } from '../../src/search/metadata-order.ts';
import { boostOf, parseBoost } from '../../src/search/recency-boost.ts';
import { groupResults, listGroups, parseGroupBy } from '../../src/search/result-groups.ts';
import { parseSort, type SortLevel } from '../../src/search/sort.ts';
import {
  createTemporaryFolder,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from '../index/samples.ts';
import t from '../support/tap.ts';

type Metadata = Record<string, IndexValue>;

const mixed: readonly IndexValue[] = [
  -1.5,
  0,
  7,
  1e300,
  '',
  '10',
  '9',
  'z',
  '\u{ffff}',
  '\u{1f600}',
  true,
  false,
  { lat: 1, lon: 2 },
];
const dates = [
  '2026-03-31',
  '2026-03-31T00:00:00Z',
  '2026-03-31T01:00:00+02:00',
  '2026-03-30T23:00:00.000000001-01:00',
  '1969-12-31',
  'yesterday',
];
const schema: FieldTypes = { declared: 'date', place: 'geo', count: 'number' };

/** Plain order: the rank of each value in the list of all values in their documented order. */
function plainRank(value: IndexValue | undefined, isDate: boolean): readonly number[] | null {
  if (isDate) {
    const nanoseconds = typeof value === 'string' ? instants.get(value) : undefined;
    return nanoseconds === undefined ? null : nanoseconds;
  }
  if (typeof value === 'string') return [0, ...Array.from(value, (letter) => letter.codePointAt(0)! + 1)];
  if (typeof value === 'number') return [1, value];
  return typeof value === 'boolean' ? [2, Number(value)] : null;
}

const instants = new Map<string, readonly number[]>([
  ['2026-03-31', [4, 0]],
  ['2026-03-31T00:00:00Z', [4, 0]],
  ['2026-03-31T01:00:00+02:00', [3, 0]],
  ['2026-03-30T23:00:00.000000001-01:00', [4, 1]],
  ['1969-12-31', [1, 0]],
]);

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (let i = 0; i < Math.min(a.length, b.length); i += 1) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}

/** Sorts by insertion, comparing every pair of documents by their ranks. */
function plainSort(documents: readonly [number, Metadata][], levels: readonly SortLevel[]): number[] {
  const isBefore = (one: Metadata, other: Metadata): boolean => {
    for (const { field, order, type } of levels) {
      const isDate = type === 'date' || field === 'declared';
      const [a, b] = [plainRank(one[field], isDate), plainRank(other[field], isDate)];
      if (a === null && b === null) continue;
      if (a === null || b === null) return b === null;
      const difference = compareRanks(a, b);
      if (difference !== 0) return difference < 0 === (order !== 'desc');
    }
    return false;
  };
  const sorted: [number, Metadata][] = [];
  for (const document of documents) {
    const at = sorted.findIndex(([, other]) => isBefore(document[1], other));
    sorted.splice(at === -1 ? sorted.length : at, 0, document);
  }
  return sorted.map(([version]) => version);
}

t.test('sorted lists equal a plain sort, over several shards, for random orders and filters', async (t) => {
  const folder = createTemporaryFolder();
  t.teardown(folder.remove);
  const random = seededRandom(31);
  const among = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
  const index = await openIndex(`${folder.path}/index`, { shards: 8 });
  const vectors = randomClusters(8, 5, random);
  const documents = Array.from(
    { length: 300 },
    (): Metadata => ({
      ...(random() < 0.9 ? { mixed: among(mixed) } : {}),
      ...(random() < 0.9 ? { year: Math.floor(random() * 20) } : {}),
      ...(random() < 0.9 ? { date: among(dates), declared: among(dates) } : {}),
    }),
  );
  const [removed, expired] = [new Set<number>(), new Set<number>()];
  for (const [version, metadata] of documents.entries()) {
    await index.stage(makeDocument({ shard: version % 8, version }, [vectors()], metadata));
    index.commit({ sequence: version, shard: version % 8, add: version });
    const fate = random();
    if (fate < 0.1) removed.add(version);
    else if (fate < 0.2) expired.add(version);
  }
  let sequence = documents.length;
  for (const version of removed) index.commit({ sequence: sequence++, shard: version % 8, remove: version });
  const fields = ['mixed', 'year', 'date', 'declared', 'missing'];
  for (let round = 0; round < 60; round += 1) {
    const names = fields
      .filter(() => random() < 0.4)
      .sort(() => random() - 0.5)
      .slice(0, 4);
    const levels = (names.length === 0 ? ['year'] : names).map(
      (field): SortLevel => ({
        field,
        ...(random() < 0.5 ? { order: among(['asc', 'desc'] as const) } : {}),
        ...(field === 'date' && random() < 0.7 ? { type: 'date' } : {}),
      }),
    );
    const filter = random() < 0.5 ? null : parseFilter({ year: { $gte: 3, $lt: Math.floor(random() * 20) } });
    const sort = parseSort(levels, schema)!;
    const limit = among([1, 7, 40, 2048]);
    const matching = [...documents.entries()].filter(
      ([version, metadata]) =>
        !removed.has(version) &&
        !expired.has(version) &&
        (filter === null || matchesFilter(filter, metadata)),
    );
    const expected = plainSort(matching, levels);
    const found = await index.listSorted({ filter, sort, expired: Float64Array.from(expired).sort() }, limit);
    const name = `${JSON.stringify(levels)}, ${limit}, ${JSON.stringify(filter)}`;
    if (!t.same([...found], expected.slice(0, limit), name)) break;
    const sorted = sortByMetadata(matching, sort, ([, metadata]) => metadata).map(([version]) => version);
    if (!t.same(sorted, expected, `in JavaScript: ${name}`)) break;
  }
  await index.close();
});

t.test('an invalid order is rejected with its position', async (t) => {
  const refused: readonly (readonly [SortLevel[], RegExp])[] = [
    [[{ field: 'a.b' }], /sort\[0\]: field must be the name/],
    [[{ field: 'a' }, { field: 'list:b' }], /sort\[1\]: a list has no order/],
    [[{ field: 'a' }, { field: 'a', order: 'desc' }], /sort\[1\]: the field "a" occurs twice/],
    [[{ field: 'place' }], /points, which have no order/],
    [['a', 'b', 'c', 'd', 'e'].map((field) => ({ field })), /at most 4/],
  ];
  for (const [levels, message] of refused)
    t.throws(() => parseSort(levels, schema), { code: 'bad_request', message }, JSON.stringify(levels));
  t.equal(parseSort([], schema), null);
  t.equal(parseSort(null, schema), null);
  t.same(parseSort([{ field: 'declared' }, { field: 'constructor', order: 'desc' }], schema), [
    { attribute: 'declared', isDescending: false, isDate: true },
    { attribute: 'constructor', isDescending: true, isDate: false },
  ]);
});

t.test('the boost halves with each half-life', async (t) => {
  const now = Date.parse('2026-03-31T00:00:00Z');
  const boost = parseBoost({ field: 'date', half_life: '30d' }, undefined, now)!;
  t.equal(boostOf(boost, { date: '2026-03-31' }), 1);
  t.equal(boostOf(boost, { date: '2027-01-01' }), 1, 'a date after the origin');
  t.equal(boostOf(boost, { date: '2026-03-01' }), 0.5);
  t.equal(boostOf(boost, { date: '2026-01-30T02:00:00+02:00' }), 0.25);
  for (const date of ['recently', 2026, true, ['2026-03-31']] as IndexValue[])
    t.equal(boostOf(boost, { date }), 0, `not a date: ${JSON.stringify(date)}`);
  t.equal(boostOf(boost, {}), 0);
  const half = { field: 'date', half_life: '0.5h', weight: 0.5, origin: '2020-01-01T01:00:00+01:00' };
  const weighted = parseBoost(half, { date: 'date' }, now)!;
  t.equal(boostOf(weighted, { date: '2019-12-31T23:30:00Z' }), 0.75);
  t.equal(boostOf(weighted, {}), 0.5);
  t.equal(parseBoost(null, undefined, now), null);
});

t.test('an invalid boost is rejected', async (t) => {
  const refused: readonly (readonly [object, RegExp])[] = [
    [{ field: 'a.b' }, /field must be the name/],
    [{ field: 'list:a' }, /field must be the name/],
    [{ field: 'count' }, /declares "count" as "number"/],
    [{ half_life: '30' }, /half_life must be/],
    [{ half_life: '30 d' }, /half_life must be/],
    [{ half_life: '0d' }, /half_life must be/],
    [{ half_life: '1001y' }, /half_life must be/],
    [{ half_life: '-1d' }, /half_life must be/],
    [{ weight: 1.1 }, /weight is 1.1/],
    [{ weight: -0.1 }, /weight is -0.1/],
    [{ origin: 'now' }, /origin must be an RFC 3339 date/],
  ];
  for (const [fields, message] of refused)
    t.throws(
      () => parseBoost({ field: 'date', half_life: '30d', ...fields }, schema, 0),
      { code: 'bad_request', message },
      JSON.stringify(fields),
    );
});

t.test('results are grouped in the order of their first results', async (t) => {
  const groupBy = parseGroupBy({ field: 'author', size: 2 }, undefined)!;
  const authors = ['Ada', 7, 'Ada', undefined, '7', 'Ada', 7, undefined, 'Grace', undefined, 7];
  const results = authors.map(
    (author, id): Metadata => ({ id, ...(author === undefined ? {} : { author }) }),
  );
  const group = (k: number) => groupResults(results, groupBy, k, (metadata) => metadata);
  const ids = (k: number) => group(k).map(({ id }) => id);
  t.same(ids(9), [0, 2, 1, 6, 3, 7, 4, 8]);
  t.same(ids(2), [0, 2, 1, 6], 'the first two groups');
  t.same(ids(0), []);
  t.same(listGroups(group(9), groupBy), [
    { value: 'Ada', results: 2 },
    { value: 7, results: 2 },
    { value: null, results: 2 },
    { value: '7', results: 1 },
    { value: 'Grace', results: 1 },
  ]);
  t.same(parseGroupBy({ field: 'author' }, undefined), { attribute: 'author', size: 3 });
  t.equal(parseGroupBy(null, undefined), null);
  for (const [options, message] of [
    [{ field: 'a.b' }, /field must be the name/],
    [{ field: 'list:a' }, /a list has several values/],
    [{ field: 'place' }, /points, which form no groups/],
    [{ field: 'a', size: 0 }, /size is 0/],
    [{ field: 'a', size: 11 }, /from 1 to 10/],
  ] as const)
    t.throws(() => parseGroupBy(options, schema), { code: 'bad_request', message });
});
