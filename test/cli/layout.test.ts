import t from 'tap';
import {
  byteWords,
  clockWords,
  counted,
  displayWidth,
  printable,
  table,
  wrap,
} from '../../src/cli/layout.ts';
import { Progress } from '../../src/cli/progress.ts';
import type { Terminal } from '../../src/cli/terminal.ts';

t.test('bytes and times read as people say them', async (t) => {
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
  for (const [value, words] of bytes) t.equal(byteWords(value), words);
  const times: [number, string][] = [
    [0, '0:00'],
    [59_400, '0:59'],
    [59_600, '1:00'],
    [3_600_000, '1:00:00'],
  ];
  for (const [value, words] of times) t.equal(clockWords(value), words);
  t.equal(counted(1, 'file'), '1 file');
  t.equal(counted(0, 'file'), '0 files');
});

t.test('text of a document cannot move the cursor or reverse the line', async (t) => {
  t.equal(printable('a\u001b[2Jb\u202ec\r\nd\u0007'), 'a[2Jbc d');
});

t.test('wrapped lines fit, lose no letter, and count wide letters twice', async (t) => {
  const texts = ['one two three', '', 'x'.repeat(100), '検索エンジン'.repeat(9), `a ${'é'.repeat(30)} b`];
  for (const text of texts) {
    const lines = wrap(text, 13);
    for (const line of lines) t.ok(displayWidth(line) <= 13, line);
    t.equal(lines.join('').replaceAll(' ', ''), text.replaceAll(' ', ''));
  }
  t.equal(displayWidth('検索'), 4);
  t.equal(displayWidth('e\u0301'), 1);
});

t.test('columns of a table line up, numbers to the right', async (t) => {
  t.same(
    table(
      ['Name', '>Count'],
      [
        ['検索', '7'],
        ['abcdef', '1234'],
      ],
    ),
    ['Name    Count', '検索        7', 'abcdef   1234'],
  );
});

function recorder(drawsOver: boolean): { notes: string[]; terminal: Terminal } {
  const notes: string[] = [];
  const terminal = {
    out: () => undefined,
    note: (text: string) => void notes.push(text),
    columns: 80,
    drawsOver,
    confirm: async () => null,
    secret: async () => '',
  };
  return { notes, terminal };
}

t.test('progress draws over itself for a person and writes few plain lines elsewhere', async (t) => {
  for (const drawsOver of [true, false]) {
    let now = 0;
    const { notes, terminal } = recorder(drawsOver);
    const progress = new Progress('uploading', terminal, { now: () => now, monotonic: () => now });
    for (let done = 0; done <= 100; done++) {
      now += 100;
      progress.update({ done, total: 100, words: `${done}/100 files` });
    }
    progress.end('100 files');
    progress.end('once only');
    t.equal(notes.at(-1), drawsOver ? '\r\x1b[K100 files\n' : '100 files\n');
    t.equal(notes.length, drawsOver ? 102 : 3);
    t.match(
      notes[1],
      drawsOver ? /\[\.+\] uploading 1 % 1\/100 files, 0:20 left$/ : /99 % 99\/100 files, 0:00 left\n$/,
    );
  }
});
