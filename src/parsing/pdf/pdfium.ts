import type { Raster } from '../formats/image/raster.ts';
import { drawPage } from './pdfium-drawing.ts';
import { GlyphReader, type PageGlyphs, type TextPage } from './pdfium-glyphs.ts';
import { allocateLatin1, loadPdfium, type Pdfium, readUtf16 } from './pdfium-library.ts';
import { computeImageShare, hasUnembeddedFont } from './pdfium-objects.ts';
import { type OutlineEntry, readOutline } from './pdfium-outline.ts';

/** FPDF_ERR_* of fpdfview.h. */
const passwordError = 4;
const securityError = 5;
/** Maximum number of characters of a page that are examined for its script. */
const scriptCharactersMax = 10_000;

type PdfOpenError = 'encrypted' | 'corrupt';

/** An open PDF. Must be closed; until then, its bytes occupy WebAssembly memory. */
export class PdfiumDocument {
  readonly #pdfium: Pdfium;
  readonly #handle: number;
  readonly #data: number;
  readonly #glyphs: GlyphReader;

  private constructor(pdfium: Pdfium, handle: number, data: number) {
    this.#pdfium = pdfium;
    this.#handle = handle;
    this.#data = data;
    this.#glyphs = new GlyphReader(pdfium);
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
    return this.#pdfium.wasmExports.FPDF_GetPageCount(this.#handle);
  }

  close(): void {
    const api = this.#pdfium.wasmExports;
    api.FPDF_CloseDocument(this.#handle);
    api.free(this.#data);
  }

  /** Returns a document information entry such as `Title`; empty when there is none. */
  readMetadata(tag: string): string {
    const api = this.#pdfium.wasmExports;
    const name = allocateLatin1(this.#pdfium, tag);
    try {
      const length = api.FPDF_GetMetaText(this.#handle, name, 0, 0);
      if (length <= 2) return '';
      return readUtf16(this.#pdfium, length, (buffer) =>
        api.FPDF_GetMetaText(this.#handle, name, buffer, length),
      );
    } finally {
      api.free(name);
    }
  }

  /** Whether this page exists, independent of the declared page count. */
  canLoadPage(index: number): boolean {
    const page = this.#pdfium.wasmExports.FPDF_LoadPage(this.#handle, index);
    if (page !== 0) this.#pdfium.wasmExports.FPDF_ClosePage(page);
    return page !== 0;
  }

  /** Whether this page exists and has drawn objects. */
  hasContent(index: number): boolean {
    const api = this.#pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.#handle, index);
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
    return this.#withTextPage(index, (textPage) => use(this.#glyphs.read(textPage, glyphsMax)));
  }

  /** Returns the outline, outer entries before inner ones; empty when there is none. */
  outline(): OutlineEntry[] {
    return readOutline(this.#pdfium, this.#handle);
  }

  /**
   * Renders a page with its annotations and form fields. The size is `scaleOf(width, height)` times the page
   * size in points. Null when the page cannot be loaded.
   */
  render(index: number, scaleOf: (width: number, height: number) => number): Raster | null {
    const api = this.#pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.#handle, index);
    if (page === 0) return null;
    try {
      const [points, lines] = [api.FPDF_GetPageWidthF(page), api.FPDF_GetPageHeightF(page)];
      const scale = scaleOf(points, lines);
      return drawPage(
        this.#pdfium,
        { document: this.#handle, page },
        {
          width: Math.max(1, Math.round(points * scale)),
          height: Math.max(1, Math.round(lines * scale)),
        },
      );
    } finally {
      api.FPDF_ClosePage(page);
    }
  }

  /** Returns the size in points of a page with CJK text in fonts that are not embedded; null otherwise. */
  measureUnembeddedCjkPage(index: number): { readonly width: number; readonly height: number } | null {
    return this.#withTextPage(index, ({ page, text }) => {
      const api = this.#pdfium.wasmExports;
      if (!hasUnembeddedFont(this.#pdfium, page) || !this.#isEastAsian(text)) return null;
      return { width: api.FPDF_GetPageWidthF(page), height: api.FPDF_GetPageHeightF(page) };
    });
  }

  /**
   * Returns the share of a page, 0 to 1, that images cover, including those in forms; 0 when it cannot be
   * loaded.
   */
  computeImageShare(index: number): number {
    const api = this.#pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.#handle, index);
    if (page === 0) return 0;
    try {
      return computeImageShare(this.#pdfium, page);
    } finally {
      api.FPDF_ClosePage(page);
    }
  }

  #isEastAsian(text: number): boolean {
    const api = this.#pdfium.wasmExports;
    const count = Math.min(api.FPDFText_CountChars(text), scriptCharactersMax);
    for (let i = 0; i < count; i++) {
      const code = api.FPDFText_GetUnicode(text, i);
      if ((code >= 0x2e80 && code <= 0x9fff) || (code >= 0xac00 && code <= 0xd7af) || code >= 0x20000)
        return true;
    }
    return false;
  }

  #withTextPage<T>(index: number, use: (textPage: TextPage) => T): T | null {
    const api = this.#pdfium.wasmExports;
    const page = api.FPDF_LoadPage(this.#handle, index);
    if (page === 0) return null;
    const text = api.FPDFText_LoadPage(page);
    try {
      return text === 0 ? null : use({ page, text });
    } finally {
      if (text !== 0) api.FPDFText_ClosePage(text);
      api.FPDF_ClosePage(page);
    }
  }
}
