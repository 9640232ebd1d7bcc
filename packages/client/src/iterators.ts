import type { ChangesApi, DocumentsApi } from './generated/operations.ts';
import type {
  DocumentMetadataResponse,
  GetChangesRequest,
  GetChangesResponse,
  GetDocumentInfoListRequest,
} from './generated/schemas.ts';
import type { CallOptions } from './transport.ts';

const waitSecondsDefault = 30;

/** Yields all documents of `get-document-info-list`, page by page, in the order of their paths or of `sort`. */
export async function* listDocuments(
  client: { readonly documents: DocumentsApi },
  request: GetDocumentInfoListRequest,
  options?: CallOptions,
): AsyncGenerator<DocumentMetadataResponse, void, undefined> {
  for (let page = request; ; ) {
    const { documents, next_cursor } = await client.documents.getDocumentInfoList(page, options);
    yield* documents;
    const last = documents.at(-1);
    if (last === undefined || next_cursor === null) return;
    // Only sorted lists have cursors.
    page =
      next_cursor === undefined ? { ...request, path_gt: last.path } : { ...request, cursor: next_cursor };
  }
}

/**
 * Yields changes as they are made, until `options.signal` is aborted. Each reply has at least one change; store its
 * `cursor` to continue there later. Throws status 410 if the changes after the cursor are no longer kept.
 */
export async function* followChanges(
  client: { readonly changes: ChangesApi },
  request: GetChangesRequest = {},
  options?: CallOptions,
): AsyncGenerator<GetChangesResponse, void, undefined> {
  let { after } = request;
  for (;;) {
    const page = { wait_seconds: waitSecondsDefault, ...request, after };
    const reply = await client.changes.getChanges(page, options);
    after = reply.cursor;
    if (reply.changes.length > 0) yield reply;
  }
}
