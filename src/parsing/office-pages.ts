import { type DocumentTools, noTools, type OfficeSource } from './document-tools.ts';
import type { ParseLimits } from './limits.ts';
import { convertedOffice } from './office-conversion.ts';
import { pagesByAnchors } from './page-anchors.ts';
import { ParseFailure } from './parse-failure.ts';
import type { DocumentFacts } from './parse-task.ts';
import { parsePdf } from './pdf.ts';

type PageStream = AsyncGenerator<string, DocumentFacts> | Generator<string, DocumentFacts>;

interface Collected {
  readonly pages: readonly string[];
  readonly facts: DocumentFacts;
}

interface OfficeContext {
  readonly limits: ParseLimits;
  readonly tools: DocumentTools;
}

/** Between two pages that are parts of one text. */
const joint = '\n\n';
/** A reader of ours that finds less than this share of the letters of LibreOffice has missed the text. */
const lettersShareMin = 0.3;

/**
 * A text document of Office: its text and headings as our own reader finds them, its pages as LibreOffice breaks them, where
 * there is one; what our reader cannot read, LibreOffice may, and what is only pictures, OCR.
 */
export async function* withOfficePages(
  kind: Extract<OfficeSource, 'docx' | 'odt' | 'doc' | 'rtf'>,
  read: () => PageStream,
  { limits, tools }: OfficeContext,
): AsyncGenerator<string, DocumentFacts> {
  const own = await attempt(read);
  if (own instanceof ParseFailure && own.code !== 'corrupt' && own.code !== 'unsupported') throw own;
  if (own instanceof ParseFailure) return yield* fromOffice(kind, own, { limits, tools });
  const converted = await convertedOffice(kind, 'pdf', tools);
  if (!(converted instanceof Uint8Array)) {
    yield* own.pages;
    const warnings =
      converted.kind === 'failed' ? [...own.facts.warnings, converted.message] : own.facts.warnings;
    return { ...own.facts, warnings, pageImages: false };
  }
  // Only where our reader finds no letter at all the pages may be pictures of paper.
  const drawn = await collect(parsePdf(converted, limits, letters(own.pages) === 0 ? tools : noTools));
  if (misses(own, drawn)) {
    yield* drawn.pages;
    return { ...drawn.facts, kind, contentType: own.facts.contentType };
  }
  yield* pagesByAnchors(own.pages.join(joint), drawn.pages);
  return own.facts;
}

/** A presentation, whose slides are its pages: LibreOffice reads only what our own reader cannot. */
export async function* orFromOffice(
  kind: 'ppt',
  read: () => PageStream,
  context: OfficeContext,
): AsyncGenerator<string, DocumentFacts> {
  const own = await attempt(read);
  if (own instanceof ParseFailure) {
    if (own.code !== 'corrupt' && own.code !== 'unsupported') throw own;
    return yield* fromOffice(kind, own, context);
  }
  yield* own.pages;
  return own.facts;
}

/** The text of a file that our own reader could not read, from LibreOffice's drawing of it. */
async function* fromOffice(
  kind: keyof typeof mediaTypes,
  own: ParseFailure,
  { limits, tools }: OfficeContext,
): AsyncGenerator<string, DocumentFacts> {
  const converted = await convertedOffice(kind, 'pdf', tools);
  if (!(converted instanceof Uint8Array)) {
    // What LibreOffice says of the file our own reader said better; what kept it from the file is not the file's fault.
    if (converted.kind === 'failed' && converted.code !== 'corrupt')
      throw new ParseFailure(converted.code, converted.message);
    throw own;
  }
  const facts = yield* parsePdf(converted, limits, tools);
  return { ...facts, kind, contentType: mediaTypes[kind] };
}

const mediaTypes = {
  doc: 'application/msword',
  ppt: 'application/vnd.ms-powerpoint',
  rtf: 'application/rtf',
  docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  odt: 'application/vnd.oasis.opendocument.text',
} as const;

async function attempt(read: () => PageStream): Promise<Collected | ParseFailure> {
  try {
    return await collect(read());
  } catch (error) {
    if (error instanceof ParseFailure) return error;
    throw error;
  }
}

async function collect(stream: PageStream): Promise<Collected> {
  const pages: string[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { pages, facts: step.value };
    pages.push(step.value);
  }
}

function misses(own: Collected, drawn: Collected): boolean {
  return letters(own.pages) < lettersShareMin * letters(drawn.pages);
}

function letters(pages: readonly string[]): number {
  return pages.reduce((sum, page) => sum + (page.match(/[\p{L}\p{N}]/gu)?.length ?? 0), 0);
}
