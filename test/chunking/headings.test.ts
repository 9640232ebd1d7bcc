import { findHeadings } from '../../src/chunking/headings.ts';
import t from '../support/tap.ts';

const cases: readonly { promise: string; text: string; titles: readonly string[]; markupOnly?: boolean }[] = [
  {
    promise: 'Markdown headings of all levels',
    text: '# One\ntext\n### Three ###\ntext',
    titles: ['One', 'Three'],
  },
  { promise: 'a hash without a space is not a heading', text: '#tag\n#!bin/sh\n', titles: [] },
  {
    promise: 'comments in fenced code are not headings',
    text: '```\n# comment\n```\n# Real\n',
    titles: ['Real'],
  },
  { promise: 'underlined headings', text: 'Title\n=====\n\nSub\n---\ntext', titles: ['Title', 'Sub'] },
  { promise: 'a rule under a paragraph is not a heading', text: 'line one\nline two\n---\n', titles: [] },
  {
    promise: 'numbered sections in running text',
    text: 'end of text.\n3.2 Results of the trial\nWe saw',
    titles: ['3.2 Results of the trial'],
  },
  {
    promise: 'a numbered list is not a list of headings',
    text: 'Buy this:\n1 Apples\n2 Pears\n',
    titles: [],
  },
  {
    promise: 'named sections in several languages',
    text: '\nChapter 4\ntext\n\nKapitel 5\ntext\n\n第三章 水\n文',
    titles: ['Chapter 4', 'Kapitel 5', '第三章 水'],
  },
  {
    promise: 'lines in capitals between blank lines',
    text: 'text.\n\nTERMS OF SERVICE\n\nThe service',
    titles: ['TERMS OF SERVICE'],
  },
  {
    promise: 'title-like lines between blank lines',
    text: 'text.\n\nScope of the Agreement\n\nThis',
    titles: ['Scope of the Agreement'],
  },
  { promise: 'a sentence is not a heading', text: '\nThis is Fine.\n\nNext', titles: [] },
  { promise: 'a long line is not a heading', text: `\n# ${'x'.repeat(300)}\n\n`, titles: [] },
  {
    promise: 'table rows are not headings',
    text: 'Name Of Item\n\nOther Thing\n\n',
    titles: [],
    markupOnly: true,
  },
];

for (const { promise, text, titles, markupOnly } of cases) {
  t.test(promise, async (t) => {
    t.same(
      findHeadings(text, [0], markupOnly ?? false).map((heading) => heading.title),
      titles,
    );
  });
}

t.test('a heading reports the offset of its own line', async (t) => {
  const text = 'Title\n=====\n\ntext\n## Two\n';
  for (const { position, title } of findHeadings(text, [0], false)) {
    t.ok(text.slice(position, position + 20).includes(title), title);
    t.ok(position === 0 || text[position - 1] === '\n');
  }
});

t.test('a fence left open on one page does not hide the headings of the next', async (t) => {
  const first = '```\n# no\n';
  t.same(
    findHeadings(`${first}\n\n# Yes\n`, [0, first.length + 2], false).map(({ title }) => title),
    ['Yes'],
  );
});
