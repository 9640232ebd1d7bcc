import type { StyledText } from '../../src/cli/colors.ts';
import { cutExcerpt, renderText } from '../../src/cli/rendered-text.ts';
import { displayWidth } from '../../src/cli/text-layout.ts';
import t from '../support/tap.ts';

const marks = {
  plain: ['', ''],
  bold: ['<b>', '</b>'],
  dim: ['<d>', '</d>'],
  code: ['`', '`'],
  match: ['[', ']'],
};

/** Shows the styles as short marks. */
function show(
  text: string,
  {
    syntax = 'markdown' as 'markdown' | 'prose' | null,
    columns = 40,
    words = [] as string[],
    hasBlankLines = false,
  } = {},
): string[] {
  const showSpan = ({ text: shown, style }: StyledText) => marks[style][0] + shown + marks[style][1];
  return renderText(text, { syntax, columns, words, hasBlankLines }).map((line) =>
    line.map(showSpan).join(''),
  );
}

t.test('headings, paragraphs and inline styles of Markdown', async (t) => {
  const text = '# Refunds of an order\n\nRefunds are **paid soon**, see `refunds.pay()`\nfor the code.';
  t.same(show(text, { words: ['refunds'] }), [
    '<b>Refunds of an order</b>',
    'Refunds are <b>paid soon</b>, see `[refunds]`'.replace('`[refunds]`', '[refunds]`.pay()`'),
    'for the code.',
  ]);
  t.same(show(text, { hasBlankLines: true }).filter((line) => line === '').length, 1);
});

t.test('lists have hanging indents', async (t) => {
  t.same(show('- one two three four five six seven eight nine\n  - nested item\n3. third', { columns: 24 }), [
    '• one two three four',
    '  five six seven eight',
    '  nine',
    '  • nested item',
    '3. third',
  ]);
});

t.test('tables are aligned, and long cells are wrapped', async (t) => {
  const table = '| Item | Price |\n|---|---|\n| A very long name of an item | 12.50 |\n| Rope | 3 |';
  t.same(show(table, { columns: 24, words: ['rope'] }), [
    '<b>Item</b>               <b>Price</b>',
    'A very long name   12.50',
    'of an item',
    'Rope               3',
  ]);
});

t.test('code keeps its line breaks and its indentation', async (t) => {
  t.same(show('```js\nif (a) {\n\treturn  b;\n}\n```'), ['`if (a) {`', '`    return  b;`', '`}`']);
  t.same(show('def f():\n    return total', { syntax: null, words: ['total'] }), [
    'def f():',
    '    return [total]',
  ]);
});

t.test('an excerpt is marked as cut and keeps the kind of its block', async (t) => {
  const excerpt = (text: string, word: string, syntax: 'markdown' | null = 'markdown') =>
    show(cutExcerpt(text, text.indexOf(word), syntax), { syntax });
  const text = [
    '# Title\n\nOne sentence. The second one.',
    '- first item\n- last item',
    '~~~sh\ncd folder\nnpm start\n~~~',
    'a | b\nc | d\ne | f',
  ].join('\n\n');
  t.equal(excerpt(text, 'The second')[0], '... The second one.');
  t.same(excerpt(text, 'last item').slice(0, 2), ['...', 'last item']);
  t.same(excerpt(text, 'start\n').slice(0, 3), ['...', '`npm start`', 'a  b']);
  t.same(excerpt(text, '| d'), ['...', 'c  d', 'e  f']);
  t.same(excerpt('let a;\nlet b;', 'b;', null), ['...', '', 'let b;']);
  t.equal(cutExcerpt(' \nfirst', 2, 'prose'), ' \nfirst', 'nothing is left out');
});

t.test('no line is wider than the terminal, and no control character is printed', async (t) => {
  const text = [
    '# \u001b[31mred \u202eabc\u202c',
    `- ${'退款'.repeat(30)} ${'x'.repeat(90)}`,
    `${'\u0007word '.repeat(30)}`,
    `| a | ${'b'.repeat(70)} |`,
    '| c | d |',
    '```',
    `  ${'y'.repeat(100)}\u009b`,
    '```',
  ].join('\n');
  for (const syntax of ['markdown', 'prose', null] as const) {
    for (const columns of [20, 40, 80]) {
      const lines = renderText(text, { syntax, columns, words: ['word'], hasBlankLines: true });
      const plain = lines.map((line) => line.map((span) => span.text).join(''));
      for (const line of plain) t.ok(displayWidth(line) <= columns, `${columns}: ${line}`);
      t.notMatch(plain.join(''), /[\p{Control}\u202a-\u202e]/u);
      t.match(plain.join('').replaceAll(' ', ''), /y{20}/, 'the text is complete');
    }
  }
});
