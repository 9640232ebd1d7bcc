import { splitByPageAnchors } from '../../src/parsing/page-anchors.ts';
import t from '../support/tap.ts';

const sentences = (from: number, to: number) =>
  Array.from(
    { length: to - from },
    (_, i) => `Sentence ${from + i} speaks of stone number ${(from + i) * 7}.`,
  );

t.test('text is split at the starts of the rendered pages, with heading and list markers', async (t) => {
  const text = [
    '# One',
    ...sentences(0, 20),
    '## Two',
    ...sentences(20, 40),
    '- Three',
    ...sentences(40, 50),
  ];
  const drawn = [
    ['One', ...sentences(0, 20)].join(' '),
    ['Running header 2', 'Two', ...sentences(20, 40)].join('\n'),
    ['Running header 3', 'Three', ...sentences(40, 50), 'A footnote'].join(' '),
  ];
  const pages = splitByPageAnchors(text.join('\n'), drawn);
  t.same(
    pages.map((page) => page.split('\n')[0]),
    ['# One', '## Two', '- Three'],
  );
  t.equal(pages.join('\n'), text.join('\n'), 'no text is lost or repeated');
});

t.test('a page without matching words gets as much text as it has words', async (t) => {
  const text = sentences(0, 30).join('\n');
  const drawn = [sentences(0, 10).join(' '), 'αβγ δεζ ηθι '.repeat(23), sentences(20, 30).join(' ')];
  const pages = splitByPageAnchors(text, drawn);
  t.equal(pages[2], sentences(20, 30).join('\n'));
  t.match(pages[1], /^Sentence 10 /);
});

t.test(
  'repetitive texts are split near the expected positions, and unmatched ones are not split',
  async (t) => {
    const line = 'the same words on every line of it';
    const drawn = [1, 2, 3].map(() => Array(20).fill(line).join('\n'));
    const pages = splitByPageAnchors(Array(60).fill(line).join('\n'), drawn);
    t.same(
      pages.map((page) => page.split('\n').length),
      [20, 20, 20],
    );
    t.same(splitByPageAnchors('', ['', '']), ['', '']);
    t.same(splitByPageAnchors('more text than pages', ['']), ['more text than pages']);
    t.same(splitByPageAnchors('a', ['a', 'b', 'c']), ['a', '', '']);
  },
);
