import { findPage, splitByPage } from '../../src/search/page-lookup.ts';
import t from '../support/tap.ts';

t.test('each code point is on its page, a separator on the page before it', async (t) => {
  const starts = Uint32Array.of(0, 12, 14, 30);
  const cases: readonly (readonly [at: number, page: number])[] = [
    [0, 0],
    [11, 0],
    [12, 1],
    [13, 1],
    [14, 2],
    [29, 2],
    [30, 3],
    [999, 3],
  ];
  for (const [at, page] of cases) t.equal(findPage(starts, at), page, `${at}`);
});

t.test('an empty page has no code point, and a text without pages is page 0', async (t) => {
  t.equal(findPage(Uint32Array.of(0, 2, 2, 4), 2), 2, 'the last of the pages that start there');
  t.equal(findPage(new Uint32Array(0), 0), 0);
});

t.test('a text over several pages splits into parts that join to the text', async (t) => {
  const starts = Uint32Array.of(0, 4, 4, 9);
  const text = 'ab🐟defgh🌊xyz';
  for (let start = 0; start < 12; start += 1) {
    const pieces = splitByPage(starts, text, start);
    t.equal(pieces.map((piece) => piece.text).join(''), text);
    let at = start;
    for (const piece of pieces) {
      t.equal(piece.page, findPage(starts, at));
      at += [...piece.text].length;
      t.equal(findPage(starts, at - 1), piece.page, 'no piece extends beyond its page');
    }
  }
});
