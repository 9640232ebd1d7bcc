import { isRightToLeft, orderRightToLeft } from './pdf-right-to-left.ts';
import { type Box, hyphenAtLineEnd, type PageGlyphs } from './pdfium-glyphs.ts';

/**
 * Direction of a piece of text. `level`: left to right or right to left on a horizontal line. `up`, `down`
 * and `over`: rotated counterclockwise by 90, 270 and 180 degrees. `stacked`: characters one below the other,
 * lines from right to left. `slanted`: anything else.
 */
export type TextDirection = 'level' | 'up' | 'upside-down' | 'down' | 'stacked' | 'slanted';

/**
 * Text drawn on one line without a large gap. The box is in points, rotated so that text runs from left to
 * right and `top` is above `bottom`, for every direction.
 */
export interface TextPiece {
  readonly text: string;
  readonly left: number;
  readonly right: number;
  readonly bottom: number;
  readonly top: number;
  /** Mean height of its characters, so that a large bullet or a superscript does not make it a headline. */
  readonly height: number;
  readonly direction: TextDirection;
  /** Index among the pieces of the page in drawing order, or `noDrawOrder`. */
  readonly order: number;
  /** Indexes of the first and last character, for font lookups. */
  readonly glyph: number;
  readonly lastGlyph: number;
  readonly rightToLeft: boolean;
  /** Visible box on the page in points, if it is not the box above rotated back; null if it is not known. */
  readonly pageBox?: Box | null;
}

/** `order` of pieces that were not drawn with the page: form fields. */
export const noDrawOrder = -1;
/**
 * Gap that ends a piece, in multiples of the type height: wider than two spaces of a monospaced font,
 * narrower than the space between columns.
 */
const pieceGapMax = 1.25;
/**
 * Maximum gap between letters of a letter-spaced word, in multiples of the type height; wider gaps separate
 * individual symbols.
 */
const letterSpacingMax = 0.9;
/** Points by which characters may lie outside the page box and still belong to the page. */
const boxTolerance = 1;

const decoder = new TextDecoder('utf-16le');

/** Returns the text of a page as pieces, in drawing order. */
export function buildPieces(glyphs: PageGlyphs): TextPiece[] {
  orderRightToLeft(glyphs);
  const pieces = new PieceBuilder(glyphs).build();
  if (glyphs.fields.length === 0) return pieces;
  const heights = pieces.map(({ height }) => height).sort((a, b) => a - b);
  const typicalHeight = heights[heights.length >> 1] ?? fieldTypeHeight;
  return [...pieces, ...glyphs.fields.flatMap(({ text, box }) => buildFieldPieces(text, box, typicalHeight))];
}

/** Type height assumed for forms without other text. */
const fieldTypeHeight = 11;

/** Returns the lines of a form field from its upper edge down; the type of the field is not known. */
function buildFieldPieces(
  text: string,
  { left, right, top, bottom }: Box,
  typicalHeight: number,
): TextPiece[] {
  const lines = text.split(/\r\n?|\n/).filter((line) => line.trim() !== '');
  const pitch = Math.max(3, Math.min(typicalHeight, (top - bottom) / Math.max(1, lines.length)));
  const rest = {
    height: typicalHeight,
    left,
    right,
    direction: 'level',
    glyph: 0,
    lastGlyph: 0,
    rightToLeft: false,
    // The lines of a field are not known exactly.
    pageBox: { left, right, top, bottom },
  } as const;
  const first = lines.length === 1 ? (top + bottom + pitch) / 2 : top;
  return lines.map((line, i) => {
    return {
      ...rest,
      order: noDrawOrder,
      text: line,
      top: first - i * pitch,
      bottom: first - (i + 1) * pitch,
    };
  });
}

class PieceBuilder {
  readonly #glyphs: PageGlyphs;
  readonly #pieces: TextPiece[] = [];
  /** UTF-16 units of the open piece, and their number. */
  #units = new Uint16Array(1_024);
  #length = 0;
  #glyph = 0;
  #lastGlyph = 0;
  #direction: TextDirection = 'level';
  #rightToLeftCount = 0;
  #heightTotal = 0;
  #characterCount = 0;
  #box: Box = { left: 0, right: 0, bottom: 0, top: 0 };
  /** Box of the last character of the open piece, rotated like the piece. */
  #end: Box = { left: 0, right: 0, bottom: 0, top: 0 };
  /** Box of the current character, rotated like the piece. */
  #next: Box = { left: 0, right: 0, bottom: 0, top: 0 };

