import type { Contents } from '../store/content.ts';

/**
 * The whole text of a document: its parsed pages as long as there are no chunks, then the chunks. Null while nothing
 * is parsed, and when the document is gone.
 */
export async function documentText(contents: Contents, documentId: string): Promise<string | null> {
  const head = contents.parsedHead(documentId);
  if (head !== undefined) {
    // An attempt that a crash ended may have left more pages than the one that succeeded.
    const pages = (await contents.parsedPages(documentId)).slice(0, head.pageCount);
    // Fewer: they became chunks since the head was read.
    if (pages.length === head.pageCount) return pages.join('\n\n');
  }
  return (await contents.readText(documentId)) ?? null;
}
