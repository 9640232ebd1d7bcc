import { parseDelimited } from './delimited.ts';
import { type Detected, detect } from './detect.ts';
import { parseDoc } from './doc.ts';
import { type DocumentTools, noTools } from './document-tools.ts';
import { parseDocx } from './docx.ts';
import { parseEml } from './eml.ts';
import { parseEpub } from './epub.ts';
import { parseHtml } from './html.ts';
import { parseImage } from './image.ts';
import { declaredLanguage, detectLanguage } from './language.ts';
import type { ParseLimits } from './limits.ts';
import { parseMsg } from './msg.ts';
import { parseNotebook } from './notebook.ts';
import { parseOds } from './ods.ts';
import { orFromOffice, withOfficePages } from './office-pages.ts';
import { parseOpenDocumentText } from './open-document-text.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts, DocumentKind } from './parse-task.ts';
import { parsePdf } from './pdf.ts';
import { parsePlainText } from './plain-text.ts';
import { parsePpt } from './ppt.ts';
import { parsePptx } from './pptx.ts';
import { parseRtf } from './rtf.ts';
import { wellFormed } from './text-budget.ts';
import { parseXls } from './xls.ts';
import { parseXlsx } from './xlsx.ts';

/** Pages as they are found, then what is known about the whole document. */
type PageStream = AsyncGenerator<string, DocumentFacts> | Generator<string, DocumentFacts>;

const titleUnitsMax = 300;
/** Text that the language is told from; pages beyond add nothing. */
const languageUnitsMax = 200_000;

/**
 * Parses one document in this process: detects its kind, yields its pages and returns the rest. Runs only inside the parser
 * process. Throws `ParseFailure` for every fault of the document.
 */
export async function* parseDocument(
  bytes: Uint8Array,
  path: string | null,
  limits: ParseLimits,
  tools: DocumentTools = noTools,
): AsyncGenerator<string, DocumentFacts> {
  if (bytes.length > limits.fileBytesMax) {
    throw new ParseFailure(
      'too_large',
      `The file has ${bytes.length} bytes; at most ${limits.fileBytesMax} are read.`,
    );
  }
  const detected = await detect(bytes, path, limits);
  const pages = pagesOf(detected, bytes, { limits, tools });
  let sample = '';
  let count = 0;
  let isBlank = true;
  for (;;) {
    const step = await nextPage(pages);
    if (step.done === true) return finished(withReason(step.value, isBlank), sample);
    count += 1;
    checkCount(count, detected, limits);
    const page = wellFormed(step.value);
    isBlank &&= !/\S/.test(page);
    if (sample.length < languageUnitsMax) sample += `${page.slice(0, languageUnitsMax)}\n`;
    yield page;
  }
}

/** A file of fixed fields that points outside of itself is damaged; readers meet that as the end of their bytes. */
async function nextPage(pages: PageStream): Promise<IteratorResult<string, DocumentFacts>> {
  try {
    return await pages.next();
  } catch (error) {
    if (!(error instanceof RangeError) || !/outside the bounds of the DataView/.test(error.message))
      throw error;
    throw new ParseFailure('corrupt', 'The file is damaged: it points to bytes that it does not have.');
  }
}

function pagesOf(
  detected: Detected,
  bytes: Uint8Array,
  { limits, tools }: { readonly limits: ParseLimits; readonly tools: DocumentTools },
): PageStream {
  switch (detected.kind) {
    case 'pdf':
      return parsePdf(bytes, limits, tools);
    case 'docx':
      return withOfficePages('docx', () => parseDocx(detected.archive, detected.mainPart, limits), {
        limits,
        tools,
      });
    case 'pptx':
      return parsePptx(detected.archive, detected.mainPart, limits);
    case 'xlsx':
      return parseXlsx(detected.archive, detected.mainPart, limits);
    case 'odt': {
      const { archive } = detected;
      return withOfficePages('odt', () => parseOpenDocumentText(archive, 'odt', limits), { limits, tools });
    }
    case 'odp':
      return parseOpenDocumentText(detected.archive, detected.kind, limits);
    case 'ods':
      return parseOds(detected.archive, limits);
    case 'epub':
      return parseEpub(detected.archive, limits);
    case 'rtf':
      return withOfficePages('rtf', () => parseRtf(bytes, limits), { limits, tools });
    case 'eml':
      return parseEml(bytes, limits);
    case 'doc':
      return withOfficePages('doc', () => parseDoc(detected.file, limits), { limits, tools });
    case 'ppt':
      return orFromOffice('ppt', () => parsePpt(detected.file, limits), { limits, tools });
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

function checkCount(count: number, detected: Detected, limits: ParseLimits): void {
  const max = rowKinds.has(detected.kind) ? limits.rowPagesMax : limits.pagesMax;
  if (count > max)
    throw new ParseFailure('too_large', `The document has more than ${max} pages, the most that are read.`);
}

/** Whoever cannot find a document is told that there is nothing to find, where nothing else says so. */
function withReason(facts: DocumentFacts, isBlank: boolean): DocumentFacts {
  return isBlank && facts.warnings.length === 0
    ? { ...facts, warnings: ['The document holds no text.'] }
    : facts;
}

/** The text itself tells the language better than what the program that wrote it had as its default. */
function finished(facts: DocumentFacts, sample: string): DocumentFacts {
  const title = wellFormed(facts.title ?? '')
    .replace(/\s+/g, ' ')
    .trim()
    .slice(0, titleUnitsMax);
  return {
    ...facts,
    title: title === '' ? null : wellFormed(title),
    language: detectLanguage(sample) ?? declaredLanguage(facts.language, sample),
  };
}
