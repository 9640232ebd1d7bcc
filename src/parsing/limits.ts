import { assert } from '../core/assert.ts';
import { limits as base } from '../core/limits.ts';

/**
 * Every bound on one document, from the bytes of its file to the text it may become. Breaking one ends the document with
 * a `ParseFailure`, never the server. All are inclusive maxima.
 */
export interface ParseLimits {
  /** Size of the file in bytes. */
  readonly fileBytesMax: number;
  /** Pages of a PDF, slides, pages of a Word file, form-feed pages of a text. */
  readonly pagesMax: number;
  /** Groups of rows of a spreadsheet or CSV file; each becomes one unordered page. */
  readonly rowPagesMax: number;
  /** Text of all pages together, in UTF-16 code units. */
  readonly textUnitsMax: number;
  /** Text of one PDF page in UTF-16 code units; what is beyond is left out, with a warning. */
  readonly pageUnitsMax: number;
  /** Entries of a zip container. */
  readonly zipEntriesMax: number;
  /** One inflated zip entry, in bytes. */
  readonly zipEntryBytesMax: number;
  /** All inflated zip entries together, in bytes. */
  readonly zipTotalBytesMax: number;
  /** Inflated bytes per compressed byte, checked once an entry has grown beyond `zipRatioFreeBytes`. */
  readonly zipRatioMax: number;
  /** Entries up to this size may have any ratio: a small file of spaces is no bomb. */
  readonly zipRatioFreeBytes: number;
  /** Open elements of an XML part. */
  readonly xmlDepthMax: number;
  /** Longest side of a page image in pixels. */
  readonly imageSideMax: number;
  /** Area of a page image in pixels. */
  readonly imagePixelsMax: number;
  /** Silence after which the parser process is killed, in milliseconds; every page is a sign of life. */
  readonly idleMsMax: number;
  /** Time for one attempt at a document, in milliseconds. */
  readonly totalMsMax: number;
  /** Pages of one document whose text is read from their image. */
  readonly ocrPagesMax: number;
  /** Time for one such page, in milliseconds. */
  readonly ocrPageMsMax: number;
  /** Time for all such pages of a document, in milliseconds; those that are done by then are kept. */
  readonly ocrMsMax: number;
  /** Time that LibreOffice may take for a file, in milliseconds. */
  readonly convertMsMax: number;
  /** Area of an image that is opened, in pixels. */
  readonly imageInputPixelsMax: number;
}

export const defaultParseLimits: ParseLimits = {
  fileBytesMax: 200_000_000,
  pagesMax: base.documentPagesMax,
  rowPagesMax: 50_000,
  textUnitsMax: base.documentTextUnitsMax,
  pageUnitsMax: base.pageTextUnitsMax,
  zipEntriesMax: 10_000,
  zipEntryBytesMax: 64_000_000,
  zipTotalBytesMax: 512_000_000,
  zipRatioMax: 200,
  zipRatioFreeBytes: 8_000_000,
  xmlDepthMax: 256,
  imageSideMax: 2_000,
  imagePixelsMax: 4_000_000,
  idleMsMax: 20_000,
  totalMsMax: 600_000,
  ocrPagesMax: 200,
  ocrPageMsMax: 60_000,
  ocrMsMax: 480_000,
  convertMsMax: 120_000,
  imageInputPixelsMax: 150_000_000,
};

/** Bounds of the parser process itself, which serves many documents. */
export const processLimits = {
  /** Heap of JavaScript objects, in MiB. */
  heapMebibytesMax: 384,
  /** Private writable memory of the whole process (heap, buffers, WebAssembly), in bytes; set through `prlimit`. */
  dataBytesMax: 768 * 1_048_576,
  /** Resident memory at which the process ends itself; holds also where there is no `prlimit`. */
  residentBytesMax: 896 * 1_048_576,
  /** Resident memory after a document above which the process is replaced, so that the next one begins with little. */
  recycleResidentBytes: 256 * 1_048_576,
  /** The same for the process of the embedded OCR engine, which needs most of it for its first image. */
  ocrRecycleResidentBytes: 400 * 1_048_576,
  /** Documents after which the process is replaced. */
  recycleDocuments: 200,
  /** Attempts at one document, each after the first in a fresh process. */
  attemptsMax: 2,
  /** Time after which a process that was started for the next organization ends unused, in milliseconds. */
  standbyMs: 60_000,
  /** Time a fresh process may take until it is ready, in milliseconds. */
  startMsMax: 60_000,
  /** What is kept of the process's standard error, in characters, to tell why it ended. */
  stderrUnitsMax: 8_192,
  /** Time without work after which the process of the embedded OCR engine ends, in milliseconds. */
  ocrIdleMs: 60_000,
  /** Least time between two reports of progress in the same stage, in milliseconds. */
  progressMsMin: 200,
  /** Time that a program may take for one image, in milliseconds. */
  imageMsMax: 20_000,
  /** How often the watchdog inside the process looks at its memory, in milliseconds. */
  watchdogMs: 100,
} as const;

/** Rows of a table are grouped into pages of about this many UTF-16 code units. */
export const rowPageUnitsTarget = 2_000;

assert(
  processLimits.recycleResidentBytes < processLimits.residentBytesMax,
  'a parser process is replaced before it is killed for its memory',
);
assert(
  defaultParseLimits.textUnitsMax / rowPageUnitsTarget <= defaultParseLimits.rowPagesMax,
  'a table of the largest allowed text fits into the allowed number of row pages',
);
assert(
  defaultParseLimits.idleMsMax < defaultParseLimits.totalMsMax,
  'silence ends an attempt before the total',
);
