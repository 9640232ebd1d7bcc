import { parseFilter } from '../../src/search/filter.ts';
import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Row {
  readonly field: string;
  readonly operator: string;
  readonly value: string;
}
interface Rows {
  readonly match: 'all' | 'any';
  readonly rows: readonly Row[];
}

const { toFilter, fromFilter, operatorsOf, filterOperators } = await importWebModule<{
  toFilter: (rows: Rows) => unknown;
  fromFilter: (filter: unknown) => Rows | null;
  operatorsOf: (field: string) => readonly (readonly [string, string])[];
  filterOperators: readonly (readonly [string, string])[];
}>('pages/filter-rows.ts');

const author: Row = { field: 'author', operator: '$eq', value: 'Ada, "L."' };
const year: Row = { field: 'year', operator: '$gte', value: '2024' };
const tags: Row = { field: 'list:tags', operator: '$in', value: 'red, dark blue' };

t.test('conditions become the filter of the API and back', async (t) => {
  for (const [rows, filter] of [
    [{ match: 'all', rows: [] }, undefined],
    [{ match: 'all', rows: [author] }, { author: { $eq: 'Ada, "L."' } }],
    [
      { match: 'all', rows: [author, year] },
      { $and: [{ author: { $eq: 'Ada, "L."' } }, { year: { $gte: '2024' } }] },
    ],
    [
      { match: 'any', rows: [year, tags] },
      { $or: [{ year: { $gte: '2024' } }, { 'list:tags': { $in: ['red', 'dark blue'] } }] },
    ],
  ] as const) {
    t.same(toFilter(rows), filter);
    t.same(fromFilter(filter), rows);
    t.doesNotThrow(() => parseFilter(filter), 'the server accepts it');
  }
  t.same(toFilter({ match: 'any', rows: [{ ...year, field: ' ' }, author] }), {
    author: { $eq: 'Ada, "L."' },
  });
});

t.test('the server accepts every operator of the builder', async (t) => {
  for (const field of ['year', 'list:tags'])
    for (const [operator] of operatorsOf(field)) {
      const filter = toFilter({ match: 'all', rows: [{ field, operator, value: 'a' }] });
      t.doesNotThrow(() => parseFilter(filter), `${field} ${operator}`);
    }
  t.equal(operatorsOf('year').length, filterOperators.length);
});

t.test('filters that are written by hand are read, unless the builder cannot show them', async (t) => {
  t.same(fromFilter({ author: 'Ada', year: { $gte: '2024', $lt: '2026' } })?.rows, [
    { field: 'author', operator: '$eq', value: 'Ada' },
    year,
    { field: 'year', operator: '$lt', value: '2026' },
  ]);
  for (const filter of [
    { $and: [{ $or: [{ a: 'b' }] }] },
    { $or: [{ a: 'b', c: 'd' }] },
    { $or: [{ a: 'b' }], c: 'd' },
    { a: { $in: ['b, c'] } },
    { a: { $in: [' b'] } },
    { a: { $eq: 1 } },
    { a: { $exists: true } },
    { a: 1 },
    [],
    'a',
  ])
    t.equal(fromFilter(filter), null, JSON.stringify(filter));
});
