import { encodeAttributes, encodeFilter, type FilterNode } from '../../src/index/encoding.ts';
import t from '../support/tap.ts';

t.test('attributes are encoded as names, counts and values, as native/engine/attributes.h documents', (t) => {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    return [bytes.length, 0, 0, 0, ...bytes];
  };
  t.same(
    [...encodeAttributes({ a: 'é', 'list:b': ['x', ''] })],
    [
      2,
      0,
      0,
      0,
      ...text('a'),
      1,
      0,
      0,
      0,
      ...text('é'),
      ...text('list:b'),
      2,
      0,
      0,
      0,
      ...text('x'),
      ...text(''),
    ],
  );
  t.same([...encodeAttributes({})], [0, 0, 0, 0]);
  const long = 'ü'.repeat(10_000);
  t.equal(encodeAttributes({ long }).length, 4 + 4 + 4 + 4 + 4 + 20_000);
  t.end();
});

t.test('a logical node with many operands becomes a chain of pairs in postfix order', (t) => {
  const node = (value: string) => ({ kind: 'compare', attribute: 'a', operator: 'eq', value }) as const;
  const step = (value: string) => [2, 1, 0, 0, 0, 97, 1, 0, 0, 0, 1, 0, 0, 0, value.charCodeAt(0)];
  t.same(
    [...encodeFilter({ kind: 'or', nodes: [node('x'), node('y'), node('z')] })],
    [...step('x'), ...step('y'), 1, 2, 0, 0, 0, ...step('z'), 1, 2, 0, 0, 0],
  );
  t.same([...encodeFilter({ kind: 'and', nodes: [] })], [0, 0, 0, 0, 0]);
  t.same([...encodeFilter({ kind: 'and', nodes: [node('x')] })], step('x'));
  t.end();
});

t.test('a lower and an upper bound of one attribute become one range', (t) => {
  const compare = (operator: 'gt' | 'gte' | 'lt' | 'lte' | 'ne', value: string | number, attribute = 'a') =>
    ({ kind: 'compare', attribute, operator, value }) as const;
  const encode = (nodes: FilterNode[], kind: 'and' | 'or' = 'and') => [...encodeFilter({ kind, nodes })];
  const text = (value: string) => [1, 0, 0, 0, value.charCodeAt(0)];
  const range = (code: number) => [code, ...text('a'), 2, 0, 0, 0, ...text('x'), ...text('y')];
  t.same(encode([compare('gt', 'x'), compare('lt', 'y')]), range(18));
  t.same(encode([compare('gt', 'x'), compare('lte', 'y')]), range(19));
  t.same(encode([compare('lt', 'y'), compare('gte', 'x')]), range(20));
  t.same(encode([compare('gte', 'x'), compare('lte', 'y')]), range(21));
  const other = compare('ne', 'z');
  const step = encode([other]);
  t.same(encode([compare('gte', 'x'), other, compare('lte', 'y')]), [...range(21), ...step, 0, 2, 0, 0, 0]);
  const isMerged = (nodes: FilterNode[], kind?: 'and' | 'or') => encode(nodes, kind)[0]! >= 18;
  t.notOk(isMerged([compare('gte', 'x'), compare('lte', 'y')], 'or'), 'the bounds of an alternative');
  t.notOk(isMerged([compare('gte', 'x'), compare('gt', 'y')]), 'two lower bounds');
  t.notOk(isMerged([compare('gte', 'x'), compare('lte', 'y', 'b')]), 'two attributes');
  t.notOk(isMerged([compare('gte', 'x'), compare('lte', 1)]), 'two types');
  t.end();
});