  constructor(glyphs: PageGlyphs) {
    this.#glyphs = glyphs;
  }

  build(): TextPiece[] {
    const { count, codes, generated } = this.#glyphs;
    let isOutside = false;
    for (let i = 0; i < count; i++) {
      const code = codes[i]!;
      if (generated[i] === 1) {
        if (code === 0x0a || code === 0x0d) this.#close();
        else if (isBlank(code) && !isOutside) this.#addSpace();
      } else if (isBlank(code)) {
        if (!isOutside) this.#addSpace();
      } else if (isVisible(code)) {
        isOutside = this.#isOutside(i);
        if (!isOutside) this.#add(i, code);
      }
    }
    this.#close();
    return this.#pieces;
  }

  #addSpace(): void {
    if (this.#length > 0 && this.#units[this.#length - 1] !== 0x20) this.#pushUnit(0x20);
  }

  #isOutside(i: number): boolean {
    const { box, left, right, bottom, top } = this.#glyphs;
    if (box === null) return false;
    const x = (left[i]! + right[i]!) / 2;
    const y = (bottom[i]! + top[i]!) / 2;
    const beside = x < box.left - boxTolerance || x > box.right + boxTolerance;
    return beside || y < box.bottom - boxTolerance || y > box.top + boxTolerance;
  }

  #add(i: number, code: number): void {
    if (this.#length > 0 && code !== hyphenAtLineEnd) {
      this.#rotateNext(i, this.#direction);
      if (!this.#continues(code)) this.#close();
    }
    if (this.#length === 0) this.#open(i);
    if (code <= 0xffff) this.#pushUnit(code);
    else {
      this.#pushUnit(0xd800 + ((code - 0x10000) >> 10));
      this.#pushUnit(0xdc00 + ((code - 0x10000) & 0x3ff));
    }
    if (isRightToLeft(code)) this.#rightToLeftCount += 1;
    this.#lastGlyph = i;
    if (code === hyphenAtLineEnd) return;
    const box = this.#box;
    const end = this.#end;
    const next = this.#next;
    if (next.left < box.left) box.left = next.left;
    if (next.right > box.right) box.right = next.right;
    if (next.bottom < box.bottom) box.bottom = next.bottom;
    if (next.top > box.top) box.top = next.top;
    end.left = next.left;
    end.right = next.right;
    end.bottom = next.bottom;
    end.top = next.top;
    this.#heightTotal += next.top - next.bottom;
    this.#characterCount += 1;
  }

  #pushUnit(unit: number): void {
    if (this.#length === this.#units.length) {
      const more = new Uint16Array(2 * this.#length);
      more.set(this.#units);
      this.#units = more;
    }
    this.#units[this.#length++] = unit;
  }

  #open(i: number): void {
    this.#direction = toDirection(this.#glyphs.angle(i));
    this.#rotateNext(i, this.#direction);
    const { left, right, bottom, top } = this.#next;
    this.#box = { left, right, bottom, top };
    this.#glyph = i;
    this.#rightToLeftCount = 0;
    this.#heightTotal = 0;
    this.#characterCount = 0;
  }

  /**
   * Whether the current character continues the open piece. Changes a piece of one character to `stacked`
   * when the next is below it.
   */
  #continues(code: number): boolean {
    const end = this.#end;
    const next = this.#next;
    const height = Math.max(end.top - end.bottom, next.top - next.bottom, 3);
    const apart = Math.max(next.left - end.right, end.left - next.right);
    const common = Math.min(end.top, next.top) - Math.max(end.bottom, next.bottom);
    const least = Math.min(end.top - end.bottom, next.top - next.bottom);
    if (common > 0.25 * least || (least === 0 && common >= 0)) return apart <= pieceGapMax * height;
    const below = end.bottom - next.top;
    const aligned = Math.abs(end.left + end.right - next.left - next.right) < 0.6 * height;
    const single = this.#direction === 'level' && this.#length === 1;
    if (!single || !aligned || !isWide(code) || below > 0.5 * height || below < -0.5 * height) return false;
    this.#direction = 'stacked';
    [this.#end, this.#box, this.#next] = [toStackedBox(end), toStackedBox(this.#box), toStackedBox(next)];
    return true;
  }

  #rotateNext(i: number, direction: TextDirection): void {
    const next = this.#next;
    if (direction === 'level') {
      const glyphs = this.#glyphs;
      next.left = glyphs.left[i]!;
      next.right = glyphs.right[i]!;
      next.bottom = glyphs.bottom[i]!;
      next.top = glyphs.top[i]!;
      return;
    }
    const { left, right, bottom, top } = this.#glyphs.rotatedBox(i, toRotation(direction));
    [next.left, next.right, next.bottom, next.top] = [left, right, bottom, top];
    if (direction === 'up') [next.left, next.right, next.bottom, next.top] = [bottom, top, -right, -left];
    if (direction === 'down') [next.left, next.right, next.bottom, next.top] = [-top, -bottom, left, right];
    if (direction === 'upside-down')
      [next.left, next.right, next.bottom, next.top] = [-right, -left, -top, -bottom];
    if (direction === 'stacked')
      [next.left, next.right, next.bottom, next.top] = [-top, -bottom, left, right];
  }

  #close(): void {
    if (this.#length > 0 && this.#units[this.#length - 1] === 0x20) this.#length -= 1;
    if (this.#length === 0) return;
    const raw = decoder.decode(this.#units.subarray(0, this.#length));
    const { left, right, bottom, top } = this.#box;
    const order = this.#pieces.length;
    const text = isLetterSpaced(raw) ? this.#removeLetterSpacing(raw) : raw;
    const rightToLeft = this.#rightToLeftCount * 2 > this.#length;
    this.#pieces.push({
      text,
      left,
      right,
      bottom,
      top,
      height: this.#heightTotal / Math.max(1, this.#characterCount),
      direction: this.#direction,
      order,
      glyph: this.#glyph,
      lastGlyph: this.#lastGlyph,
      rightToLeft,
    });
    this.#length = 0;
  }

  /** Joins the letters of letter-spaced words: only gaps well above the typical gap separate words. */
  #removeLetterSpacing(raw: string): string {
    if (this.#direction !== 'level') return raw;
    const { codes, generated, left, right } = this.#glyphs;
    const letters: number[] = [];
    for (let i = this.#glyph; i <= this.#lastGlyph; i++) {
      if (generated[i] === 0 && !isBlank(codes[i]!) && isVisible(codes[i]!)) letters.push(i);
    }
    const gaps = letters.slice(1).map((at, i) => left[at]! - right[letters[i]!]!);
    const typicalGap = gaps.toSorted((a, b) => a - b)[gaps.length >> 1] ?? 0;
    const height = this.#box.top - this.#box.bottom;
    if (typicalGap > letterSpacingMax * height) return raw;
    const words = letters.map((at, i) => {
      const wide = i > 0 && gaps[i - 1]! > Math.max(typicalGap * 1.6, typicalGap + 0.12 * height);
      return (wide ? ' ' : '') + String.fromCodePoint(codes[at]!);
    });
    return words.join('');
  }
}

