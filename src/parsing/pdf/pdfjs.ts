import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import type { TextPiece } from './pdf-pieces.ts';

/**
 * The only module that uses pdf.js, the second engine for files whose structure PDFium cannot repair. It is
 * loaded on first use.
 */
type PdfjsOpenError = 'encrypted' | 'corrupt';

/**
 * Maximum file size in bytes for this engine. PDFium may hold the file, too, and for larger files the second
 * engine would lack memory.
 */
const fileBytesMax = 100_000_000;

export class PdfjsDocument {
  private readonly document: OpenDocument;

  private constructor(document: OpenDocument) {
    this.document = document;
  }

  /**
   * Opens a file. Also returns `corrupt` for files that are too large for a second engine. In strict mode, a
   * page with any damage has no pieces; otherwise it is read as far as possible.
   */
  static async open(bytes: Uint8Array, { strict = false } = {}): Promise<PdfjsDocument | PdfjsOpenError> {
    if (bytes.length > fileBytesMax) return 'corrupt';
    const pdfjs = await import('pdfjs-dist/legacy/build/pdf.mjs');
    const home = dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'));
    const task = pdfjs.getDocument({
      data: Uint8Array.from(bytes), // a copy, because pdf.js may detach it and rejects a Buffer
      verbosity: 0,
      stopAtErrors: strict,
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

  /** Returns the text of a page in pieces in drawing order, or null when the page cannot be read. */
  async readPieces(index: number): Promise<TextPiece[] | null> {
    try {
      const page = await this.document.getPage(index + 1);
      const { items, styles } = await page.getTextContent();
      const pieces: TextPiece[] = [];
      for (const item of items) {
        if (!('str' in item) || item.str.trim() === '') continue;
        pieces.push(toPiece(item, styles[item.fontName]?.vertical === true, pieces.length));
      }
      page.cleanup();
      return mergeStackedText(pieces);
    } catch (error) {
      if (error instanceof Error && !(error instanceof RangeError)) return null; // a broken page affects only that page
      throw error;
    }
  }

  async readTitle(): Promise<string> {
    const { info } = await this.document.getMetadata();
    const title = (info as { Title?: unknown }).Title;
    return typeof title === 'string' ? title : '';
  }

  async close(): Promise<void> {
    await this.document.loadingTask.destroy();
  }
}

interface TextItem {
  readonly str: string;
  readonly dir: string;
  readonly transform: readonly number[];
  readonly width: number;
  readonly height: number;
}

/** Extent of type above its baseline, in multiples of its size. */
const typeAscent = 0.78;

function toPiece(
  { str, dir, transform, width, height }: TextItem,
  vertical: boolean,
  order: number,
): TextPiece {
  const [a = 1, b = 0, c = 0, d = 1, x = 0, y = 0] = transform;
  const size = Math.max(1, Math.hypot(c, d));
  const rest = { text: str, height: size, order, glyph: 0, lastGlyph: 0, rightToLeft: dir === 'rtl' };
  if (vertical) {
    const length = height > 0 ? height : size * str.length;
    return {
      ...rest,
      direction: 'stacked',
      left: -y,
      right: length - y,
      bottom: x - size / 2,
      top: x + size / 2,
    };
  }
  const top = y + typeAscent * size;
  const isLevel = Math.abs(b) < 0.1 * Math.abs(a);
  return {
    ...rest,
    direction: isLevel ? 'level' : 'slanted',
    left: x,
    right: x + width,
    bottom: top - size,
    top,
    ...(isLevel && a > 0 ? {} : { pageBox: null }),
  };
}

/** Converts characters that were drawn individually one below the other to pieces of a vertical line. */
function mergeStackedText(pieces: readonly TextPiece[]): TextPiece[] {
  const isBelow = (one: TextPiece | undefined, other: TextPiece | undefined) =>
    one !== undefined &&
    other !== undefined &&
    isWideCharacter.test(one.text) &&
    isWideCharacter.test(other.text) &&
    Math.abs(one.left - other.left) < 0.3 * one.height &&
    Math.abs(one.bottom - other.top) < 0.5 * one.height;
  return pieces.map((piece, i) =>
    piece.direction === 'level' && (isBelow(piece, pieces[i + 1]) || isBelow(pieces[i - 1], piece))
      ? {
          ...piece,
          direction: 'stacked',
          left: -piece.top,
          right: -piece.bottom,
          bottom: piece.left,
          top: piece.right,
        }
      : piece,
  );
}

const isWideCharacter =
  /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\u3000-\u303f\ufe30-\ufe4f\uff00-\uff60]$/u;

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
