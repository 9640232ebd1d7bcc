import { applyMetadataPatch, areEqualMetadata } from '../../src/services/metadata-patch.ts';
import t from '../support/tap.ts';

t.test('a patch follows the examples of RFC 7396 for strings and lists', async (t) => {
  for (const [metadata, patch, expected] of [
    [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
    [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
    [{ a: 'b' }, { a: null }, {}],
    [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
    [{ 'list:a': ['b'] }, { 'list:a': ['c', 'd'] }, { 'list:a': ['c', 'd'] }],
    [{ a: 'b' }, { 'list:a': [] }, { a: 'b', 'list:a': [] }],
    [{}, { missing: null }, {}],
    [{ a: 'b' }, {}, { a: 'b' }],
  ] as const)
    t.strictSame(
      applyMetadataPatch(metadata, patch as Record<string, string>),
      expected,
      JSON.stringify(patch),
    );
});

t.test('a patch changes no prototype', async (t) => {
  const patched = applyMetadataPatch({}, JSON.parse('{"__proto__": "x"}'));
  t.strictSame(Object.keys(patched), ['__proto__']);
  t.equal(Object.getPrototypeOf(patched), Object.prototype);
});

t.test('equal metadata have the same attributes in any order', async (t) => {
  t.equal(areEqualMetadata({ a: '1', 'list:b': ['x', 'y'] }, { 'list:b': ['x', 'y'], a: '1' }), true);
  for (const other of [{ a: '2' }, { b: '1' }, {}, { a: '1', b: '' }, { a: ['1'] }])
    t.equal(areEqualMetadata({ a: '1' }, other), false, JSON.stringify(other));
  t.equal(areEqualMetadata({ 'list:b': ['x', 'y'] }, { 'list:b': ['y', 'x'] }), false);
});
