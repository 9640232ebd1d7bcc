import t from 'tap';
import { decodeBmp } from '../../../../src/parsing/formats/image/bmp.ts';

/** Bitmap of a 40-byte header, a palette and pixel data. */
function bitmap(
  [width, height, bits, compression]: readonly [number, number, number, number],
  palette: readonly number[],
  data: readonly number[],
): Uint8Array {
  const header = Buffer.alloc(54);
  header.write('BM', 'latin1');
  header.writeUInt32LE(54 + palette.length, 10);
  header.writeUInt32LE(40, 14);
  header.writeInt32LE(width, 18);
  header.writeInt32LE(height, 22);
  header.writeUInt16LE(bits, 28);
  header.writeUInt32LE(compression, 30);
  return Buffer.concat([header, Buffer.from(palette), Buffer.from(data)]);
}

const blackRed = [0, 0, 0, 0, 0, 0, 255, 0];
const reds = (bytes: Uint8Array) => {
  const { pixels } = decodeBmp(bytes);
  return Array.from({ length: pixels.length / 4 }, (_, i) => pixels[i * 4]);
};

const cases: readonly [string, Uint8Array, readonly number[]][] = [
  [
    '1 bit, bottom row first',
    bitmap([2, 2, 1, 0], blackRed, [0x80, 0, 0, 0, 0x40, 0, 0, 0]),
    [0, 255, 255, 0],
  ],
  ['1 bit, top row first', bitmap([2, -2, 1, 0], blackRed, [0x80, 0, 0, 0, 0x40, 0, 0, 0]), [255, 0, 0, 255]],
  ['4 bits', bitmap([2, 1, 4, 0], blackRed, [0x10, 0, 0, 0]), [255, 0]],
  ['8 bits', bitmap([2, 1, 8, 0], blackRed, [1, 0, 0, 0]), [255, 0]],
  ['16 bits, five each', bitmap([2, 1, 16, 0], [], [0x00, 0x7c, 0x1f, 0]), [255, 0]],
  ['24 bits', bitmap([1, 1, 24, 0], [], [1, 2, 3, 0]), [3]],
  ['32 bits', bitmap([1, 1, 32, 0], [], [1, 2, 3, 0]), [3]],
  [
    'run lengths of 8 bits: a run, a literal, the end',
    bitmap([5, 1, 8, 1], blackRed, [2, 1, 0, 3, 0, 1, 0, 0, 0, 1]),
    [255, 255, 0, 255, 0],
  ],
  ['run lengths of 4 bits', bitmap([3, 1, 4, 2], blackRed, [3, 0x10, 0, 1]), [255, 0, 255]],
];

t.test('BMP images of every depth are decoded', async (t) => {
  for (const [name, bytes, expected] of cases) t.same(reds(bytes), expected, name);
});

t.test('missing pixels of a truncated BMP are white, and an invalid BMP is rejected', async (t) => {
  const whole = bitmap([1, 2, 24, 0], [], [1, 2, 3, 0, 1, 2, 3, 0]);
  t.same(reds(whole.subarray(0, whole.length - 4)), [255, 3]);
  t.throws(() => decodeBmp(bitmap([0, 2, 24, 0], [], [])), { code: 'corrupt' });
  t.throws(() => decodeBmp(bitmap([1, 1, 7, 0], [], [0])), { code: 'corrupt' });
  t.throws(() => decodeBmp(new Uint8Array(20)), { code: 'corrupt' });
});
