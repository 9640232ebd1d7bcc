import type { DocumentTools } from './document-tools.ts';
import type { ParseLimits } from './limits.ts';
import { PageRecognition } from './page-recognition.ts';
import {
  type CharacterCounts,
  cleanPageText,
  countCharacters,
  isBrokenCharacter,
  isUnreadable,
  pageRanges,
} from './page-text.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { PageAssembly, type PageSource } from './pdf-assembly.ts';
import { OutlineHeadings } from './pdf-headings.ts';
import { linesOf } from './pdf-lines.ts';
import { type Piece, piecesOf } from './pdf-pieces.ts';
import { newEnds } from './pdf-repair.ts';
import { xmpTitle } from './pdf-xmp.ts';
import { type PageGlyphs, PdfiumDocument } from './pdfium.ts';
import { PdfjsDocument } from './pdfjs.ts';
import { type Raster, toGreyPixels, toGreyPng } from './raster.ts';
import { skewOf, skewSide } from './skew.ts';
import { TextBudget } from './text-budget.ts';

/** What an engine reads on a page. */
interface PageContent {
  /** Lines in reading order, or plain text from an engine that does not say where it stands. */
  readonly source: PageSource;
  readonly characters: CharacterCounts;
  /** True when the page holds more than is read of one. */
  readonly cut: boolean;
}

/** Pixels per point of a page of this size in points. */
type PageScale = (width: number, height: number) => number;

/** What either engine can tell about a PDF. */
interface PdfSource {
  readonly pageCount: number;
  readonly outline: OutlineHeadings;
  /** Null: the page cannot be read. */
  pageContent(index: number): Promise<PageContent | null>;
  /** What the file calls itself. */
  title(): Promise<string | null>;
  /** Share of a page that images cover. */
  imageShare(index: number): number;
  /** Draws a page as it looks, null when it cannot; null for an engine that does not draw. */
  readonly picture: ((index: number, scaleOf: PageScale) => Raster | null) | null;
  close(): Promise<void>;
}

/** Pages that lost something, by zero-based index. */
interface Losses {
  readonly empty: number[];
  readonly unreadable: number[];
  readonly broken: number[];
  readonly cut: number[];
}

