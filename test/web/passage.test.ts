import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Passage {
  readonly page: number | null;
  readonly start: number;
  readonly end: number;
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
  ])
    t.same(parsePassageFragment(toPassageFragment(passage)), passage);
  t.equal(toPassageFragment({ page: 4, start: 12, end: 80 }), '#page=5&start=12&end=80');
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
