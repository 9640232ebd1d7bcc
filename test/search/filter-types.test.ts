import { compareInstants, parseInstant } from '../../src/core/instants.ts';
import type { IndexValue } from '../../src/index/encoding.ts';
import type { MetadataSchema } from '../../src/schemas/metadata-schema.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import { seededRandom } from '../index/samples.ts';
import t from '../support/tap.ts';
import { openMetadataIndex } from './metadata-index.ts';

type Metadata = Record<string, IndexValue>;
type Filter = Record<string, unknown>;

const numbers = [
  0,
  -0,
  1,
  -1,
  1.5,
  2,
  10,
  -10,
  1e300,
  -1e300,
  5e-324,
  -5e-324,
  2 ** 53,
  0.1,
  0.30000000000000004,
  0.3,
  Number.MAX_VALUE,
  -Number.MAX_VALUE,
] as const;
const texts = ['', '1', '10', '2', 'true', 'z', '\u{10ffff}', '{"lat":1,"lon":2}'] as const;
const dates = [
  '2024-02-29',
  '2024-02-29T00:00:00Z',
  '2024-02-29t01:00:00+01:00',
  '2024-02-28T19:00:00.000000001-05:00',
  '2024-02-29 00:00:00.1z',
  '2024-02-29T00:00:00.100000000Z',
  '2024-03-01T23:59:59+23:59',
  '2024-02-28T00:00:00-23:59',
  '2016-12-31T23:59:60Z',
  '2017-01-01T00:00:00Z',
  '0000-01-01',
  '9999-12-31T23:59:59.999999999Z',
  '0000-01-01T00:00:00+23:59',
  '9999-12-31T23:59:59-23:59',
  '1969-12-31T23:59:59.5Z',
  '1970-01-01',
] as const;
/** Texts that are almost dates. */
const others = [
  '2023-02-29',
  '2024-13-01',
  '2024-00-01',
  '2024-1-01',
  '2024-01-01T00:00Z',
  '2024-01-01T00:00:00',
  '2024-02-29T24:00:00Z',
  '2024-02-29T00:00:00.Z',
  '2024-02-29T00:00:00.1234567890Z',
  '2024-02-29T00:00:00+24:00',
  '2024-02-29x',
  '2024-02-29T',
  '２０２４-02-29',
  '2024-02-29T00:00:61Z',
  '2024-02-29T00:60:00Z',
  '2024-02-29T00:00:00+0100',
  '2024-02-29 ',
  '2024-02-30',
] as const;
const schema: MetadataSchema = { published: 'date', year: 'number' };

/** Plain evaluation of a filter as requests write it. */
function scan(filter: Filter, metadata: Metadata): boolean {
  return Object.entries(filter).every(([key, value]) => {
    const all = value as Filter[];
    if (key === '$and') return all.every((each) => scan(each, metadata));
    if (key === '$or') return all.some((each) => scan(each, metadata));
    if (key === '$not') return !scan(value as Filter, metadata);
    const conditions = typeof value === 'object' ? Object.entries(value as object) : [['$eq', value]];
    return conditions.every(([name, operand]) => holds(key, name as string, operand, metadata[key]));
  });
}

/** Returns the order of a value and an operand; null for values of different types. */
function orderOf(field: string, actual: IndexValue | undefined, operand: unknown): number | null {
  const isDate = typeof operand === 'object' || (field === 'published' && typeof operand === 'string');
  if (isDate) {
    const text = typeof operand === 'string' ? operand : (operand as { $date: string }).$date;
    const instant = typeof actual === 'string' ? parseInstant(actual) : null;
    return instant === null ? null : compareInstants(instant, parseInstant(text)!);
  }
  if (typeof actual !== typeof operand) return null;
  if (typeof actual === 'string') return Buffer.compare(Buffer.from(actual), Buffer.from(operand as string));
  return Number(actual) < Number(operand) ? -1 : Number(actual) > Number(operand) ? 1 : 0;
}

