import { encodeAttributes, encodeFilter } from '../../src/index/encoding.ts';
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
