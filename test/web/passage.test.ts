import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Passage {
  readonly page: number | null;
  readonly start: number;
  readonly end: number;
  readonly cited?: { readonly start: number; readonly end: number };
  readonly rectangles?: readonly {
    readonly page: number;
    readonly rectangles: readonly Readonly<Record<'left' | 'top' | 'width' | 'height', number>>[];
  }[];
}

t.test('a passage in the URL is found on its page', async (t) => {
  const { toPassageFragment, parsePassageFragment, locatePassage } = await importWebModule<{
    toPassageFragment: (passage: Passage) => string;
    parsePassageFragment: (fragment: string) => Passage | null;
    locatePassage: (passage: Passage, page: object) => unknown;
  }>('pages/passage.ts');
  for (const passage of [
    { page: null, start: 0, end: 7 },
    { page: 4, start: 12, end: 80 },
    { page: null, start: 12, end: 80, cited: { start: 12, end: 300 } },
  ])
    t.same(parsePassageFragment(toPassageFragment(passage)), passage);
  t.equal(toPassageFragment({ page: 4, start: 12, end: 80 }), '#page=5&start=12&end=80');
  t.same(
    parsePassageFragment('#start=12&end=80&from=20&to=300'),
    { page: null, start: 12, end: 80 },
    'a larger range that does not contain the passage is ignored',
  );
  for (const invalid of [
    '',
    '#q=x',
    '#start=5',
    '#start=5&end=5',
    '#start=-1&end=5',
    '#page=0&start=1&end=2',
  ])
    t.equal(parsePassageFragment(invalid), null, invalid);

  const page = { page_index: 2, start_index: 100, content: '🌍 ab' };
  const at = (start: number, end: number) => locatePassage({ page: null, start, end }, page);
  t.same(at(102, 103), { start: 3, end: 4 }, 'offsets are code points');
  t.same(at(90, 101), { start: 0, end: 2 }, 'a passage that starts on the page before');
  t.equal(at(90, 100), null);
  t.equal(at(104, 110), 'after');
  t.same(locatePassage({ page: 2, start: 0, end: 1 }, page), { start: 0, end: 2 });
  t.equal(locatePassage({ page: 1, start: 0, end: 1 }, page), null);
  t.equal(locatePassage({ page: null, start: 0, end: 1 }, { ...page, start_index: null }), null);
});

t.test('the lines of a passage are in the URL, up to a maximum', async (t) => {
  const { toPassageFragment, parsePassageFragment } = await importWebModule<{
    toPassageFragment: (passage: Passage) => string;
    parsePassageFragment: (fragment: string) => Passage | null;
  }>('pages/passage.ts');
  const line = { left: 0.117, top: 0.0932, width: 0.4613, height: 0.0144 };
  const passage: Passage = {
    page: null,
    start: 3,
    end: 90,
    rectangles: [
      { page: 2, rectangles: [line, { ...line, top: 0.2 }] },
      { page: 3, rectangles: [{ left: 0, top: 0, width: 1, height: 0.5 }] },
    ],
  };
  const fragment = toPassageFragment(passage);
  t.equal(fragment, '#start=3&end=90&boxes=3:1170,932,4613,144,1170,2000,4613,144;4:0,0,10000,5000');
  t.same(parsePassageFragment(fragment), passage);
  const plain = { page: null, start: 3, end: 90 };
  for (const boxes of ['', '3', '3:', '0:1,1,1,1', '3:1,-1,1,1', '3:1,1,1,x', '3:1,2,3,4;', '123456'])
    t.same(parsePassageFragment(`#start=3&end=90&boxes=${boxes}`), plain, boxes);
  t.same(parsePassageFragment('#start=3&end=90&boxes=1:99999,0,0,0,5')?.rectangles, [
    { page: 0, rectangles: [{ left: 1, top: 0, width: 0, height: 0 }] },
  ]);
  const many = { ...plain, rectangles: [{ page: 0, rectangles: Array.from({ length: 500 }, () => line) }] };
  t.equal(parsePassageFragment(toPassageFragment(many))?.rectangles?.[0]?.rectangles.length, 200);
  t.same(
    parsePassageFragment(toPassageFragment({ ...plain, rectangles: [{ page: 0, rectangles: [] }] })),
    plain,
  );
});
