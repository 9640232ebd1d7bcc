import type { PageResponse } from '../../../src/schemas/documents.ts';
import type { LineRectangle, PageRectangles } from '../../../src/schemas/query-fields.ts';

/** A passage of a document in the fragment of its URL, which the document page shows and marks. */

export interface Passage {
  /** Page that the offsets count from, from 0; null if they count from the start of the document. */
  readonly page: number | null;
  /** Half-open range in code points, as the API reports it. */
  readonly start: number;
  readonly end: number;
  /** The cited text around the range, which is marked less; in the same offsets. */
  readonly cited?: { readonly start: number; readonly end: number };
  /** Places of the lines on the page images: of the cited text, else of the range. */
  readonly rectangles?: readonly PageRectangles[];
}

/** Lines of a passage in a URL; the page image does not mark the others. */
const rectanglesMax = 200;
/** Edges in a URL are integers in this fraction of the image. */
const edgeScale = 10_000;

export function toPassageFragment({ page, start, end, cited, rectangles = [] }: Passage): string {
  const boxes = toBoxes(rectangles);
  const parameters = {
    ...(page === null ? {} : { page: page + 1 }),
    start,
    end,
    ...(cited === undefined ? {} : { from: cited.start, to: cited.end }),
    ...(boxes === '' ? {} : { boxes }),
  };
  return `#${Object.entries(parameters)
    .map(([name, value]) => `${name}=${value}`)
    .join('&')}`;
}

/** Reads a fragment; null if it contains no passage. */
export function parsePassageFragment(fragment: string): Passage | null {
  const parameters = new URLSearchParams(fragment.replace(/^#/, ''));
  const read = (name: string) => {
    const text = parameters.get(name) ?? '';
    return /^\d{1,9}$/.test(text) ? Number(text) : null;
  };
  const [page, start, end] = [read('page'), read('start'), read('end')];
  if (start === null || end === null || end <= start || page === 0) return null;
  const rectangles = parseBoxes(parameters.get('boxes') ?? '');
  const [from, to] = [read('from'), read('to')];
  const isCited = from !== null && to !== null && from <= start && to >= end;
  return {
    page: page === null ? null : page - 1,
    start,
    end,
    ...(isCited ? { cited: { start: from, end: to } } : {}),
    ...(rectangles.length === 0 ? {} : { rectangles }),
  };
}

/** Writes the first rectangles: for each page its number from 1, a colon, and the edges of its lines. */
function toBoxes(pages: readonly PageRectangles[]): string {
  let left = rectanglesMax;
  return pages
    .map(({ page, rectangles }) => {
      const shown = rectangles.slice(0, left);
      left -= shown.length;
      const edges = shown.flatMap(({ left: x, top, width, height }) => [x, top, width, height]);
      return { page, edges: edges.map((edge) => Math.round(edge * edgeScale)) };
    })
    .filter(({ edges }) => edges.length > 0)
    .map(({ page, edges }) => `${page + 1}:${edges.join()}`)
    .join(';');
}

/** Reads what `toBoxes` writes; empty for any other text. */
function parseBoxes(text: string): PageRectangles[] {
  if (!/^[1-9]\d{0,8}:\d{1,5}(,\d{1,5})*(;[1-9]\d{0,8}:\d{1,5}(,\d{1,5})*)*$/.test(text)) return [];
  return text.split(';').map((part) => {
    const [page = '', numbers = ''] = part.split(':');
    const edges = numbers.split(',').map((edge) => Math.min(1, Number(edge) / edgeScale));
    const rectangles: LineRectangle[] = [];
    for (let i = 0; i + 3 < edges.length && rectangles.length < rectanglesMax; i += 4) {
      const [left = 0, top = 0, width = 0, height = 0] = edges.slice(i, i + 4);
      rectangles.push({ left, top, width, height });
    }
    return { page: Number(page) - 1, rectangles };
  });
}

/** Range in the text of a page, in UTF-16 units. */
export interface PassageRange {
  readonly start: number;
  readonly end: number;
}

/** Returns the part of a passage on a page; `after` if it starts after the page, null if it is elsewhere. */
export function locatePassage(passage: Passage, found: PageResponse): PassageRange | 'after' | null {
  const text = found.content ?? '';
  const pageStart = passage.page === null ? found.start_index : 0;
  if (pageStart === null || (passage.page !== null && passage.page !== found.page_index)) return null;
  const [start, end] = [passage.start - pageStart, passage.end - pageStart];
  if (end <= 0) return null;
  const first = toUnits(text, Math.max(0, start));
  if (first >= text.length) return passage.page === null ? 'after' : null;
  return { start: first, end: toUnits(text, end) };
}

/** Returns the part of the cited text on a page; null if there is none. */
export function locateCited({ page, cited }: Passage, found: PageResponse): PassageRange | null {
  if (cited === undefined) return null;
  const range = locatePassage({ page, ...cited }, found);
  return range === 'after' ? null : range;
}

interface CitedLines {
  readonly cited: PassageRange;
  readonly sentence: PassageRange;
  /** Number of the rectangles of the cited text on the page. */
  readonly count: number;
}

/**
 * Returns the numbers of the rectangles that belong to a sentence of the cited text. Rectangles have no offsets: there is
 * one per line of the text, unless several lines share a box. Then none are returned.
 */
export function strongLines(text: string, { cited, sentence, count }: CitedLines): Set<number> {
  const lines = [...text.slice(cited.start, cited.end).matchAll(/[^\n\r\f]*\S[^\n\r\f]*/g)].map(
    ({ 0: line, index }) => ({ start: cited.start + index, end: cited.start + index + line.length }),
  );
  if (lines.length !== count) return new Set();
  return new Set(
    lines.flatMap(({ start, end }, i) => (start < sentence.end && sentence.start < end ? [i] : [])),
  );
}

/** Converts an offset in code points to UTF-16 units. */
export function toUnits(text: string, codePoints: number): number {
  let units = 0;
  for (let left = codePoints; left > 0 && units < text.length; left -= 1)
    units += (text.codePointAt(units) as number) > 0xffff ? 2 : 1;
  return units;
}

/** Number of code points of a text. */
export function countCodePoints(text: string): number {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}