/** Distance in meters by the haversine formula, which the engine does not use. */
function haversine(one: { lat: number; lon: number }, other: { lat: number; lon: number }): number {
  const radians = (degrees: number) => (degrees * Math.PI) / 180;
  const half = (a: number, b: number) => Math.sin(radians(a - b) / 2) ** 2;
  const h =
    half(one.lat, other.lat) +
    Math.cos(radians(one.lat)) * Math.cos(radians(other.lat)) * half(one.lon, other.lon);
  return 2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(h)));
}

function holds(field: string, name: string, operand: unknown, actual: IndexValue | undefined): boolean {
  const order = (other: unknown) => orderOf(field, actual, other);
  const below = (value: number | null) => value !== null && value < 0;
  const above = (value: number | null) => value !== null && value > 0;
  const list = operand as unknown[];
  const point = typeof actual === 'object' ? (actual as { lat: number; lon: number }) : null;
  switch (name) {
    case '$not':
      return !Object.entries(operand as object).every(([inner, each]) => holds(field, inner, each, actual));
    case '$exists':
      return (actual !== undefined) === operand;
    case '$eq':
      return order(operand) === 0;
    case '$ne':
      return order(operand) !== 0;
    case '$gt':
      return above(order(operand));
    case '$gte':
      return above(order(operand)) || order(operand) === 0;
    case '$lt':
      return below(order(operand));
    case '$lte':
      return below(order(operand)) || order(operand) === 0;
    case '$in':
      return list.some((each) => order(each) === 0);
    case '$nin':
      return !list.some((each) => order(each) === 0);
    case '$between':
      return [0, 1].every((i) => [0, i === 0 ? 1 : -1].includes(Math.sign(order(list[i]) ?? Number.NaN)));
    case '$geo_radius': {
      const { meters, ...center } = operand as { lat: number; lon: number; meters: number };
      return point !== null && haversine(point, center) <= meters;
    }
    case '$geo_box': {
      const { south, west, north, east } = operand as Record<string, number>;
      if (point === null || point.lat < south! || point.lat > north!) return false;
      const isEast = point.lon >= west!;
      const isWest = point.lon <= east!;
      return west! <= east! ? isEast && isWest : isEast || isWest;
    }
    default:
      throw new Error(`no plain evaluation of ${name}`);
  }
}

/** Random documents and filters over all types of values. */
class Samples {
  readonly #random: () => number;

  constructor(random: () => number) {
    this.#random = random;
  }

