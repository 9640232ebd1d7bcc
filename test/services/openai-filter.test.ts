import { parseFilter } from '../../src/search/filter.ts';
import { toMetadataFilter } from '../../src/services/openai-filter.ts';
import t from '../support/tap.ts';

t.test('filters of vector stores become metadata filters', async (t) => {
  t.equal(toMetadataFilter(undefined), null);
  t.equal(toMetadataFilter(null), null);
  const filter = {
    type: 'or',
    filters: [
      { type: 'eq', key: 'author', value: 'Ada' },
      {
        type: 'and',
        filters: [
          { type: 'in', key: 'list:topics', value: ['refunds'] },
          { type: 'gte', key: 'year', value: '2024' },
        ],
      },
    ],
  };
  const converted = {
    $or: [
      { author: { $eq: 'Ada' } },
      { $and: [{ 'list:topics': { $in: ['refunds'] } }, { year: { $gte: '2024' } }] },
    ],
  };
  t.same(toMetadataFilter(filter), converted);
  t.ok(parseFilter(toMetadataFilter(filter)));
});

t.test('an invalid filter is rejected with its position', async (t) => {
  const nested = (depth: number): unknown =>
    depth === 0 ? { type: 'eq', key: 'a', value: 'b' } : { type: 'and', filters: [nested(depth - 1)] };
  const cases: [unknown, RegExp][] = [
    ['author', /at filters: expected an object/],
    [{ type: 'like', key: 'a', value: 'b' }, /at filters: "type" must be one of eq, .*or/],
    [{ type: 'and', filters: [] }, /at filters: expected a list "filters"/],
    [{ type: 'and', filters: [{ type: 'eq', value: 'b' }] }, /at filters\.filters\[0\]: "key" must be/],
    [{ type: 'eq', key: '$or', value: [] }, /"key" must be/],
    [nested(65), /nested more than 64 levels/],
  ];
  for (const [filter, message] of cases)
    t.throws(() => toMetadataFilter(filter), { status: 400, message }, JSON.stringify(filter).slice(0, 60));
});