function toStackedBox({ left, right, bottom, top }: Box): Box {
  return { left: -top, right: -bottom, bottom: left, top: right };
}

/** Whether the text looks like `H e a d i n g`: nearly every word is a single letter. */
function isLetterSpaced(text: string): boolean {
  if (text.length < 7 || text.charCodeAt(1) !== 0x20) return false;
  const words = text.split(' ');
  const single = words.filter((one) => one.length === 1 && /\p{L}/u.test(one)).length;
  return words.length >= 4 && single >= words.length * 0.8;
}

function toDirection(angle: number): TextDirection {
  const degrees = ((angle * 180) / Math.PI + 360) % 360;
  if (degrees < 8 || degrees > 352) return 'level';
  if (degrees > 82 && degrees < 98) return 'down';
  if (degrees > 172 && degrees < 188) return 'upside-down';
  return degrees > 262 && degrees < 278 ? 'up' : 'slanted';
}

function toRotation(direction: TextDirection): 'up' | 'down' | 'upside-down' | 'other' {
  return direction === 'up' || direction === 'down' || direction === 'upside-down' ? direction : 'other';
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09 || code === 0xa0;
}

/** Control characters are kept, because they indicate a font without a character map. */
function isVisible(code: number): boolean {
  return code !== 0 && code !== 0xffff;
}

/** Whether characters of this kind may be written one below the other. */
function isWide(code: number): boolean {
  return (
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xff60)
  );
}
