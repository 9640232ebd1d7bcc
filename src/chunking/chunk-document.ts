import { limits } from '../core/limits.ts';
import { breakStrength, scoreBreaks } from './breaks.ts';
import { type ChunkLengths, findChunkEnds } from './chunk-ends.ts';
import { CodePointCursor } from './code-points.ts';
import { findHeadings } from './headings.ts';
import { buildChunkPrefix, getDocumentName, HeadingPath } from './prefix.ts';

/**
 * Separator between two pages in the document text. It is part of no page's content but counts in offsets.
 */
export const pageSeparator = '\n\n';

export interface ChunkingInput {
  /** Well-formed strings; the list and each page may be empty. */
  readonly pages: readonly string[];
  /** True: the order of the pages has no meaning, so no chunk may span two pages. */
  readonly unordered: boolean;
  readonly title: string | null;
  readonly path: string;
  /** False: skip heading detection (source code, tables). Default true. */
  readonly headings?: boolean;
}

/** About 200 characters inside a coarse chunk. */
export interface FineChunk {
  /** UTF-16 offsets inside the coarse chunk's text, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** Code points in the document text, end exclusive. */
  readonly startCodePoint: number;
  readonly endCodePoint: number;
  /** Whether the chunk is white space only: kept so that chunks tile the text, but not indexed. */
  readonly blank: boolean;
}

/** About 2,000 characters. */
export interface CoarseChunk {
  /** Exactly the document text from `start` to `end`. */
  readonly text: string;
  /** Code points in the document text, end exclusive. */
  readonly start: number;
  readonly end: number;
  /** Zero-based pages, end exclusive. The separator after a page belongs to that page. */
  readonly pageStart: number;
  readonly pageEnd: number;
  /** "title > heading path", not part of `text`; see `buildChunkPrefix`. */
  readonly prefix: string;
  readonly blank: boolean;
  /** In order, tiling `text`. */
  readonly children: readonly FineChunk[];
}

export interface ChunkedText {
  /** The pages joined by `pageSeparator`. */
  readonly text: string;
  /** In order, tiling `text`; empty when `text` is empty. */
  readonly chunks: readonly CoarseChunk[];
  /** Code point offset of every page, ascending. */
  readonly pageStarts: readonly number[];
  /** Length of `text` in code points. */
  readonly length: number;
}

const coarseLengths: ChunkLengths = {
  min: limits.coarseChunkUnitsMin,
  target: limits.coarseChunkUnitsTarget,
  max: limits.coarseChunkUnitsMax,
};
const fineLengths: ChunkLengths = {
  min: limits.fineChunkUnitsMin,
  target: limits.fineChunkUnitsTarget,
  max: limits.fineChunkUnitsMax,
};

/**
 * Cuts a document into coarse chunks and each of these into fine chunks. Every character of the joined text
 * lies in exactly one chunk of each granularity. Pure, and linear in the length of any text; working memory
 * is one byte per UTF-16 unit.
 */
export function chunkDocument(input: ChunkingInput): ChunkedText {
  const text = input.pages.join(pageSeparator);
  const pageUnits = computePageStarts(input.pages);
  const headings = input.headings === false ? [] : findHeadings(text, pageUnits, input.unordered);
  const scores = scoreBreaks(text);
  for (const heading of headings) raiseScore(scores, heading.position, breakStrength.heading);
  for (const start of pageUnits.slice(1)) {
    scores[start - 1] = breakStrength.forbidden;
    raiseScore(scores, start, breakStrength.page);
  }
  const ends = findCoarseEnds(text, scores, pageUnits, input.unordered);
  const chunks = buildCoarseChunks(input, text, scores, ends, pageUnits, new HeadingPath(headings));
  const pageCursor = new CodePointCursor(text);
  return {
    text,
    chunks,
    pageStarts: pageUnits.map((unit) => pageCursor.toCodePoint(unit)),
    length: chunks.at(-1)?.end ?? 0,
  };
}

function raiseScore(scores: Uint8Array, position: number, strength: number): void {
  scores[position] = Math.max(scores[position]!, strength);
}

function computePageStarts(pages: readonly string[]): number[] {
  const starts: number[] = [];
  let unit = 0;
  for (const page of pages) {
    starts.push(unit);
    unit += page.length + pageSeparator.length;
  }
  return starts;
}

function findCoarseEnds(
  text: string,
  scores: Uint8Array,
  pageUnits: readonly number[],
  unordered: boolean,
): number[] {
  if (!unordered) return findChunkEnds(text, scores, 0, text.length, coarseLengths);
  return pageUnits.flatMap((from, page) =>
    findChunkEnds(text, scores, from, pageUnits[page + 1] ?? text.length, coarseLengths),
  );
}

function buildCoarseChunks(
  input: ChunkingInput,
  text: string,
  scores: Uint8Array,
  ends: readonly number[],
  pageUnits: readonly number[],
  path: HeadingPath,
): CoarseChunk[] {
  const name = getDocumentName(input.title, input.path);
  const cursor = new CodePointCursor(text);
  let page = 0;
  let from = 0;
  return ends.map((to) => {
    while ((pageUnits[page + 1] ?? Infinity) <= from) page += 1;
    const pageStart = page;
    while ((pageUnits[page + 1] ?? Infinity) < to) page += 1;
    const headings = path.titlesAt(from, input.unordered ? pageUnits[pageStart]! : 0);
    const children = buildFineChunks(text, scores, from, to, cursor);
    const chunk: CoarseChunk = {
      text: text.slice(from, to),
      start: children[0]!.startCodePoint,
      end: children.at(-1)!.endCodePoint,
      pageStart,
      pageEnd: page + 1,
      prefix: buildChunkPrefix(name, headings),
      blank: isBlank(text.slice(from, to)),
      children,
    };
    from = to;
    return chunk;
  });
}

/** Cuts the non-empty span [from, to) into fine chunks. */
function buildFineChunks(
  text: string,
  scores: Uint8Array,
  from: number,
  to: number,
  cursor: CodePointCursor,
): FineChunk[] {
  let start = from;
  let startCodePoint = cursor.toCodePoint(from);
  return findChunkEnds(text, scores, from, to, fineLengths).map((end) => {
    const endCodePoint = cursor.toCodePoint(end);
    const blank = isBlank(text.slice(start, end));
    const chunk = { start: start - from, end: end - from, startCodePoint, endCodePoint, blank };
    start = end;
    startCodePoint = endCodePoint;
    return chunk;
  });
}

const visibleCharacter = /[^\s\p{Cc}]/u;

function isBlank(content: string): boolean {
  return !visibleCharacter.test(content);
}
