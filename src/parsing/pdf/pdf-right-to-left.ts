import type { PageGlyphs } from './pdfium.ts';

/**
 * PDFium turns a line that runs from right to left round character by character. That puts the letters of one glyph, and the
 * glyphs that are drawn on top of one another, in the wrong order. Here they come into the order in which they are read.
 */

/** Points by which the places of the characters of one glyph differ through rounding. */
const positionTolerance = 0.01;
/** Gap between letters, in heights of their boxes, from which a space that PDFium made up between them parts words. */
const wordGapMin = 0.12;
/** Characters of the longest ligature. */
const ligatureUnitsMax = 18;
/** Cosine of the angle up to which a line counts as level. */
const levelCosineMin = 0.99;

const [firstLetter, lastLetter] = [0x0590, 0x08ff];
const isMarkByLetter = Array.from({ length: lastLetter - firstLetter + 1 }, (_, i) =>
  /\p{Mn}/u.test(String.fromCharCode(firstLetter + i)),
);

/** What the ligatures that are characters of their own stand for, as it is read. */
const ligatures = new Set([...expandLigatures(0xfb1d, 0xfdff), ...expandLigatures(0xfe70, 0xfefc)]);

function expandLigatures(first: number, last: number): string[] {
  return Array.from({ length: last - first + 1 }, (_, i) => String.fromCharCode(first + i).normalize('NFKC'));
}

/** Letters of Hebrew, Arabic and their neighbours in the basic plane. */
export function isRightToLeft(code: number): boolean {
  return (
    (code >= firstLetter && code <= lastLetter) ||
    (code >= 0xfb1d && code <= 0xfdff) ||
    (code >= 0xfe70 && code <= 0xfefc)
  );
}

/** Vowels and other marks, which stand after their letter in text. */
function isMark(code: number): boolean {
  return code >= firstLetter && code <= lastLetter && isMarkByLetter[code - firstLetter]!;
}

/** Puts the characters of a page that run from right to left in the order in which they are read, in place. */
export function orderRightToLeft(glyphs: PageGlyphs): void {
  const { codes, count } = glyphs;
  let letter = -1;
  for (let i = 0; i < count; ) {
    const start = i;
    while (i < count && (isMark(codes[i]!) || isGeneratedSpace(glyphs, i))) i += 1;
    if (i === count || !isRightToLeft(codes[i]!)) {
      letter = -1;
      i += 1;
      continue;
    }
    const next = i;
    for (i += 1; i < count && isRightToLeft(codes[i]!) && belongToOneGlyph(glyphs, next, i); ) i += 1;
    if (i - next > 1) orderLigature(codes.subarray(next, i));
    letter = start === next ? next : orderGap(glyphs, { letter, start, next, end: i });
  }
}

/** A space that PDFium put into a line that it turned round: it has no extent, and is not said to be made up. */
function isGeneratedSpace({ codes, generated, left, right, bottom, top }: PageGlyphs, i: number): boolean {
  return codes[i] === 0x20 && generated[i] === 0 && left[i] === right[i] && bottom[i] === top[i];
}

/** Characters of one glyph begin at one place; how far each reaches depends on where PDFium found it. */
function belongToOneGlyph({ left, bottom, top }: PageGlyphs, i: number, j: number): boolean {
  return [left, bottom, top].every((edges) => Math.abs(edges[i]! - edges[j]!) < positionTolerance);
}

/**
 * The characters of one glyph. A ligature that is a character of its own PDFium takes apart after it turned the line, so
 * they are in order; where the font or the page names several characters, they were turned with the line. Only the
 * characters tell which of the two it was.
 */
function orderLigature(codes: Uint32Array): void {
  const isOrdered = codes.subarray(1).every(isMark) || (isLigature(codes) && !isLigature(codes.toReversed()));
  if (!isOrdered) codes.reverse();
}

function isLigature(codes: Uint32Array): boolean {
  return codes.length <= ligatureUnitsMax && ligatures.has(String.fromCharCode(...codes));
}

interface GlyphGap {
  /** Index of the letter before; -1 where the line begins. */
  readonly letter: number;
  /** Index of the first mark or made-up space behind it. */
  readonly start: number;
  /** Indexes of the next letter and of what follows its glyph. */
  readonly next: number;
  readonly end: number;
}

/**
 * Marks are drawn about the left edge of their letter, by some programs before it and by others after it, so they stand on
 * either side of it. They also make PDFium see gaps where there are none. Returns the index that the next letter gets.
 */
function orderGap(glyphs: PageGlyphs, { letter, start, next, end }: GlyphGap): number {
  const { codes, left, right, bottom, top } = glyphs;
  const isMarked = isMark(codes[start - 1] ?? 0) || codes.subarray(start, next).some(isMark);
  if (!isMarked || Math.cos(glyphs.angle(next)) < levelCosineMin) return next;
  const parts = { own: [] as number[], spaces: [] as number[], following: [] as number[] };
  for (let i = start; i < next; i++) {
    const away = Math.abs(left[i]! - left[next]!);
    const isOwn = letter >= 0 && Math.abs(left[i]! - left[letter]!) <= away;
    if (!isMark(codes[i]!)) parts.spaces.push(i);
    else if (isOwn || away > right[next]! - left[next]!) parts.own.push(i);
    else parts.following.push(i);
  }
  const gap = letter < 0 ? Number.POSITIVE_INFINITY : computeGap(glyphs, letter, next);
  const isGap = gap > wordGapMin * (top[next]! - bottom[next]!);
  const lettersAt = [...parts.own, ...(isGap ? parts.spaces : [])];
  const letters = Array.from({ length: end - next }, (_, i) => next + i);
  const order = [...lettersAt, ...letters, ...parts.following.reverse(), ...(isGap ? [] : parts.spaces)];
  for (const values of [codes, left, right, bottom, top]) {
    values.set(
      order.map((i) => values[i]!),
      start,
    );
  }
  if (!isGap) {
    codes.fill(0, end - parts.spaces.length, end);
    glyphs.generated.fill(1, end - parts.spaces.length, end);
  }
  return start + lettersAt.length;
}

function computeGap({ left, right }: PageGlyphs, i: number, j: number): number {
  return Math.max(left[i]! - right[j]!, left[j]! - right[i]!);
}
