import { buildChunkPrefix, getDocumentName, HeadingPath } from '../../src/chunking/prefix.ts';
import { limits } from '../../src/core/limits.ts';
import t from '../support/tap.ts';

t.test('the name of a document is its title, else the last part of its path', async (t) => {
  t.equal(getDocumentName('  Annual \n Report ', 'a/b.pdf'), 'Annual Report');
  t.equal(getDocumentName(null, 'a/b/report.pdf'), 'report.pdf');
  t.equal(getDocumentName(' ', 'C:\\files\\x.doc'), 'x.doc');
  t.equal(getDocumentName(null, 'folder/'), 'folder');
  t.equal(getDocumentName(null, '/'), '/');
});

t.test('the heading path ends at the innermost open heading', async (t) => {
  const path = new HeadingPath([
    { position: 0, rank: 10, title: 'A' },
    { position: 10, rank: 20, title: 'A.1' },
    { position: 20, rank: 30, title: 'A.1.a' },
    { position: 30, rank: 20, title: 'A.2' },
    { position: 40, rank: 10, title: 'B' },
  ]);
  t.same(path.titlesAt(5, 0), ['A']);
  t.same(path.titlesAt(20, 0), ['A', 'A.1', 'A.1.a']);
  t.same(path.titlesAt(35, 0), ['A', 'A.2']);
  t.same(path.titlesAt(35, 30), ['A.2'], 'headings of an earlier unordered page do not count');
  t.same(path.titlesAt(50, 0), ['B']);
});

t.test('the prefix keeps the name and the innermost headings, and never exceeds its limit', async (t) => {
  t.equal(buildChunkPrefix('Guide', ['Guide', 'Setup']), 'Guide > Setup');
  t.equal(buildChunkPrefix('Guide', []), 'Guide');
  const long = buildChunkPrefix('Guide', ['x'.repeat(150), 'y'.repeat(60)]);
  t.equal(long, `Guide > ${'y'.repeat(60)}`);
  const both = buildChunkPrefix('n'.repeat(500), ['h'.repeat(500)]);
  t.ok(both.length <= limits.chunkPrefixUnitsMax && both.includes('n > h'));
});

t.test('the prefix never ends inside a character', async (t) => {
  for (let shift = 0; shift < 12; shift += 1) {
    const prefix = buildChunkPrefix(`${'a'.repeat(shift)}${'👩‍👩‍👧‍👦'.repeat(40)}`, []);
    t.ok(prefix.length <= limits.chunkPrefixUnitsMax);
    t.match(prefix, /👦$/u);
  }
});
