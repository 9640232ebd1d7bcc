import { type LineBox, linesWithin } from '../core/line-boxes.ts';
import { queryLimits } from '../core/query-limits.ts';
import type { LineRectangle, PageRectangles } from '../schemas/query-fields.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { VersionRecord } from '../storage/versions.ts';

/** Range of the text of a document, in code points, and its pages (the second exclusive). */
interface TextSpan {
  readonly start: number;
  readonly end: number;
  readonly pageStart: number;
  readonly pageEnd: number;
}

/** Places of the text of documents on the images of their pages. */
export class LineRectangles {
  readonly #reader: Pick<VersionReader, 'readLayout' | 'readLineBoxes'>;

  constructor(reader: Pick<VersionReader, 'readLayout' | 'readLineBoxes'>) {
    this.#reader = reader;
  }

  /** Returns the lines of a span by page; empty if none are known. At most `rectanglesMax` lines. */
  ofSpan(version: VersionRecord, { start, end, pageStart, pageEnd }: TextSpan): PageRectangles[] {
    const starts = this.#reader.readLayout(version)?.pageStarts;
    if (starts === undefined) return [];
    const ranges = Array.from(starts.subarray(pageStart, pageEnd), (from, i) => ({
      page: pageStart + i,
      ranges: [[Math.max(0, start - from), Math.max(0, end - from)] as const],
    }));
    return this.#find(version, ranges);
  }

  /** Returns the lines of a page that share text with ranges, which are ascending and in code points of its text. */
  ofPage(
    version: VersionRecord,
    page: number,
    ranges: readonly (readonly [start: number, end: number])[],
  ): PageRectangles[] {
    return this.#find(version, [{ page, ranges }]);
  }

  #find(
    version: VersionRecord,
    pages: readonly {
      readonly page: number;
      readonly ranges: readonly (readonly [start: number, end: number])[];
    }[],
  ): PageRectangles[] {
    const boxes = this.#reader.readLineBoxes(
      version,
      pages.map(({ page }) => page),
    );
    const found: PageRectangles[] = [];
    let remaining: number = queryLimits.rectanglesMax;
    for (const [i, { page, ranges }] of pages.entries()) {
      const pageBoxes = boxes[i] ?? null;
      if (pageBoxes === null) continue;
      const lines = ranges.flatMap(([start, end]) => [...linesWithin(pageBoxes, { start, end })]);
      const rectangles = toRectangles(lines).slice(0, remaining);
      remaining -= rectangles.length;
      if (rectangles.length > 0) found.push({ page, rectangles });
    }
    return found;
  }
}

/** Omits a rectangle that is equal to the one before it: several lines of a form field or a shape may share its box. */
function toRectangles(lines: readonly LineBox[]): LineRectangle[] {
  const distinct = lines.filter((line, i) => {
    const before = lines[i - 1];
    return (
      before === undefined ||
      line.left !== before.left ||
      line.top !== before.top ||
      line.right !== before.right ||
      line.bottom !== before.bottom
    );
  });
  return distinct.map(({ left, top, right, bottom }) => ({
    left: round(left),
    top: round(top),
    width: round(right - left),
    height: round(bottom - top),
  }));
}

/** Rounds to five decimals: less than a twentieth of a pixel of the largest page image. */
function round(fraction: number): number {
  return Math.round(fraction * 100_000) / 100_000;
}
