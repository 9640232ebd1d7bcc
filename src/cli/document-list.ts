import { limits } from '../core/limits.ts';
import type { GetDocumentInfoListResponse } from '../schemas/document-list.ts';
import type { DocumentMetadataResponse } from '../schemas/documents.ts';
import type { ApiClient } from './api-client.ts';

/** A document as the server lists it; `sha256` is the hash of its raw bytes in hexadecimal. */
export type ListedDocument = DocumentMetadataResponse & { readonly sha256?: string | null };

export interface ListRequest {
  readonly collection: string;
  readonly prefix?: string;
  /** Return only documents that could not be parsed or indexed. */
  readonly onlyFailed?: boolean;
}

/** Yields all documents of a collection in ascending order of their paths; fetches them page by page. */
export async function* listDocuments(api: ApiClient, request: ListRequest): AsyncGenerator<ListedDocument> {
  let after: string | null = null;
  for (;;) {
    const reply: GetDocumentInfoListResponse = await api.call('documents/get-document-info-list', {
      collection_name: request.collection,
      limit: limits.listDocumentsMax,
      ...(request.prefix === undefined || request.prefix === '' ? {} : { path_prefix: request.prefix }),
      ...(request.onlyFailed === true ? { only_failed: true } : {}),
      ...(after === null ? {} : { path_gt: after }),
    });
    yield* reply.documents;
    const last = reply.documents.at(-1);
    if (last === undefined || reply.documents.length < limits.listDocumentsMax) return;
    after = last.path;
  }
}

/** Whether the status of the document is final. */
export function isFinal(document: { readonly index_status: string }): boolean {
  return document.index_status === 'indexed' || hasFailed(document);
}

export function hasFailed(document: { readonly index_status: string }): boolean {
  return document.index_status === 'parsing_failed' || document.index_status === 'indexing_failed';
}
