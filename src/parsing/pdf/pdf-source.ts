import type { Raster } from '../formats/image/raster.ts';
import type { ParseLimits } from '../limits.ts';
import { type CharacterCounts, countCharacters, isBrokenCharacter } from '../page-text.ts';
import { OutlineHeadings } from './pdf-headings.ts';
import { buildLines } from './pdf-lines.ts';
import type { PageLines } from './pdf-page-assembler.ts';
import { buildPieces, type TextPiece } from './pdf-pieces.ts';
import { cleanTitle } from './pdf-title.ts';
import { readXmpTitle } from './pdf-xmp.ts';
import type { PdfiumDocument } from './pdfium.ts';
import type { PageGlyphs } from './pdfium-glyphs.ts';
import { PdfjsDocument } from './pdfjs.ts';

/** Content that an engine reads from a page. */
export interface PageContent {
  readonly source: PageLines;
  readonly characters: CharacterCounts;
  /** Whether the page holds more text than the maximum per page. */
  readonly cut: boolean;
}

/** Returns pixels per point for a page of this size in points. */
export type PageScale = (width: number, height: number) => number;

/** Common interface of both engines. */
export interface PdfSource {
  readonly pageCount: number;
  readonly outline: OutlineHeadings;
  /** Returns null when the page cannot be read. */
  pageContent(index: number): Promise<PageContent | null>;
  /** Returns the title from the metadata of the file. */
  title(): Promise<string | null>;
  /** Returns the share of a page that images cover, 0 to 1. */
  imageShare(index: number): number;
  /** Renders a page; returns null on failure. Null for an engine that cannot render. */
  readonly render: ((index: number, scaleOf: PageScale) => Raster | null) | null;
  close(): Promise<void>;
}

export function createPdfiumSource(
  document: PdfiumDocument,
  bytes: Uint8Array,
  limits: ParseLimits,
): PdfSource {
  const fallback = new PdfjsFallback(bytes, limits);
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings(document.outline()),
    pageContent: async (index) => {
      const pdfiumResult = document.readGlyphsWith(index, limits.pageUnitsMax, (glyphs) => {
        return { content: buildContent(glyphs), unreadTexts: glyphs.unmappedTexts, frame: glyphs.frame };
      });
      if (pdfiumResult === null || pdfiumResult.unreadTexts < unmappedTextsMin)
        return pdfiumResult?.content ?? null;
      const content = await fallback.pageContent(index);
      if (content === null || content.characters.visible <= pdfiumResult.content.characters.visible)
        return pdfiumResult.content;
      return { ...content, source: { ...content.source, frame: pdfiumResult.frame } };
    },
    title: async () => cleanTitle(document.readMetadata('Title')) ?? cleanTitle(readXmpTitle(bytes) ?? ''),
    imageShare: (index) => document.computeImageShare(index),
    render: (index, scaleOf) => document.render(index, scaleOf),
    close: async () => {
      document.close();
      await fallback.close();
    },
  };
}

/**
 * Minimum number of texts without characters in PDFium at which pdf.js is tried; caused by vertical fonts.
 */
const unmappedTextsMin = 4;

/** The file opened with pdf.js on first use. */
class PdfjsFallback {
  readonly #bytes: Uint8Array;
  readonly #limits: ParseLimits;
  #source: Promise<PdfSource | null> | null = null;

  constructor(bytes: Uint8Array, limits: ParseLimits) {
    this.#bytes = bytes;
    this.#limits = limits;
  }

  async pageContent(index: number): Promise<PageContent | null> {
    this.#source ??= this.#open();
    return (await (await this.#source)?.pageContent(index)) ?? null;
  }

  async close(): Promise<void> {
    await (await this.#source)?.close();
  }

  async #open(): Promise<PdfSource | null> {
    const document = await PdfjsDocument.open(this.#bytes);
    return typeof document === 'string' ? null : createPdfjsSource(document, this.#limits);
  }
}

function buildContent(glyphs: PageGlyphs): PageContent {
  const lines = buildLines(buildPieces(glyphs), glyphs);
  const source = { textLines: lines, frame: glyphs.frame };
  return { source, characters: countGlyphs(glyphs), cut: glyphs.cut };
}

function countGlyphs({ count, codes, generated }: PageGlyphs): CharacterCounts {
  let [visible, broken] = [0, 0];
  for (let i = 0; i < count; i++) {
    const code = codes[i]!;
    if (generated[i] === 1 || code === 0x20 || code === 0xa0 || code === 0x0a || code === 0x0d) continue;
    visible += 1;
    if (isBrokenCharacter(code)) broken += 1;
  }
  return { visible, broken };
}

/** pdf.js returns texts without their characters. */
const noFonts = { isBold: () => false, typeSize: () => 0 };

export function createPdfjsSource(document: PdfjsDocument, limits: ParseLimits): PdfSource {
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings([]),
    pageContent: async (index) => {
      const pieces = await document.readPieces(index);
      if (pieces === null) return null;
      const pieceHead = limitPieces(pieces, limits.pageUnitsMax);
      const characters = countCharacters(pieceHead.map(({ text }) => text).join(' '));
      const lines = buildLines(pieceHead, noFonts);
      // Pages of a file that only this engine can read have no images.
      return { source: { textLines: lines, frame: null }, characters, cut: pieceHead.length < pieces.length };
    },
    title: async () => cleanTitle(await document.readTitle()),
    // Only PDFium renders, and it could not open this file.
    imageShare: () => 0,
    render: null,
    close: () => document.close(),
  };
}

/** Returns the first pieces that together hold at most `unitsMax` units. */
function limitPieces(pieces: readonly TextPiece[], unitsMax: number): readonly TextPiece[] {
  let units = 0;
  const beyond = pieces.findIndex(({ text }) => {
    units += text.length;
    return units > unitsMax;
  });
  return beyond < 0 ? pieces : pieces.slice(0, beyond);
}
