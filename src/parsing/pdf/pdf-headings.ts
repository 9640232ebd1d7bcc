import type { TextLine } from './pdf-lines.ts';
import type { OutlineEntry } from './pdfium-outline.ts';

const headingUnitsMax = 160;
const headingLinesMax = 3;
/**
 * Minimum height and size of a heading, in multiples of body type. Both are checked, because some fonts have
 * tall boxes at any size.
 */
const [heightMin, sizeMin] = [1.15, 1.1];
/** Minimum heights of first-level and second-level headings, in multiples of the body type height. */
const levelHeights = [1.7, 1.35] as const;
const sizedLevelLast = 3;
const boldLevel = 4;
const levelMax = 6;

/**
 * Typical height and size of type in the part of a document read so far. `isBold` is true when most candidate
 * lines are bold.
 */
export class BodyType {
  readonly #heights = new MostCommonValue(10);
  readonly #sizes = new MostCommonValue(10);
  #candidates = 0;
  #bold = 0;

  add(lines: readonly TextLine[]): void {
    for (const line of lines) {
      this.#heights.add(line.height, line.text.length);
      this.#sizes.add(line.size, line.text.length);
      if (!line.afterGap || line.text.length > headingUnitsMax) continue;
      this.#candidates += 1;
      if (line.bold) this.#bold += 1;
    }
  }

  get height(): number {
    return this.#heights.value;
  }

  get size(): number {
    return this.#sizes.value;
  }

  get isBold(): boolean {
    return this.#bold > 8 && this.#bold > 0.6 * this.#candidates;
  }
}

/** The value of most of the text, rounded to quarters of a point. */
class MostCommonValue {
  /** Initial value, until something is added. */
  value: number;
  readonly #units = new Map<number, number>();

  constructor(value: number) {
    this.value = value;
  }

  add(value: number, units: number): void {
    const rounded = Math.round(value * 4) / 4;
    const sum = (this.#units.get(rounded) ?? 0) + units;
    this.#units.set(rounded, sum);
    if (sum > (this.#units.get(this.value) ?? 0)) this.value = rounded;
  }
}

/** Headings listed in the outline of a document, matched by their words. */
export class OutlineHeadings {
  readonly #byPage = new Map<number, { words: string; level: number }[]>();
  readonly deepest: number;

  constructor(entries: readonly OutlineEntry[]) {
    this.deepest = entries.reduce((most, { level }) => Math.max(most, level), 0);
    for (const { title, page, level } of entries) {
      const words = normalizeWords(title);
      if (words === '' || page < 0) continue;
      this.#byPage.set(page, [...(this.#byPage.get(page) ?? []), { words, level }]);
    }
  }

  /**
   * Returns the level of the outline entry whose title is this line of page `index`; null when there is none.
   */
  findLevel(index: number, text: string): number | null {
    const entries = this.#byPage.get(index);
    if (entries === undefined) return null;
    const words = normalizeWords(text);
    if (words === '') return null;
    const found = entries.find(
      (entry) =>
        entry.words === words ||
        (words.length >= 6 && words.endsWith(entry.words) && words.length - entry.words.length <= 6) ||
        (words.length >= 0.5 * entry.words.length && words.length >= 6 && entry.words.startsWith(words)),
    );
    return found?.level ?? null;
  }
}

function normalizeWords(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]+/gu, '');
}

/** A heading that spans `count` lines. */
export interface PageHeading {
  readonly count: number;
  readonly level: number;
}

/** Returns the headings of a page by the index of their first line. */
export function findPageHeadings(
  index: number,
  lines: readonly TextLine[],
  bodyType: BodyType,
  outline: OutlineHeadings,
): Map<number, PageHeading> {
  const headings = new Map<number, PageHeading>();
  for (let i = 0; i < lines.length; ) {
    const level = findHeadingLevel(index, lines, i, { usual: bodyType, outline });
    if (level === null) {
      i += 1;
      continue;
    }
    let count = 1;
    while (count < headingLinesMax && continuesHeading(lines, i + count, bodyType)) count += 1;
    if (count === headingLinesMax && continuesHeading(lines, i + count, bodyType)) {
      i += count;
      continue; // a paragraph
    }
    headings.set(i, { count, level });
    i += count;
  }
  return isAllHeadings(headings, lines) ? new Map() : headings;
}

/** Whether a page is mostly large type: such a page is a poster or a slide, not a list of headings. */
function isAllHeadings(headings: ReadonlyMap<number, PageHeading>, lines: readonly TextLine[]): boolean {
  const covered = [...headings.values()].reduce((sum, { count }) => sum + count, 0);
  return covered > 4 && covered > 0.6 * lines.length;
}

function findHeadingLevel(
  index: number,
  lines: readonly TextLine[],
  i: number,
  { usual: bodyType, outline }: { readonly usual: BodyType; readonly outline: OutlineHeadings },
): number | null {
  const line = lines[i]!;
  if (line.cells || line.hasGaps || line.text.length > headingUnitsMax) return null;
  if (!/\p{L}{2}|\p{Lo}/u.test(line.text)) return null;
  const outlineLevel = outline.findLevel(index, line.text);
  if (outlineLevel !== null) return Math.min(outlineLevel, levelMax);
  const belowOutline = (level: number) => Math.min(levelMax, Math.max(level, outline.deepest + 1));
  if (isLarge(line, bodyType) && !isSentence(lines, i)) {
    const rank = levelHeights.findIndex((height) => line.height >= height * bodyType.height);
    return belowOutline(rank < 0 ? sizedLevelLast : rank + 1);
  }
  const bold = line.bold && line.afterGap && !bodyType.isBold && line.height >= 0.95 * bodyType.height;
  return bold ? belowOutline(boldLevel) : null;
}

function isLarge(line: TextLine, bodyType: BodyType): boolean {
  return line.height >= heightMin * bodyType.height && line.size >= sizeMin * bodyType.size;
}

/**
 * Whether large type at this line is not a heading: it continues a paragraph, ends like a sentence, or spans
 * too many lines.
 */
function isSentence(lines: readonly TextLine[], i: number): boolean {
  const [line, previous] = [lines[i]!, lines[i - 1]];
  if (
    previous !== undefined &&
    !line.afterGap &&
    Math.abs(previous.height - line.height) < 0.05 * line.height
  )
    return true;
  let last = i;
  while (last - i < headingLinesMax && continuesHeadingAt(lines, last + 1, line.height)) last += 1;
  const { text } = lines[Math.min(last, lines.length - 1)]!;
  return last - i >= headingLinesMax || (/[\p{L})]{2}[.;,]$/u.test(text) && (last > i || text.length > 40));
}

function continuesHeading(lines: readonly TextLine[], i: number, bodyType: BodyType): boolean {
  const previous = lines[i - 1]!;
  return (
    (isLarge(previous, bodyType) || (previous.bold && lines[i]?.bold === true)) &&
    continuesHeadingAt(lines, i, previous.height)
  );
}

function continuesHeadingAt(lines: readonly TextLine[], i: number, height: number): boolean {
  const line = lines[i];
  return (
    line !== undefined && !line.afterGap && !line.cells && Math.abs(line.height - height) < 0.05 * height
  );
}
