import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PDFiumModule } from '@hyzyla/pdfium';
import type { Raster } from '../formats/image/raster.ts';

/**
 * The only module that uses PDFium. It calls the WebAssembly exports directly, because the wrapper's text
 * call has no character boxes and its debug layer adds cost to every call.
 */
interface PdfiumExports {
  malloc(size: number): number;
  free(pointer: number): void;
  FPDF_InitLibraryWithConfig(config: number): void;
  FPDF_LoadMemDocument(data: number, size: number, password: number): number;
  FPDF_GetLastError(): number;
  FPDF_GetPageCount(document: number): number;
  FPDF_CloseDocument(document: number): void;
  FPDF_GetMetaText(document: number, tag: number, buffer: number, length: number): number;
  FPDF_LoadPage(document: number, index: number): number;
  FPDF_ClosePage(page: number): void;
  FPDFTextObj_GetFont(object: number): number;
  FPDFFont_GetIsEmbedded(font: number): number;
  FPDFPage_CountObjects(page: number): number;
  FPDF_GetPageWidthF(page: number): number;
  FPDF_GetPageHeightF(page: number): number;
  FPDF_GetPageBoundingBox(page: number, rectangle: number): number;
  FPDFPage_GetObject(page: number, index: number): number;
  FPDFFormObj_CountObjects(form: number): number;
  FPDFFormObj_GetObject(form: number, index: number): number;
  FPDFPageObj_GetType(object: number): number;
  FPDFPageObj_GetBounds(object: number, left: number, bottom: number, right: number, top: number): number;
  FPDFText_LoadPage(page: number): number;
  FPDFText_ClosePage(text: number): void;
  FPDFText_CountChars(text: number): number;
  FPDFText_GetUnicode(text: number, index: number): number;
  FPDFText_IsGenerated(text: number, index: number): number;
  FPDFPage_GetAnnotCount(page: number): number;
  FPDFPage_GetAnnot(page: number, index: number): number;
  FPDFPage_CloseAnnot(annotation: number): void;
  FPDFAnnot_GetSubtype(annotation: number): number;
  FPDFAnnot_GetFlags(annotation: number): number;
  FPDFAnnot_GetRect(annotation: number, rectangle: number): number;
  FPDFAnnot_GetStringValue(annotation: number, key: number, buffer: number, length: number): number;
  FPDFText_IsHyphen(text: number, index: number): number;
  FPDFText_GetFontSize(text: number, index: number): number;
  FPDFText_GetMatrix(text: number, index: number, matrix: number): number;
  FPDFText_GetCharOrigin(text: number, index: number, x: number, y: number): number;
  FPDFText_GetCharAngle(text: number, index: number): number;
  FPDFText_GetFontWeight(text: number, index: number): number;
  FPDFText_GetFontInfo(text: number, index: number, buffer: number, length: number, flags: number): number;
  FPDFText_GetLooseCharBox(text: number, index: number, rectangle: number): number;
  FPDFBookmark_GetFirstChild(document: number, bookmark: number): number;
  FPDFBookmark_GetNextSibling(document: number, bookmark: number): number;
  FPDFBookmark_GetTitle(bookmark: number, buffer: number, length: number): number;
  FPDFBookmark_GetDest(document: number, bookmark: number): number;
  FPDFBookmark_GetAction(bookmark: number): number;
  FPDFAction_GetDest(document: number, action: number): number;
  FPDFDest_GetDestPageIndex(document: number, destination: number): number;
  FPDFText_GetCharBox(
    text: number,
    index: number,
    left: number,
    right: number,
    bottom: number,
    top: number,
  ): number;
  FPDFBitmap_CreateEx(width: number, height: number, format: number, buffer: number, stride: number): number;
  FPDFBitmap_FillRect(
    bitmap: number,
    left: number,
    top: number,
    width: number,
    height: number,
    argb: number,
  ): void;
  FPDFBitmap_Destroy(bitmap: number): void;
  FPDF_RenderPageBitmap(
    bitmap: number,
    page: number,
    left: number,
    top: number,
    width: number,
    height: number,
    rotate: number,
    flags: number,
  ): void;
  FPDFDOC_InitFormFillEnvironment(document: number, callbacks: number): number;
  FPDFDOC_ExitFormFillEnvironment(form: number): void;
  FORM_OnAfterLoadPage(page: number, form: number): void;
  FORM_OnBeforeClosePage(page: number, form: number): void;
  FPDF_FFLDraw(
    form: number,
    bitmap: number,
    page: number,
    left: number,
    top: number,
    width: number,
    height: number,
    rotate: number,
    flags: number,
  ): void;
}

