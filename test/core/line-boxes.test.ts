import {
  decodeLineBoxes,
  eachEncodedPage,
  encodeLineBoxes,
  encodePages,
} from '../../src/core/line-box-codec.ts';
import {
  boxUnits,
  isLineBoxes,
  type LineBox,
  linesWithin,
  packLineBoxes,
} from '../../src/core/line-boxes.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const random = createTestRandom();

function randomLines(count: number): LineBox[] {
  let end = 0;
  return Array.from({ length: count }, () => {
    const start = end + random.below(4);
    end = start + 1 + random.below(random.below(8) === 0 ? 100_000 : 90);
    const [left, top] = [random.below(boxUnits), random.below(boxUnits)];
    const right = left + 1 + random.below(boxUnits - left);
    const bottom = top + 1 + random.below(boxUnits - top);
    return {
      start,
      end,
      left: left / boxUnits,
      top: top / boxUnits,
      right: right / boxUnits,
      bottom: bottom / boxUnits,
    };
  });
}

t.test(
  `decoded lines equal the encoded ones, and lines of another text are ignored, seed ${random.seed}`,
  async (t) => {
    for (let round = 0; round < 200; round++) {
      const lines = randomLines(1 + random.below(60));
      const boxes = packLineBoxes(lines, 1_000)!;
      const length = lines.at(-1)!.end + random.below(3);
      t.ok(isLineBoxes(boxes, { length, linesMax: 60 }));
      t.same([...linesWithin(boxes, { start: 0, end: length })], lines);
      const bytes = encodeLineBoxes(boxes, length);
      t.same(decodeLineBoxes(bytes, length), boxes);
      t.equal(decodeLineBoxes(bytes, length + 1), null);
      t.ok(bytes.length <= 4 + 20 * lines.length, `${bytes.length} bytes`);
    }
  },
);

t.test('pages without boxes take no bytes', async (t) => {
  const boxes = packLineBoxes(randomLines(3), 10)!;
  const pages = encodePages([null, boxes, null], () => 12);
  t.same([...pages.lengths].map(Math.sign), [0, 1, 0]);
  const [only] = eachEncodedPage(pages);
  t.match(only, { page: 1 });
  t.same(decodeLineBoxes(only!.bytes, 12), boxes);
});

t.test('boxes are cut at the edges of the page, and empty or surplus lines are omitted', async (t) => {
  const box = { left: 0.25, top: 0.5, right: 0.5, bottom: 0.75 };
  const all = packLineBoxes(
    [
      { start: 0, end: 2, ...box, left: -1, bottom: 7 },
      { start: 2, end: 2, ...box },
      { start: 3, end: 4, ...box, left: 1.2, right: 1.5 },
      { start: 5, end: 6, ...box },
      { start: 7, end: 8, ...box },
    ],
    2,
  )!;
  t.same(
    [...linesWithin(all, { start: 0, end: 9 })],
    [
      { start: 0, end: 2, ...box, left: 0, bottom: 1 },
      { start: 5, end: 6, ...box },
    ],
  );
  t.same([...linesWithin(all, { start: 2, end: 5 })], [], 'ranges are half-open');
  t.equal(packLineBoxes([{ start: 0, end: 0, ...box }], 2), null);
});

t.test('numbers of a parser process that are no line boxes of the text are rejected', async (t) => {
  const bounds = { length: 10, linesMax: 2 };
  const line = [0, 4, 1, 2, 3, 4];
  t.ok(isLineBoxes(Uint32Array.from(line), bounds));
  for (const numbers of [
    [],
    line.slice(1),
    [0, 11, 1, 2, 3, 4],
    [4, 4, 1, 2, 3, 4],
    [0, 4, 3, 2, 3, 4],
    [0, 4, 1, 2, 3, boxUnits + 1],
    [...line, 3, 5, 1, 2, 3, 4],
    [...line, 4, 5, 1, 2, 3, 4, 5, 6, 1, 2, 3, 4],
  ])
    t.notOk(isLineBoxes(Uint32Array.from(numbers), bounds), numbers.join());
  t.notOk(isLineBoxes(line, bounds));
});
