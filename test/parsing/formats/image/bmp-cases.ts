/** Bitmap of a 40-byte header, a palette and pixel data. */
export function bitmap(
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
/** Title, file and the red component of each pixel. */
export const bitmapCases: readonly [string, Uint8Array, readonly number[]][] = [
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
  [
    '16 bits, masks of 5, 6 and 5',
    bitmap([1, 1, 16, 3], [0, 0xf8, 0, 0, 0xe0, 7, 0, 0, 0x1f, 0, 0, 0], [0, 0xf8, 0, 0]),
    [255],
  ],
];