interface Pdfium {
  readonly wasmExports: PdfiumExports;
  /** View of the WebAssembly memory; replaced whenever the memory grows, so never keep it across a call. */
  readonly HEAPU8: Uint8Array;
}

/** FPDF_ERR_* of fpdfview.h. */
const passwordError = 4;
const securityError = 5;
const bgraFormat = 4;
/** FPDF_ANNOT | FPDF_REVERSE_BYTE_ORDER: annotations drawn, bytes in RGBA order. */
const renderFlags = 0x01 | 0x10;
const formFlags = 0x10;
/** Size of the callback table of the form environment, all zero: version 2 and no callbacks. */
const formEnvironmentBytes = 512;
/** Hyphen at a line end as returned by PDFium, and as returned by this module. */
const pdfiumHyphen = 0x02;
export const hyphenAtLineEnd = 0xfffe;
/** Extent of type below and above its baseline, in multiples of its size. */
const typeDescent = 0.22;
const typeAscent = 0.78;
/** Maximum number of outline entries and outline levels that are read. */
const outlineEntriesMax = 5_000;
const outlineLevelsMax = 6;
/** FPDF_ANNOT_FREETEXT and FPDF_ANNOT_WIDGET, and the flag for hidden annotations. */
const freeText = 3;
const widget = 20;
const hiddenFlag = 2;
const annotationsMax = 2_000;
const fieldUnitsMax = 20_000;
/** Minimum font weight that counts as bold. */
const boldWeightMin = 600;

/** FPDF_PAGEOBJ_* of fpdf_edit.h. */
const textObject = 1;
const imageObject = 3;
const formObject = 5;
/** Maximum number of objects examined per page or form, and nesting depth of forms. */
const objectsMax = 10_000;
const formDepthMax = 4;

let loading: Promise<Pdfium> | null = null;

/** Compiles PDFium once per process. */
function loadPdfium(): Promise<Pdfium> {
  loading ??= instantiate();
  return loading;
}

async function instantiate(): Promise<Pdfium> {
  const wasm = readFileSync(createRequire(import.meta.url).resolve('@hyzyla/pdfium/pdfium.wasm'));
  const wasmBinary = wasm.buffer.slice(wasm.byteOffset, wasm.byteOffset + wasm.byteLength) as ArrayBuffer;
  const pdfium = (await PDFiumModule({ wasmBinary })) as unknown as Pdfium;
  const api = pdfium.wasmExports;
  const config = api.malloc(32);
  pdfium.HEAPU8.fill(0, config, config + 32);
  pdfium.HEAPU8[config] = 2;
  api.FPDF_InitLibraryWithConfig(config);
  api.free(config);
  return pdfium;
}

type PdfOpenError = 'encrypted' | 'corrupt';

/** Left, right, bottom and top in points; y grows upwards. */
export interface Box {
  left: number;
  right: number;
  bottom: number;
  top: number;
}

/**
 * Characters of a page in drawing order. Arrays are longer than `count` and are reused for the next page.
 * U+FFFE is a hyphen at a line end. The box of a character is as wide as its advance and as high as its type;
 * generated characters (spaces and line ends added by PDFium) have none.
 */
export interface PageGlyphs extends GlyphBuffers {
  readonly count: number;
  /** Visible area of the page; null when the file does not define it. */
  readonly box: Box | null;
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
  rotatedBox(index: number, direction: 'up' | 'down' | 'upside-down' | 'other'): Box;
  isBold(index: number): boolean;
  /** Type size in points; meaningless for a generated character. */
  typeSize(index: number): number;
}

