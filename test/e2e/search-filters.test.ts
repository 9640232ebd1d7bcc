import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import type { DocumentMetadata } from './checked-api-client.ts';
import { books, collections, joinLibrary } from './library-fixture.ts';

/** Filters on metadata, compared with a reference implementation. */

t.setTimeout(testFileMsMax);
const api = await joinLibrary();

/** Reference implementation of filters, as simple as possible. */
function matchesFilter(filter: unknown, metadata: DocumentMetadata): boolean {
  if (filter === null) return true;
  return Object.entries(filter as object).every(([key, condition]) => {
    if (key === '$and') return (condition as unknown[]).every((each) => matchesFilter(each, metadata));
    if (key === '$or') return (condition as unknown[]).some((each) => matchesFilter(each, metadata));
    const operators = typeof condition === 'string' ? { $eq: condition } : (condition as object);
    return Object.entries(operators).every(([name, operand]) =>
      holds(metadata[key] as string | readonly string[] | undefined, name, operand),
    );
  });
}

function holds(value: string | readonly string[] | undefined, name: string, operand: unknown): boolean {
  if (value === undefined) return name === '$ne' || name === '$nin';
  if (name === '$in') return [value].flat().some((each) => (operand as string[]).includes(each));
  if (name === '$nin') return ![value].flat().some((each) => (operand as string[]).includes(each));
  const order = Buffer.compare(Buffer.from(value as string), Buffer.from(operand as string));
  const truth: Record<string, boolean> = {
    $eq: order === 0,
    $ne: order !== 0,
    $gt: order > 0,
    $gte: order >= 0,
    $lt: order < 0,
    $lte: order <= 0,
  };
  return truth[name]!;
}

const filters: readonly unknown[] = [
  null,
  {},
  { color: 'red' },
  { color: { $eq: 'red' } },
  { color: { $ne: 'red' } },
  { color: 'purple' },
  { color: { $ne: 'purple' } },
  { year: { $gt: '1999' } },
  { year: { $gte: '2010', $lt: '2025' } },
  { year: { $lte: '2010' } },
  { year: { $lt: '' } },
  { year: { $gt: 'a' } },
  { color: { $in: ['red', 'blue'] } },
  { color: { $in: [] } },
  { color: { $nin: [] } },
  { color: { $nin: ['red', 'blue'] } },
  { 'list:tags': { $in: ['t1'] } },
  { 'list:tags': { $in: ['u3', 'u5', 'nothing'] } },
  { 'list:tags': { $nin: ['t1', 'u0'] } },
  { 'list:tags': { $in: [] } },
  { 'list:tags': { $nin: [] } },
  { 'list:missing': { $in: ['x'] } },
  { 'list:missing': { $nin: ['x'] } },
  { missing: { $ne: 'x' } },
  { missing: { $gte: '' } },
  { color: 'green', year: { $ne: '2024' } },
  { $or: [{ color: 'red' }, { 'list:tags': { $in: ['u2'] } }] },
  { $and: [{ $or: [{ color: 'red' }, { color: 'blue' }] }, { year: { $gte: '2010' } }] },
  {
    $or: [
      { $and: [{ color: 'red' }, { year: '2024' }] },
      { $and: [{ color: { $ne: 'red' } }, { year: '1999' }] },
    ],
  },
  { $and: [{ color: { $nin: ['red'] } }], year: { $in: ['1999', '2025'] } },
];

await t.test('a filter passes exactly the matching documents, in lists and in searches', async (t) => {
  for (const filter of filters) {
    const expected = books
      .filter(({ metadata }) => matchesFilter(filter, metadata))
      .map(({ path }) => path)
      .sort();
    for (const collection_name of Object.values(collections)) {
      const name = `${JSON.stringify(filter)} in ${collection_name}`;
      t.same((await api.find(collection_name, null, { filter, k: 2048 })).sort(), expected, `listed ${name}`);
      t.same(
        (await api.find(collection_name, 'archive', { filter, k: 2048 })).sort(),
        expected,
        `searched ${name}`,
      );
    }
  }
});
