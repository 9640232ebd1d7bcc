import type { PageFrame } from './page-frame.ts';
import { type FormField, readFields } from './pdfium-fields.ts';
import type { Pdfium } from './pdfium-library.ts';
import { countTextObjects } from './pdfium-objects.ts';

/** Hyphen at a line end as returned by PDFium, and as returned by this module. */
const pdfiumHyphen = 0x02;
export const hyphenAtLineEnd = 0xfffe;
/** Extent of type below and above its baseline, in multiples of its size. */
const typeDescent = 0.22;
const typeAscent = 0.78;
/** Minimum font weight that counts as bold. */
const boldWeightMin = 600;
const fontNameBytesMax = 1_024;

/** Left, right, bottom and top in points; y grows upwards. */
export interface Box {
  left: number;
  right: number;
  bottom: number;
  top: number;
}

export type GlyphDirection = 'up' | 'down' | 'upside-down' | 'other';

/**
 * Characters of a page in drawing order. Arrays are longer than `count` and are reused for the next page.
 * U+FFFE is a hyphen at a line end. The box of a character is as wide as its advance and as high as its type;
 * generated characters (spaces and line ends added by PDFium) have none.
 */
export interface PageGlyphs extends GlyphBuffers {
  readonly count: number;
  /** Visible area of the page; null when the file does not define it. */
  readonly box: Box | null;
  /** The same area as the image of the page shows it; null when the file does not define it. */
  readonly frame: PageFrame | null;
  /** Whether the page holds more characters than requested. */
  readonly cut: boolean;
  /**
   * Number of text objects on the page, counted only where PDFium returns fewer characters than that;
   * otherwise 0.
   */
  readonly unmappedTexts: number;
  /** Values of form fields, and notes written on the page. */
  readonly fields: readonly FormField[];
  /** Angle of a character in radians, clockwise. */
  angle(index: number): number;
  /** Box of a rotated character: as long as its ink along the text, as high as its type across it. */
  rotatedBox(index: number, direction: GlyphDirection): Box;
  isBold(index: number): boolean;
  /** Type size in points; meaningless for a generated character. */
  typeSize(index: number): number;
}

interface GlyphBuffers {
  readonly codes: Uint32Array;
  readonly generated: Uint8Array;
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly bottom: Float32Array;
  readonly top: Float32Array;
}

/** A page and its text, by their PDFium handles. */
export interface TextPage {
  readonly page: number;
  readonly text: number;
}

/** Reads the characters of pages into buffers that it reuses for the next page. */
export class GlyphReader {
  readonly #pdfium: Pdfium;
  #buffers = createGlyphBuffers(8_192);

  constructor(pdfium: Pdfium) {
    this.#pdfium = pdfium;
  }

