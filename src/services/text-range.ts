import { AppError } from '../core/app-error.ts';
import { formatCount } from '../core/format.ts';
import { limits } from '../core/limits.ts';
import type { GetDocumentTextRequest, GetDocumentTextResponse } from '../schemas/document-text.ts';
import type { Layout } from '../storage/chunks.ts';
import type { Contents } from '../storage/content.ts';
import type { DocumentRecord } from '../storage/documents.ts';

type TextRange = Omit<GetDocumentTextResponse['text'], 'collection_name' | 'path'>;

/**
 * Returns a part of the text of a document. Errors: 400 for a document without chunks, or a start beyond the
 * page or the text; 404 for a page that does not exist.
 */
export function readTextRange(
  contents: Contents,
  record: DocumentRecord,
  request: GetDocumentTextRequest,
): TextRange {
  const { documentId } = record;
  const layout = contents.chunks.readLayout(documentId);
  if (layout === undefined)
    throw new AppError(
      'precondition_failed',
      `The document has no text yet: its index_status is ${record.status}. Wait until it is indexed.`,
    );
  const bounds = boundsOf(layout, request.page_index ?? null);
  const start = request.start_index ?? bounds.start;
  if (start < bounds.start || start > bounds.end)
    throw new AppError(
      'bad_request',
      `start_index is ${start}; it must be from ${bounds.start} to ${bounds.end}, the end of the text.`,
    );
  const end = Math.min(bounds.end, start + (request.max_characters ?? limits.textRangeCharactersDefault));
  const content = [...contents.chunks.readRange(documentId, layout, { start, end })].join('');
  return {
    num_pages: layout.pageStarts.length,
    length: layout.length,
    start_index: start,
    end_index: end,
    page_span: [pageAt(layout, start), end === start ? pageAt(layout, start) : pageAt(layout, end - 1) + 1],
    next_index: end < bounds.end ? end : null,
    content,
  };
}

function boundsOf(layout: Layout, page: number | null): { start: number; end: number } {
  if (page === null) return { start: 0, end: layout.length };
  const start = layout.pageStarts[page];
  const length = layout.pageLengths[page];
  if (start !== undefined && length !== undefined) return { start, end: start + length };
  const pages = formatCount(layout.pageStarts.length, 'page');
  throw new AppError('not_found', `Page ${page} does not exist: the document has ${pages}.`);
}

/** Returns the last page that starts at or before an offset; 0 for a document without pages. */
function pageAt({ pageStarts }: Layout, offset: number): number {
  let low = 0;
  let high = pageStarts.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (pageStarts[middle]! <= offset) low = middle + 1;
    else high = middle;
  }
  return Math.max(0, low - 1);
}
