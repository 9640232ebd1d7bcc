import type { Contents, TextParts } from '../storage/content.ts';

/**
 * Returns the whole text of a document: from its parsed pages until chunks exist, then from the chunks. Null
 * before parsing, and after deletion.
 */
export async function readDocumentText(contents: Contents, documentId: string): Promise<TextParts | null> {
  const head = contents.readParsedHead(documentId);
  if (head !== undefined) {
    const pages = await contents.readParsedPages(documentId, head.pageCount);
    // Fewer pages: they were replaced by chunks after the head was read.
    if (pages.length === head.pageCount) return joined(pages);
  }
  return (await contents.textParts(documentId)) ?? null;
}

function* joined(pages: readonly TextParts[]): TextParts {
  for (const [i, page] of pages.entries()) {
    if (i > 0) yield '\n\n';
    yield* page;
  }
}
