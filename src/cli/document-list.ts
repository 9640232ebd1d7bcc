import { limits } from '../core/limits.ts';
import type { GetDocumentInfoListResponse } from '../schemas/document-list.ts';
import type { DocumentMetadataResponse } from '../schemas/documents.ts';
import type { FacetResponse } from '../schemas/facets.ts';
import type { ApiClient } from './api-client.ts';

/** A document as the server lists it; `sha256` is the hash of its raw bytes in hexadecimal. */
export type ListedDocument = DocumentMetadataResponse & { readonly sha256?: string | null };

export interface ListRequest {
  readonly collection: string;
  readonly prefix?: string;
  /** Return only documents that could not be parsed or indexed. */
  readonly onlyFailed?: boolean;
  /** Fields `sort`, or `sort_by` and `descending`, of the request; default: ascending order of the paths. */
  readonly order?: Readonly<Record<string, unknown>>;
}

/** Yields all documents of a collection in order; fetches them page by page. */
export async function* listDocuments(api: ApiClient, request: ListRequest): AsyncGenerator<ListedDocument> {
  let start: Record<string, string> = {};
  for (;;) {
    const reply: GetDocumentInfoListResponse = await api.call('documents/get-document-info-list', {
      ...selectionFields(request),
      limit: limits.listDocumentsMax,
      ...request.order,
      ...start,
    });
    yield* reply.documents;
    const last = reply.documents.at(-1);
    if (last === undefined || reply.documents.length < limits.listDocumentsMax) return;
    // Only the reply to an ordered request has a cursor.
    if (reply.next_cursor === null) return;
    start = reply.next_cursor === undefined ? { path_gt: last.path } : { cursor: reply.next_cursor };
  }
}

/** Counts the selected documents by the values of metadata fields. `facets`: the field `facets` of the request. */
export async function countFacets(
  api: ApiClient,
  request: ListRequest,
  facets: Readonly<Record<string, unknown>>,
): Promise<readonly FacetResponse[]> {
  const fields = { ...selectionFields(request), limit: 1, ...facets };
  const reply: GetDocumentInfoListResponse = await api.call('documents/get-document-info-list', fields);
  return reply.facets ?? [];
}

function selectionFields({ collection, prefix = '', onlyFailed }: ListRequest): Record<string, unknown> {
  return {
    collection_name: collection,
    ...(prefix === '' ? {} : { path_prefix: prefix }),
    ...(onlyFailed === true ? { only_failed: true } : {}),
  };
}

/** Whether the status of the document is final. */
export function isFinal(document: { readonly index_status: string }): boolean {
  return document.index_status === 'indexed' || hasFailed(document);
}

export function hasFailed(document: { readonly index_status: string }): boolean {
  return document.index_status === 'parsing_failed' || document.index_status === 'indexing_failed';
}
