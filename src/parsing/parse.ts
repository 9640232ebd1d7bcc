import { type DetectedDocument, detectDocument } from './detect.ts';
import { detectLanguage, resolveDeclaredLanguage } from './encoding/language.ts';
import { parseImage } from './formats/image/image.ts';
import { parseDoc } from './formats/legacy/doc.ts';
import { parsePpt } from './formats/legacy/ppt.ts';
import { parseRtf } from './formats/legacy/rtf.ts';
import { parseXls } from './formats/legacy/xls.ts';
import { parseEml } from './formats/mail/eml.ts';
import { parseMsg } from './formats/mail/msg.ts';
import { parseDocx } from './formats/office/docx.ts';
import { parseWithOfficeFallback, parseWithOfficePages } from './formats/office/office-pages.ts';
import { parsePptx } from './formats/office/pptx.ts';
import { parseXlsx } from './formats/office/xlsx.ts';
import { parseOds } from './formats/opendocument/ods.ts';
import { parseOpenDocumentText } from './formats/opendocument/open-document-text.ts';
import { parseDelimited } from './formats/text/delimited.ts';
import { parseNotebook } from './formats/text/notebook.ts';
import { parsePlainText } from './formats/text/plain-text.ts';
import { parseEpub } from './formats/web/epub.ts';
import { parseHtml } from './formats/web/html.ts';
import type { ParseLimits } from './limits.ts';
import { ParseFailure } from './parse-failure.ts';
import { parsePdf } from './pdf/pdf.ts';
import type { DocumentInfo, DocumentKind } from './process/parse-task.ts';
import { toWellFormed } from './text-budget.ts';
import { type DocumentTools, noTools } from './tools/document-tools.ts';

/** Yields pages as they are parsed, then returns the information on the whole document. */
type PageStream = AsyncGenerator<string, DocumentInfo> | Generator<string, DocumentInfo>;

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
): AsyncGenerator<string, DocumentInfo> {
  if (bytes.length > limits.fileBytesMax) {
    throw new ParseFailure(
      'too_large',
      `The file has ${bytes.length} bytes; the limit is ${limits.fileBytesMax}.`,
    );
  }
  const detected = await detectDocument(bytes, path, limits);
  const pages = parsePages(detected, bytes, { limits, tools });
  let sample = '';
  let count = 0;
  let isBlank = true;
  for (;;) {
    const step = await readNextPage(pages);
    if (step.done === true) return finalizeInfo(addBlankWarning(step.value, isBlank), sample);
    count += 1;
    checkPageCount(count, detected, limits);
    const page = toWellFormed(step.value);
    isBlank &&= !/\S/.test(page);
    if (sample.length < languageUnitsMax) sample += `${page.slice(0, languageUnitsMax)}\n`;
    yield page;
  }
}

/**
 * Maps reads past the end of a binary file to `corrupt`: a file whose offsets point outside of it is damaged.
 */
async function readNextPage(pages: PageStream): Promise<IteratorResult<string, DocumentInfo>> {
  try {
    return await pages.next();
  } catch (error) {
    if (!(error instanceof RangeError) || !/outside the bounds of the DataView/.test(error.message))
      throw error;
    throw new ParseFailure('corrupt', 'The file is damaged: it refers to data beyond its end.');
  }
}

function parsePages(
  detected: DetectedDocument,
  bytes: Uint8Array,
  { limits, tools }: { readonly limits: ParseLimits; readonly tools: DocumentTools },
): PageStream {
  switch (detected.kind) {
    case 'pdf':
      return parsePdf(bytes, limits, tools);
    case 'docx':
      return parseWithOfficePages('docx', () => parseDocx(detected.archive, detected.mainPart, limits), {
        limits,
        tools,
      });
    case 'pptx':
      return parsePptx(detected.archive, detected.mainPart, limits);
    case 'xlsx':
      return parseXlsx(detected.archive, detected.mainPart, limits);
    case 'odt': {
      const { archive } = detected;
      return parseWithOfficePages('odt', () => parseOpenDocumentText(archive, 'odt', limits), {
        limits,
        tools,
      });
    }
    case 'odp':
      return parseOpenDocumentText(detected.archive, detected.kind, limits);
    case 'ods':
      return parseOds(detected.archive, limits);
    case 'epub':
      return parseEpub(detected.archive, limits);
    case 'rtf':
      return parseWithOfficePages('rtf', () => parseRtf(bytes, limits), { limits, tools });
    case 'eml':
      return parseEml(bytes, limits);
    case 'doc':
      return parseWithOfficePages('doc', () => parseDoc(detected.file, limits), { limits, tools });
    case 'ppt':
      return parseWithOfficeFallback('ppt', () => parsePpt(detected.file, limits), { limits, tools });
    case 'xls':
      return parseXls(detected.file, limits);
    case 'msg':
      return parseMsg(detected.file, limits);
    case 'html':
    case 'xhtml':
      return parseHtml(detected.decoded, detected.kind, limits);
    case 'csv':
    case 'tsv':
      return parseDelimited(detected.decoded, detected.kind, limits);
    case 'notebook':
      return parseNotebook(detected.decoded, limits);
    case 'text':
    case 'markdown':
    case 'code':
    case 'json':
    case 'xml':
      return parsePlainText(detected.decoded, detected.kind, limits);
    case 'png':
    case 'jpeg':
    case 'webp':
    case 'gif':
    case 'tiff':
    case 'bmp':
    case 'heic':
      return parseImage(bytes, detected.kind, { limits, tools });
  }
}

/** Kinds whose pages are groups of rows. */
const rowKinds: ReadonlySet<DocumentKind> = new Set(['csv', 'tsv', 'xlsx', 'xls', 'ods'] as const);

function checkPageCount(count: number, detected: DetectedDocument, limits: ParseLimits): void {
  const max = rowKinds.has(detected.kind) ? limits.rowPagesMax : limits.pagesMax;
  if (count > max) throw new ParseFailure('too_large', `The document exceeds the limit of ${max} pages.`);
}

/** Adds a warning to a document without text when no other warning explains it. */
function addBlankWarning(info: DocumentInfo, isBlank: boolean): DocumentInfo {
  return isBlank && info.warnings.length === 0
    ? { ...info, warnings: ['The document contains no text.'] }
    : info;
}

/**
 * Prefers the language detected from the text to the declared one, which is often a default of the authoring
 * program.
 */
function finalizeInfo(info: DocumentInfo, sample: string): DocumentInfo {
  const title = toWellFormed(info.title ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, titleUnitsMax);
  return {
    ...info,
    title: title === '' ? null : toWellFormed(title),
    language: detectLanguage(sample) ?? resolveDeclaredLanguage(info.language, sample),
  };
}
