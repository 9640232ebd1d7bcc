import { type LineBoxes, numbersPerLine } from './line-boxes.ts';
import { IntegerReader, pushSigned, pushUnsigned } from './variable-length.ts';

/** Encoded line boxes of pages in one block; a page without boxes has length 0. */
export interface EncodedPages {
  readonly block: Uint8Array<ArrayBuffer>;
  readonly lengths: Uint32Array<ArrayBuffer>;
}

/**
 * Encodes the lines of a page of `length` code points: the length, then the numbers of each line relative to those of
 * the line before it, as variable-length integers (7 bits per byte, lowest first). Lines of a column share their left
 * edge, width and height, so that most lines take 7 to 9 bytes.
 */
export function encodeLineBoxes(boxes: LineBoxes, length: number): Uint8Array {
  const bytes: number[] = [];
  pushUnsigned(bytes, length);
  const before = { end: 0, left: 0, top: 0, width: 0, height: 0 };
  for (let i = 0; i < boxes.length; i += numbersPerLine) {
    const [start = 0, end = 0, left = 0, top = 0, right = 0, bottom = 0] = boxes.subarray(
      i,
      i + numbersPerLine,
    );
    pushUnsigned(bytes, start - before.end);
    pushUnsigned(bytes, end - start);
    pushSigned(bytes, left - before.left);
    pushSigned(bytes, top - before.top);
    pushSigned(bytes, right - left - before.width);
    pushSigned(bytes, bottom - top - before.height);
    Object.assign(before, { end, left, top, width: right - left, height: bottom - top });
  }
  return Uint8Array.from(bytes);
}

/** Returns the lines of a page; null if they were encoded for a text of another length. */
export function decodeLineBoxes(bytes: Uint8Array, length: number): LineBoxes | null {
  const reader = new IntegerReader(bytes);
  if (reader.readUnsigned() !== length) return null;
  const numbers: number[] = [];
  const before = { end: 0, left: 0, top: 0, width: 0, height: 0 };
  while (!reader.isAtEnd) {
    const start = before.end + reader.readUnsigned();
    before.end = start + reader.readUnsigned();
    before.left += reader.readSigned();
    before.top += reader.readSigned();
    before.width += reader.readSigned();
    before.height += reader.readSigned();
    const { end, left, top, width, height } = before;
    numbers.push(start, end, left, top, left + width, top + height);
  }
  return Uint32Array.from(numbers);
}

/** Encodes the boxes of pages; `lengthOf` returns the number of code points of the text of a page. */
export function encodePages(
  pages: readonly (LineBoxes | null)[],
  lengthOf: (page: number) => number,
): EncodedPages {
  const encoded = pages.map((boxes, page) =>
    boxes === null ? new Uint8Array() : encodeLineBoxes(boxes, lengthOf(page)),
  );
  const lengths = Uint32Array.from(encoded, (bytes) => bytes.length);
  const block = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0));
  let start = 0;
  for (const bytes of encoded) {
    block.set(bytes, start);
    start += bytes.length;
  }
  return { block, lengths };
}

/** Yields the encoded lines of each page that has some. */
export function* eachEncodedPage({
  block,
  lengths,
}: EncodedPages): Generator<{ page: number; bytes: Uint8Array }> {
  let start = 0;
  for (const [page, length] of lengths.entries()) {
    if (length > 0) yield { page, bytes: block.subarray(start, start + length) };
    start += length;
  }
}
