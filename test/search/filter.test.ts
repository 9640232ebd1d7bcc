import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { parseFilter } from '../../src/search/filter.ts';
import t from '../support/tap.ts';

const eq = (attribute: string, value: string) => ({ kind: 'compare', attribute, operator: 'eq', value });

const accepted: [string, unknown, unknown][] = [
  ['nothing matches all', undefined, null],
  ['null matches all', null, null],
  ['an empty object matches all', {}, null],
  ['a bare string means $eq', { year: '2024' }, eq('year', '2024')],
  ['one operator', { year: { $eq: '2024' } }, eq('year', '2024')],
  [
    'several operators on one attribute must all hold',
    { year: { $gte: '2020', $lt: '2024' } },
    {
      kind: 'and',
      nodes: [
        { kind: 'compare', attribute: 'year', operator: 'gte', value: '2020' },
        { kind: 'compare', attribute: 'year', operator: 'lt', value: '2024' },
      ],
    },
  ],
  [
    'several attributes must all hold',
    { a: '1', b: '2' },
    { kind: 'and', nodes: [eq('a', '1'), eq('b', '2')] },
  ],
  [
    'connectives nest',
    { $or: [{ a: '1' }, { $and: [{ b: '2' }, { c: '3' }] }] },
    { kind: 'or', nodes: [eq('a', '1'), { kind: 'and', nodes: [eq('b', '2'), eq('c', '3')] }] },
  ],
  [
    'membership of a list attribute',
    { 'list:tag': { $in: ['x', 'y'] } },
    { kind: 'member', attribute: 'list:tag', operator: 'in', values: ['x', 'y'] },
  ],
  [
    'an empty membership is a filter that nothing passes, not one that is ignored',
    { tag: { $in: [] } },
    { kind: 'member', attribute: 'tag', operator: 'in', values: [] },
  ],
];

t.test('a valid filter is passed to the shards unchanged', async (t) => {
  for (const [title, filter, expected] of accepted) t.same(parseFilter(filter), expected, title);
});

function nested(depth: number): unknown {
  let filter: unknown = { a: '1' };
  for (let i = 0; i < depth; i += 1) filter = { $and: [filter] };
  return filter;
}

