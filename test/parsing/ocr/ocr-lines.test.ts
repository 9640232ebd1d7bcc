import { toPageLines } from '../../../src/parsing/ocr/ocr-lines.ts';
import { parseOcrTable } from '../../../src/parsing/ocr/ocr-text.ts';
import t from '../../support/tap.ts';

const wordHeight = 20;

/** Table of the engines, from rows of `paragraph line left top width word` in an image of the size. */
function table(width: number, height: number, rows: readonly string[]): string {
  const cells = rows.map((row) => {
    const [paragraph, line, left, top, across, word] = row.split(' ');
    return ['5', '1', '1', paragraph, line, '1', left, top, across, wordHeight, '90', word].join('\t');
  });
  return [`1\t1\t0\t0\t0\t0\t0\t0\t${width}\t${height}\t-1\t`, ...cells].join('\n');
}

/** Lines with their text, and their boxes in pixels of a page of the size. */
function linesOf(
  ocrTable: string,
  degrees: number,
  page: { readonly width: number; readonly height: number },
) {
  const { text, words } = parseOcrTable(ocrTable);
  return toPageLines(words!, degrees).map(({ start, end, left, top, right, bottom }) => [
    text.slice(start, end),
    ...[left * page.width, top * page.height, right * page.width, bottom * page.height].map(Math.round),
  ]);
}

const rows = ['1 1 100 50 40 The', '1 1 150 52 60 quar-', '1 2 100 80 20 ry', '1 2 130 80 50 opens'];

t.test('a line has the box of its words, and a hyphenated word is divided between its lines', async (t) => {
  const page = { width: 400, height: 200 };
  t.same(linesOf(table(400, 200, rows), 0, page), [
    ['The quar', 100, 50, 210, 72],
    ['ry\nopens', 100, 80, 180, 100],
  ]);
  t.equal(parseOcrTable(table(400, 200, rows)).text, 'The quarry\nopens');
});

t.test('boxes are on the page as it is shown, not as it was turned for recognition', async (t) => {
  const page = { width: 200, height: 400 };
  // The page was turned clockwise by 90 degrees: its left side is up.
  t.same(linesOf(table(400, 200, rows), 90, page)[0], ['The quar', 50, 190, 72, 300]);
  t.same(linesOf(table(200, 400, rows), 180, page)[0], ['The quar', -10, 328, 100, 350]);
});

t.test('a skewed line is divided, so that its boxes are hardly higher than its words', async (t) => {
  const degrees = 3;
  const radians = (degrees * Math.PI) / 180;
  const page = { width: 1_000, height: 600 };
  const [cosine, sine] = [Math.cos(radians), Math.sin(radians)];
  const size = [page.width * cosine + page.height * sine, page.width * sine + page.height * cosine].map(
    Math.round,
  ) as [number, number];
  const words = Array.from({ length: 16 }, (_, i) => `1 1 ${60 + 60 * i} 300 50 word${i}`);
  const lines = linesOf(table(...size, words), degrees, page);
  t.ok(lines.length > 2 && lines.length < 16, `${lines.length} parts`);
  t.equal(lines.map(([text]) => text).join(' '), words.map((row) => row.split(' ')[5]).join(' '));
  for (const [i, word] of words.entries()) {
    // The page turned by the angle around the center of the image: a word to the right is higher on the page.
    const [right, down] = [60 + 60 * i + 25 - size[0] / 2, 300 + wordHeight / 2 - size[1] / 2];
    const x = page.width / 2 + right * cosine + down * sine;
    const y = page.height / 2 + down * cosine - right * sine;
    const [line] = lines.filter(([text]) => (text as string).split(' ').includes(word.split(' ')[5]!));
    const [, left, top, end, bottom] = line as [string, number, number, number, number];
    t.ok(left < x && x < end && top < y && y < bottom, `${word} at ${x}, ${y} in ${line}`);
    t.ok(bottom - top < 1.6 * wordHeight, `height ${bottom - top}`);
  }
});
