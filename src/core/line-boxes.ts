/**
 * Lines of text of a page, in the order of the text, and their boxes on the image of the page. Numbers per line: start
 * and end (exclusive) in the text of the page, in code points; left, top, right and bottom edge in `boxUnits`.
 */
export type LineBoxes = Uint32Array<ArrayBuffer>;

export const numbersPerLine = 6;
/** Width and height of any page image: a unit is less than a quarter of a pixel of the largest image. */
export const boxUnits = 16_384;

/** A line of text, and its box as fractions of the page image, 0 to 1; `top` is above `bottom`, and less. */
export interface LineBox {
  readonly start: number;
  readonly end: number;
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/**
 * Packs lines in the order of the text. The boxes are cut at the edges of the page. Omits lines without text or outside
 * of the page, and those after the first `linesMax`.
 */
export function packLineBoxes(lines: Iterable<LineBox>, linesMax: number): LineBoxes | null {
  const numbers: number[] = [];
  let end = 0;
  for (const line of lines) {
    if (numbers.length === linesMax * numbersPerLine) break;
    const left = Math.max(0, Math.floor(line.left * boxUnits));
    const top = Math.max(0, Math.floor(line.top * boxUnits));
    const right = Math.min(boxUnits, Math.ceil(line.right * boxUnits));
    const bottom = Math.min(boxUnits, Math.ceil(line.bottom * boxUnits));
    if (!(left < right && top < bottom && line.start < line.end && line.start >= end)) continue;
    numbers.push(line.start, line.end, left, top, right, bottom);
    end = line.end;
  }
  return numbers.length === 0 ? null : Uint32Array.from(numbers);
}

/** Returns the number of lines. */
export function countLines(boxes: LineBoxes | null): number {
  return (boxes?.length ?? 0) / numbersPerLine;
}

/** Whether the value has the form of line boxes of a text of `length` code points, at most `linesMax`. */
export function isLineBoxes(
  value: unknown,
  { length, linesMax }: { length: number; linesMax: number },
): value is LineBoxes {
  if (!(value instanceof Uint32Array) || value.length % numbersPerLine !== 0) return false;
  if (value.length === 0 || value.length > linesMax * numbersPerLine) return false;
  let last = 0;
  for (let i = 0; i < value.length; i += numbersPerLine) {
    const [start = 0, end = 0, left = 0, top = 0, right = 0, bottom = 0] = value.subarray(
      i,
      i + numbersPerLine,
    );
    if (start < last || end <= start || end > length) return false;
    if (left >= right || top >= bottom || right > boxUnits || bottom > boxUnits) return false;
    last = end;
  }
  return true;
}

/** Yields the lines that share text with [start, end) of the page. */
export function* linesWithin(
  boxes: LineBoxes,
  { start, end }: { readonly start: number; readonly end: number },
): Generator<LineBox> {
  for (let i = 0; i < boxes.length; i += numbersPerLine) {
    const [lineStart = 0, lineEnd = 0, left = 0, top = 0, right = 0, bottom = 0] = boxes.subarray(
      i,
      i + numbersPerLine,
    );
    if (lineStart >= end) return;
    if (lineEnd <= start) continue;
    yield {
      start: lineStart,
      end: lineEnd,
      left: left / boxUnits,
      top: top / boxUnits,
      right: right / boxUnits,
      bottom: bottom / boxUnits,
    };
  }
}