const refused: [string, unknown, RegExp][] = [
  ['an array', [], /at filter: expected an object/],
  ['a string', 'year', /at filter: expected an object/],
  ['an array for a value', { year: [2024] }, /at filter\.year: expected a string, a number, a boolean or an/],
  ['null for a value', { year: null }, /at filter\.year/],
  ['null inside an operator', { year: { $gt: null } }, /at filter\.year\.\$gt: expected a string, a number/],
  ['a number without end', { year: { $gt: Number.POSITIVE_INFINITY } }, /too large for a 64-bit float/],
  ['an order of booleans', { a: { $gt: true } }, /filter\.a\.\$gt: booleans have no order/],
  ['$between with booleans', { a: { $between: [false, true] } }, /\$between\[0\]: booleans have no order/],
  [
    'a date that is none',
    { a: { $gt: { $date: '2023-02-29' } } },
    /\.\$gt\.\$date: expected an RFC 3339 date/,
  ],
  ['an object for a value', { a: { $eq: { lat: 1, lon: 2 } } }, /expected a value or \{"\$date"/],
  [
    '$geo_radius without meters',
    { a: { $geo_radius: { lat: 1, lon: 2 } } },
    /the numbers "lat", "lon", "meters"/,
  ],
  [
    'a radius below 0',
    { a: { $geo_radius: { lat: 1, lon: 2, meters: -1 } } },
    /"meters" must not be negative/,
  ],
  ['a latitude of 91', { a: { $geo_radius: { lat: 91, lon: 2, meters: 1 } } }, /latitude 91 is not between/],
  [
    'a box upside down',
    { a: { $geo_box: { south: 2, north: 1, west: 0, east: 0 } } },
    /"south" must not be greater/,
  ],
  ['an area on a list', { 'list:a': { $geo_box: {} } }, /support only .*\$in and \$nin/],
  ['$in with a number on a list', { 'list:a': { $in: [1] } }, /\$in\[0\]: expected a string/],
  ['an unknown operator', { year: { $near: 'x' } }, /unknown operator "\$near"/],
  ['an unknown connective', { $nor: [{ a: '1' }] }, /"\$nor" is not a valid key/],
  ['$not over an array', { $not: [{ a: '1' }] }, /filter\.\$not: expected an object/],
  ['$not over nothing', { $not: {} }, /an empty filter is not allowed inside \$not/],
  [
    '$not of an attribute without an operator',
    { a: { $not: {} } },
    /filter\.a\.\$not: expected at least one/,
  ],
  ['$exists with a string', { a: { $exists: 'true' } }, /filter\.a\.\$exists: expected true or false/],
  ['$prefix with a number', { a: { $prefix: 1 } }, /filter\.a\.\$prefix: expected a string/],
  ['$prefix on a list', { 'list:a': { $prefix: 'x' } }, /support only .*\$in and \$nin/],
  ['$between with one value', { a: { $between: ['1'] } }, /an array of two strings/],
  ['$between with a number', { a: { $between: ['1', 2] } }, /\$between: .* must have the same type/],
  ['$contains on a string', { a: { $contains: 'x' } }, /\$contains is for "list:" attributes/],
  ['$contains of nothing', { 'list:a': { $contains: [] } }, /at least one string/],
  ['$and over an object', { $and: { a: '1' } }, /an array with at least one filter/],
  ['$or over nothing', { $or: [] }, /an array with at least one filter/],
  ['an empty filter inside $or', { $or: [{}] }, /filter\.\$or\[0\]: an empty filter/],
  ['no operator', { year: {} }, /at least one operator/],
  ['$in with a string', { year: { $in: '2024' } }, /an array of values/],
  ['$in with an array', { year: { $in: ['1', []] } }, /filter\.year\.\$in\[1\]/],
  ['$eq on a list', { 'list:tag': { $eq: 'x' } }, /support only .*\$in and \$nin/],
  ['a bare string on a list', { 'list:tag': 'x' }, /support only .*\$in and \$nin/],
  ['a name with a dot', { 'a.b': '1' }, /attribute names may contain only letters/],
  ['an empty name', { '': '1' }, /attribute names may contain only letters/],
  ['half a surrogate pair', { year: '\ud800' }, /filter\.year: .*lone surrogate/],
  [
    'half a pair in a membership',
    { year: { $nin: ['\udc00'] } },
    /filter\.year\.\$nin\[0\]: .*lone surrogate/,
  ],
  ['10,000 levels', nested(10_000), /more than \d+ levels deep/],
  [
    'too many conditions',
    { $or: Array.from({ length: limits.filterNodesMax + 1 }, () => ({ a: '1' })) },
    /more than 4096 conditions/,
  ],
];

t.test('dates are written with $date, or as the schema of the collection declares', async (t) => {
  const value = { seconds: 0, nanoseconds: 0 };
  const expected = { kind: 'compare', attribute: 'published', operator: 'gte', value };
  const schema = { published: 'date', constructor: 'number' } as const;
  t.same(parseFilter({ published: { $gte: { $date: '1970-01-01' } } }), expected);
  t.same(parseFilter({ published: { $gte: '1970-01-01T01:00:00+01:00' } }, schema), expected);
  t.same(parseFilter({ other: '1970-01-01' }, schema), eq('other', '1970-01-01'), 'another field');
  t.same(parseFilter({ toString: 'x' }, schema), eq('toString', 'x'));
  t.throws(() => parseFilter({ published: 'yesterday' }, schema), {
    message: /at filter\.published: expected an RFC 3339 date/,
  });
});

t.test('an invalid filter is rejected with the position of the error', async (t) => {
  for (const [title, filter, message] of refused) {
    t.throws(() => parseFilter(filter), { code: 'bad_request', message }, title);
    t.throws(() => parseFilter(filter), AppError, title);
  }
});
