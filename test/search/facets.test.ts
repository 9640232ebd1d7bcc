import { join } from 'node:path';
import type { FacetBound, FacetDate, FacetRequest, FacetResult } from '../../src/index/facets.ts';
import { FacetCounter } from '../../src/search/facet-counter.ts';
import { parseFacets } from '../../src/search/facets.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import {
  createTemporaryFolder,
  makeDocument,
  openIndex,
  randomClusters,
  seededRandom,
} from '../index/samples.ts';
import t, { type Test } from '../support/tap.ts';

type Metadata = Record<string, string | number | boolean | string[] | { lat: number; lon: number }>;

interface FacetCheck {
  readonly facets: readonly FacetRequest[];
  readonly results: readonly FacetResult[];
  readonly matching: readonly Metadata[];
  readonly filter: object;
}

const dates = [
  '2026-03-31',
  '2026-03-31T23:30:00Z',
  '2026-04-01T00:30:00+01:00',
  '2026-03-31T00:30:00+01:00',
  '2026-03-30T23:30:00-02:00',
  '2026-04-01',
  'March',
];

/** Milliseconds of a date, and of a value that is compared with a date; otherwise the value itself. */
function toComparable(value: unknown, bound: FacetBound | null): string | number | undefined {
  if (typeof value === 'object' && value !== null) return Date.parse((value as FacetDate).text);
  if (typeof bound !== 'object' || bound === null) return value as string | number;
  return typeof value === 'string' && value.startsWith('2026') ? Date.parse(value) : undefined;
}

/** Compares the counts with those of a loop over the documents. */
function checkCounts(t: Test, { facets, results, matching, filter }: FacetCheck): void {
  for (const [i, { attribute, valuesMax, ranges: bounds }] of facets.entries()) {
    const values = matching
      .flatMap((metadata) => metadata[attribute] ?? [])
      .filter((value) => typeof value !== 'object') as (string | number | boolean)[];
    const distinct = [...new Set(values)];
    const count = (accepts: (value: unknown) => boolean) => values.filter(accepts).length;
    const name = `${attribute} ${i} for ${JSON.stringify(filter)}`;
    if (bounds.length > 0) {
      const expected = bounds.map(({ from, to }) => ({
        value: null,
        documents: count(
          (value) =>
            typeof toComparable(value, from ?? to) === typeof toComparable(from ?? to, null) &&
            (from === null || toComparable(value, from)! >= toComparable(from, null)!) &&
            (to === null || toComparable(value, to)! < toComparable(to, null)!),
        ),
      }));
      t.same(results[i], { distinct: 0, counts: expected }, name);
      continue;
    }
    const all = distinct.map((value) => ({ value, documents: count((other) => other === value) }));
    const { counts, distinct: found } = results[i]!;
    t.equal(found, distinct.length, name);
    t.equal(counts.length, Math.min(valuesMax, distinct.length), name);
    for (const entry of counts)
      t.ok(
        all.some((other) => other.value === entry.value && other.documents === entry.documents),
        name,
      );
    const largest = all.map((entry) => entry.documents).sort((a, b) => b - a);
    t.same(
      counts.map((entry) => entry.documents),
      largest.slice(0, counts.length),
      name,
    );
  }
}

const ranges = [{ from: 2000, to: 2010 }, { to: 0 }, { from: 0 }, { from: '', to: '8' }, { from: 5, to: 5 }];
const date = (day: string) => ({ $date: day });
const facets = parseFacets(
  [
    'author',
    { year: { limit: 3 } },
    { year: { ranges } },
    'list:tags',
    'missing',
    { date: { ranges: [{ from: '2026-03-31', to: '2026-04' }] } },
    {
      date: {
        ranges: [
          { from: date('2026-03-31'), to: date('2026-04-01T00:00:00+02:00') },
          { to: date('2026-03-31') },
          { from: date('2026-03-31T12:00:00Z') },
          { from: date('2026-03-31'), to: date('2026-03-31T00:00:00Z') },
        ],
      },
    },
  ],
  {},
)!;
const filters = [
  {},
  { author: 'Ada' },
  { year: { $gte: 1999 } },
  { 'list:tags': { $in: ['a', 'c'] } },
  { author: 'x' },
];

