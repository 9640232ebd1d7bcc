import { splitByPageAnchors } from '../../page-anchors.ts';
import { ParseFailure } from '../../parse-failure.ts';
import type { PageText } from '../../parsed-page.ts';
import { parsePdf } from '../../pdf/pdf.ts';
import type { DocumentDetails } from '../../process/parse-task.ts';
import { noTools, type OfficeExtension } from '../../tools/document-tools.ts';
import { convertOfficeDocument } from '../../tools/office-conversion.ts';
import type { PageStream, ParseContext } from '../format.ts';

interface CollectedPages {
  readonly pages: readonly (string | PageText)[];
  readonly details: DocumentDetails;
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
  { limits, tools }: ParseContext,
): AsyncGenerator<string | PageText, DocumentDetails> {
  const parsed = await tryCollect(read);
  if (parsed instanceof ParseFailure && parsed.code !== 'corrupt' && parsed.code !== 'unsupported')
    throw parsed;
  if (parsed instanceof ParseFailure) return yield* parseFromOffice(kind, parsed, { limits, tools });
  const converted = await convertOfficeDocument(kind, 'pdf', tools);
  if (!(converted instanceof Uint8Array)) {
    yield* parsed.pages;
    const warnings =
      converted.kind === 'failed' ? [...parsed.details.warnings, converted.message] : parsed.details.warnings;
    return { ...parsed.details, warnings, lacksPageImages: true };
  }
  // OCR is enabled only if the built-in parser finds no letters, because then the pages may be scans.
  const rendered = await collectPages(
    parsePdf(converted, { limits, tools: countLetters(parsed) === 0 ? tools : noTools }),
  );
  if (missesText(parsed, rendered)) {
    yield* rendered.pages;
    return rendered.details;
  }
  yield* splitByPageAnchors(textsOf(parsed).join(pageJoin), textsOf(rendered));
  return parsed.details;
}

/**
 * Parses a presentation, whose slides are its pages; LibreOffice is only the fallback for files that the
 * built-in parser cannot read.
 */
export async function* parseWithOfficeFallback(
  kind: 'ppt',
  read: () => PageStream,
  context: ParseContext,
): AsyncGenerator<string | PageText, DocumentDetails> {
  const parsed = await tryCollect(read);
  if (parsed instanceof ParseFailure) {
    if (parsed.code !== 'corrupt' && parsed.code !== 'unsupported') throw parsed;
    return yield* parseFromOffice(kind, parsed, context);
  }
  yield* parsed.pages;
  return parsed.details;
}

/**
 * Yields the text of a file that the built-in parser could not read, from its PDF conversion by LibreOffice.
 */
async function* parseFromOffice(
  kind: OfficeExtension,
  failure: ParseFailure,
  context: ParseContext,
): AsyncGenerator<string | PageText, DocumentDetails> {
  const converted = await convertOfficeDocument(kind, 'pdf', context.tools);
  if (!(converted instanceof Uint8Array)) {
    // If LibreOffice reports a fault of the file, the error of the built-in parser is more precise; other
    // errors are not the file's fault.
    if (converted.kind === 'failed' && converted.code !== 'corrupt')
      throw new ParseFailure(converted.code, converted.message);
    throw failure;
  }
  return yield* parsePdf(converted, context);
}

async function tryCollect(read: () => PageStream): Promise<CollectedPages | ParseFailure> {
  try {
    return await collectPages(read());
  } catch (error) {
    if (error instanceof ParseFailure) return error;
    throw error;
  }
}

async function collectPages(stream: PageStream): Promise<CollectedPages> {
  const pages: (string | PageText)[] = [];
  for (;;) {
    const step = await stream.next();
    if (step.done === true) return { pages, details: step.value };
    pages.push(step.value);
  }
}

function missesText(parsed: CollectedPages, rendered: CollectedPages): boolean {
  return countLetters(parsed) < letterShareMin * countLetters(rendered);
}

function textsOf({ pages }: CollectedPages): string[] {
  return pages.map((page) => (typeof page === 'string' ? page : page.text));
}

function countLetters(collected: CollectedPages): number {
  return textsOf(collected).reduce((sum, page) => sum + (page.match(/[\p{L}\p{N}]/gu)?.length ?? 0), 0);
}
