import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

interface Range {
  readonly start: number;
  readonly end: number;
}

const { excerptRange } = await importWebModule<{
  excerptRange: (
    text: string,
    syntax: 'markdown' | 'prose' | null,
    options: { readonly focus: number; readonly linesMax: number; readonly lineUnits: number },
  ) => Range;
}>('pages/excerpt-range.ts');

const size = { linesMax: 4, lineUnits: 40 };
const shownPart = (text: string, syntax: 'markdown' | 'prose' | null, focus: number) => {
  const { start, end } = excerptRange(text, syntax, { ...size, focus });
  return text.slice(start, end);
};

t.test('a short text is shown whole', async (t) => {
  for (const text of ['', 'Refunds.', '# Refunds\n\nFast.\n\n- one\n- two'])
    t.equal(shownPart(text, 'markdown', 0), text);
});

t.test('a long text starts at most two lines before its best sentence and ends at a word', async (t) => {
  const lines = Array.from({ length: 20 }, (_, i) => `Paragraph number ${i} has some words.`);
  const text = lines.join('\n\n');
  const shown = shownPart(text, 'markdown', text.indexOf('Paragraph number 9'));
  t.equal(shown, lines.slice(7, 11).join('\n\n'));
  const word = 'slate '.repeat(200).trim();
  const [focus, part] = [600, shownPart(word, 'prose', 600)];
  t.match(part, /^(slate )+slate$/, 'only whole words');
  t.ok(part.length <= 160 && excerptRange(word, 'prose', { ...size, focus }).start <= focus);
});

t.test('rows of a table and lines of code are lines, and the end of the text is reached', async (t) => {
  const table = ['| a | b |', '|---|---|', ...Array.from({ length: 12 }, (_, i) => `| row ${i} | x |`)].join(
    '\n',
  );
  t.equal(shownPart(table, 'markdown', table.indexOf('row 5')).split('\n').length, 4);
  const log = Array.from({ length: 12 }, (_, i) => `line ${i}`).join('\n');
  t.equal(shownPart(log, null, log.indexOf('line 11')), 'line 9\nline 10\nline 11');
});

t.test('a text without spaces is not cut inside a character', async (t) => {
  const text = '𠮷'.repeat(400);
  for (const focus of [0, 300, 301]) {
    const { start, end } = excerptRange(text, 'prose', { ...size, focus });
    t.ok(text.slice(start, end).isWellFormed(), `${start} to ${end}`);
    t.ok(start <= focus && end > focus, `${start} to ${end}`);
  }
});
