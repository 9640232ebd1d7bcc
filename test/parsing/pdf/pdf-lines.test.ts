import { buildLines } from '../../../src/parsing/pdf/pdf-lines.ts';
import { buildPieces } from '../../../src/parsing/pdf/pdf-pieces.ts';
import t from '../../support/tap.ts';
import type { PlacedText } from '../pdf-fixtures.ts';
import { column, parsePdf, prose } from './placed-text-fixtures.ts';

/** Fonts with a known size and no other properties. */
const fonts = { isBold: () => false, typeSize: () => 11 };

t.test('rotated pages are read like others, and rotated text follows the other text', async (t) => {
  const lines = prose('A', 12, 60);
  const turned = lines.map((text, i): PlacedText => ({ text, x: 100 + i * 14, y: 60, quarterTurns: 1 }));
  t.same((await parsePdf([turned.toReversed()], { rotate: 90 })).pages, [lines.join('\n')], 'by 90 degrees');
  const upsideDown = lines.map((text, i): PlacedText => ({ text, x: 550, y: 100 + i * 14, quarterTurns: 2 }));
  t.same((await parsePdf([upsideDown], { rotate: 180 })).pages, [lines.join('\n')], 'by 180 degrees');
  const downwards = lines.map((text, i): PlacedText => ({ text, x: 500 - i * 14, y: 700, quarterTurns: 3 }));
  t.same((await parsePdf([downwards], { rotate: 270 })).pages, [lines.join('\n')], 'by 270 degrees');
  const stamp: PlacedText = { text: 'Received 4 May', x: 20, y: 300, quarterTurns: 1 };
  t.same((await parsePdf([[stamp, ...column(lines, 60, 700)]])).pages, [
    `${lines.join('\n')}\n\nReceived 4 May`,
  ]);
});

t.test('words drawn letter by letter or hyphenated at a line end are joined', async (t) => {
  const spaced = { text: 'CONFIDENTIAL REPORT', x: 60, y: 700, spacing: 9 };
  t.match((await parsePdf([[spaced]])).pages[0], /CONFIDENTIAL REPORT/);
  const columns = [
    ...column([...prose('L', 12, 44), 'and the last word of it is incompre-'], 50, 700),
    ...column(['hensible unless it is joined with its end', ...prose('R', 12, 44)], 320, 700),
  ];
  t.match((await parsePdf([columns])).pages[0], /word of it is incomprehensible unless/);
});

t.test('vertical lines are read from right to left', async (t) => {
  const columns = ['あいう', '日本語', '東京都'].map((text, i) =>
    [...text].map((character, row) => ({
      code: character.codePointAt(0)!,
      left: 200 + i * 20,
      top: 700 - row * 12,
    })),
  );
  const glyphs = columns.flat();
  const numbers = (of: (glyph: { left: number; top: number }) => number) => Float32Array.from(glyphs, of);
  const box = { left: 0, right: 600, bottom: 0, top: 800 };
  const pieces = buildPieces({
    count: glyphs.length,
    cut: false,
    box,
    frame: { box, quarterTurns: 0 },
    unmappedTexts: 0,
    fields: [],
    codes: Uint32Array.from(glyphs, ({ code }) => code),
    generated: new Uint8Array(glyphs.length),
    left: numbers(({ left }) => left),
    right: numbers(({ left }) => left + 12),
    bottom: numbers(({ top }) => top - 12),
    top: numbers(({ top }) => top),
    angle: () => 0,
    rotatedBox: (i) => {
      const { left, top } = glyphs[i]!;
      return { left, right: left + 12, bottom: top - 12, top };
    },
    ...fonts,
  });
  t.same(
    buildLines(pieces, fonts).map(({ text }) => text),
    ['東京都', '日本語', 'あいう'],
  );
});

t.test('a Latin word keeps its position in a right-to-left line, also without a space', (t) => {
  const piece = (text: string, left: number, right: number, order: number) => ({
    text,
    left,
    right,
    order,
    bottom: 100,
    top: 112,
    height: 11,
    direction: 'level' as const,
    glyph: 0,
    lastGlyph: 0,
    rightToLeft: /[\u0590-\u08ff]/.test(text),
  });
  const pieces = [
    piece('تحسين الإنتاجية بلغة', 265, 522, 0),
    piece('Python', 224, 265, 1),
    piece('من الأدوات', 150, 223.9, 2),
  ];
  const [line] = buildLines(pieces, fonts);
  t.equal(line?.text, 'تحسين الإنتاجية بلغة Python من الأدوات');
  const [end] = buildLines(pieces.slice(0, 2), fonts);
  t.equal(end?.text, 'تحسين الإنتاجية بلغة Python');
  t.end();
});
