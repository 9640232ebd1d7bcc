import { parseOcrTable } from '../../../src/parsing/ocr/ocr-text.ts';
import t from '../../support/tap.ts';

/** Table in the output format of the engines, from rows `block paragraph line confidence word`. */
function table(rows: readonly string[]): string {
  const cells = rows.map((row) => {
    const [block, paragraph, line, confidence, word] = row.split(' ');
    return ['5', '1', block, paragraph, line, '1', '0', '0', '9', '9', confidence, word].join('\t');
  });
  return ['level\tpage_num\tblock_num\tpar_num', '1\t1\t0\t0\t0\t0\t0\t0\t9\t9\t-1\t', ...cells].join('\n');
}

t.test('words form lines, lines form paragraphs, and hyphenated words are joined', async (t) => {
  const rows = [
    '1 1 1 90 The',
    '1 1 1 90 quar-',
    '1 1 2 90 ry',
    '1 1 2 90 opens',
    '1 2 1 90 Later',
    '2 1 1 90 Aside',
  ];
  t.match(parseOcrTable(table(rows)), { text: 'The quarry\nopens\n\nLater\n\nAside', confidence: 90 });
  t.equal(
    parseOcrTable(table(['1 1 1 90 X-', '1 1 2 90 ray'])).text,
    'X-\nray',
    'a hyphen after a capital letter is kept',
  );
});

t.test('low-confidence specks are not words, and an image of them has no text', async (t) => {
  t.equal(parseOcrTable(table(['1 1 1 95 Words', '1 1 1 3 ~|', '1 1 1 90 here'])).text, 'Words here');
  t.match(parseOcrTable(table(['1 1 1 12 =~', '1 1 2 30 ii', '1 1 3 20 _'])), { text: '' });
  t.same(parseOcrTable(''), { text: '', confidence: 0 });
});