export interface FormField {
  readonly text: string;
  readonly box: Box;
}

/** An entry of the outline. */
export interface OutlineEntry {
  readonly title: string;
  /** Zero-based; -1 when the entry refers to no page. */
  readonly page: number;
  /** 1 for the outermost level. */
  readonly level: number;
}

/** An open PDF. Must be closed; until then, its bytes occupy WebAssembly memory. */
export class PdfiumDocument {
  private readonly pdfium: Pdfium;
  private readonly handle: number;
  private readonly data: number;
  /** Scratch memory for a rectangle (16 bytes) or four doubles, reused for every character. */
  private readonly scratch: number;
  private glyphBuffers = createGlyphBuffers(8_192);

  private constructor(pdfium: Pdfium, handle: number, data: number) {
    this.pdfium = pdfium;
    this.handle = handle;
    this.data = data;
    this.scratch = pdfium.wasmExports.malloc(32);
  }

  /**
   * Opens with the empty password, which suffices for files that have only an owner password. `end` is read
   * as if appended to `bytes`.
   */
  static async open(
    bytes: Uint8Array,
    end: Uint8Array = new Uint8Array(),
  ): Promise<PdfiumDocument | PdfOpenError> {
    const pdfium = await loadPdfium();
    const api = pdfium.wasmExports;
    const length = bytes.length + end.length;
    const data = api.malloc(Math.max(1, length));
    if (data === 0) throw new RangeError('PDFium has no memory for the document');
    pdfium.HEAPU8.set(bytes, data);
    pdfium.HEAPU8.set(end, data + bytes.length);
    const handle = api.FPDF_LoadMemDocument(data, length, 0);
    if (handle !== 0) return new PdfiumDocument(pdfium, handle, data);
    const error = api.FPDF_GetLastError();
    api.free(data);
    return error === passwordError || error === securityError ? 'encrypted' : 'corrupt';
  }

  get pageCount(): number {
    return this.pdfium.wasmExports.FPDF_GetPageCount(this.handle);
  }

  close(): void {
    const api = this.pdfium.wasmExports;
    api.FPDF_CloseDocument(this.handle);
    api.free(this.data);
    api.free(this.scratch);
  }

  /** Returns a document information entry such as `Title`; empty when there is none. */
  readMetadata(tag: string): string {
    const api = this.pdfium.wasmExports;
    const name = this.allocateLatin1(tag);
    try {
      const length = api.FPDF_GetMetaText(this.handle, name, 0, 0);
      if (length <= 2) return '';
      const buffer = api.malloc(length);
      api.FPDF_GetMetaText(this.handle, name, buffer, length);
      const text = new TextDecoder('utf-16le').decode(this.pdfium.HEAPU8.slice(buffer, buffer + length - 2));
      api.free(buffer);
      return text;
    } finally {
      api.free(name);
    }
  }

  /** Whether this page exists, independent of the declared page count. */
  canLoadPage(index: number): boolean {
    const page = this.pdfium.wasmExports.FPDF_LoadPage(this.handle, index);
    if (page !== 0) this.pdfium.wasmExports.FPDF_ClosePage(page);
    return page !== 0;
  }

