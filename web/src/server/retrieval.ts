import type * as collections from '../../../src/schemas/collections.ts';
import type { Curations } from '../../../src/schemas/curations.ts';
import type * as documentList from '../../../src/schemas/document-list.ts';
import type * as documents from '../../../src/schemas/documents.ts';
import type * as models from '../../../src/schemas/models.ts';
import type * as queries from '../../../src/schemas/queries.ts';
import type * as status from '../../../src/schemas/status.ts';
import type * as usage from '../../../src/schemas/usage.ts';
import type { DefaultResponse } from '../../../src/schemas/wire.ts';
import { callOperation as post } from './operation-call.ts';

/** Operations of `/v1` that the pages use, in the selected organization. */

type Abort = AbortSignal | undefined;

export function listCollections(signal?: Abort): Promise<collections.GetCollectionListResponse> {
  return post('/collections/get-collection-list', {}, signal);
}

export function addCollection(request: collections.AddCollectionRequest): Promise<DefaultResponse> {
  return post('/collections/add-collection', request);
}

export function deleteCollection(collection: string): Promise<DefaultResponse> {
  return post('/collections/delete-collection', { collection_name: collection });
}

export function listModels(signal?: Abort): Promise<models.GetModelListResponse> {
  return post('/models/get-model-list', {}, signal);
}

export async function listModelDetails(signal: AbortSignal): Promise<readonly models.ModelDetails[]> {
  const reply = await post<models.GetModelListResponse>(
    '/models/get-model-list',
    { include_details: true },
    signal,
  );
  return reply.models ?? [];
}

/** Returns the relevance of texts to a query, best first. */
export function rerankTexts(request: models.RerankRequest): Promise<models.RerankResponse> {
  return post('/models/rerank', request);
}

interface EmbedTextsRequest {
  readonly model: string;
  readonly type: models.EmbedRequest['input_type'];
  readonly texts: readonly string[];
  readonly dimensions: number | null;
}

/** Returns the vectors of texts, in their order. */
export async function embedTexts(request: EmbedTextsRequest): Promise<readonly (readonly number[])[]> {
  const { model, type, texts, dimensions } = request;
  const reply = await post<models.EmbedResponse>('/models/embed', {
    model,
    input_type: type,
    input: texts,
    dimensions,
  });
  return reply.results.map(({ embedding }) => embedding as number[]);
}

/** Status of one collection, or of all if null. */
export function getStatus(collection: string | null, signal?: Abort): Promise<status.StatusResponse> {
  return post('/status/get-status', { collection_name: collection }, signal);
}

/** Status of a collection with its details. */
export function getCollectionStatus(collection: string, signal?: Abort): Promise<status.StatusResponse> {
  return post('/status/get-status', { collection_name: collection, include_details: true }, signal);
}

/** Starts to re-embed a collection. The current model cancels a change in progress. */
export function changeModel(collection: string, model: string): Promise<DefaultResponse> {
  return post('/collections/change-model', { collection_name: collection, embedding_model: model });
}

/** Replaces all query defaults of a collection. */
export function updateCollection(
  collection: string,
  defaults: queries.QueryDefaults,
): Promise<DefaultResponse> {
  return post('/collections/update-collection', { collection_name: collection, query_defaults: defaults });
}

/** Keeps replaced and deleted versions for a number of days; null deletes all of them. */
export function updateHistory(collection: string, days: number | null): Promise<DefaultResponse> {
  return post('/collections/update-collection', { collection_name: collection, history_days: days });
}

/** Replaces all synonyms and stop words of a collection. */
export function updateWords(
  collection: string,
  words: { readonly synonyms: string[][]; readonly stop_words: string[] },
): Promise<DefaultResponse> {
  return post('/collections/update-collection', { collection_name: collection, ...words });
}

/** Replaces all rules of a collection that pin and hide documents. */
export function updateCurations(collection: string, curations: Curations): Promise<DefaultResponse> {
  return post('/collections/update-collection', { collection_name: collection, curations });
}

export function getCollectionInfo(
  collection: string,
  signal?: Abort,
): Promise<collections.GetCollectionInfoResponse> {
  return post('/collections/get-collection-info', { collection_name: collection }, signal);
}

export function listDocuments(
  request: documentList.GetDocumentInfoListRequest,
  signal?: Abort,
): Promise<documentList.GetDocumentInfoListResponse> {
  return post('/documents/get-document-info-list', request, signal);
}

export function getDocument(
  reference: DocumentReference,
  signal?: Abort,
): Promise<documents.GetDocumentInfoResponse> {
  return post('/documents/get-document-info', toDocumentRequest(reference), signal);
}

export function getPage(
  reference: DocumentReference,
  page: { readonly index: number; readonly withText: boolean },
  signal?: Abort,
): Promise<documents.GetPageInfoResponse> {
  const request = { ...toDocumentRequest(reference), page_index: page.index, include_content: page.withText };
  return post('/documents/get-page-info', request, signal);
}

export function updateDocument(
  reference: DocumentReference,
  change: Pick<documents.UpdateDocumentRequest, 'metadata' | 'index_status'>,
): Promise<DefaultResponse> {
  return post('/documents/update-document', { ...toDocumentRequest(reference), ...change });
}

export function deleteDocuments(
  collection: string,
  paths: readonly string[],
): Promise<documents.DeleteDocumentResponse> {
  return post('/documents/delete-document', { collection_name: collection, path: paths });
}

export function topDocuments(
  request: queries.TopDocumentsRequest,
  signal?: Abort,
): Promise<queries.TopDocumentsResponse> {
  return post('/queries/top-documents', request, signal);
}

export function topPages(
  request: queries.TopPagesRequest,
  signal?: Abort,
): Promise<queries.TopPagesResponse> {
  return post('/queries/top-pages', request, signal);
}

export function topSnippets(
  request: queries.TopSnippetsRequest,
  signal?: Abort,
): Promise<queries.TopSnippetsResponse> {
  return post('/queries/top-snippets', request, signal);
}

export function documentUsage(
  request: usage.UsageRequest,
  signal?: Abort,
): Promise<usage.DocumentUsageResponse[]> {
  return post('/usage/documents', request, signal);
}

export function queryUsage(request: usage.UsageRequest, signal?: Abort): Promise<usage.QueryUsageResponse[]> {
  return post('/usage/queries', request, signal);
}

/** Identifies a document. */
export interface DocumentReference {
  readonly collection: string;
  readonly path: string;
}

function toDocumentRequest({ collection, path }: DocumentReference) {
  return { collection_name: collection, path };
}

/**
 * Converts the URL of a file or page image to a path on this origin: the server builds URLs with its
 * configured public address, but the page may load only from its own origin.
 */
export function toLocalUrl(address: string): string {
  const { pathname, search } = new URL(address, window.location.href);
  return pathname + search;
}

export type { DocumentMetadataResponse as DocumentRow } from '../../../src/schemas/documents.ts';
export type { QueryDefaults } from '../../../src/schemas/queries.ts';