/** PDF through PDFium; a file that PDFium calls corrupted goes to pdf.js. A page without text is an empty page. */
export async function* parsePdf(
  bytes: Uint8Array,
  limits: ParseLimits,
  tools: DocumentTools,
): AsyncGenerator<string, DocumentFacts> {
  const warnings: string[] = [];
  const source = await openSource(bytes, limits, warnings);
  try {
    const count = source.pageCount;
    if (count > limits.pagesMax) {
      throw new ParseFailure('too_large', `The PDF has ${count} pages; at most ${limits.pagesMax} are read.`);
    }
    const losses: Losses = { empty: [], unreadable: [], broken: [], cut: [] };
    const budget = new TextBudget(limits.textUnitsMax);
    const assembly = new PageAssembly(count, source.outline);
    const recognition = new PageRecognition(tools, limits);
    let largest: string | null = null;
    for (let index = 0; index < count; index++) {
      tools.tell({ stage: 'reading', page: index, of: count });
      const content = await source.pageContent(index);
      if (index === 0) largest = largestText(content);
      const recognised = isImage(content, source, index)
        ? await recognise({ source, index, count, recognition, tools })
        : null;
      for (const text of assembly.add(recognised ?? pageOf(content, index, losses))) {
        budget.take(text.length);
        yield text;
      }
    }
    if (losses.broken.length === count) {
      throw new ParseFailure('corrupt', 'The PDF is damaged: none of its pages can be read.');
    }
    if (losses.empty.length + losses.broken.length === count) await tellBrokenFromEmpty(bytes, losses);
    warnings.push(
      ...lossWarnings(losses),
      ...recognition.warnings(),
      ...repetitionWarnings(assembly.dropped),
    );
    const title = (await source.title()) ?? usefulTitle(largest ?? '');
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

/** Of a document that seems to hold no text at all: engines show pages blank whose contents they cannot unpack. */
async function tellBrokenFromEmpty(bytes: Uint8Array, losses: Losses): Promise<void> {
  const document = await PdfjsDocument.open(bytes, { strict: true });
  if (typeof document === 'string') return;
  try {
    for (const index of losses.empty.slice(0, pagesLookedAt)) {
      if ((await document.pagePieces(index)) !== null) continue;
      losses.empty.splice(losses.empty.indexOf(index), 1);
      losses.broken.push(index);
    }
    losses.broken.sort((a, b) => a - b);
  } finally {
    await document.close();
  }
}

/** Letters that a page needs for its text to count, and the share that images must cover for them to hold the text. */
const lettersMin = 16;
const imageShareMin = 0.1;

/** True when what a reader sees of the page is not what its text says: a scan, or fonts without a character map. */
function isImage(content: PageContent | null, source: PdfSource, index: number): boolean {
  if (content === null || source.picture === null) return false;
  const { visible, broken } = content.characters;
  if (isUnreadable(content.characters)) return true;
  return visible - broken < lettersMin && source.imageShare(index) >= imageShareMin;
}

interface PageToRecognise {
  readonly source: PdfSource;
  readonly index: number;
  readonly count: number;
  readonly recognition: PageRecognition;
  readonly tools: DocumentTools;
}

/** Null: the page was not read, and the text that it has must do. */
async function recognise({
  source,
  index,
  count,
  recognition,
  tools,
}: PageToRecognise): Promise<PageSource | null> {
  tools.tell({ stage: 'recognising', page: index, of: count });
  const drawn = (scaleOf: PageScale): Raster => {
    const raster = source.picture?.(index, scaleOf) ?? null;
    if (raster === null) throw new ParseFailure('corrupt', 'A page of the PDF cannot be drawn.');
    return raster;
  };
  const text = await recognition.read(index, {
    png: (turn) => toGreyPng({ raster: drawn(ocrScale) }, { turn }),
    skew: async () => skewOf(await toGreyPixels({ raster: drawn(skewScale) }, { side: skewSide })),
  });
  return text === '' || text === null ? null : { text };
}

/** Draws one page. Null: PDFium cannot open the file or has no such page. */
export async function renderPdfPage(
  bytes: Uint8Array,
  index: number,
  { limits, scaleOf }: { readonly limits: ParseLimits; readonly scaleOf: PageScale },
): Promise<Raster | null> {
  const opened = await PdfiumDocument.open(bytes);
  if (opened === 'encrypted') return null;
  const sound = opened !== 'corrupt' && hasPages(opened);
  if (!sound && opened !== 'corrupt') opened.close();
  const document = sound ? opened : await openWithNewEnd(bytes, limits);
  if (document === null) return null;
  try {
    return index >= 0 && index < document.pageCount ? document.render(index, scaleOf) : null;
  } finally {
    document.close();
  }
}

/** Size in points of a page with East Asian text in fonts that the file does not hold; null for any other page. */
export async function foreignFontsBox(
  bytes: Uint8Array,
  index: number,
): Promise<{ readonly width: number; readonly height: number } | null> {
  const document = await PdfiumDocument.open(bytes);
  if (typeof document === 'string') return null;
  try {
    return index >= 0 && index < document.pageCount ? document.foreignFontsBox(index) : null;
  } finally {
    document.close();
  }
}

async function openSource(bytes: Uint8Array, limits: ParseLimits, warnings: string[]): Promise<PdfSource> {
  const first = await PdfiumDocument.open(bytes);
  if (first === 'encrypted') throw encrypted();
  const sound = first !== 'corrupt' && hasPages(first) && !isHollow(first, bytes);
  if (sound) return pdfiumSource(first, bytes, limits);
  const usable = first !== 'corrupt' && first.pageCount > 0 && !isHollow(first, bytes);
  // Two engines that hold a large file each would take more memory than there is.
  if (!usable && first !== 'corrupt') first.close();
  const repaired = await openRepaired(bytes, limits);
  if (typeof repaired !== 'string') {
    if (usable) first.close();
    warnings.push(damaged);
    return repaired;
  }
  if (usable) return pdfiumSource(first, bytes, limits);
  if (repaired === 'encrypted') throw encrypted();
  throw new ParseFailure(
    'corrupt',
    first !== 'corrupt' && hasNoEnd(bytes)
      ? 'The PDF is damaged: it ends too early, and what is left of its pages is empty.'
      : 'The PDF is damaged beyond repair: no pages can be found in it.',
  );
}

/** What pdf.js or a new end makes of a file that PDFium cannot read; the latter only if it shows anything. */
async function openRepaired(
  bytes: Uint8Array,
  limits: ParseLimits,
): Promise<PdfSource | 'encrypted' | 'corrupt'> {
  const second = await PdfjsDocument.open(bytes);
  if (typeof second !== 'string') {
    if (second.pageCount > 0 && !(hasNoEnd(bytes) && (await isWithoutText(second))))
      return pdfjsSource(second, limits);
    await second.close();
  }
  if (second === 'encrypted') return second;
  const third = await openWithNewEnd(bytes, limits);
  return third === null ? 'corrupt' : pdfiumSource(third, bytes, limits);
}

/** How many first pages are looked at to tell whether a damaged file has anything left. */
const pagesLookedAt = 20;
const tailBytes = 4_096;

/** A file that lost its end, and the contents of all its pages with it: engines then show blank pages. */
function isHollow(document: PdfiumDocument, bytes: Uint8Array): boolean {
  if (!hasNoEnd(bytes)) return false;
  const pages = Math.min(document.pageCount, pagesLookedAt);
  return !Array.from({ length: pages }, (_, i) => i).some((index) => document.drawsSomething(index));
}

async function isWithoutText(document: PdfjsDocument): Promise<boolean> {
  for (let index = 0; index < Math.min(document.pageCount, pagesLookedAt); index++) {
    if (((await document.pagePieces(index)) ?? []).length > 0) return false;
  }
  return true;
}

/** Whether the mark at the end of every PDF is missing. */
function hasNoEnd(bytes: Uint8Array): boolean {
  return !Buffer.from(bytes.subarray(-tailBytes)).includes('%%EOF');
}

const damaged = 'The PDF is damaged; what could be repaired was read.';

/** A file whose pages nothing names, with an end under which PDFium finds them; null when there is none that shows any. */
async function openWithNewEnd(bytes: Uint8Array, { pagesMax }: ParseLimits): Promise<PdfiumDocument | null> {
  for (const end of newEnds(bytes, pagesMax)) {
    const document = await PdfiumDocument.open(bytes, end);
    if (typeof document === 'string') continue;
    if (hasPages(document) && !isHollow(document, bytes)) return document;
    document.close();
  }
  return null;
}

function encrypted(): ParseFailure {
  return new ParseFailure('encrypted', 'The PDF is encrypted and cannot be opened without its password.');
}

/** False for a file whose count is zero or a lie from the first page on. */
function hasPages(document: PdfiumDocument): boolean {
  return document.pageCount > 0 && document.canLoad(0);
}

function pdfiumSource(document: PdfiumDocument, bytes: Uint8Array, limits: ParseLimits): PdfSource {
  const other = new SecondOpinion(bytes, limits);
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings(document.outline()),
    pageContent: async (index) => {
      const own = document.glyphs(index, limits.pageUnitsMax, (glyphs) => {
        return { content: contentOf(glyphs), unreadTexts: glyphs.unreadTexts };
      });
      if (own === null || own.unreadTexts < unreadTextsMin) return own?.content ?? null;
      const content = await other.pageContent(index);
      return content !== null && content.characters.visible > own.content.characters.visible
        ? content
        : own.content;
    },
    title: async () => usefulTitle(document.metadata('Title')) ?? usefulTitle(xmpTitle(bytes) ?? ''),
    imageShare: (index) => document.imageShare(index),
    picture: (index, scaleOf) => document.render(index, scaleOf),
    close: async () => {
      document.close();
      await other.close();
    },
  };
}

/** Texts on a page that PDFium has no characters for, from which the other engine is asked; vertical fonts lead to it. */
const unreadTextsMin = 4;

/** The file as pdf.js reads it, opened when it is first asked. */
class SecondOpinion {
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
    return typeof document === 'string' ? null : pdfjsSource(document, this.#limits);
  }
}

function contentOf(glyphs: PageGlyphs): PageContent {
  const lines = linesOf(piecesOf(glyphs), glyphs);
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

function ocrScale(width: number, height: number): number {
  return Math.min(ocrDotsPerInch / pointsPerInch, Math.sqrt(ocrPixelsMax / Math.max(1, width * height)));
}

function skewScale(width: number, height: number): number {
  return Math.min(ocrScale(width, height), skewSide / Math.max(1, width, height));
}

/** pdf.js gives its texts without their characters. */
const noFonts = { isBold: () => false, typeSize: () => 0 };

function pdfjsSource(document: PdfjsDocument, limits: ParseLimits): PdfSource {
  return {
    pageCount: document.pageCount,
    outline: new OutlineHeadings([]),
    pageContent: async (index) => {
      const pieces = await document.pagePieces(index);
      if (pieces === null) return null;
      const kept = keptPieces(pieces, limits.pageUnitsMax);
      const characters = countCharacters(kept.map(({ text }) => text).join(' '));
      const lines = linesOf(kept, noFonts);
      return { source: { lines }, characters, cut: kept.length < pieces.length };
    },
    title: async () => usefulTitle(await document.title()),
    // Only PDFium draws, and it could not open this file.
    imageShare: () => 0,
    picture: null,
    close: () => document.close(),
  };
}

/** The first pieces that hold at most `unitsMax` together. */
function keptPieces(pieces: readonly Piece[], unitsMax: number): readonly Piece[] {
  let units = 0;
  const beyond = pieces.findIndex(({ text }) => {
    units += text.length;
    return units > unitsMax;
  });
  return beyond < 0 ? pieces : pieces.slice(0, beyond);
}

function pageOf(content: PageContent | null, index: number, losses: Losses): PageSource {
  if (content === null) {
    losses.broken.push(index);
    return { text: '' };
  }
  if (isUnreadable(content.characters)) {
    losses.unreadable.push(index);
    return { text: '' };
  }
  if (content.cut) losses.cut.push(index);
  if (content.characters.visible === 0) losses.empty.push(index);
  return content.source;
}

/** The first lines in the largest type of a page, when it is clearly larger than the usual. */
function largestText(content: PageContent | null): string | null {
  if (content === null || !('lines' in content.source)) return null;
  const lines = content.source.lines.filter(({ cells, parted }) => !cells && !parted);
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

/** Says what was left out because it repeats, so that nobody looks for it in vain. */
function repetitionWarnings(dropped: ReadonlyMap<string, number>): string[] {
  const count = [...dropped.values()].reduce((sum, one) => sum + one, 0);
  if (count === 0) return [];
  const examples = [...dropped]
    .toSorted(([, a], [, b]) => b - a)
    .slice(0, 3)
    .map(([wording]) => `"${wording.slice(0, 60)}"`);
  return [
    `Headers, footers and page numbers that repeat were left out (${count} lines): ${examples.join(', ')}.`,
  ];
}

function lossWarnings({ empty, unreadable, broken, cut }: Losses): string[] {
  const warnings: string[] = [];
  if (empty.length > 0)
    warnings.push(`These pages hold no text, only images or nothing: ${pageRanges(empty)}.`);
  if (unreadable.length > 0) {
    warnings.push(
      `The fonts of these pages do not say which characters they draw: ${pageRanges(unreadable)}.`,
    );
  }
  if (broken.length > 0) warnings.push(`These pages are damaged and were left empty: ${pageRanges(broken)}.`);
  if (cut.length > 0)
    warnings.push(`These pages hold more text than is read from one page: ${pageRanges(cut)}.`);
  return warnings;
}

/** What programs write when nobody gave a title, and headings that open documents without being their title. */
const programTitle =
  /^(?:\(?anonymous\)?|(?:untitled|unbenannt|sans titre|document|presentation)[\s-]*\d*|powerpoint presentation|(?:table of )?contents)$/i;

/** A title that a person gave: not empty, not what a program writes by default, not a file name. */
function usefulTitle(raw: string): string | null {
  const title = cleanPageText(raw)
    .replace(/\s+/g, ' ')
    .replace(/^Microsoft (?:Word|PowerPoint|Excel) - /, '');
  if (!/\p{L}{2}/u.test(title) || title.length > 300) return null;
  return programTitle.test(title) || /\.\w{2,4}$/.test(title) ? null : title;
}
