import type { TextLine } from './pdf-lines.ts';

/** Number of lines at the top and at the bottom of a page that may be running headers and footers. */
const linesPerEdge = 3;
/** Number of pages before and after a page that it is compared with. */
export const runningLinesPageWindow = 8;
/** Documents with fewer pages keep all lines, because repetition there may be content. */
export const runningLinesPagesMin = 4;
/** Minimum number of nearby pages with the same line, including the page itself. */
const repetitionsMin = 3;
/** Tolerance of the vertical position, in points. */
const positionTolerance = 8;
/** Minimum space between running lines and text, in multiples of their type height. */
const edgeSpaceMin = 0.5;
/**
 * Maximum height of a running line, in multiples of the page's typical height; larger type is a headline even
 * if it repeats.
 */
const heightMax = 1.15;
/** Share of equal lines above which two pages have the same content, so that repetition there is content. */
const similarShareMin = 0.5;
/** Minimum number of other pages with a repeated line that must differ from each other. */
const differentPagesMin = repetitionsMin - 1;

/** A line at the edge of a page. */
interface EdgeLine {
  readonly line: TextLine;
  /** Text with its numbers masked. */
  readonly key: string;
  readonly numbers: readonly number[];
}

/**
 * Returns the lines of a page that may be running lines. Table rows are excluded, because table heads repeat,
 * too.
 */
function findEdgeLines(lines: readonly TextLine[]): EdgeLine[] {
  const sorted = lines.toSorted((a, b) => b.top - a.top);
  const edge = new Set([...sorted.slice(0, linesPerEdge), ...sorted.slice(-linesPerEdge)]);
  return [...edge].filter(({ cells }) => !cells).map((line) => ({ line, ...maskNumbers(line.text) }));
}

/** Data by which a page is compared with others. */
export class PageEdges {
  readonly lines: readonly TextLine[];
  readonly edges: readonly EdgeLine[];
  #lineCounts: ReadonlyMap<string, number> | null = null;
  /** Cached comparison results with other pages. */
  readonly #similarPages = new WeakMap<PageEdges, boolean>();

  constructor(lines: readonly TextLine[]) {
    this.lines = lines;
    this.edges = findEdgeLines(lines);
  }

  /** Whether most lines of both pages are the same, as in empty forms or specimens. */
  isSimilarTo(other: PageEdges): boolean {
    const known = this.#similarPages.get(other);
    if (known !== undefined) return known;
    const [own, others] = [this.#countLines(), other.#countLines()];
    let common = 0;
    for (const [wording, count] of own) common += Math.min(count, others.get(wording) ?? 0);
    const isSimilar = common > similarShareMin * Math.max(this.lines.length, other.lines.length);
    this.#similarPages.set(other, isSimilar);
    other.#similarPages.set(this, isSimilar);
    return isSimilar;
  }

  /** Returns the number of occurrences of each line. */
  #countLines(): ReadonlyMap<string, number> {
    if (this.#lineCounts !== null) return this.#lineCounts;
    const counts = new Map<string, number>();
    for (const { text } of this.lines) {
      const letters = text.replace(/[\s|]+/g, ''); // spaces and cells depend on the type size, which may differ
      counts.set(letters, (counts.get(letters) ?? 0) + 1);
    }
    this.#lineCounts = counts;
    return counts;
  }
}

/**
 * Returns the lines of page `index` between the text and the page edge that repeat at the same position on
 * nearby pages, while those pages differ otherwise. Their numbers must be constant or count the pages;
 * anything else is content. `pages` returns neighboring pages, or null where there are none.
 */
export function findRunningLines(index: number, pages: (index: number) => PageEdges | null): Set<TextLine> {
  const page = pages(index);
  const repeated = new Set<TextLine>();
  if (page === null) return repeated;
  const typicalHeight = computeTypicalHeight(page.lines);
  for (const edge of page.edges) {
    if (edge.line.height > heightMax * typicalHeight) continue;
    const others: PageEdges[] = [];
    for (let at = index - runningLinesPageWindow; at <= index + runningLinesPageWindow; at++) {
      const other = at === index ? null : pages(at);
      if (other?.edges.some((one) => isSameLine(edge, one, at - index))) others.push(other);
    }
    if (others.length >= repetitionsMin - 1 && areDifferent(others)) repeated.add(edge.line);
  }
  if (repeated.size === 0) return repeated;
  const downwards = page.lines.toSorted((a, b) => b.top - a.top);
  return new Set([...takeFromEdge(downwards, repeated), ...takeFromEdge(downwards.toReversed(), repeated)]);
}

/** Whether enough of the pages have different content. */
function areDifferent(pages: readonly PageEdges[]): boolean {
  const different: PageEdges[] = [];
  for (const page of pages) {
    if (different.some((one) => one.isSimilarTo(page))) continue;
    different.push(page);
    if (different.length >= differentPagesMin) return true;
  }
  return false;
}

/** Returns the repeated lines from one edge inward, as long as white space separates them from the text. */
function takeFromEdge(lines: readonly TextLine[], repeated: ReadonlySet<TextLine>): TextLine[] {
  let count = 0;
  while (count < lines.length && repeated.has(lines[count]!)) count += 1;
  while (count > 0 && count < lines.length && !areApart(lines[count - 1]!, lines[count]!)) count -= 1;
  return lines.slice(0, count);
}

function areApart(one: TextLine, other: TextLine): boolean {
  const space = Math.max(one.bottom - other.top, other.bottom - one.top);
  return space >= edgeSpaceMin * Math.min(one.height, other.height);
}

function computeTypicalHeight(lines: readonly TextLine[]): number {
  const heights = lines.map(({ height }) => height).sort((a, b) => a - b);
  return heights[heights.length >> 1] ?? 0;
}

function isSameLine(one: EdgeLine, other: EdgeLine, pagesBetween: number): boolean {
  return (
    one.key === other.key &&
    Math.abs(one.line.top - other.line.top) <= positionTolerance &&
    one.numbers.every((number, i) => {
      const step = other.numbers[i]! - number;
      return step === 0 || step === pagesBetween;
    })
  );
}

const romanNumber = /^[ivxlc]{1,7}$/i;
const romanDigits: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50, c: 100 };

function maskNumbers(text: string): { key: string; numbers: number[] } {
  const numbers: number[] = [];
  const key = text
    .toLowerCase()
    .split(/\s+/)
    .map((word) => {
      const bare = word.replace(/[^\p{L}\p{N}]/gu, '');
      if (romanNumber.test(bare)) {
        numbers.push(parseRoman(bare));
        return '#';
      }
      return word.replace(/\d+/g, (digits) => {
        numbers.push(Number(digits));
        return '#';
      });
    })
    .join(' ');
  return { key, numbers };
}

function parseRoman(word: string): number {
  const values = [...word.toLowerCase()].map((letter) => romanDigits[letter] ?? 0);
  return values.reduce((sum, value, i) => sum + (value < (values[i + 1] ?? 0) ? -value : value), 0);
}