  /**
   * Uses `FPDFText_GetUnicode` per character instead of `FPDFText_GetText`, because the indexes of the two
   * differ once a character needs two UTF-16 units.
   */
  read({ page, text }: TextPage, glyphsMax: number): PageGlyphs {
    const pdfium = this.#pdfium;
    const api = pdfium.wasmExports;
    const total = Math.max(0, api.FPDFText_CountChars(text));
    const count = Math.min(total, glyphsMax);
    if (this.#buffers.codes.length < count) this.#buffers = createGlyphBuffers(Math.ceil(count * 1.5));
    fillGlyphBuffers(pdfium, text, count, this.#buffers);
    const box = readPageBox(pdfium, page);
    return {
      ...this.#buffers,
      count,
      cut: count < total,
      box,
      frame: box === null ? null : { box, quarterTurns: api.FPDFPage_GetRotation(page) },
      unmappedTexts: countUnmappedTexts(pdfium, page, count),
      fields: readFields(pdfium, page),
      angle: (i) => Math.max(0, api.FPDFText_GetCharAngle(text, i)),
      rotatedBox: (i, direction) => computeRotatedBox(pdfium, text, i, direction),
      isBold: (i) => isBold(pdfium, text, i),
      typeSize: (i) => computeTypeHeight(pdfium, text, i),
    };
  }
}

function fillGlyphBuffers(
  pdfium: Pdfium,
  text: number,
  count: number,
  { codes, generated, left, right, bottom, top }: GlyphBuffers,
): void {
  const { scratch, wasmExports: api } = pdfium;
  let floats = new Float32Array(pdfium.HEAPU8.buffer);
  const at = scratch >> 2;
  for (let i = 0; i < count; i++) {
    const code = api.FPDFText_GetUnicode(text, i);
    codes[i] = code === pdfiumHyphen && api.FPDFText_IsHyphen(text, i) === 1 ? hyphenAtLineEnd : code;
    generated[i] = api.FPDFText_IsGenerated(text, i) === 1 ? 1 : 0;
    if (generated[i] === 1) continue;
    api.FPDFText_GetLooseCharBox(text, i, scratch);
    if (floats.length === 0) floats = new Float32Array(pdfium.HEAPU8.buffer); // the memory grew
    left[i] = Math.min(floats[at]!, floats[at + 2]!);
    right[i] = Math.max(floats[at]!, floats[at + 2]!);
    top[i] = Math.max(floats[at + 1]!, floats[at + 3]!);
    bottom[i] = Math.min(floats[at + 1]!, floats[at + 3]!);
  }
}

function countUnmappedTexts(pdfium: Pdfium, page: number, characters: number): number {
  if (pdfium.wasmExports.FPDFPage_CountObjects(page) <= characters) return 0;
  const texts = countTextObjects(pdfium, page);
  return texts > characters ? texts : 0;
}

function readPageBox(pdfium: Pdfium, page: number): Box | null {
  const { scratch } = pdfium;
  if (pdfium.wasmExports.FPDF_GetPageBoundingBox(page, scratch) === 0) return null;
  const [left, top, right, bottom] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
  return right! > left! && top! > bottom! ? { left: left!, right: right!, bottom: bottom!, top: top! } : null;
}

function computeRotatedBox(pdfium: Pdfium, text: number, index: number, direction: GlyphDirection): Box {
  const { scratch, wasmExports: api } = pdfium;
  const known = api.FPDFText_GetCharBox(text, index, scratch, scratch + 8, scratch + 16, scratch + 24);
  const [left = 0, right = 0, bottom = 0, top = 0] =
    known === 0 ? [] : new Float64Array(pdfium.HEAPU8.buffer, scratch, 4);
  if (direction === 'other') return { left, right, bottom, top };
  const height = computeTypeHeight(pdfium, text, index);
  api.FPDFText_GetCharOrigin(text, index, scratch, scratch + 8);
  const [x = 0, y = 0] = new Float64Array(pdfium.HEAPU8.buffer, scratch, 2);
  const [below, above] = [typeDescent * height, typeAscent * height];
  if (direction === 'upside-down') return { left, right, bottom: y - above, top: y + below };
  return direction === 'up'
    ? { left: x - above, right: x + below, bottom, top }
    : { left: x - below, right: x + above, bottom, top };
}

/** Returns the type size on the page, including the scale of its matrix. */
function computeTypeHeight(pdfium: Pdfium, text: number, index: number): number {
  const { scratch, wasmExports: api } = pdfium;
  if (api.FPDFText_GetMatrix(text, index, scratch) === 0) return 10;
  const [, , c = 0, d = 1] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
  return api.FPDFText_GetFontSize(text, index) * Math.hypot(c, d);
}

/** Also checks the font name, because many producers omit the weight. */
function isBold(pdfium: Pdfium, text: number, index: number): boolean {
  const api = pdfium.wasmExports;
  if (api.FPDFText_GetFontWeight(text, index) >= boldWeightMin) return true;
  const length = api.FPDFText_GetFontInfo(text, index, 0, 0, 0);
  if (length <= 1 || length > fontNameBytesMax) return false;
  const buffer = api.malloc(length);
  api.FPDFText_GetFontInfo(text, index, buffer, length, 0);
  const name = Buffer.from(pdfium.HEAPU8.subarray(buffer, buffer + length - 1)).toString('latin1');
  api.free(buffer);
  return /bold|black|heavy|semibold|-bd|,bd/i.test(name);
}

function createGlyphBuffers(count: number): GlyphBuffers {
  const numbers = () => new Float32Array(count);
  return {
    codes: new Uint32Array(count),
    generated: new Uint8Array(count),
    left: numbers(),
    right: numbers(),
    bottom: numbers(),
    top: numbers(),
  };
}
