import type { ParseLimits } from '../limits.ts';
import { ParseFailure } from '../parse-failure.ts';
import { buildTrailers } from './pdf-repair.ts';
import { createPdfiumSource, createPdfjsSource, type PdfSource } from './pdf-source.ts';
import { PdfiumDocument } from './pdfium.ts';
import { PdfjsDocument } from './pdfjs.ts';

/** Opens a PDF with the engine that can read it. Adds a warning for a file that was repaired. */
export async function openSource(
  bytes: Uint8Array,
  limits: ParseLimits,
  warnings: string[],
): Promise<PdfSource> {
  const first = await PdfiumDocument.open(bytes);
  if (first === 'encrypted') throw encryptedError();
  const isIntact = first !== 'corrupt' && hasPages(first) && !isBlankAfterTruncation(first, bytes);
  if (isIntact) return createPdfiumSource(first, bytes, limits);
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
export const checkedPagesMax = 20;
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
export async function openWithTrailer(
  bytes: Uint8Array,
  { pagesMax }: ParseLimits,
): Promise<PdfiumDocument | null> {
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
export function hasPages(document: PdfiumDocument): boolean {
  return document.pageCount > 0 && document.canLoadPage(0);
}
