import { type Raster, toGrayPixels, toGrayPng } from '../formats/image/raster.ts';
import type { ParseLimits } from '../limits.ts';
import { PageOcr } from '../ocr/page-ocr.ts';
import { measureSkew, skewSidePixels } from '../ocr/skew.ts';
import {
  type CharacterCounts,
  cleanPageText,
  countCharacters,
  formatPageRanges,
  isBrokenCharacter,
  isUnreadable,
} from '../page-text.ts';
import { ParseFailure } from '../parse-failure.ts';
import type { DocumentInfo } from '../process/parse-task.ts';
import { TextBudget } from '../text-budget.ts';
import type { DocumentTools } from '../tools/document-tools.ts';
import { OutlineHeadings } from './pdf-headings.ts';
import { buildLines } from './pdf-lines.ts';
import { PageAssembler, type PageSource } from './pdf-page-assembler.ts';
import { buildPieces, type TextPiece } from './pdf-pieces.ts';
import { buildTrailers } from './pdf-repair.ts';
import { readXmpTitle } from './pdf-xmp.ts';
import { PdfiumDocument } from './pdfium.ts';
import type { PageGlyphs } from './pdfium-glyphs.ts';
import { PdfjsDocument } from './pdfjs.ts';

/** Content that an engine reads from a page. */
interface PageContent {
  /** Lines in reading order, or plain text from an engine without positions. */
  readonly source: PageSource;
  readonly characters: CharacterCounts;
  /** Whether the page holds more text than the maximum per page. */
  readonly cut: boolean;
}

/** Returns pixels per point for a page of this size in points. */
type PageScale = (width: number, height: number) => number;

