import { assert } from '../core/assert.ts';
import { limits as base } from '../core/limits.ts';

/**
 * Bounds on one document, from the bytes of its file to its extracted text. Exceeding one fails the document
 * with a `ParseFailure` and does not affect the server. All are inclusive maxima.
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
  /** Text of one PDF page in UTF-16 code units; the excess is dropped with a warning. */
  readonly pageUnitsMax: number;
  /** Lines of one page whose boxes are kept. */
  readonly pageLinesMax: number;
  /** Lines of all pages together whose boxes are kept. */
  readonly linesMax: number;
  /** Entries of a zip container. */
  readonly zipEntriesMax: number;
  /** Size of one inflated zip entry, in bytes. */
  readonly zipEntryBytesMax: number;
  /** Size of all inflated zip entries together, in bytes. */
  readonly zipTotalBytesMax: number;
  /** Inflated bytes per compressed byte, checked once an entry exceeds `zipRatioFreeBytes`. */
  readonly zipRatioMax: number;
  /** Inflated bytes per entry below which any ratio is allowed: a small file of spaces is not a zip bomb. */
  readonly zipRatioFreeBytes: number;
  /** Depth of open elements of an XML part. */
  readonly xmlDepthMax: number;
  /** Longest side of a page image in pixels. */
  readonly imageSideMax: number;
  /** Area of a page image in pixels. */
  readonly imagePixelsMax: number;
  /**
   * Milliseconds without a message after which the parser process is killed; every page counts as progress.
   */
  readonly idleMsMax: number;
  /** Milliseconds for a document, all attempts together, without the start of processes. */
  readonly totalMsMax: number;
  /** Pages of one document that are read by OCR. */
  readonly ocrPagesMax: number;
  /** Milliseconds of OCR for one page. */
  readonly ocrPageMsMax: number;
  /** Milliseconds of OCR for all pages of a document; pages completed by then are kept. */
  readonly ocrMsMax: number;
  /** Milliseconds that LibreOffice may take for a file. */
  readonly convertMsMax: number;
  /** Area of an input image, in pixels. */
  readonly imageInputPixelsMax: number;
}

export const defaultParseLimits: ParseLimits = {
  fileBytesMax: 200_000_000,
  pagesMax: base.documentPagesMax,
  rowPagesMax: 50_000,
  textUnitsMax: base.documentTextUnitsMax,
  pageUnitsMax: base.pageTextUnitsMax,
  pageLinesMax: 4_096,
  linesMax: 1_000_000,
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
  /** JavaScript heap, in MiB. */
  heapMebibytesMax: 384,
  /**
   * Private writable memory of the whole process (heap, buffers, WebAssembly), in bytes; set through
   * `prlimit`.
   */
  dataBytesMax: 768 * 1_048_576,
  /** Resident memory, in bytes, at which the process exits; also applies where `prlimit` is not available. */
  residentBytesMax: 896 * 1_048_576,
  /**
   * Resident bytes after a document above which the process is replaced, so that the next document starts
   * with little memory in use.
   */
  recycleResidentBytes: 256 * 1_048_576,
  /** The same for the process of the embedded OCR engine, which needs most of it for its first image. */
  ocrRecycleResidentBytes: 400 * 1_048_576,
  /** Documents after which the process is replaced. */
  recycleDocuments: 200,
  /** Attempts per document within its total time; each retry runs in a fresh process. */
  attemptsMax: 2,
  /** Milliseconds after which an unused standby process (started for the next organization) exits. */
  standbyMs: 60_000,
  /** Milliseconds within which a fresh process must become ready. */
  startMsMax: 60_000,
  /** Characters of the process's standard error that are kept to report why it exited. */
  stderrUnitsMax: 8_192,
  /** Milliseconds without work after which the process of the embedded OCR engine exits. */
  ocrIdleMs: 60_000,
  /** Minimum milliseconds between two progress reports of the same stage. */
  progressMsMin: 200,
  /** Milliseconds that a program may take for one image. */
  imageMsMax: 20_000,
  /** Milliseconds between two memory checks of the watchdog in the process. */
  watchdogMs: 100,
} as const;

/** Target size of a page of table rows, in UTF-16 code units. */
export const rowPageUnitsTarget = 2_000;

assert(
  processLimits.recycleResidentBytes < processLimits.residentBytesMax,
  'a parser process is replaced before it exceeds the memory limit',
);
assert(
  defaultParseLimits.rowPagesMax <= base.textPagesMax,
  'the pages of any parsed file can be added as a text',
);
assert(
  defaultParseLimits.textUnitsMax / rowPageUnitsTarget <= defaultParseLimits.rowPagesMax,
  'a table of the largest allowed text fits into the allowed number of row pages',
);
assert(
  defaultParseLimits.idleMsMax < defaultParseLimits.totalMsMax,
  'the idle timeout ends an attempt before the total timeout',
);
