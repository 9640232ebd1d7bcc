import {
  type DisplayBlock,
  type DisplayLine,
  parseTextBlocks,
  type TextRange,
} from '../../src/core/text-blocks.ts';
import t from '../support/tap.ts';

/** Structure of the text of a page, and passages in it. */

/** Shows blocks as short texts: lines are separated by "/". */
function show(text: string, syntax: 'markdown' | 'prose' = 'prose'): unknown[] {
  return parseTextBlocks(text, syntax).map((block) => showBlock(text, block));
}

function showBlock(text: string, block: DisplayBlock): unknown {
  const slice = ({ start, end, separator = '' }: TextRange & { readonly separator?: string }) =>
    separator + text.slice(start, end);
  const lines = (all: readonly DisplayLine[]) => all.map((line) => line.map(slice).join('')).join('/');
  switch (block.kind) {
    case 'heading':
      return `heading${block.level} ${lines(block.lines)}`;
    case 'paragraph':
      return lines(block.lines);
    case 'list':
      return block.items.map((item) => [item.depth, slice(item.marker), lines(item.lines)]);
    case 'table':
      return { hasHeader: block.hasHeader, rows: block.rows.map((cells) => cells.map(slice)) };
    case 'code':
      return `code ${slice(block.range)}`;
  }
}

t.test('line breaks of a printed page are joined, others are kept', async (t) => {
  const printed = [
    'The supplier repays the price of a product that a customer returns',
    'within fourteen days after it arrived. The customer pays the postage',
    'of the return, unless the product is',
    'damaged.',
    'A second paragraph starts after a short line and continues on the next',
    'line.',
  ].join('\n');
  t.same(show(printed), [
    'The supplier repays the price of a product that a customer returns within fourteen days after it arrived. The customer pays the postage of the return, unless the product is damaged./A second paragraph starts after a short line and continues on the next line.',
  ]);
  const letter = 'Quarry GmbH\nMusterstraße 1\n12345 Berlin\n\nDear Ada,';
  t.same(show(letter), ['Quarry GmbH/Musterstraße 1/12345 Berlin', 'Dear Ada,']);
  const aligned = 'Item                      Price    Count\nA long name of a product  12.50    3';
  t.same(show(aligned), [aligned.replace('\n', '/')]);
  const chinese = `${'上海的地铁系统每天运送超过一千万名乘客，是世界上最繁忙的地铁之一。'.repeat(2)}\n第二行`;
  t.same(show(chinese), [chinese.replace('\n', '')], 'without a space');
});

t.test('Markdown becomes headings, lists, tables and code', async (t) => {
  const text = [
    '---\ntitle: x\n---',
    '# Title',
    'One\nline.',
    '## Steps #1',
    '- first\n  continued\n  1. nested\n- second',
    '',
    '| Name | Price |\n|---|--:|\n| A | 1 |\n| B |  |',
    '```sh\nls | wc\n# no heading\n```',
    'Ends.',
  ].join('\n');
  t.same(show(text, 'markdown'), [
    'code title: x',
    'heading1 Title',
    'One line.',
    'heading2 Steps #1',
    [
      [0, '-', 'first continued'],
      [1, '1.', 'nested'],
      [0, '-', 'second'],
    ],
    {
      hasHeader: true,
      rows: [
        ['Name', 'Price'],
        ['A', '1'],
        ['B', ''],
      ],
    },
    'code ls | wc\n# no heading',
    'Ends.',
  ]);
});

t.test('texts of parsers: table rows without outer separators, numbered clauses, loose marks', async (t) => {
  t.same(show('Year | Sum\n2024 | 10\n2025 | 12\nTotal'), [
    {
      hasHeader: false,
      rows: [
        ['Year', 'Sum'],
        ['2024', '10'],
        ['2025', '12'],
      ],
    },
    'Total',
  ]);
  t.same(show('3. Term\nThe contract ends.'), [[[0, '3.', 'Term']], 'The contract ends.']);
  t.same(show('a | b in one line\n\n#hashtag\n\n-5 degrees\n\n```\nno end'), [
    'a | b in one line',
    '#hashtag',
    '-5 degrees',
    '```/no end',
  ]);
  t.same(show(''), []);
});

t.test('every character except markers and space is in exactly one block, for random texts', async (t) => {
  const pieces = [
    '# a',
    '- b',
    '1. c',
    'd | e',
    '|---|---|',
    '| f | g |',
    '```',
    '',
    '  h i',
    'word '.repeat(12),
    '---',
  ];
  let seed = 7;
  const next = () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
    return seed;
  };
  for (let round = 0; round < 400; round += 1) {
    const lines = Array.from({ length: 12 }, () => pieces[next() % pieces.length]!);
    const text = lines.join('\n');
    const shown = JSON.stringify(show(text, round % 2 === 0 ? 'prose' : 'markdown')).replaceAll('\\n', ' ');
    for (const letter of ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i'])
      t.equal(
        countWords(shown, letter),
        countWords(text.replaceAll('\n', ' '), letter),
        `${letter} in ${JSON.stringify(text)}`,
      );
  }
});

function countWords(text: string, word: string): number {
  return text.match(new RegExp(`(?<![a-z])${word}(?![a-z])`, 'g'))?.length ?? 0;
}
