import { limits } from '../core/limits.ts';
import { type ParseLimits, defaultParseLimits as parse, processLimits } from '../parsing/limits.ts';
import { type EffectRow, formatNumber, formatSeconds, renderEffectTable } from './limit-row.ts';

/**
 * One limit of parsing. Exceeding it fails or shortens one document and rejects no request.
 * `docs/reference/limits.md` is generated from these rows.
 */
export interface ParseLimitRow extends EffectRow {
  /** Bounds of `parsing/limits.ts` that the row describes. */
  readonly bound: readonly (keyof ParseLimits | keyof typeof processLimits)[];
}

const mebibytes = (bytes: number) => `${formatNumber(bytes / 1_048_576)} MiB`;
const setting = (name: string) => `\`QUARRY_${name}\``;

const sizeRows: readonly ParseLimitRow[] = [
  {
    limit: 'Bytes of a file',
    bounds: 'One uploaded or encoded file; a larger request is rejected with 413',
    value: setting('UPLOAD_BYTES_MAX'),
    effect: '`too_large`',
    enforcedIn: 'parsing/process/parser-host.ts fileBytesMax',
    bound: ['fileBytesMax'],
  },
  {
    limit: 'Pages',
    bounds: 'Pages of a PDF, an image, a Word file or a text, and slides',
    value: formatNumber(parse.pagesMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/parse.ts checkPageCount',
    bound: ['pagesMax'],
  },
  {
    limit: 'Pages of rows',
    bounds: `Pages of a spreadsheet or a CSV file, of about 2,000 characters each`,
    value: formatNumber(parse.rowPagesMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/parse.ts checkPageCount',
    bound: ['rowPagesMax'],
  },
  {
    limit: 'Text of a document',
    bounds: 'UTF-16 code units of all pages',
    value: formatNumber(parse.textUnitsMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/text-budget.ts TextBudget',
    bound: ['textUnitsMax'],
  },
  {
    limit: 'Text of a PDF page',
    bounds: 'UTF-16 code units of one page',
    value: formatNumber(parse.pageUnitsMax),
    effect: 'the rest of the page is dropped with a warning',
    enforcedIn: 'parsing/pdf/pdf-source.ts limitPieces',
    bound: ['pageUnitsMax'],
  },
  {
    limit: 'Lines with a rectangle',
    bounds:
      'Lines and table cells of one page, and of all pages, with their place on the page; at most 20 bytes each',
    value: `${formatNumber(parse.pageLinesMax)} and ${formatNumber(parse.linesMax)}`,
    effect: 'further lines have no rectangle in results',
    enforcedIn: 'parsing/parse.ts pageLinesMax',
    bound: ['pageLinesMax', 'linesMax'],
  },
  {
    limit: 'Entries of an archive',
    bounds: 'Entries of a zip container (Office, OpenDocument, EPUB)',
    value: formatNumber(parse.zipEntriesMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/zip.ts zipEntriesMax',
    bound: ['zipEntriesMax'],
  },
  {
    limit: 'Unpacked bytes',
    bounds: 'Bytes of one entry, and of all entries that are read',
    value: `${formatNumber(parse.zipEntryBytesMax)} and ${formatNumber(parse.zipTotalBytesMax)}`,
    effect: '`too_large`',
    enforcedIn: 'parsing/zip.ts zipTotalBytesMax',
    bound: ['zipEntryBytesMax', 'zipTotalBytesMax'],
  },
  {
    limit: 'Compression ratio',
    bounds: `Unpacked bytes per packed byte of an entry of more than ${formatNumber(parse.zipRatioFreeBytes)} bytes`,
    value: formatNumber(parse.zipRatioMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/zip.ts zipRatioMax',
    bound: ['zipRatioMax', 'zipRatioFreeBytes'],
  },
  {
    limit: 'XML depth',
    bounds: 'Nested elements of a part of an Office or OpenDocument file',
    value: formatNumber(parse.xmlDepthMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/xml-reader.ts depthMax',
    bound: ['xmlDepthMax'],
  },
  {
    limit: 'Pixels of an image',
    bounds: 'Width times height of an image file',
    value: formatNumber(parse.imageInputPixelsMax),
    effect: '`too_large`',
    enforcedIn: 'parsing/formats/image/image.ts imageInputPixelsMax',
    bound: ['imageInputPixelsMax'],
  },
  {
    limit: 'Size of a page image',
    bounds: 'Longest side, and area in pixels',
    value: `${formatNumber(parse.imageSideMax)} and ${formatNumber(parse.imagePixelsMax)}`,
    effect: 'the image is scaled down',
    enforcedIn: 'parsing/formats/page-renderers.ts imagePixelsMax',
    bound: ['imageSideMax', 'imagePixelsMax'],
  },
];

const timeRows: readonly ParseLimitRow[] = [
  {
    limit: 'Time of a document',
    bounds: `All attempts together; parse-document has ${formatSeconds(limits.waitMsMax)}`,
    value: setting('PARSE_SECONDS_MAX'),
    effect: '`timeout`',
    enforcedIn: 'parsing/process/parser-attempt.ts totalMsMax',
    bound: ['totalMsMax'],
  },
  {
    limit: 'Time without progress',
    bounds: 'Time since the last page; external tools have their own limits',
    value: setting('PARSE_STALL_SECONDS'),
    effect: '`timeout`',
    enforcedIn: 'parsing/process/parser-attempt.ts idleMsMax',
    bound: ['idleMsMax'],
  },
  {
    limit: 'Attempts',
    bounds: 'Parser processes per document, after `crash`, `timeout` and `memory`',
    value: formatNumber(processLimits.attemptsMax),
    effect: 'the error of the last attempt',
    enforcedIn: 'parsing/process/parser-host.ts attemptsMax',
    bound: ['attemptsMax'],
  },
  {
    limit: 'Memory of a parser process',
    bounds: 'JavaScript heap, private memory (with `prlimit`), and resident memory',
    value: `${formatNumber(processLimits.heapMebibytesMax)} MiB, ${mebibytes(processLimits.dataBytesMax)} and ${mebibytes(processLimits.residentBytesMax)}`,
    effect: '`memory`',
    enforcedIn: 'parsing/process/watchdog.ts residentBytesMax',
    bound: ['heapMebibytesMax', 'dataBytesMax', 'residentBytesMax'],
  },
  {
    limit: 'OCR pages',
    bounds: 'Pages of a document that are read by OCR',
    value: setting('OCR_PAGES_MAX'),
    effect: 'further pages are not read, with a warning',
    enforcedIn: 'parsing/ocr/page-ocr.ts ocrPagesMax',
    bound: ['ocrPagesMax'],
  },
  {
    limit: 'OCR time of a page',
    bounds: 'Time of one page',
    value: setting('OCR_PAGE_SECONDS_MAX'),
    effect: 'the page is not read, with a warning',
    enforcedIn: 'parsing/process/parser-attempt.ts ocrPageMsMax',
    bound: ['ocrPageMsMax'],
  },
  {
    limit: 'OCR time of a document',
    bounds: 'Time of all pages, at most four fifths of the time of the document',
    value: setting('OCR_SECONDS_MAX'),
    effect: 'further pages are not read, with a warning',
    enforcedIn: 'parsing/ocr/page-ocr.ts ocrMsMax',
    bound: ['ocrMsMax'],
  },
  {
    limit: 'Time of LibreOffice',
    bounds: 'Conversion of one file',
    value: setting('OFFICE_SECONDS_MAX'),
    effect: 'the pages are those of the parser, with a warning; `timeout` if it has none',
    enforcedIn: 'parsing/process/parser-attempt.ts convertMsMax',
    bound: ['convertMsMax'],
  },
  {
    limit: 'Time of other tools',
    bounds: 'heif-convert and pdftoppm, for one image',
    value: formatSeconds(processLimits.imageMsMax),
    effect: '`timeout`, or no page image',
    enforcedIn: 'parsing/process/parser-attempt.ts imageMsMax',
    bound: ['imageMsMax'],
  },
];

export const parseLimitTable: readonly ParseLimitRow[] = [...sizeRows, ...timeRows];

/** Renders the section of `docs/reference/limits.md` about parsing. */
export function renderParseLimits(): string {
  return `
## Parsing and OCR

These limits apply to one file. A document that exceeds one has the \`index_status\` \`parsing_failed\` with the
\`error_code\` in the column "effect"; other documents are not affected. parse-document returns the message with
status 400, and 503 with \`x-should-retry: false\` when its time limit is reached. A text in a request has at most
${formatNumber(limits.textPagesMax)} pages and ${formatNumber(parse.textUnitsMax)} characters; add-document returns 413 above that.
[Configuration](configuration.md) has the defaults of the settings.

${renderEffectTable(parseLimitTable)}`;
}
