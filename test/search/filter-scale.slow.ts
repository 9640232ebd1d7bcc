import type { FilterNode } from '../../src/index/collection-index.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { matchesFilter } from '../../src/search/filter-match.ts';
import { seededRandom } from '../index/samples.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { openMetadataIndex } from './metadata-index.ts';

/**
 * Filters on many documents equal a plain scan; prints the processor time of ranges of each type. The published figures
 * are those of `DOCUMENTS=100000`.
 */

t.setTimeout(testFileMsMax);

const count = Number(process.env.DOCUMENTS ?? 20_000);
const random = seededRandom(100);
const rounds = 40;
const years = 100;

const documents = Array.from({ length: count }, () => {
  const value = random();
  const year = Math.floor(random() * years);
  const seconds = Math.floor(value * 1e9);
  return {
    number: value,
    text: value.toFixed(17),
    date: new Date(seconds * 1_000).toISOString(),
    year: 1926 + year,
    yearText: String(1926 + year),
    place: { lat: random() * 180 - 90, lon: random() * 360 - 180 },
  };
});

/** Ranges of all types that match the share of documents from a start. */
function rangesOf(share: number, start: number): Record<string, object> {
  const [low, high] = [start, start + share];
  const day = (value: number) => new Date(Math.floor(value * 1e9) * 1_000).toISOString();
  const [first, last] = [Math.floor(1926 + low * years), Math.floor(1926 + high * years)];
  return {
    'number, distinct': { number: { $gte: low, $lt: high } },
    'string, distinct': { text: { $gte: low.toFixed(17), $lt: high.toFixed(17) } },
    'date, distinct': { date: { $gte: { $date: day(low) }, $lt: { $date: day(high) } } },
    'number, 100 values': { year: { $gte: first, $lt: last } },
    'string, 100 values': { yearText: { $gte: String(first), $lt: String(last) } },
    'point in a box': {
      place: { $geo_box: { south: low * 180 - 90, north: high * 180 - 90, west: -180, east: 180 } },
    },
    'point in a radius': {
      place: { $geo_radius: { lat: low * 180 - 90, lon: 0, meters: Math.sqrt(share) * 6_371_008 } },
    },
  };
}

/** So that no type always finds the caches of the processor as another one left them. */
function shuffle<T>(items: readonly T[]): T[] {
  return items
    .map((item) => ({ item, order: random() }))
    .sort((one, other) => one.order - other.order)
    .map(({ item }) => item);
}

t.test('filters equal a plain scan of 100,000 documents', async (t) => {
  const index = await openMetadataIndex(t, documents, random);
  for (const share of [0.5, 0.1, 0.01]) {
    const micros = new Map<string, number[]>();
    for (let round = 0; round < rounds; round += 1) {
      const ranges = shuffle(Object.entries(rangesOf(share, random() * (1 - share))));
      for (const [name, filter] of ranges) {
        const node = parseFilter(filter)!;
        const before = process.cpuUsage();
        index.count(node);
        const { user, system } = process.cpuUsage(before);
        micros.set(name, [...(micros.get(name) ?? []), user + system]);
        if (round < 3) t.ok(await equalsScan(node), `${name}, ${share}: ${JSON.stringify(filter)}`);
      }
    }
    for (const [name, times] of micros) {
      const median = times.sort((one, other) => one - other)[rounds / 2]!;
      t.comment(`${share * 100} % of ${count} documents, ${name}: ${median} µs (median of ${rounds})`);
    }
  }
  await index.close();

  async function equalsScan(node: FilterNode): Promise<boolean> {
    const found = [...(await index.list(node, count))].sort((one, other) => one - other);
    const expected = documents.flatMap((metadata, i) => (matchesFilter(node, metadata) ? [i] : []));
    return (
      expected.length > 0 && found.length === expected.length && found.every((id, i) => id === expected[i])
    );
  }
});
