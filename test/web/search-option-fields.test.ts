import { parseFacets } from '../../src/search/facets.ts';
import { parseFilter } from '../../src/search/filter.ts';
import { parseOrder } from '../../src/search/order-request.ts';
import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

type Fields = Parameters<typeof parseOrder>[0] & { readonly facets?: Parameters<typeof parseFacets>[0] };

const { toOptionFields, findOptionsError, rangesOf, rangeConditions, valueConditions, ...filters } =
  await importWebModule<{
    toOptionFields: (kind: string, options: object) => Fields;
    findOptionsError: (options: { facets: string }) => string | null;
    rangesOf: (facets: Fields['facets'], field: string) => readonly object[];
    rangeConditions: (field: string, range: object) => readonly object[];
    valueConditions: (field: string, value: unknown) => readonly object[];
    hasConditions: (filter: unknown, conditions: readonly object[]) => boolean;
    toggleConditions: (filter: unknown, conditions: readonly object[]) => unknown;
  }>('pages/search-option-fields.ts');
const { defaultOptions } = await importWebModule<{ defaultOptions: object }>('pages/search-settings.ts');

t.test('options become fields that the server accepts', async (t) => {
  t.same(toOptionFields('snippets', defaultOptions), {});
  const options = {
    ...defaultOptions,
    sort: [
      { field: 'year', isDescending: true },
      { field: 'author', isDescending: false },
    ],
    boostField: 'published',
    boostWeight: 0.3,
    facets: 'author, list:tags',
    groupField: 'team',
    diversity: 0.5,
    hasHighlights: true,
    similarTo: { path: 'a.md', start: 0 },
  };
  const fields = toOptionFields('pages', options);
  t.same(fields, {
    similar_to: { path: 'a.md', start_index: 0 },
    sort: [{ field: 'year', order: 'desc' }, { field: 'author' }],
    boost: { field: 'published', half_life: '30d', weight: 0.3 },
    facets: ['author', 'list:tags'],
    group_by: { field: 'team' },
    highlights: true,
  });
  t.doesNotThrow(() => parseOrder(fields, undefined, 0));
  t.doesNotThrow(() => parseFacets(fields.facets));
  t.same(toOptionFields('documents', { ...options, groupField: '', sort: [], boostField: '', facets: '' }), {
    similar_to: { path: 'a.md', start_index: 0 },
    diversity: 0.5,
  });
});

t.test('facets may be JSON, and a value or a range of them becomes a filter', async (t) => {
  const facets = '[{"year": {"ranges": [{"to": 2000}, {"from": 2000, "to": 2010}]}}]';
  const fields = toOptionFields('snippets', { ...defaultOptions, facets });
  t.doesNotThrow(() => parseFacets(fields.facets));
  t.equal(findOptionsError({ facets }), null);
  t.match(findOptionsError({ facets: '[{"year"' }), 'not valid JSON');
  const range = rangeConditions('year', rangesOf(fields.facets, 'year')[1] ?? {});
  const first = filters.toggleConditions(null, valueConditions('list:tags', 'red'));
  t.same(first, { 'list:tags': { $in: ['red'] } });
  const both = filters.toggleConditions(first, range);
  t.same(both, { $and: [first, { year: { $gte: 2000 } }, { year: { $lt: 2010 } }] });
  t.doesNotThrow(() => parseFilter(both));
  t.ok(filters.hasConditions(both, range));
  t.notOk(filters.hasConditions(first, range));
  t.same(filters.toggleConditions(both, range), first);
  t.equal(filters.toggleConditions(first, valueConditions('list:tags', 'red')), null);
  const either = { $or: [{ a: '1' }, { b: '2' }] };
  t.same(
    filters.toggleConditions(either, range),
    { $and: [either, ...range] },
    'a filter of another form stays',
  );
});