  /** Whether this page exists and has drawn objects. */
  hasContent(index: number): boolean {
    const api = this.pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.handle, index);
    if (page === 0) return false;
    const count = api.FPDFPage_CountObjects(page);
    api.FPDF_ClosePage(page);
    return count > 0;
  }

  /**
   * Returns the result of `use` for the characters of a page, at most `glyphsMax` of them; null when PDFium
   * cannot load the page. The characters are valid only inside `use`.
   */
  readGlyphsWith<T>(index: number, glyphsMax: number, use: (glyphs: PageGlyphs) => T): T | null {
    return this.withTextPage(index, (page, text) => use(this.readGlyphs(page, text, glyphsMax)));
  }

  /** Returns the outline, outer entries before inner ones; empty when there is none. */
  outline(): OutlineEntry[] {
    const entries: OutlineEntry[] = [];
    this.readOutline(0, 1, entries);
    return entries;
  }

  /**
   * Renders a page with its annotations and form fields. The size is `scaleOf(width, height)` times the page
   * size in points. Null when the page cannot be loaded.
   */
  render(index: number, scaleOf: (width: number, height: number) => number): Raster | null {
    const api = this.pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.handle, index);
    if (page === 0) return null;
    try {
      const [points, lines] = [api.FPDF_GetPageWidthF(page), api.FPDF_GetPageHeightF(page)];
      const scale = scaleOf(points, lines);
      return this.draw(page, Math.max(1, Math.round(points * scale)), Math.max(1, Math.round(lines * scale)));
    } finally {
      api.FPDF_ClosePage(page);
    }
  }

  /** Returns the size in points of a page with CJK text in fonts that are not embedded; null otherwise. */
  measureUnembeddedCjkPage(index: number): { readonly width: number; readonly height: number } | null {
    return this.withTextPage(index, (page, text) => {
      const api = this.pdfium.wasmExports;
      if (!this.hasUnembeddedFont(page) || !this.isEastAsian(text)) return null;
      return { width: api.FPDF_GetPageWidthF(page), height: api.FPDF_GetPageHeightF(page) };
    });
  }

  private hasUnembeddedFont(page: number): boolean {
    const api = this.pdfium.wasmExports;
    const count = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
    for (let i = 0; i < count; i++) {
      const object = api.FPDFPage_GetObject(page, i);
      if (api.FPDFPageObj_GetType(object) !== textObject) continue;
      const font = api.FPDFTextObj_GetFont(object);
      if (font !== 0 && api.FPDFFont_GetIsEmbedded(font) === 0) return true;
    }
    return false;
  }

  private isEastAsian(text: number): boolean {
    const api = this.pdfium.wasmExports;
    const count = Math.min(api.FPDFText_CountChars(text), objectsMax);
    for (let i = 0; i < count; i++) {
      const code = api.FPDFText_GetUnicode(text, i);
      if ((code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) || code >= 0x20000)
        return true;
    }
    return false;
  }

  /**
   * Returns the share of a page, 0 to 1, that images cover, including those in forms; 0 when it cannot be
   * loaded.
   */
  computeImageShare(index: number): number {
    const api = this.pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.handle, index);
    if (page === 0) return 0;
    try {
      const area = Math.max(1, api.FPDF_GetPageWidthF(page) * api.FPDF_GetPageHeightF(page));
      const count = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
      let covered = 0;
      for (let i = 0; i < count; i++)
        covered += this.computeImageArea(api.FPDFPage_GetObject(page, i), formDepthMax);
      return Math.min(1, covered / area);
    } finally {
      api.FPDF_ClosePage(page);
    }
  }

  /**
   * Returns the area of an image object in square points. Images in a form have sizes in the form's own
   * space, so a form that holds an image counts with its whole area: scanners wrap the image of a page in a
   * form.
   */
  private computeImageArea(object: number, depth: number): number {
    const api = this.pdfium.wasmExports;
    const type = api.FPDFPageObj_GetType(object);
    if (type === imageObject || (type === formObject && this.holdsImage(object, depth)))
      return this.computeArea(object);
    return 0;
  }

  private holdsImage(form: number, depth: number): boolean {
    const api = this.pdfium.wasmExports;
    const count = Math.min(api.FPDFFormObj_CountObjects(form), objectsMax);
    for (let i = 0; i < count; i++) {
      const object = api.FPDFFormObj_GetObject(form, i);
      const type = api.FPDFPageObj_GetType(object);
      if (type === imageObject) return true;
      if (type === formObject && depth > 0 && this.holdsImage(object, depth - 1)) return true;
    }
    return false;
  }

  private computeArea(object: number): number {
    const { scratch, pdfium } = this;
    const api = pdfium.wasmExports;
    if (api.FPDFPageObj_GetBounds(object, scratch, scratch + 4, scratch + 8, scratch + 12) === 0) return 0;
    const [left, bottom, right, top] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
    return Math.max(0, right! - left!) * Math.max(0, top! - bottom!);
  }

  private draw(page: number, width: number, height: number): Raster {
    const api = this.pdfium.wasmExports;
    const size = width * height * 4;
    const buffer = api.malloc(size);
    if (buffer === 0) throw new RangeError('PDFium has no memory for the image');
    const bitmap = api.FPDFBitmap_CreateEx(width, height, bgraFormat, buffer, width * 4);
    try {
      api.FPDFBitmap_FillRect(bitmap, 0, 0, width, height, 0xffffffff);
      api.FPDF_RenderPageBitmap(bitmap, page, 0, 0, width, height, 0, renderFlags);
      this.drawForm(page, bitmap, width, height);
      return { width, height, pixels: this.pdfium.HEAPU8.slice(buffer, buffer + size) };
    } finally {
      api.FPDFBitmap_Destroy(bitmap);
      api.free(buffer);
    }
  }

  private drawForm(page: number, bitmap: number, width: number, height: number): void {
    const api = this.pdfium.wasmExports;
    const callbacks = api.malloc(formEnvironmentBytes);
    this.pdfium.HEAPU8.fill(0, callbacks, callbacks + formEnvironmentBytes);
    this.pdfium.HEAPU8[callbacks] = 2;
    const form = api.FPDFDOC_InitFormFillEnvironment(this.handle, callbacks);
    if (form !== 0) {
      api.FORM_OnAfterLoadPage(page, form);
      api.FPDF_FFLDraw(form, bitmap, page, 0, 0, width, height, 0, formFlags);
      api.FORM_OnBeforeClosePage(page, form);
      api.FPDFDOC_ExitFormFillEnvironment(form);
    }
    api.free(callbacks);
  }

  private withTextPage<T>(index: number, use: (page: number, text: number) => T): T | null {
    const api = this.pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.handle, index);
    if (page === 0) return null;
    const text = api.FPDFText_LoadPage(page);
    try {
      return text === 0 ? null : use(page, text);
    } finally {
      if (text !== 0) api.FPDFText_ClosePage(text);
      api.FPDF_ClosePage(page);
    }
  }

  /**
   * Uses `FPDFText_GetUnicode` per character instead of `FPDFText_GetText`, because the indexes of the two
   * differ once a character needs two UTF-16 units.
   */
  private readGlyphs(page: number, text: number, glyphsMax: number): PageGlyphs {
    const api = this.pdfium.wasmExports;
    const total = Math.max(0, api.FPDFText_CountChars(text));
    const count = Math.min(total, glyphsMax);
    const buffers = this.ensureGlyphBuffers(count);
    const { codes, generated, left, right, bottom, top } = buffers;
    const { scratch } = this;
    let floats = new Float32Array(this.pdfium.HEAPU8.buffer);
    const at = scratch >> 2;
    for (let i = 0; i < count; i++) {
      const code = api.FPDFText_GetUnicode(text, i);
      codes[i] = code === pdfiumHyphen && api.FPDFText_IsHyphen(text, i) === 1 ? hyphenAtLineEnd : code;
      generated[i] = api.FPDFText_IsGenerated(text, i) === 1 ? 1 : 0;
      if (generated[i] === 1) continue;
      api.FPDFText_GetLooseCharBox(text, i, scratch);
      if (floats.length === 0) floats = new Float32Array(this.pdfium.HEAPU8.buffer); // the memory grew
      left[i] = Math.min(floats[at]!, floats[at + 2]!);
      right[i] = Math.max(floats[at]!, floats[at + 2]!);
      top[i] = Math.max(floats[at + 1]!, floats[at + 3]!);
      bottom[i] = Math.min(floats[at + 1]!, floats[at + 3]!);
    }
    return {
      ...buffers,
      ...{ count, cut: count < total, box: this.readPageBox(page) },
      unmappedTexts: this.countUnmappedTexts(page, count),
      fields: this.readFields(page),
      angle: (i) => Math.max(0, api.FPDFText_GetCharAngle(text, i)),
      rotatedBox: (i, direction) => this.computeRotatedBox(text, i, direction),
      isBold: (i) => this.isBold(text, i),
      typeSize: (i) => this.computeTypeHeight(text, i),
    };
  }

  private countUnmappedTexts(page: number, characters: number): number {
    const api = this.pdfium.wasmExports;
    const objects = Math.min(api.FPDFPage_CountObjects(page), objectsMax);
    if (objects <= characters) return 0;
    let texts = 0;
    for (let i = 0; i < objects; i++) {
      if (api.FPDFPageObj_GetType(api.FPDFPage_GetObject(page, i)) === textObject) texts += 1;
    }
    return texts > characters ? texts : 0;
  }

  private readFields(page: number): FormField[] {
    const api = this.pdfium.wasmExports;
    const fields: FormField[] = [];
    const count = Math.min(api.FPDFPage_GetAnnotCount(page), annotationsMax);
    for (let i = 0; i < count; i++) {
      const annotation = api.FPDFPage_GetAnnot(page, i);
      if (annotation === 0) continue;
      const field = this.readField(annotation);
      if (field !== null) fields.push(field);
      api.FPDFPage_CloseAnnot(annotation);
    }
    return fields;
  }

  /** Returns null for other annotations, hidden and empty ones, and buttons. */
  private readField(annotation: number): FormField | null {
    const { scratch, pdfium } = this;
    const api = pdfium.wasmExports;
    const subtype = api.FPDFAnnot_GetSubtype(annotation);
    if (
      (subtype !== widget && subtype !== freeText) ||
      (api.FPDFAnnot_GetFlags(annotation) & hiddenFlag) !== 0
    )
      return null;
    if (this.readAnnotationText(annotation, 'FT') === 'Btn') return null;
    const text = this.readAnnotationText(annotation, subtype === widget ? 'V' : 'Contents');
    if (text.trim() === '' || api.FPDFAnnot_GetRect(annotation, scratch) === 0) return null;
    const [left = 0, top = 0, right = 0, bottom = 0] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
    return { text, box: { left, right, bottom, top } };
  }

  private readAnnotationText(annotation: number, key: string): string {
    const api = this.pdfium.wasmExports;
    const name = this.allocateLatin1(key);
    const length = api.FPDFAnnot_GetStringValue(annotation, name, 0, 0);
    if (length <= 2 || length > 2 * fieldUnitsMax) {
      api.free(name);
      return '';
    }
    const buffer = api.malloc(length);
    api.FPDFAnnot_GetStringValue(annotation, name, buffer, length);
    const text = new TextDecoder('utf-16le').decode(this.pdfium.HEAPU8.slice(buffer, buffer + length - 2));
    api.free(buffer);
    api.free(name);
    return text;
  }

  private ensureGlyphBuffers(count: number): GlyphBuffers {
    if (this.glyphBuffers.codes.length < count)
      this.glyphBuffers = createGlyphBuffers(Math.ceil(count * 1.5));
    return this.glyphBuffers;
  }

  private readPageBox(page: number): Box | null {
    const { scratch, pdfium } = this;
    if (pdfium.wasmExports.FPDF_GetPageBoundingBox(page, scratch) === 0) return null;
    const [left, top, right, bottom] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
    return right! > left! && top! > bottom!
      ? { left: left!, right: right!, bottom: bottom!, top: top! }
      : null;
  }

  private computeRotatedBox(
    text: number,
    index: number,
    direction: 'up' | 'down' | 'upside-down' | 'other',
  ): Box {
    const { scratch, pdfium } = this;
    const api = pdfium.wasmExports;
    const known = api.FPDFText_GetCharBox(text, index, scratch, scratch + 8, scratch + 16, scratch + 24);
    const [left = 0, right = 0, bottom = 0, top = 0] =
      known === 0 ? [] : new Float64Array(pdfium.HEAPU8.buffer, scratch, 4);
    if (direction === 'other') return { left, right, bottom, top };
    const height = this.computeTypeHeight(text, index);
    api.FPDFText_GetCharOrigin(text, index, scratch, scratch + 8);
    const [x = 0, y = 0] = new Float64Array(pdfium.HEAPU8.buffer, scratch, 2);
    const [below, above] = [typeDescent * height, typeAscent * height];
    if (direction === 'upside-down') return { left, right, bottom: y - above, top: y + below };
    return direction === 'up'
      ? { left: x - above, right: x + below, bottom, top }
      : { left: x - below, right: x + above, bottom, top };
  }

  /** Returns the type size on the page, including the scale of its matrix. */
  private computeTypeHeight(text: number, index: number): number {
    const { scratch, pdfium } = this;
    const api = pdfium.wasmExports;
    if (api.FPDFText_GetMatrix(text, index, scratch) === 0) return 10;
    const [, , c = 0, d = 1] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
    return api.FPDFText_GetFontSize(text, index) * Math.hypot(c, d);
  }

  /** Also checks the font name, because many producers omit the weight. */
  private isBold(text: number, index: number): boolean {
    const api = this.pdfium.wasmExports;
    if (api.FPDFText_GetFontWeight(text, index) >= boldWeightMin) return true;
    const length = api.FPDFText_GetFontInfo(text, index, 0, 0, 0);
    if (length <= 1 || length > 1_024) return false;
    const buffer = api.malloc(length);
    api.FPDFText_GetFontInfo(text, index, buffer, length, 0);
    const name = Buffer.from(this.pdfium.HEAPU8.subarray(buffer, buffer + length - 1)).toString('latin1');
    api.free(buffer);
    return /bold|black|heavy|semibold|-bd|,bd/i.test(name);
  }

  private readOutline(parent: number, level: number, entries: OutlineEntry[]): void {
    const api = this.pdfium.wasmExports;
    let entry = api.FPDFBookmark_GetFirstChild(this.handle, parent);
    for (; entry !== 0 && entries.length < outlineEntriesMax; ) {
      entries.push({ title: this.outlineTitle(entry), page: this.outlinePage(entry), level });
      if (level < outlineLevelsMax) this.readOutline(entry, level + 1, entries);
      entry = api.FPDFBookmark_GetNextSibling(this.handle, entry);
    }
  }

  private outlineTitle(entry: number): string {
    const api = this.pdfium.wasmExports;
    const length = api.FPDFBookmark_GetTitle(entry, 0, 0);
    if (length <= 2 || length > 8_192) return '';
    const buffer = api.malloc(length);
    api.FPDFBookmark_GetTitle(entry, buffer, length);
    const title = new TextDecoder('utf-16le').decode(this.pdfium.HEAPU8.slice(buffer, buffer + length - 2));
    api.free(buffer);
    return title;
  }

  private outlinePage(entry: number): number {
    const api = this.pdfium.wasmExports;
    const directDestination = api.FPDFBookmark_GetDest(this.handle, entry);
    const action = directDestination === 0 ? api.FPDFBookmark_GetAction(entry) : 0;
    const destination = action === 0 ? directDestination : api.FPDFAction_GetDest(this.handle, action);
    return destination === 0 ? -1 : api.FPDFDest_GetDestPageIndex(this.handle, destination);
  }

  private allocateLatin1(text: string): number {
    const pointer = this.pdfium.wasmExports.malloc(text.length + 1);
    this.pdfium.HEAPU8.set(Buffer.from(`${text}\0`, 'latin1'), pointer);
    return pointer;
  }
}

interface GlyphBuffers {
  readonly codes: Uint32Array;
  readonly generated: Uint8Array;
  readonly left: Float32Array;
  readonly right: Float32Array;
  readonly bottom: Float32Array;
  readonly top: Float32Array;
}

function createGlyphBuffers(count: number): GlyphBuffers {
  const numbers = () => new Float32Array(count);
  return {
    codes: new Uint32Array(count),
    generated: new Uint8Array(count),
    ...{ left: numbers(), right: numbers(), bottom: numbers(), top: numbers() },
  };
}
