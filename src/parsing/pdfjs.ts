import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

/**
 * The only file that touches pdf.js: the second engine, for files whose structure PDFium cannot repair. It is loaded when
 * it is first needed.
 */
type PdfjsProblem = 'encrypted' | 'corrupt';

export class PdfjsDocument {
  private readonly document: OpenDocument;

  private constructor(document: OpenDocument) {
    this.document = document;
  }

  static async open(bytes: Uint8Array): Promise<PdfjsDocument | PdfjsProblem> {
    const pdfjs = await import('pdfjs-dist/legacy/build/pdf.mjs');
    const home = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
    const task = pdfjs.getDocument({
      data: Uint8Array.from(bytes), // a copy, which pdf.js may detach; it refuses a Buffer
      verbosity: 0,
      isEvalSupported: false,
      disableFontFace: true,
      useSystemFonts: false,
      cMapUrl: `${join(home, 'cmaps')}/`,
      cMapPacked: true,
      standardFontDataUrl: `${join(home, 'standard_fonts')}/`,
    });
    try {
      return new PdfjsDocument(await task.promise);
    } catch (error) {
      await task.destroy();
      if (!(error instanceof Error)) throw error;
      if (error.name === 'PasswordException') return 'encrypted';
      if (pdfjsErrorNames.has(error.name)) return 'corrupt';
      throw error;
    }
  }

  get pageCount(): number {
    return this.document.numPages;
  }

  /** Text of a page in content order, or null when the page cannot be read. */
  async pageText(index: number): Promise<string | null> {
    try {
      const page = await this.document.getPage(index + 1);
      const content = await page.getTextContent();
      let text = '';
      for (const item of content.items) {
        if ('str' in item) text += item.hasEOL ? `${item.str}\n` : item.str;
      }
      page.cleanup();
      return text;
    } catch (error) {
      if (error instanceof Error && !(error instanceof RangeError)) return null; // a broken page costs that page only
      throw error;
    }
  }

  async title(): Promise<string> {
    const { info } = await this.document.getMetadata();
    const title = (info as { Title?: unknown }).Title;
    return typeof title === 'string' ? title : '';
  }

  async close(): Promise<void> {
    await this.document.loadingTask.destroy();
  }
}

type OpenDocument = Awaited<
  ReturnType<typeof import('pdfjs-dist/legacy/build/pdf.mjs')['getDocument']>['promise']
>;

const pdfjsErrorNames = new Set([
  'InvalidPDFException',
  'FormatError',
  'XRefParseException',
  'UnknownErrorException',
  'MissingPDFException',
]);
