import { countLines } from '../core/line-boxes.ts';
import { type DetectedDocument, detectDocument } from './detect.ts';
import { detectLanguage, resolveDeclaredLanguage } from './encoding/language.ts';
import type { Format, PageStream } from './formats/format.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import { type PageText, type ParsedPage, packPage } from './parsed-page.ts';
import type { DocumentDetails, DocumentInfo } from './process/parse-task.ts';
import { toWellFormed } from './text-budget.ts';
import { type DocumentTools, noTools } from './tools/document-tools.ts';

const titleUnitsMax = 300;
/** UTF-16 units of text used for language detection; more text does not improve the result. */
const languageUnitsMax = 200_000;

/**
 * Parses one document in this process: detects its kind, yields its pages and returns its information. Runs
 * only inside the parser process. Errors: `ParseFailure` for every fault of the document.
 */
export async function* parseDocument(
  bytes: Uint8Array,
  path: string | null,
  limits: ParseLimits,
  tools: DocumentTools = noTools,
): AsyncGenerator<ParsedPage, DocumentInfo> {
  if (bytes.length > limits.fileBytesMax) {
    throw new ParseFailure(
      'too_large',
      `The file has ${bytes.length} bytes; the limit is ${limits.fileBytesMax}.`,
    );
  }
  const detected = await detectDocument(bytes, path, limits);
  const pages = detected.parse({ limits, tools });
  let sample = '';
  let count = 0;
  let linesLeft = limits.linesMax;
  let isBlank = true;
  for (;;) {
    const step = await readNextPage(pages);
    if (step.done === true) return completeInfo(detected, addBlankWarning(step.value, isBlank), sample);
    count += 1;
    checkPageCount(count, detected.format, limits);
    const { text: raw, lines } = toPageText(step.value);
    const text = toWellFormed(raw);
    isBlank &&= !/\S/.test(text);
    if (sample.length < languageUnitsMax) sample += `${text.slice(0, languageUnitsMax)}\n`;
    const page = packPage({ text, lines }, Math.min(limits.pageLinesMax, linesLeft));
    linesLeft -= countLines(page.boxes);
    yield page;
  }
}

/**
 * Maps reads past the end of a binary file to `corrupt`: a file whose offsets point outside of it is damaged.
 */
async function readNextPage(pages: PageStream): Promise<IteratorResult<string | PageText, DocumentDetails>> {
  try {
    return await pages.next();
  } catch (error) {
    if (!(error instanceof RangeError) || !/outside the bounds of the DataView/.test(error.message))
      throw error;
    throw new ParseFailure('corrupt', 'The file is damaged: it refers to data beyond its end.');
  }
}

function toPageText(page: string | PageText): PageText {
  return typeof page === 'string' ? { text: page, lines: [] } : page;
}

function checkPageCount(count: number, { hasRows }: Format, limits: ParseLimits): void {
  const max = hasRows ? limits.rowPagesMax : limits.pagesMax;
  if (count > max) throw new ParseFailure('too_large', `The document exceeds the limit of ${max} pages.`);
}

/** Adds a warning to a document without text when no other warning explains it. */
function addBlankWarning(details: DocumentDetails, isBlank: boolean): DocumentDetails {
  return isBlank && details.warnings.length === 0
    ? { ...details, warnings: ['The document contains no text.'] }
    : details;
}

/**
 * Adds what follows from the format. Prefers the language detected from the text to the declared one, which is
 * often a default of the authoring program.
 */
function completeInfo(
  { format, contentType }: DetectedDocument,
  { lacksPageImages, ...details }: DocumentDetails,
  sample: string,
): DocumentInfo {
  const title = toWellFormed(details.title ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, titleUnitsMax);
  return {
    ...details,
    kind: format.kind,
    contentType,
    unordered: format.hasRows ?? false,
    pageImages: lacksPageImages ? 'never' : (format.pageImages?.available ?? 'never'),
    title: title === '' ? null : toWellFormed(title),
    language: detectLanguage(sample) ?? resolveDeclaredLanguage(details.language, sample),
  };
}
