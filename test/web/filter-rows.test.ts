import { parseFilter } from '../../src/search/filter.ts';
import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Row {
  readonly field: string;
  readonly operator: string;
  readonly type: string;
  readonly value: string;
}
interface Rows {
  readonly match: 'all' | 'any';
  readonly rows: readonly Row[];
}

const { toFilter, fromFilter, operatorsOf, filterOperators } = await importWebModule<{
  toFilter: (rows: Rows) => unknown;
  fromFilter: (filter: unknown) => Rows | null;
  operatorsOf: (row: { field: string; type: string }) => readonly (readonly [string, string])[];
  filterOperators: readonly (readonly [string, string])[];
}>('pages/filter-rows.ts');

const author: Row = { field: 'author', operator: '$eq', type: 'text', value: 'Ada, "L."' };
const year: Row = { field: 'year', operator: '$gte', type: 'text', value: '2024' };
const tags: Row = { field: 'list:tags', operator: '$in', type: 'text', value: 'red, dark blue' };

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
    [
      {
        match: 'all',
        rows: [
          { field: 'pages', operator: '$in', type: 'number', value: '1, -2.5' },
          { field: 'final', operator: '$ne', type: 'boolean', value: 'false' },
          { field: 'day', operator: '$lt', type: 'date', value: '2026-03-31' },
        ],
      },
      {
        $and: [
          { pages: { $in: [1, -2.5] } },
          { final: { $ne: false } },
          { day: { $lt: { $date: '2026-03-31' } } },
        ],
      },
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
  for (const [field, type, value] of [
    ['year', 'text', 'a'],
    ['list:tags', 'text', 'a'],
    ['pages', 'number', '7'],
    ['final', 'boolean', 'true'],
    ['day', 'date', '2026-03-31'],
  ] as const)
    for (const [operator] of operatorsOf({ field, type })) {
      const filter = toFilter({ match: 'all', rows: [{ field, operator, type, value }] });
      t.doesNotThrow(() => parseFilter(filter), `${field} ${operator}`);
    }
  t.equal(operatorsOf(year).length, filterOperators.length);
  const number: Row = { field: 'pages', operator: '$eq', type: 'number', value: 'seven' };
  t.throws(() => parseFilter(toFilter({ match: 'all', rows: [number] })), 'no number');
  t.equal(toFilter({ match: 'all', rows: [{ ...number, value: '' }] }), undefined, 'incomplete');
});

t.test('filters that are written by hand are read, unless the builder cannot show them', async (t) => {
  t.same(fromFilter({ author: 'Ada', year: { $gte: '2024', $lt: '2026' } })?.rows, [
    { ...author, value: 'Ada' },
    year,
    { ...year, operator: '$lt', value: '2026' },
  ]);
  for (const filter of [
    { $and: [{ $or: [{ a: 'b' }] }] },
    { $or: [{ a: 'b', c: 'd' }] },
    { $or: [{ a: 'b' }], c: 'd' },
    { a: { $in: ['b, c'] } },
    { a: { $in: [' b'] } },
    { a: { $in: ['b', 1] } },
    { a: { $in: [true] } },
    { a: { $eq: null } },
    { a: { $exists: true } },
    [],
    'a',
  ])
    t.equal(fromFilter(filter), null, JSON.stringify(filter));
});
