import type { Contents, TextParts } from '../storage/content.ts';

/**
 * The whole text of a document: its parsed pages as long as there are no chunks, then the chunks. Null while nothing
 * is parsed, and when the document is gone.
 */
export async function readDocumentText(contents: Contents, documentId: string): Promise<TextParts | null> {
  const head = contents.readParsedHead(documentId);
  if (head !== undefined) {
    const pages = await contents.readParsedPages(documentId, head.pageCount);
    // Fewer: they became chunks since the head was read.
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