/** Common interface of both engines. */
interface PdfSource {
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

/** Pages with missing content, by zero-based index. */
interface PageProblems {
  readonly empty: number[];
  readonly unreadable: number[];
  readonly broken: number[];
  readonly cut: number[];
}

/**
 * Parses a PDF with PDFium, or with pdf.js when PDFium reports a corrupted file. A page without text is an
 * empty page. Errors: `too_large`, `encrypted`, `corrupt`.
 */
export async function* parsePdf(
  bytes: Uint8Array,
  limits: ParseLimits,
  tools: DocumentTools,
): AsyncGenerator<string, DocumentInfo> {
  const warnings: string[] = [];
  const source = await openSource(bytes, limits, warnings);
  try {
    const count = source.pageCount;
    if (count > limits.pagesMax) {
      throw new ParseFailure('too_large', `The PDF has ${count} pages; the limit is ${limits.pagesMax}.`);
    }
    const problems: PageProblems = { empty: [], unreadable: [], broken: [], cut: [] };
    const budget = new TextBudget(limits.textUnitsMax);
    const assembly = new PageAssembler(count, source.outline);
    const pageOcr = new PageOcr(tools, limits);
    let largestText: string | null = null;
    for (let index = 0; index < count; index++) {
      tools.reportProgress({ stage: 'reading', page: index, of: count });
      const content = await source.pageContent(index);
      if (index === 0) largestText = findLargestText(content);
      const ocrText = needsOcr(content, source, index)
        ? await recognizePage({ source, index, count, pageOcr, tools })
        : null;
      for (const text of assembly.add(ocrText ?? toPageSource(content, index, problems))) {
        budget.consume(text.length);
        yield text;
      }
    }
    if (problems.broken.length === count) {
      throw new ParseFailure('corrupt', 'The PDF is damaged: none of its pages can be read.');
    }
    if (problems.empty.length + problems.broken.length === count) await reclassifyBlankPages(bytes, problems);
    warnings.push(
      ...listProblemWarnings(problems),
      ...pageOcr.listWarnings(),
      ...listRepetitionWarnings(assembly.removedLines),
    );
    const title = (await source.title()) ?? cleanTitle(largestText ?? '');
    return {
      kind: 'pdf',
      contentType: 'application/pdf',
      unordered: false,
      headings: true,
      title,
      language: null,
      warnings,
    };
  } finally {
    await source.close();
  }
}

/**
 * Called for a document that appears to have no text: engines show pages as blank if they cannot decompress
 * the contents.
 */
async function reclassifyBlankPages(bytes: Uint8Array, problems: PageProblems): Promise<void> {
  const document = await PdfjsDocument.open(bytes, { strict: true });
  if (typeof document === 'string') return;
  try {
    for (const index of problems.empty.slice(0, checkedPagesMax)) {
      if ((await document.readPieces(index)) !== null) continue;
      problems.empty.splice(problems.empty.indexOf(index), 1);
      problems.broken.push(index);
    }
    problems.broken.sort((a, b) => a - b);
  } finally {
    await document.close();
  }
}

/**
 * Minimum number of visible characters for the text of a page to count, and minimum image share for images to
 * hold the text.
 */
const visibleLettersMin = 16;
const imageShareMin = 0.1;

/** Whether the visible page differs from its text: a scan, or fonts without a character map. */
function needsOcr(content: PageContent | null, source: PdfSource, index: number): boolean {
  if (content === null || source.render === null) return false;
  const { visible, broken } = content.characters;
  if (isUnreadable(content.characters)) return true;
  return visible - broken < visibleLettersMin && source.imageShare(index) >= imageShareMin;
}

interface PageOcrInput {
  readonly source: PdfSource;
  readonly index: number;
  readonly count: number;
  readonly pageOcr: PageOcr;
  readonly tools: DocumentTools;
}

/** Returns null when OCR did not read the page; its own text is then used. */
async function recognizePage({
  source,
  index,
  count,
  pageOcr: recognition,
  tools,
}: PageOcrInput): Promise<PageSource | null> {
  tools.reportProgress({ stage: 'recognising', page: index, of: count });
  const drawPage = (scaleOf: PageScale): Raster => {
    const raster = source.render?.(index, scaleOf) ?? null;
    if (raster === null) throw new ParseFailure('corrupt', 'A page of the PDF cannot be rendered.');
    return raster;
  };
  const text = await recognition.recognize(index, {
    renderPng: (degrees) => toGrayPng({ raster: drawPage(computeOcrScale) }, { turn: degrees }),
    measureSkew: async () =>
      measureSkew(await toGrayPixels({ raster: drawPage(computeSkewScale) }, { side: skewSidePixels })),
  });
  return text === '' || text === null ? null : { text };
}

/** Renders one page; null when PDFium cannot open the file or has no such page. */
export async function renderPdfPage(
  bytes: Uint8Array,
  index: number,
  { limits, scaleOf }: { readonly limits: ParseLimits; readonly scaleOf: PageScale },
): Promise<Raster | null> {
  const opened = await PdfiumDocument.open(bytes);
  if (opened === 'encrypted') return null;
  const isSound = opened !== 'corrupt' && hasPages(opened);
  if (!isSound && opened !== 'corrupt') opened.close();
  const document = isSound ? opened : await openWithTrailer(bytes, limits);
  if (document === null) return null;
  try {
    return index >= 0 && index < document.pageCount ? document.render(index, scaleOf) : null;
  } finally {
    document.close();
  }
}

/**
 * Returns the size in points of a page with CJK text in fonts that are not embedded; null for any other page.
 */
export async function measureUnembeddedCjkPage(
  bytes: Uint8Array,
  index: number,
): Promise<{ readonly width: number; readonly height: number } | null> {
  const document = await PdfiumDocument.open(bytes);
  if (typeof document === 'string') return null;
  try {
    return index >= 0 && index < document.pageCount ? document.measureUnembeddedCjkPage(index) : null;
  } finally {
    document.close();
  }
}

async function openSource(bytes: Uint8Array, limits: ParseLimits, warnings: string[]): Promise<PdfSource> {
  const first = await PdfiumDocument.open(bytes);
  if (first === 'encrypted') throw encryptedError();
  const isSound = first !== 'corrupt' && hasPages(first) && !isBlankAfterTruncation(first, bytes);
  if (isSound) return createPdfiumSource(first, bytes, limits);
  const isUsable = first !== 'corrupt' && first.pageCount > 0 && !isBlankAfterTruncation(first, bytes);
  // Two engines that each hold a large file would exceed the memory limit.
  if (!isUsable && first !== 'corrupt') first.close();
  const repaired = await openRepaired(bytes, limits);
  if (typeof repaired !== 'string') {
    if (isUsable) first.close();
    warnings.push(damagedWarning);
    return repaired;
  }
  if (isUsable) return createPdfiumSource(first, bytes, limits);
  if (repaired === 'encrypted') throw encryptedError();
  throw new ParseFailure(
    'corrupt',
    first !== 'corrupt' && isTruncated(bytes)
      ? 'The PDF is truncated, and its remaining pages are empty.'
      : 'The PDF is damaged beyond repair: it contains no pages.',
  );
}

/**
 * Opens a file that is unreadable for PDFium: with pdf.js, else with an appended trailer if that yields page
 * content.
 */
async function openRepaired(
  bytes: Uint8Array,
  limits: ParseLimits,
): Promise<PdfSource | 'encrypted' | 'corrupt'> {
  const pdfjsDocument = await PdfjsDocument.open(bytes);
  if (typeof pdfjsDocument !== 'string') {
    if (pdfjsDocument.pageCount > 0 && !(isTruncated(bytes) && (await hasNoText(pdfjsDocument))))
      return createPdfjsSource(pdfjsDocument, limits);
    await pdfjsDocument.close();
  }
  if (pdfjsDocument === 'encrypted') return pdfjsDocument;
  const repaired = await openWithTrailer(bytes, limits);
  return repaired === null ? 'corrupt' : createPdfiumSource(repaired, bytes, limits);
}

/** Number of first pages checked for remaining content in a damaged file. */
const checkedPagesMax = 20;
const tailBytes = 4_096;

/** Whether the file lost its end and the contents of all its pages; engines then show blank pages. */
function isBlankAfterTruncation(document: PdfiumDocument, bytes: Uint8Array): boolean {
  if (!isTruncated(bytes)) return false;
  const pages = Math.min(document.pageCount, checkedPagesMax);
  return !Array.from({ length: pages }, (_, i) => i).some((index) => document.hasContent(index));
}

async function hasNoText(document: PdfjsDocument): Promise<boolean> {
  for (let index = 0; index < Math.min(document.pageCount, checkedPagesMax); index++) {
    if (((await document.readPieces(index)) ?? []).length > 0) return false;
  }
  return true;
}

/** Whether the `%%EOF` marker at the end of every PDF is missing. */
function isTruncated(bytes: Uint8Array): boolean {
  return !Buffer.from(bytes.subarray(-tailBytes)).includes('%%EOF');
}

const damagedWarning = 'The PDF is damaged and was read after repair.';

/** Appends a trailer under which PDFium finds the pages; null when no trailer yields page content. */
async function openWithTrailer(bytes: Uint8Array, { pagesMax }: ParseLimits): Promise<PdfiumDocument | null> {
  for (const end of buildTrailers(bytes, pagesMax)) {
    const document = await PdfiumDocument.open(bytes, end);
    if (typeof document === 'string') continue;
    if (hasPages(document) && !isBlankAfterTruncation(document, bytes)) return document;
    document.close();
  }
  return null;
}

function encryptedError(): ParseFailure {
  return new ParseFailure('encrypted', 'The PDF is encrypted and cannot be opened without its password.');
}

/**
 * Whether the page count is not zero and the first page can be loaded; the count of a damaged file may be
 * wrong.
 */
function hasPages(document: PdfiumDocument): boolean {
  return document.pageCount > 0 && document.canLoadPage(0);
}

function createPdfiumSource(document: PdfiumDocument, bytes: Uint8Array, limits: ParseLimits): PdfSource {
  const fallback = new PdfjsFallback(bytes, limits);
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings(document.outline()),
    pageContent: async (index) => {
      const pdfiumResult = document.readGlyphsWith(index, limits.pageUnitsMax, (glyphs) => {
        return { content: buildContent(glyphs), unreadTexts: glyphs.unmappedTexts };
      });
      if (pdfiumResult === null || pdfiumResult.unreadTexts < unmappedTextsMin)
        return pdfiumResult?.content ?? null;
      const content = await fallback.pageContent(index);
      return content !== null && content.characters.visible > pdfiumResult.content.characters.visible
        ? content
        : pdfiumResult.content;
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
  return { source: { lines }, characters: countGlyphs(glyphs), cut: glyphs.cut };
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

const pointsPerInch = 72;
const ocrDotsPerInch = 200;
const ocrPixelsMax = 12_000_000;

function computeOcrScale(width: number, height: number): number {
  return Math.min(ocrDotsPerInch / pointsPerInch, Math.sqrt(ocrPixelsMax / Math.max(1, width * height)));
}

function computeSkewScale(width: number, height: number): number {
  return Math.min(computeOcrScale(width, height), skewSidePixels / Math.max(1, width, height));
}

/** pdf.js returns texts without their characters. */
const noFonts = { isBold: () => false, typeSize: () => 0 };

function createPdfjsSource(document: PdfjsDocument, limits: ParseLimits): PdfSource {
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings([]),
    pageContent: async (index) => {
      const pieces = await document.readPieces(index);
      if (pieces === null) return null;
      const pieceHead = limitPieces(pieces, limits.pageUnitsMax);
      const characters = countCharacters(pieceHead.map(({ text }) => text).join(' '));
      const lines = buildLines(pieceHead, noFonts);
      return { source: { lines }, characters, cut: pieceHead.length < pieces.length };
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

function toPageSource(content: PageContent | null, index: number, problems: PageProblems): PageSource {
  if (content === null) {
    problems.broken.push(index);
    return { text: '' };
  }
  if (isUnreadable(content.characters)) {
    problems.unreadable.push(index);
    return { text: '' };
  }
  if (content.cut) problems.cut.push(index);
  if (content.characters.visible === 0) problems.empty.push(index);
  return content.source;
}

/** Returns the first lines in the largest type of a page, if it is clearly larger than the typical type. */
function findLargestText(content: PageContent | null): string | null {
  if (content === null || !('lines' in content.source)) return null;
  const lines = content.source.lines.filter(({ cells, hasGaps }) => !cells && !hasGaps);
  const heights = lines.map(({ height }) => height).sort((a, b) => a - b);
  const largest = heights.at(-1) ?? 0;
  if (lines.length < 3 || largest < 1.25 * heights[heights.length >> 1]!) return null;
  const first = lines.findIndex(({ height }) => height >= 0.98 * largest);
  const more = lines.slice(first).findIndex(({ height }) => height < 0.98 * largest);
  return lines
    .slice(first, more < 0 ? undefined : first + more)
    .map(({ text }) => text)
    .join(' ');
}

/** Reports dropped repeated lines, so that their absence from search results can be explained. */
function listRepetitionWarnings(dropped: ReadonlyMap<string, number>): string[] {
  const count = [...dropped.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) return [];
  const examples = [...dropped]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([wording]) => `"${wording.slice(0, 60)}"`);
  return [
    `Repeated headers, footers and page numbers were removed (${count} lines): ${examples.join(', ')}.`,
  ];
}

function listProblemWarnings({ empty, unreadable, broken, cut }: PageProblems): string[] {
  const warnings: string[] = [];
  if (empty.length > 0)
    warnings.push(`These pages contain no text, only images or nothing: ${formatPageRanges(empty)}.`);
  if (unreadable.length > 0) {
    warnings.push(
      `The fonts on these pages have no character mapping, so their text cannot be extracted: ${formatPageRanges(unreadable)}.`,
    );
  }
  if (broken.length > 0)
    warnings.push(`These pages are damaged and were left empty: ${formatPageRanges(broken)}.`);
  if (cut.length > 0)
    warnings.push(`Text on these pages was truncated at the limit per page: ${formatPageRanges(cut)}.`);
  return warnings;
}

/** Default titles written by programs, and opening headings that are not the title of the document. */
const defaultTitle =
  /^(?:\(?anonymous\)?|(?:untitled|unbenannt|sans titre|document|presentation)[\s-]*\d*|powerpoint presentation|(?:table of )?contents)$/i;

/**
 * Returns a title given by an author: not empty, not a program's default, not a file name. Otherwise null.
 */
function cleanTitle(raw: string): string | null {
  const title = cleanPageText(raw)
    .replace(/\s+/g, ' ')
    .replace(/^Microsoft (?:Word|PowerPoint|Excel) - /, '');
  if (!/\p{L}{2}/u.test(title) || title.length > 300) return null;
  return defaultTitle.test(title) || /\.\w{2,4}$/.test(title) ? null : title;
}