  among<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.#random() * choices.length)]!;
  }

  document(): Metadata {
    const entries: [string, IndexValue][] = [];
    for (const field of ['year', 'published', 'mixed'])
      if (this.#random() < 0.8) entries.push([field, this.#value(field)]);
    if (this.#random() < 0.7) entries.push(['place', this.#point()]);
    return Object.fromEntries(entries);
  }

  filter(depth: number): Filter {
    const choice = depth === 0 ? 1 : this.#random();
    if (choice < 0.3)
      return { [this.among(['$and', '$or'])]: [this.filter(depth - 1), this.filter(depth - 1)] };
    if (choice < 0.5) return { $not: this.filter(depth - 1) };
    const field = this.among(['year', 'published', 'mixed', 'place']);
    return { [field]: this.#condition(field) };
  }

  #value(field: string): IndexValue {
    const kind = field === 'mixed' ? this.among(['year', 'published', 'text', 'flag', 'place']) : field;
    if (kind === 'year') return this.among(numbers);
    if (kind === 'published') return this.among([...dates, ...others]);
    if (kind === 'text') return this.among(texts);
    return kind === 'flag' ? this.#random() < 0.5 : this.#point();
  }

  #point(): { lat: number; lon: number } {
    if (this.#random() < 0.3)
      return { lat: this.among([-90, 90, 0, 52.5]), lon: this.among([-180, 180, 0, 13.4]) };
    return { lat: this.#random() * 180 - 90, lon: this.#random() * 360 - 180 };
  }

  #ordered(field: string): unknown {
    if (field === 'published') return this.among(dates);
    return this.among<unknown>([...numbers, ...texts, ...dates.map(($date) => ({ $date }))]);
  }

  #condition(field: string): Record<string, unknown> {
    const choice = this.#random();
    if (choice < 0.2) return { $not: this.#condition(field) };
    if (choice < 0.3) return { $exists: this.#random() < 0.5 };
    if (field === 'place' || choice < 0.4) {
      const [one, other] = [this.#point(), this.#point()];
      if (choice < 0.6) return { $geo_radius: { ...one, meters: this.#random() ** 2 * 2.1e7 } };
      const [south, north] = [one.lat, other.lat].sort((a, b) => a - b);
      return { $geo_box: { south, north, west: one.lon, east: other.lon } };
    }
    if (choice < 0.6) {
      const list = Array.from({ length: Math.floor(this.#random() * 4) }, () => this.#ordered(field));
      if (field === 'mixed') list.push(this.#random() < 0.5);
      return { [this.among(['$in', '$nin'])]: list };
    }
    const low = this.#ordered(field);
    if (choice < 0.7) {
      const other = this.#ordered(field);
      const high = typeof other === typeof low ? other : low;
      if (choice < 0.65) return { $between: [low, high] };
      return { [this.among(['$gt', '$gte'])]: low, [this.among(['$lt', '$lte'])]: high };
    }
    if (choice < 0.75 && field === 'mixed') return { [this.among(['$eq', '$ne'])]: this.#random() < 0.5 };
    return { [this.among(['$eq', '$ne', '$gt', '$gte', '$lt', '$lte'])]: low };
  }
}

t.test('comparisons by type equal a plain scan, in search and for one document', async (t) => {
  const random = seededRandom(27);
  const samples = new Samples(random);
  const documents = Array.from({ length: 200 }, () => samples.document());
  const index = await openMetadataIndex(t, documents, random);
  let matching = 0;
  for (let round = 0; round < 3_000; round += 1) {
    const filter = samples.filter(3);
    const expected = documents.flatMap((metadata, i) => (scan(filter, metadata) ? [i] : []));
    const node = parseFilter(filter, schema)!;
    const found = [...(await index.list(node, 300))].sort((a, b) => a - b);
    const matched = documents.flatMap((metadata, i) => (matchesFilter(node, metadata) ? [i] : []));
    matching += expected.length;
    if (found.join() === expected.join() && matched.join() === expected.join()) continue;
    t.same({ found, matched }, { found: expected, matched: expected }, JSON.stringify(filter));
    break;
  }
  t.ok(matching > 120_000 && matching < 480_000, `the filters distinguish documents: ${matching}`);
  await index.close();
});

t.test('strings keep their order and never equal another type', async (t) => {
  const documents: Metadata[] = [{ a: '10' }, { a: 10 }, { a: '' }, { a: '\u{10ffff}' }, { a: true }, {}];
  const index = await openMetadataIndex(t, documents, seededRandom(1));
  const found = async (filter: Filter) => [...(await index.list(parseFilter(filter), 10))].sort();
  t.same(await found({ a: { $gte: '' } }), [0, 2, 3], 'all strings');
  t.same(await found({ a: { $gt: '10' } }), [3], 'a range of strings has no number');
  t.same(await found({ a: { $lte: 10 } }), [1], 'a range of numbers has no string');
  t.same(await found({ a: { $prefix: '\u{10ffff}' } }), [3], 'a prefix without an end');
  t.same(await found({ a: 10 }), [1]);
  t.same(await found({ a: '10' }), [0]);
  t.same(await found({ a: { $ne: 10 } }), [0, 2, 3, 4, 5], '$ne matches other types and missing values');
  t.same(await found({ a: { $not: { $gt: 5 } } }), [0, 2, 3, 4, 5]);
  t.same(await found({ a: { $exists: true } }), [0, 1, 2, 3, 4]);
  await index.close();
});

t.test('RFC 3339 dates and texts that are almost dates', async (t) => {
  for (const text of dates) t.ok(parseInstant(text), text);
  for (const text of others) t.equal(parseInstant(text), null, text);
  t.same(parseInstant('1970-01-01T01:00:00.25+01:00'), { seconds: 0, nanoseconds: 250_000_000 });
});
