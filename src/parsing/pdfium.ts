import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { PDFiumModule } from '@hyzyla/pdfium';

/**
 * The only file that touches PDFium. It calls the WebAssembly exports themselves, because the wrapper's own text call
 * offers no character boxes and its debug layer costs time on every call.
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
  FPDF_GetPageWidthF(page: number): number;
  FPDF_GetPageHeightF(page: number): number;
  FPDF_GetPageBoundingBox(page: number, rectangle: number): number;
  FPDFText_LoadPage(page: number): number;
  FPDFText_ClosePage(text: number): void;
  FPDFText_CountChars(text: number): number;
  FPDFText_GetUnicode(text: number, index: number): number;
  FPDFText_IsGenerated(text: number, index: number): number;
  FPDFText_GetFontSize(text: number, index: number): number;
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
  /** Views of the WebAssembly memory; replaced whenever it grows, so never kept over a call. */
  readonly HEAPU8: Uint8Array;
}

/** FPDF_ERR_* of fpdfview.h. */
const passwordError = 4;
const securityError = 5;
const bgraFormat = 4;
/** FPDF_ANNOT | FPDF_REVERSE_BYTE_ORDER: annotations drawn, bytes in RGBA order. */
const renderFlags = 0x01 | 0x10;
const formFlags = 0x10;
/** Room for the callback table of the form environment, all zero: version 2 and no callbacks. */
const formInfoBytes = 512;
/** Characters outside the page's box by less than this many points belong to it. */
const boxTolerance = 1;

let loading: Promise<Pdfium> | null = null;

/** Compiles PDFium once for the process. */
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

type PdfOpenProblem = 'encrypted' | 'corrupt';

interface PageContent {
  /** Characters in content order, as PDFium gives them: U+FFFE is a hyphen at a line end. */
  readonly text: string;
  /** True when the page holds more characters than were asked for. */
  readonly cut: boolean;
}

export interface RenderedPage {
  readonly width: number;
  readonly height: number;
  /** RGBA, `width * height * 4` bytes. */
  readonly pixels: Uint8Array;
}

/** An open PDF. Close it; the process holds its bytes in WebAssembly memory until then. */
export class PdfiumDocument {
  private readonly pdfium: Pdfium;
  private readonly handle: number;
  private readonly data: number;
  /** 16 bytes of a rectangle or four doubles, reused for every character. */
  private readonly scratch: number;

  private constructor(pdfium: Pdfium, handle: number, data: number) {
    this.pdfium = pdfium;
    this.handle = handle;
    this.data = data;
    this.scratch = pdfium.wasmExports.malloc(32);
  }

