import type { Contents } from '../storage/content.ts';
import type { TextParts } from '../storage/text-parts.ts';

/**
 * Returns the whole text of a document: from its parsed pages until chunks exist, then from the chunks. Null
 * before parsing, and after deletion.
 */
export async function readDocumentText(contents: Contents, documentId: string): Promise<TextParts | null> {
  const head = contents.parsed.readHead(documentId);
  if (head !== undefined) {
    const pages = await contents.parsed.readPages(documentId, head.pageCount);
    // Fewer pages: they were replaced by chunks after the head was read.
    if (pages.length === head.pageCount) return joinPages(pages);
  }
  return (await contents.chunks.readText(documentId)) ?? null;
}

function* joinPages(pages: readonly TextParts[]): TextParts {
  for (const [i, page] of pages.entries()) {
    if (i > 0) yield '\n\n';
    yield* page;
  }
}
