import { ProgressBar } from '../../src/cli/progress.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import {
  displayWidth,
  escapeControls,
  fitWidths,
  formatBytes,
  formatDuration,
  formatTable,
  pluralize,
  toPrintable,
  wrapText,
} from '../../src/cli/text-layout.ts';
import t from '../support/tap.ts';

t.test('bytes and times are formatted with readable units', async (t) => {
  const bytes: [number, string][] = [
    [0, '0 B'],
    [999, '999 B'],
    [1000, '1.0 kB'],
    [1_550_000, '1.6 MB'],
    [99_600, '100 kB'],
    [999_499, '999 kB'],
    [999_500, '1.0 MB'],
    [2e12, '2.0 TB'],
  ];
  for (const [value, words] of bytes) t.equal(formatBytes(value), words);
  const times: [number, string][] = [
    [0, '0:00'],
    [59_400, '0:59'],
    [59_600, '1:00'],
    [3_600_000, '1:00:00'],
  ];
  for (const [value, words] of times) t.equal(formatDuration(value), words);
  t.equal(pluralize(1, 'file'), '1 file');
  t.equal(pluralize(0, 'file'), '0 files');
});

t.test('document text cannot move the cursor or reverse the line', async (t) => {
  t.equal(toPrintable('a\u001b[2Jb\u202ec\r\nd\u0007'), 'a[2Jbc d');
});

t.test('wrapped lines fit, are complete, and count wide characters twice', async (t) => {
  const texts = ['one two three', '', 'x'.repeat(100), '検索エンジン'.repeat(9), `a ${'é'.repeat(30)} b`];
  for (const text of texts) {
    const lines = wrapText(text, 13);
    for (const line of lines) t.ok(displayWidth(line) <= 13, line);
    t.equal(lines.join('').replaceAll(' ', ''), text.replaceAll(' ', ''));
  }
  t.equal(displayWidth('検索'), 4);
  t.equal(displayWidth('e\u0301'), 1);
});

t.test('control characters are shown as escapes, which keeps JSON the same value', async (t) => {
  t.equal(escapeControls('a\u001b]0;x\u0007\r\n\tb\rc'), 'a\\u001b]0;x\\u0007\n\tb\\u000dc');
  t.equal(escapeControls('退款 é 👍🏽 \u200d'), '退款 é 👍🏽 \u200d');
  const value = { text: '\u009b2J \u202e \u001b[1A' };
  const escaped = escapeControls(JSON.stringify(value));
  t.equal(escaped, '{"text":"\\u009b2J \\u202e \\u001b[1A"}');
  t.same(JSON.parse(escaped), value);
});

t.test('table columns are aligned, numbers to the right', async (t) => {
  t.same(
    formatTable(
      ['Name', '>Count'],
      [
        ['検索', '7'],
        ['abcdef', '1234'],
      ],
    ),
    ['Name    Count', '検索        7', 'abcdef   1234'],
  );
});

t.test('long cells are wrapped so that a table fits', async (t) => {
  const rows = [['guides/returns and refunds of orders.pdf', 'parsing_failed', '12', 'The file is damaged.']];
  t.same(formatTable(['Path', 'Status', '>Pages', 'Error'], rows, 50), [
    'Path            Status          Pages  Error',
    'guides/returns  parsing_failed     12  The file is',
    'and refunds of                         damaged.',
    'orders.pdf',
  ]);
  t.same(
    fitWidths(
      [
        { text: 40, word: 9 },
        { text: 12, word: 12 },
      ],
      30,
    ),
    [18, 12],
    'the widest shrinks first',
  );
  t.same(
    fitWidths(
      [
        { text: 40, word: 9 },
        { text: 20, word: 18 },
      ],
      30,
    ),
    [12, 18],
    'words stay whole',
  );
  t.same(
    fitWidths(
      [
        { text: 40, word: 40 },
        { text: 8, word: 8 },
      ],
      30,
    ),
    [22, 8],
    'a long word is broken',
  );
  t.same(fitWidths(Array(3).fill({ text: 30, word: 30 }), 9), [6, 6, 6], 'cells stay readable');
});

function recordedProgress(isInteractive: boolean): { lines: string[]; terminal: Terminal } {
  const lines: string[] = [];
  const terminal = {
    out: () => undefined,
    outStyled: () => undefined,
    note: (text: string) => void lines.push(text),
    redrawLine: (text: string) => void lines.push(`redrawn: ${text}`),
    columns: 80,
    isInteractive,
    isOutputTerminal: false,
    confirm: async () => null,
    readSecret: async () => '',
  };
  return { lines, terminal };
}

t.test('progress redraws one line on a terminal and prints few plain lines elsewhere', async (t) => {
  for (const isInteractive of [true, false]) {
    let now = 0;
    const { lines, terminal } = recordedProgress(isInteractive);
    const progress = new ProgressBar('uploading', terminal, { now: () => now, monotonic: () => now });
    for (let done = 0; done <= 100; done++) {
      now += 100;
      progress.update({ done, total: 100, label: `${done}/100 files` });
    }
    progress.finish('100 files');
    progress.finish('printed once');
    t.equal(lines.at(-1), isInteractive ? 'redrawn: 100 files\n' : '100 files\n');
    t.equal(lines.length, isInteractive ? 102 : 3);
    t.match(
      lines[1],
      isInteractive ? /\[\.+\] uploading 1 % 1\/100 files, 0:10 left$/ : /99 % 99\/100 files, 0:00 left\n$/,
    );
  }
});