  /** Opens with the empty password, which is what files with an owner password only need. */
  static async open(bytes: Uint8Array): Promise<PdfiumDocument | PdfOpenProblem> {
    const pdfium = await loadPdfium();
    const api = pdfium.wasmExports;
    const data = api.malloc(Math.max(1, bytes.length));
    if (data === 0) throw new RangeError('PDFium has no memory for the document');
    pdfium.HEAPU8.set(bytes, data);
    const handle = api.FPDF_LoadMemDocument(data, bytes.length, 0);
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

  /** Text of a document information entry such as `Title`; empty when there is none. */
  metadata(tag: string): string {
    const api = this.pdfium.wasmExports;
    const name = this.latin1(tag);
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

  /** Whether the page of this index exists, whatever the page count claims. */
  canLoad(index: number): boolean {
    const page = this.pdfium.wasmExports.FPDF_LoadPage(this.handle, index);
    if (page !== 0) this.pdfium.wasmExports.FPDF_ClosePage(page);
    return page !== 0;
  }

  /** Text of a page, or null when PDFium cannot load it. At most `unitsMax` UTF-16 code units. */
  pageText(index: number, unitsMax: number): PageContent | null {
    return this.withText(index, (page, text) => this.collect(page, text, unitsMax));
  }

  /** The text in the largest type of a page, one line; null when all type is about equally large. */
  largestText(index: number): string | null {
    return this.withText(index, (_page, text) => this.collectLargest(text));
  }

  /**
   * Draws a page with its annotations and form fields. The size is `scaleOf(width, height)` times the page in points. Null
   * when the page cannot be loaded.
   */
  render(index: number, scaleOf: (width: number, height: number) => number): RenderedPage | null {
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

  private draw(page: number, width: number, height: number): RenderedPage {
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
    const callbacks = api.malloc(formInfoBytes);
    this.pdfium.HEAPU8.fill(0, callbacks, callbacks + formInfoBytes);
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

  private withText<T>(index: number, use: (page: number, text: number) => T): T | null {
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
   * `FPDFText_GetUnicode` per character, not `FPDFText_GetText`: the indexes of the two differ once a character needs two
   * UTF-16 units. Characters whose box lies outside the page's box are not visible and are dropped, with the spaces that
   * PDFium generated between them. Right-to-left letters that share one box are one ligature: PDFium reverses the line
   * letter by letter, so the ligature's letters have to be turned back.
   */
  private collect(page: number, text: number, unitsMax: number): PageContent {
    const api = this.pdfium.wasmExports;
    const pageBox = this.pageBox(page);
    const count = Math.max(0, api.FPDFText_CountChars(text));
    const units = new Uint16Array(Math.min(2 * count, unitsMax) + 1);
    const box = new Float64Array(4);
    const ligature = { start: 0, left: Number.NaN, right: Number.NaN };
    let used = 0;
    let dropping = false;
    let index = 0;
    for (; index < count && used < unitsMax; index++) {
      const code = api.FPDFText_GetUnicode(text, index);
      if (api.FPDFText_IsGenerated(text, index) === 1) {
        if (dropping && code !== 0x0a) continue;
      } else if (!isBlank(code) && this.readBox(text, index, box)) {
        dropping = pageBox !== null && isOutside(box, pageBox);
        if (dropping) continue;
        if (isRightToLeft(code)) {
          if (ligature.left === box[0] && ligature.right === box[1]) {
            units.copyWithin(ligature.start + 1, ligature.start, used);
            units[ligature.start] = code;
            used += 1;
            continue;
          }
          ligature.start = used;
          ligature.left = box[0]!;
          ligature.right = box[1]!;
        } else ligature.left = Number.NaN;
      } else dropping = false;
      if (code > 0xffff) units[used++] = 0xd800 + ((code - 0x10000) >> 10);
      units[used++] = code > 0xffff ? 0xdc00 + ((code - 0x10000) & 0x3ff) : code;
    }
    return { text: new TextDecoder('utf-16le').decode(units.subarray(0, used)), cut: index < count };
  }

  private pageBox(page: number): Box | null {
    const { scratch, pdfium } = this;
    if (pdfium.wasmExports.FPDF_GetPageBoundingBox(page, scratch) === 0) return null;
    const [left, top, right, bottom] = new Float32Array(pdfium.HEAPU8.buffer, scratch, 4);
    const box = Float64Array.of(left!, right!, bottom!, top!);
    return right! > left! && top! > bottom! ? box : null;
  }

  /** False when PDFium knows no box for the character. */
  private readBox(text: number, index: number, box: Box): boolean {
    const { scratch, pdfium } = this;
    const api = pdfium.wasmExports;
    if (api.FPDFText_GetCharBox(text, index, scratch, scratch + 8, scratch + 16, scratch + 24) === 0)
      return false;
    box.set(new Float64Array(pdfium.HEAPU8.buffer, scratch, 4));
    return true;
  }

  private collectLargest(text: number): string | null {
    const api = this.pdfium.wasmExports;
    const count = Math.min(api.FPDFText_CountChars(text), 20_000);
    const sizes: number[] = [];
    for (let i = 0; i < count; i++) {
      if (!isBlank(api.FPDFText_GetUnicode(text, i))) sizes.push(api.FPDFText_GetFontSize(text, i));
    }
    if (sizes.length < 50) return null;
    const largest = sizes.reduce((most, size) => Math.max(most, size), 0);
    const usual = sizes.sort((a, b) => a - b)[sizes.length >> 1]!;
    if (largest < usual * 1.25) return null;
    return this.firstRun(text, count, largest * 0.98);
  }

  /** The first run of characters of at least `sizeMin`, blanks inside it included. */
  private firstRun(text: number, count: number, sizeMin: number): string {
    const api = this.pdfium.wasmExports;
    let run = '';
    for (let i = 0; i < count; i++) {
      const code = api.FPDFText_GetUnicode(text, i);
      const blank = isBlank(code) || api.FPDFText_IsGenerated(text, i) === 1;
      if (!blank && api.FPDFText_GetFontSize(text, i) < sizeMin) {
        if (run.trim() !== '') break;
        run = '';
      } else run += String.fromCodePoint(code);
    }
    return run;
  }

  private latin1(text: string): number {
    const pointer = this.pdfium.wasmExports.malloc(text.length + 1);
    this.pdfium.HEAPU8.set(Buffer.from(`${text}\0`, 'latin1'), pointer);
    return pointer;
  }
}

/** Left, right, bottom and top in points. */
type Box = Float64Array;

/** Whether the middle of `box` lies outside `pageBox`. */
function isOutside(box: Box, pageBox: Box): boolean {
  const x = (box[0]! + box[1]!) / 2;
  const y = (box[2]! + box[3]!) / 2;
  const beside = x < pageBox[0]! - boxTolerance || x > pageBox[1]! + boxTolerance;
  return beside || y < pageBox[2]! - boxTolerance || y > pageBox[3]! + boxTolerance;
}

/** Letters of Hebrew, Arabic and their neighbours in the basic plane. */
function isRightToLeft(code: number): boolean {
  return (
    (code >= 0x0590 && code <= 0x08ff) ||
    (code >= 0xfb1d && code <= 0xfdff) ||
    (code >= 0xfe70 && code <= 0xfefc)
  );
}

function isBlank(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09 || code === 0xa0;
}
