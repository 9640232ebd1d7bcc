import type { ParseLimits } from '../../limits.ts';
import { splitByPageAnchors } from '../../page-anchors.ts';
import { ParseFailure } from '../../parse-failure.ts';
import { parsePdf } from '../../pdf/pdf.ts';
import type { DocumentInfo } from '../../process/parse-task.ts';
import { type DocumentTools, noTools, type OfficeExtension } from '../../tools/document-tools.ts';
import { convertOfficeDocument } from '../../tools/office-conversion.ts';

type PageStream = AsyncGenerator<string, DocumentInfo> | Generator<string, DocumentInfo>;

interface CollectedPages {
  readonly pages: readonly string[];
  readonly facts: DocumentInfo;
}

interface OfficeContext {
  readonly limits: ParseLimits;
  readonly tools: DocumentTools;
}

/** Separator between two pages that are parts of one text. */
const pageJoin = '\n\n';
/**
 * Minimum share of LibreOffice's letters that the built-in parser must find; below, it has missed the text.
 */
const letterShareMin = 0.3;

/**
 * Parses an Office text document: text and headings from the built-in parser, page breaks from LibreOffice if
 * it is available. LibreOffice is also the fallback for files that the built-in parser cannot read, with OCR
 * for documents that contain only pictures.
 */
export async function* parseWithOfficePages(
  kind: Extract<OfficeExtension, 'docx' | 'odt' | 'doc' | 'rtf'>,
  read: () => PageStream,
  { limits, tools }: OfficeContext,
): AsyncGenerator<string, DocumentInfo> {
  const parsed = await tryCollect(read);
  if (parsed instanceof ParseFailure && parsed.code !== 'corrupt' && parsed.code !== 'unsupported')
    throw parsed;
  if (parsed instanceof ParseFailure) return yield* parseFromOffice(kind, parsed, { limits, tools });
  const converted = await convertOfficeDocument(kind, 'pdf', tools);
  if (!(converted instanceof Uint8Array)) {
    yield* parsed.pages;
    const warnings =
      converted.kind === 'failed' ? [...parsed.facts.warnings, converted.message] : parsed.facts.warnings;
    return { ...parsed.facts, warnings, pageImages: false };
  }
  // OCR is enabled only if the built-in parser finds no letters, because then the pages may be scans.
  const rendered = await collectPages(
    parsePdf(converted, limits, countLetters(parsed.pages) === 0 ? tools : noTools),
  );
  if (missesText(parsed, rendered)) {
    yield* rendered.pages;
    return { ...rendered.facts, kind, contentType: parsed.facts.contentType };
  }
  yield* splitByPageAnchors(parsed.pages.join(pageJoin), rendered.pages);
  return parsed.facts;
}

/**
 * Parses a presentation, whose slides are its pages; LibreOffice is only the fallback for files that the
 * built-in parser cannot read.
 */
export async function* parseWithOfficeFallback(
  kind: 'ppt',
  read: () => PageStream,
  context: OfficeContext,
): AsyncGenerator<string, DocumentInfo> {
  const parsed = await tryCollect(read);
  if (parsed instanceof ParseFailure) {
    if (parsed.code !== 'corrupt' && parsed.code !== 'unsupported') throw parsed;
    return yield* parseFromOffice(kind, parsed, context);
  }
  yield* parsed.pages;
  return parsed.facts;
}

/**
 * Yields the text of a file that the built-in parser could not read, from its PDF conversion by LibreOffice.
 */
async function* parseFromOffice(
  kind: keyof typeof mediaTypes,
  failure: ParseFailure,
  { limits, tools }: OfficeContext,
): AsyncGenerator<string, DocumentInfo> {
  const converted = await convertOfficeDocument(kind, 'pdf', tools);
  if (!(converted instanceof Uint8Array)) {
    // If LibreOffice reports a fault of the file, the error of the built-in parser is more precise; other
    // errors are not the file's fault.
    if (converted.kind === 'failed' && converted.code !== 'corrupt')
      throw new ParseFailure(converted.code, converted.message);
    throw failure;
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

async function tryCollect(read: () => PageStream): Promise<CollectedPages | ParseFailure> {
  try {
    return await collectPages(read());
  } catch (error) {
    if (error instanceof ParseFailure) return error;
    throw error;
  }
}

async function collectPages(stream: PageStream): Promise<CollectedPages> {
  const pages: string[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { pages, facts: step.value };
    pages.push(step.value);
  }
}

function missesText(parsed: CollectedPages, rendered: CollectedPages): boolean {
  return countLetters(parsed.pages) < letterShareMin * countLetters(rendered.pages);
}

function countLetters(pages: readonly string[]): number {
  return pages.reduce((sum, page) => sum + (page.match(/[\p{L}\p{N}]/gu)?.length ?? 0), 0);
}