t.test('facets equal a plain count, over several shards, for random filters', async (t) => {
  const folder = createTemporaryFolder();
  t.teardown(folder.remove);
  const random = seededRandom(28);
  const among = <T>(choices: readonly T[]): T => choices[Math.floor(random() * choices.length)]!;
  const index = await openIndex(join(folder.path, 'index'), { shards: 8 });
  const vectors = randomClusters(8, 5, random);
  const documents = Array.from(
    { length: 400 },
    (): Metadata => ({
      ...(random() < 0.9 ? { author: among(['Ada', 'Grace', 'é', '\u{1f600}', '', '7']) } : {}),
      ...(random() < 0.9
        ? { year: among([-1.5, 0, 7, 1999, 2000, 2000.5, 2010, '7', true, { lat: 1, lon: 2 }]) }
        : {}),
      ...(random() < 0.9 ? { date: among(dates) } : {}),
      'list:tags': ['a', 'b', 'c'].filter(() => random() < 0.5),
    }),
  );
  const removed = new Set<number>();
  const expired = new Set<number>();
  for (const [version, metadata] of documents.entries()) {
    const shard = version % 8;
    await index.stage(makeDocument({ shard, version }, [vectors()], metadata));
    index.commit({ sequence: version, shard, add: version });
    const fate = random();
    if (fate < 0.1) expired.add(version);
    else if (fate < 0.2) removed.add(version);
  }
  let sequence = documents.length;
  for (const version of removed) index.commit({ sequence: sequence++, shard: version % 8, remove: version });
  for (const each of filters) {
    const filter = parseFilter(each);
    const matching = documents.filter(
      (metadata, version) =>
        !removed.has(version) &&
        !expired.has(version) &&
        (filter === null || matchesFilter(filter, metadata)),
    );
    const excluded = Float64Array.from(expired).sort();
    const results = await index.countFacets({ filter, facets, expired: excluded });
    checkCounts(t, { facets, results, matching, filter: each });
    const counter = new FacetCounter(facets, 2 ** 20);
    for (const metadata of matching) counter.add(metadata);
    t.same(counter.results(), results, 'counted without an index');
  }
  await index.close();
});

t.test('invalid facets are rejected with their position', async (t) => {
  const refused: readonly (readonly [unknown[], RegExp])[] = [
    [['a.b'], /facets\[0\]: expected the name/],
    [[{}], /facets\[0\]: expected the name/],
    [[{ a: {}, b: {} }], /must have one field/],
    [[{ a: 1 }], /expected \{"limit"/],
    [[{ a: { limit: 0 } }], /from 1 to 100/],
    [[{ a: { limit: 101 } }], /from 1 to 100/],
    [[{ a: { top: 3 } }], /"top" is unknown/],
    [[{ a: { ranges: [] } }], /1 to 100 ranges/],
    [[{ a: { ranges: [{}] } }], /ranges\[0\]: expected an object with "from"/],
    [[{ a: { ranges: [{ from: true }] } }], /numbers or strings/],
    [[{ a: { ranges: [{ from: 1, to: 'b' }] } }], /the same type/],
    [[{ a: { ranges: [{ from: 2, to: 1 }] } }], /must not be greater/],
    [[{ a: { ranges: [{ from: { $date: '2026-02-30' } }] } }], /a date must be an RFC 3339 date/],
    [[{ a: { ranges: [{ from: { $date: '2026-02-02', x: 1 } }] } }], /or dates such as/],
    [[{ a: { ranges: [{ from: { $date: '2026-02-02' }, to: '2026-02-03' }] } }], /the same type/],
    [[{ a: { ranges: [{ from: { $date: '2026-02-02' }, to: { $date: '2026-02-01' } }] } }], /not be greater/],
    [[{ published: { ranges: [{ from: 'May' }] } }], /a date must be an RFC 3339 date/],
    [[{ 'list:a': { ranges: [{ from: 2 }] } }], /a list has no ranges/],
    [Array.from({ length: 17 }, () => 'a'), /at most 16/],
  ];
  for (const [facets, message] of refused)
    t.throws(
      () => parseFacets(facets as string[], { published: 'date' }),
      { code: 'bad_request', message },
      JSON.stringify(facets),
    );
  t.equal(parseFacets([]), null);
  t.equal(parseFacets(null), null);
});

t.test('distinct values of a list are bounded', async (t) => {
  const counter = new FacetCounter(parseFacets(['a', { b: { ranges: [{ from: '' }] } }])!, 10_000);
  for (let i = 0; i < 10_000; i += 1) counter.add({ a: i % 50, b: String(i) });
  t.match(counter.results(), [{ distinct: 50 }, { counts: [{ documents: 10_000 }] }]);
  t.throws(
    () => {
      for (let i = 0; i < 200; i += 1) counter.add({ a: String(i) });
    },
    { code: 'bad_request', message: /MiB of distinct values; the limit was reached at "a"/ },
  );
});
