import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import * as admin from '../schemas/admin.ts';
import * as audit from '../schemas/audit.ts';
import * as checks from '../schemas/checks.ts';
import * as collections from '../schemas/collections.ts';
import * as documents from '../schemas/documents.ts';
import * as models from '../schemas/models.ts';
import * as parsers from '../schemas/parsers.ts';
import * as queries from '../schemas/queries.ts';
import * as factors from '../schemas/second-factors.ts';
import * as status from '../schemas/status.ts';
import type { Static, TSchema } from '../schemas/typebox.ts';
import * as usage from '../schemas/usage.ts';
import * as users from '../schemas/users.ts';
import { DefaultResponse, EmptyRequest } from '../schemas/wire.ts';
import type { ServiceCall } from '../services/call.ts';
import { type RenderedJson, renderList, renderPages, renderWithText } from '../services/rendered-json.ts';
import type { AccountRoute } from './account-route.ts';
import { accountRoutes } from './account-routes.ts';
import type { RouteDescription } from './route-description.ts';
import type { AdministratorCall, OrganizationCall, ServiceReply, Services } from './services.ts';

/**
 * The route table. The router, the request pipeline, the OpenAPI document and the documentation page all
 * derive from it, so one entry describes, validates and serves an operation. The access that an operation
 * requires is in the permission table of `auth/authorize.ts`, under the same ID.
 */

/** Limits that the checks need besides the request. */
export interface CheckBounds {
  /** Maximum bytes of metadata as compact JSON; an organization may have a higher limit than the default. */
  readonly metadataBytesMax: () => number;
}

export interface JsonRoute extends RouteDescription {
  readonly kind: 'json';
  readonly request: TSchema;
  readonly reply: TSchema;
  /** Success statuses, the usual one first. */
  readonly successStatuses: readonly number[];
  /** A valid request body, for the documentation. */
  readonly example: unknown;
  /** Fields that may also be in the query string, where they override the body. */
  readonly queryFields: readonly string[];
  /** Rules that fail with 400. `request` matches the schema. */
  readonly check: (request: unknown, bounds: CheckBounds) => void;
  readonly serve: (services: Services, call: ServiceCall, request: unknown) => Promise<ServiceReply<unknown>>;
}

/** Document upload as the raw body (`put`) or a form part (`multipart`); it streams to the service. */
export interface UploadRoute extends RouteDescription {
  readonly kind: 'put' | 'multipart';
}

/** Download authorized only by the token in its URL. */
export interface TokenRoute extends RouteDescription {
  readonly kind: 'file' | 'image';
}

/** The dashboard and the pages about the server itself. */
export interface PageRoute extends RouteDescription {
  readonly kind: 'page';
  readonly page:
    | ('home' | 'dashboard-entry' | 'dashboard' | 'asset')
    | ('healthz' | 'readyz' | 'metrics' | 'openapi' | 'account-openapi' | 'docs');
}

export type Route = JsonRoute | UploadRoute | TokenRoute | PageRoute | AccountRoute;

interface JsonRouteOptions<Q extends TSchema, R extends TSchema> {
  readonly operation: RouteDescription['operation'];
  readonly path: string;
  readonly summary: string;
  readonly description: string;
  readonly request: Q;
  readonly reply: R;
  readonly example: Static<Q>;
  readonly successStatuses?: readonly number[];
  readonly errorResponses?: RouteDescription['errorResponses'];
  readonly queryFields?: readonly string[];
  readonly check?: (request: Static<Q>, bounds: CheckBounds) => void;
}

type ServedRouteOptions<Q extends TSchema, R extends TSchema, C> = JsonRouteOptions<Q, R> & {
  readonly serve: (
    services: Services,
    call: C,
    request: Static<Q>,
  ) => Promise<Static<R> | RenderedJson<Static<R>>>;
};
type StatusRouteOptions<Q extends TSchema, R extends TSchema> = JsonRouteOptions<Q, R> & {
  readonly serve: (
    services: Services,
    call: OrganizationCall,
    request: Static<Q>,
  ) => Promise<ServiceReply<Static<R>>>;
};

/**
 * Erases the types of one operation. The request pipeline passes `check` and `serve` only requests that match
 * the schema.
 */
function createJsonRoute<Q extends TSchema, R extends TSchema>(
  options: JsonRouteOptions<Q, R>,
  serve: (services: Services, call: ServiceCall, request: Static<Q>) => Promise<ServiceReply<unknown>>,
): JsonRoute {
  // `/models/embed` is tagged `models`; so are the two paths that are compatible with clients of other
  // services.
  const [, group = '', rest] = options.path.split('/');
  return {
    kind: 'json',
    method: 'POST',
    isVersioned: true,
    tag: rest === undefined ? 'models' : group,
    path: options.path,
    operation: options.operation,
    summary: options.summary,
    description: options.description,
    request: options.request,
    reply: options.reply,
    example: options.example,
    successStatuses: options.successStatuses ?? [200],
    errorResponses: options.errorResponses ?? {},
    queryFields: options.queryFields ?? [],
    check: (request, bounds) => options.check?.(request as Static<Q>, bounds),
    serve: (services, call, request) => serve(services, call, request as Static<Q>),
  };
}

/** Builds a route for organizations with one success status. */
function organizationRoute<Q extends TSchema, R extends TSchema>(
  options: ServedRouteOptions<Q, R, OrganizationCall>,
): JsonRoute {
  const successStatus = options.successStatuses?.[0] ?? 200;
  return createJsonRoute(options, async (services, call, request) => ({
    status: successStatus,
    body: await options.serve(services, toOrganizationCall(call), request),
  }));
}

/** Builds a route for organizations whose service chooses the success status. */
function organizationStatusRoute<Q extends TSchema, R extends TSchema>(
  options: StatusRouteOptions<Q, R>,
): JsonRoute {
  return createJsonRoute(options, (services, call, request) =>
    options.serve(services, toOrganizationCall(call), request),
  );
}

/** Builds a route for the administrator. */
function administratorRoute<Q extends TSchema, R extends TSchema>(
  options: ServedRouteOptions<Q, R, AdministratorCall>,
): JsonRoute {
  const successStatus = options.successStatuses?.[0] ?? 200;
  return createJsonRoute(options, async (services, call, request) => ({
    status: successStatus,
    body: await options.serve(services, toAdministratorCall(call), request),
  }));
}

/** Narrows the call; the request pipeline has already authorized the caller. */
export function toOrganizationCall(call: ServiceCall): OrganizationCall {
  assert(
    call.principal.kind === 'organization',
    'the permission table lets only organizations call this operation',
  );
  return call as OrganizationCall;
}

function toAdministratorCall(call: ServiceCall): AdministratorCall {
  assert(
    call.principal.kind === 'administrator',
    'the permission table lets only the administrator call this operation',
  );
  return call as AdministratorCall;
}

const collectionNotFound = 'The collection does not exist.';
const documentNotFound = 'The collection or the document does not exist.';
const organizationNotFound = 'The organization does not exist.';
const modelNotFound = 'The model does not exist. The detail lists the available models.';
const rateLimitExceeded =
  'A rate limit is exceeded. The detail names the limit; `retry-after` gives the waiting time.';
const tooManyBytes = 'The charged bytes of the call exceed the limit of one call.';

function checkCollection(request: { readonly collection_name: string }): void {
  checks.checkCollectionName(request.collection_name);
}

function checkDocument(request: { readonly collection_name: string; readonly path: string }): void {
  checkCollection(request);
  checks.checkPath(request.path);
}

const collectionRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'add-collection',
    path: '/collections/add-collection',
    summary: 'Create a collection',
    description: 'Creates an empty collection. The number of shards cannot be changed later.',
    request: collections.AddCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', num_shards: 1 },
    successStatuses: [201],
    errorResponses: {
      404: 'The embedding model does not exist. The detail lists the available models.',
      409: 'A collection with this name already exists.',
    },
    check: (request) => {
      checkCollection(request);
      if (request.num_shards !== undefined) checks.checkShardCount(request.num_shards);
      if (request.query_defaults !== undefined) checks.checkQueryControls(request.query_defaults);
    },
    serve: (services, call, request) => services.addCollection(call, request),
  }),
  organizationRoute({
    operation: 'delete-collection',
    path: '/collections/delete-collection',
    summary: 'Delete a collection',
    description:
      'Deletes a collection with all its documents. Returns immediately; disk space is freed in the background.',
    request: collections.DeleteCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook' },
    errorResponses: { 404: collectionNotFound },
    check: checkCollection,
    serve: (services, call, request) => services.deleteCollection(call, request),
  }),
  organizationRoute({
    operation: 'update-collection',
    path: '/collections/update-collection',
    summary: 'Change the query defaults of a collection',
    description:
      'Replaces the `query_defaults` of a collection. Applies to queries that start afterwards. Without the field nothing changes.',
    request: collections.UpdateCollectionRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', query_defaults: { max_per_document: 1 } },
    errorResponses: { 404: collectionNotFound },
    check: (request) => {
      checkCollection(request);
      checks.checkQueryControls(request.query_defaults ?? {});
    },
    serve: (services, call, request) => services.updateCollection(call, request),
  }),
  organizationRoute({
    operation: 'change-model',
    path: '/collections/change-model',
    summary: 'Change the embedding model of a collection',
    description:
      'Recomputes the vectors of a collection with another model, or with a new version of the same model, in the background. Queries use the old vectors until all new vectors exist and then switch in one step; documents can be added and deleted meanwhile. `status/get-status` shows the progress under `model_changes`. Send the current model of the collection to cancel the change.',
    request: collections.ChangeModelRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', embedding_model: 'zembed-1' },
    errorResponses: {
      400: 'The collection uses vectors supplied by its callers (`own`), so its model cannot be changed.',
      404: 'The collection or the model does not exist. The detail lists the available models.',
      409: 'The collection already uses this model, or a change to this model is in progress.',
    },
    check: checkCollection,
    serve: (services, call, request) => services.changeModel(call, request),
  }),
  organizationRoute({
    operation: 'get-collection-list',
    path: '/collections/get-collection-list',
    summary: 'List the collections',
    description: 'Lists the names of all collections of the caller. The body may be empty.',
    request: EmptyRequest,
    reply: collections.GetCollectionListResponse,
    example: {},
    serve: (services, call, request) => services.getCollectionList(call, request),
  }),
];

const documentWriteRoutes: readonly Route[] = [
  organizationStatusRoute({
    operation: 'add-document',
    path: '/documents/add-document',
    summary: 'Add a document',
    description:
      'Adds a document, or replaces one atomically with `overwrite`. The reply confirms that the document is durable on disk. The document is searchable when its `index_status` is `indexed`; set `wait` to wait for that. Until then, queries use the previous version.',
    request: documents.AddDocumentRequest,
    reply: documents.AddDocumentResponse,
    example: {
      collection_name: 'handbook',
      path: 'refunds.txt',
      content: { type: 'text', text: 'Refunds are paid within 14 days.' },
      metadata: { author: 'Ada', 'list:topics': ['billing', 'refunds'] },
      wait: true,
    },
    successStatuses: [201, 200],
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is false.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted. The detail names the cause.',
    },
    check: (request, bounds) => {
      checkDocument(request);
      if (request.metadata) checks.checkMetadata(request.metadata, bounds.metadataBytesMax());
    },
    serve: (services, call, request) => services.addDocument(call, request),
  }),
  organizationRoute({
    operation: 'add-documents',
    path: '/documents/add-documents',
    summary: 'Add several documents',
    description:
      'Adds up to 256 documents to one collection. Each document is added or rejected individually: check the status of each result, which is the status that add-document would return.',
    request: documents.AddDocumentsRequest,
    reply: documents.AddDocumentsResponse,
    example: {
      collection_name: 'handbook',
      documents: [
        { path: 'a.txt', content: { type: 'text', text: 'First.' } },
        {
          path: 'b.txt',
          content: { type: 'text-pages', pages: ['Page one.', 'Page two.'] },
          overwrite: true,
        },
      ],
    },
    errorResponses: {
      404: collectionNotFound,
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
    check: (request) => {
      checkCollection(request);
      checks.checkBatchSize(request.documents.length);
    },
    serve: (services, call, request) => services.addDocuments(call, request),
  }),
  {
    kind: 'put',
    method: 'PUT',
    path: '/documents/:collection/*',
    operation: 'put-document',
    isVersioned: true,
    tag: 'documents',
    summary: 'Upload a document as the raw body',
    description:
      'The body is the file, up to the upload limit; it is streamed to disk. Percent-encode the collection and the path; the path may contain `%2F`. Send metadata as base64url-encoded JSON in the header `x-quarry-metadata`. `?overwrite=true` and `?wait=true` work as in add-document. Example: `curl -T report.pdf -H "Authorization: Bearer $KEY" "$URL/v1/documents/handbook/reports%2F2026.pdf?wait=true"`.',
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is not true.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
  },
  {
    kind: 'multipart',
    method: 'POST',
    path: '/documents/upload',
    operation: 'upload-document',
    isVersioned: true,
    tag: 'documents',
    summary: 'Upload a document as a form',
    description:
      'A `multipart/form-data` form with the fields `collection_name` and `path`, optionally `metadata` (JSON), `overwrite` and `wait` (`true` or `false`), and the field `file` last. The file is streamed to disk. Example: `curl -H "Authorization: Bearer $KEY" -F collection_name=handbook -F path=report.pdf -F file=@report.pdf "$URL/v1/documents/upload"`.',
    errorResponses: {
      404: collectionNotFound,
      409: 'The path exists and `overwrite` is not true.',
      429: 'The ingest queue is full, or memory or disk space is nearly exhausted.',
    },
  },
  organizationRoute({
    operation: 'update-document',
    path: '/documents/update-document',
    summary: 'Change metadata, or retry a failed document',
    description:
      'With `metadata`: replaces the metadata of an `indexed` document; the old metadata applies to queries until the new metadata is indexed. With `index_status`: retries a failed document. Sending both is an error; sending neither changes nothing.',
    request: documents.UpdateDocumentRequest,
    reply: DefaultResponse,
    example: { collection_name: 'handbook', path: 'refunds.txt', metadata: { author: 'Grace' } },
    errorResponses: { 404: documentNotFound },
    check: (request, bounds) => {
      checkDocument(request);
      if (request.metadata) checks.checkMetadata(request.metadata, bounds.metadataBytesMax());
    },
    serve: (services, call, request) => services.updateDocument(call, request),
  }),
  organizationRoute({
    operation: 'delete-document',
    path: '/documents/delete-document',
    summary: 'Delete documents',
    description:
      'Deletes up to 64 documents and removes them from search immediately. The reply lists the documents that existed.',
    request: documents.DeleteDocumentRequest,
    reply: documents.DeleteDocumentResponse,
    example: { collection_name: 'handbook', path: ['refunds.txt', 'old.txt'] },
    errorResponses: { 404: 'The collection does not exist, or none of the documents exists.' },
    check: (request) => {
      checkCollection(request);
      checks.checkPaths(request.path);
    },
    serve: (services, call, request) => services.deleteDocument(call, request),
  }),
];

const documentReadRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'get-document-info',
    path: '/documents/get-document-info',
    summary: 'Describe a document',
    description:
      'Returns the index status, the size and the download URL of a document, and its full text on request.',
    request: documents.GetDocumentInfoRequest,
    reply: documents.GetDocumentInfoResponse,
    example: { collection_name: 'handbook', path: 'refunds.txt', include_content: true },
    errorResponses: { 404: documentNotFound },
    check: checkDocument,
    serve: async (services, call, request) => {
      const { document } = await services.getDocumentInfo(call, request);
      return renderWithText({ name: 'document', field: 'content' }, document, call.yieldToEventLoop);
    },
  }),
  organizationRoute({
    operation: 'get-document-info-list',
    path: '/documents/get-document-info-list',
    summary: 'List documents',
    description:
      'Lists up to 1,024 documents in ascending order of their paths (by UTF-8 bytes). For the next page, send the last path as `path_gt`; repeat until the list is empty.',
    request: documents.GetDocumentInfoListRequest,
    reply: documents.GetDocumentInfoListResponse,
    example: { collection_name: 'handbook', limit: 100, path_prefix: 'guides/' },
    errorResponses: { 404: collectionNotFound },
    queryFields: ['path_gt'],
    check: (request) => {
      checkCollection(request);
      if (request.limit !== undefined) checks.checkListLimit(request.limit);
      checks.checkPathBound('path_prefix', request.path_prefix ?? '');
      checks.checkPathBound('path_gt', request.path_gt ?? '');
    },
    serve: async (services, call, request) => {
      const { documents: documentList } = await services.getDocumentInfoList(call, request);
      return renderList('documents', documentList, call.yieldToEventLoop);
    },
  }),
  organizationRoute({
    operation: 'get-page-info',
    path: '/documents/get-page-info',
    summary: 'Describe a page',
    description: 'Returns the text of a page and the URL of its image, if it has one.',
    request: documents.GetPageInfoRequest,
    reply: documents.GetPageInfoResponse,
    example: { collection_name: 'handbook', path: 'guides/setup.pdf', page_index: 0, include_content: true },
    errorResponses: { 404: 'The collection, the document or the page does not exist.' },
    check: checkDocument,
    serve: async (services, call, request) => {
      const { page } = await services.getPageInfo(call, request);
      return renderWithText({ name: 'page', field: 'content' }, page, call.yieldToEventLoop);
    },
  }),
  {
    kind: 'file',
    method: 'GET',
    path: '/documents/get-document',
    operation: 'get-document',
    isVersioned: true,
    tag: 'documents',
    summary: 'Download a raw document',
    description:
      'The URL that replies contain as `file_url`. Its token is the only credential and expires when the document is deleted or replaced. Returns the bytes as they were added (UTF-8 for a text document). Supports range requests; replies are immutable and cacheable.',
    errorResponses: { 404: 'The token is unknown, or its document was deleted or replaced.' },
  },
  {
    kind: 'image',
    method: 'GET',
    path: '/documents/get-page-image',
    operation: 'get-page-image',
    isVersioned: true,
    tag: 'documents',
    summary: 'Download the image of a page',
    description:
      'The URL that replies contain as `image_url`: a JPEG of one page, rendered on the first request. Add `&width=` (1 to 2000 pixels) for a smaller image; the width is rounded up to 128, 256, 384, 512, 768, 1024, 1536 or 2000. Images are never enlarged.',
    errorResponses: {
      404: 'The token is unknown, its document was deleted or replaced, or the page has no image.',
      429: 'Too many requests for page images of the organization are waiting.',
    },
  },
];

const queryErrors = { 404: 'The collection or the reranker does not exist.' } as const;

const queryRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'top-documents',
    path: '/queries/top-documents',
    summary: 'Find documents',
    description:
      'Returns the most relevant documents for a query, each once. With `null` as the query, lists the documents that match the filter.',
    request: queries.TopDocumentsRequest,
    reply: queries.TopDocumentsResponse,
    example: {
      collection_name: 'handbook',
      query: 'How long do refunds take?',
      k: 10,
      include_metadata: true,
    },
    errorResponses: queryErrors,
    check: (request) => {
      checkCollection(request);
      checks.checkResultCount(request.k, limits.topDocumentsMax);
      if (request.query !== null) checks.checkQuery(request.query);
      checks.checkQueryControls({ weights: request.weights ?? null, min_score: request.min_score ?? null });
    },
    serve: (services, call, request) => services.topDocuments(call, request),
  }),
  organizationRoute({
    operation: 'top-pages',
    path: '/queries/top-pages',
    summary: 'Find pages',
    description: 'Returns the most relevant pages for a query, and each of their documents once.',
    request: queries.TopPagesRequest,
    reply: queries.TopPagesResponse,
    example: { collection_name: 'handbook', query: 'How long do refunds take?', k: 5, include_content: true },
    errorResponses: queryErrors,
    check: (request) => {
      checkCollection(request);
      checks.checkResultCount(request.k, limits.topPagesMax);
      checks.checkQuery(request.query);
      checks.checkQueryControls(request);
    },
    serve: (services, call, request) => services.topPages(call, request),
  }),
  organizationRoute({
    operation: 'top-snippets',
    path: '/queries/top-snippets',
    summary: 'Find snippets',
    description:
      'Returns the most relevant snippets for a query, each with its exact position in the text of its document, and each of their documents once.',
    request: queries.TopSnippetsRequest,
    reply: queries.TopSnippetsResponse,
    example: {
      collection_name: 'handbook',
      query: 'How long do refunds take?',
      k: 5,
      filter: { 'list:topics': { $in: ['refunds'] } },
      precise_responses: true,
    },
    errorResponses: queryErrors,
    check: (request) => {
      checkCollection(request);
      checks.checkResultCount(request.k, limits.topSnippetsMax);
      checks.checkQuery(request.query);
      checks.checkQueryControls(request);
    },
    serve: (services, call, request) => services.topSnippets(call, request),
  }),
  organizationRoute({
    operation: 'get-status',
    path: '/status/get-status',
    summary: 'Count documents by status',
    description:
      'Returns the number of documents that are being processed, are indexed or have failed, in one collection or in all.',
    request: status.StatusRequest,
    reply: status.StatusResponse,
    example: { collection_name: 'handbook' },
    errorResponses: { 404: collectionNotFound },
    check: (request) => {
      if (typeof request.collection_name === 'string') checks.checkCollectionName(request.collection_name);
    },
    serve: (services, call, request) => services.getStatus(call, request),
  }),
  organizationRoute({
    operation: 'parse-document',
    path: '/parsers/parse-document',
    summary: 'Parse a file without storing it',
    description:
      'Returns the text of a file, page by page, and stores nothing. A file that cannot be parsed returns 400 with the reason.',
    request: parsers.ParseDocumentRequest,
    reply: parsers.ParseDocumentResponse,
    example: { base64_data: 'UmVmdW5kcyBhcmUgcGFpZCB3aXRoaW4gMTQgZGF5cy4=' },
    serve: async (services, call, request) =>
      renderPages(await services.parseDocument(call, request), call.yieldToEventLoop),
  }),
];

const modelRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'get-model-list',
    path: '/models/get-model-list',
    summary: 'List the models',
    description:
      'Lists the names of embedding models and rerankers that requests can use: built-in models and models added by the operator. The body may be empty.',
    request: EmptyRequest,
    reply: models.GetModelListResponse,
    example: {},
    serve: (services, call, request) => services.getModelList(call, request),
  }),
  organizationRoute({
    operation: 'embed',
    path: '/models/embed',
    summary: 'Embed texts',
    description:
      'Converts texts to vectors of unit length, in the same order. The vector of a query is close to the vectors of documents that answer it. Vectors can be shortened to their first dimensions.',
    request: models.EmbedRequest,
    reply: models.EmbedResponse,
    example: { model: 'zembed-1', input_type: 'query', input: 'How long do refunds take?', dimensions: 640 },
    errorResponses: { 404: modelNotFound, 413: tooManyBytes, 429: rateLimitExceeded },
    serve: (services, call, request) => services.embed(call, request),
  }),
  organizationRoute({
    operation: 'rerank',
    path: '/models/rerank',
    summary: 'Rerank texts by relevance',
    description: 'Scores each text against a query from 0 to 1 and returns the scores in descending order.',
    request: models.RerankRequest,
    reply: models.RerankResponse,
    example: {
      model: 'zerank-2',
      query: 'How long do refunds take?',
      documents: ['Refunds are paid within 14 days.', 'Our office is in Oslo.'],
    },
    errorResponses: { 404: modelNotFound, 413: tooManyBytes, 429: rateLimitExceeded },
    check: (request) => {
      if (typeof request.top_n === 'number') checks.checkTopN(request.top_n);
    },
    serve: (services, call, request) => services.rerank(call, request),
  }),
  organizationRoute({
    operation: 'embeddings',
    path: '/embeddings',
    summary: 'Embed texts (OpenAI format)',
    description: 'Like `/models/embed`, in the request and reply format of OpenAI clients.',
    request: models.OpenAiEmbeddingsRequest,
    reply: models.OpenAiEmbeddingsResponse,
    example: { model: 'zembed-1', input: ['Refunds are paid within 14 days.'] },
    errorResponses: { 404: modelNotFound, 413: tooManyBytes, 429: rateLimitExceeded },
    serve: (services, call, request) => services.openAiEmbeddings(call, request),
  }),
  organizationRoute({
    operation: 'cohere-rerank',
    path: '/rerank',
    summary: 'Rerank texts (Cohere format)',
    description: 'Like `/models/rerank`, in the request and reply format of Cohere clients.',
    request: models.CohereRerankRequest,
    reply: models.CohereRerankResponse,
    example: {
      model: 'zerank-2',
      query: 'refunds',
      documents: ['Refunds take 14 days.', { text: 'Oslo' }],
      top_n: 1,
    },
    errorResponses: { 404: modelNotFound, 413: tooManyBytes, 429: rateLimitExceeded },
    check: (request) => {
      if (typeof request.top_n === 'number') checks.checkTopN(request.top_n);
    },
    serve: (services, call, request) => services.cohereRerank(call, request),
  }),
];

const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
const keyExample = { ...organizationExample, api_key_id: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21' } as const;

const userExample = { user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44' } as const;
const userNotFound = 'The user does not exist.';

const adminRoutes: readonly Route[] = [
  administratorRoute({
    operation: 'create-organization',
    path: '/admin/create-organization',
    summary: 'Create an organization',
    description: 'Creates an organization with an ID of your choice. Its initial tier is `free`.',
    request: admin.CreateOrganizationRequest,
    reply: DefaultResponse,
    example: organizationExample,
    successStatuses: [201],
    errorResponses: { 409: 'An organization with this ID already exists.' },
    serve: (services, call, request) => services.createOrganization(call, request),
  }),
  administratorRoute({
    operation: 'list-organizations',
    path: '/admin/list-organizations',
    summary: 'List organizations',
    description:
      'Lists all organizations of the installation, ordered by ID. For the next page, send `next_after` as `after`; repeat until it is null.',
    request: admin.ListOrganizationsRequest,
    reply: admin.ListOrganizationsResponse,
    example: {},
    serve: (services, call, request) => services.listOrganizations(call, request),
  }),
  administratorRoute({
    operation: 'get-organization',
    path: '/admin/get-organization',
    summary: 'Describe an organization',
    description: 'Returns the tier, overrides, effective limits, storage usage and data retention setting.',
    request: admin.GetOrganizationRequest,
    reply: admin.GetOrganizationResponse,
    example: organizationExample,
    errorResponses: { 404: organizationNotFound },
    serve: (services, call, request) => services.getOrganization(call, request),
  }),
  administratorRoute({
    operation: 'update-organization',
    path: '/admin/update-organization',
    summary: 'Change an organization',
    description: 'Changes the fields that are present. An override of 0 removes the override.',
    request: admin.AdminUpdateOrganizationRequest,
    reply: DefaultResponse,
    example: { ...organizationExample, subscription_tier: 'teams', override_bpm_fast: 1_000_000 },
    errorResponses: { 404: organizationNotFound },
    serve: (services, call, request) => services.updateOrganization(call, request),
  }),
  administratorRoute({
    operation: 'add-api-key',
    path: '/admin/add-api-key',
    summary: 'Create an API key',
    description: 'Creates an API key for an organization. The key is shown only in this reply.',
    request: admin.AdminAddAPIKeyRequest,
    reply: admin.AdminAddAPIKeyResponse,
    example: { ...organizationExample, name: 'Website', permission: 'read_only' },
    successStatuses: [201],
    errorResponses: { 404: organizationNotFound },
    check: (request) => checks.checkKeyName(request.name),
    serve: (services, call, request) => services.addApiKey(call, request),
  }),
  administratorRoute({
    operation: 'list-api-keys',
    path: '/admin/list-api-keys',
    summary: 'List API keys',
    description: 'Lists the API keys of an organization, masked.',
    request: admin.ListAPIKeysRequest,
    reply: admin.ListAPIKeysResponse,
    example: organizationExample,
    errorResponses: { 404: organizationNotFound },
    serve: (services, call, request) => services.listApiKeys(call, request),
  }),
  administratorRoute({
    operation: 'update-api-key',
    path: '/admin/update-api-key',
    summary: 'Change an API key',
    description: 'Changes the name, permission or restriction of a key, effective immediately.',
    request: admin.AdminUpdateAPIKeyRequest,
    reply: DefaultResponse,
    example: { ...keyExample, permission: 'all' },
    errorResponses: { 404: 'The organization or the key does not exist.' },
    check: (request) => {
      if (typeof request.name === 'string') checks.checkKeyName(request.name);
    },
    serve: (services, call, request) => services.updateApiKey(call, request),
  }),
  administratorRoute({
    operation: 'delete-api-key',
    path: '/admin/delete-api-key',
    summary: 'Revoke an API key',
    description: 'Revokes a key immediately; requests that use it return 401.',
    request: admin.AdminDeleteAPIKeyRequest,
    reply: DefaultResponse,
    example: keyExample,
    errorResponses: { 404: 'The organization or the key does not exist.' },
    serve: (services, call, request) => services.deleteApiKey(call, request),
  }),
  administratorRoute({
    operation: 'delete-any-organization',
    path: '/admin/delete-organization',
    summary: 'Delete an organization',
    description:
      'Revokes its API keys, memberships and invitations immediately. Its data is deleted permanently in the background.',
    request: admin.AdminDeleteOrganizationRequest,
    reply: DefaultResponse,
    example: organizationExample,
    errorResponses: { 404: organizationNotFound, 409: 'It is the first organization of the installation.' },
    serve: (services, call, request) => services.deleteOrganization(call, request),
  }),
  administratorRoute({
    operation: 'inspect-organization',
    path: '/admin/inspect-organization',
    summary: 'Find remaining data of an organization',
    description:
      'Searches all tables and folders for data of an organization, and for orphaned data of deleted collections and documents. Seconds after its deletion, only an audit log entry remains of an organization. Reads a large part of the store; intended for `quarry doctor`.',
    request: admin.InspectOrganizationRequest,
    reply: admin.InspectOrganizationResponse,
    example: organizationExample,
    serve: (services, call, request) => services.inspectOrganization(call, request),
  }),
  administratorRoute({
    operation: 'list-users',
    path: '/admin/list-users',
    summary: 'List users',
    description:
      'Lists all users of the installation with their organizations, ordered by ID. For the next page, send `next_after` as `after`; repeat until it is null. Send `email` to find one user, or `search` to match parts of addresses and names.',
    request: users.ListUsersRequest,
    reply: users.ListUsersResponse,
    example: {},
    serve: (services, call, request) => services.listUsers(call, request),
  }),
  administratorRoute({
    operation: 'end-user-sessions',
    path: '/admin/end-user-sessions',
    summary: 'End the sessions of a user',
    description: 'Signs the user out of all sessions immediately. The user can sign in again.',
    request: users.UserRequest,
    reply: DefaultResponse,
    example: userExample,
    errorResponses: { 404: userNotFound },
    serve: (services, call, request) => services.endUserSessions(call, request),
  }),
  administratorRoute({
    operation: 'disable-user',
    path: '/admin/disable-user',
    summary: 'Disable a user',
    description:
      'Ends all sessions of the user immediately and rejects every sign-in (403) until `enable-user`. API keys of their organizations remain valid.',
    request: users.UserRequest,
    reply: DefaultResponse,
    example: userExample,
    errorResponses: { 404: userNotFound },
    serve: (services, call, request) => services.disableUser(call, request),
  }),
  administratorRoute({
    operation: 'enable-user',
    path: '/admin/enable-user',
    summary: 'Enable a user',
    description: 'Allows the user to sign in again.',
    request: users.UserRequest,
    reply: DefaultResponse,
    example: userExample,
    errorResponses: { 404: userNotFound },
    serve: (services, call, request) => services.enableUser(call, request),
  }),
  administratorRoute({
    operation: 'delete-user',
    path: '/admin/delete-user',
    summary: 'Delete a user',
    description:
      'Permanently deletes the profile, sessions, memberships and identity provider links of the user. API keys that the user created remain valid. A later sign-in with the same address creates a new user; to block the address, disable the user instead.',
    request: users.UserRequest,
    reply: DefaultResponse,
    example: userExample,
    errorResponses: { 404: userNotFound, 409: 'The user is the last owner of an organization.' },
    serve: (services, call, request) => services.deleteUser(call, request),
  }),
  administratorRoute({
    operation: 'reset-second-factor',
    path: '/admin/reset-second-factor',
    summary: 'Reset the second factor of a user',
    description:
      'Disables the second factor of a user who has lost the authenticator app and the recovery codes.',
    request: users.UserRequest,
    reply: DefaultResponse,
    example: userExample,
    errorResponses: { 404: userNotFound },
    serve: (services, call, request) => services.resetSecondFactor(call, request),
  }),
  administratorRoute({
    operation: 'get-administrator-second-factor',
    path: '/admin/get-administrator-second-factor',
    summary: 'Get the second factor of the administrator',
    description:
      'Returns whether sign-in requires a code in addition to the password, and the number of unused recovery codes.',
    request: EmptyRequest,
    reply: factors.SecondFactorStatusResponse,
    example: {},
    serve: (services, call, request) => services.getAdministratorSecondFactor(call, request),
  }),
  administratorRoute({
    operation: 'begin-administrator-second-factor',
    path: '/admin/begin-administrator-second-factor',
    summary: 'Set up the second factor of the administrator',
    description:
      'Creates a key for an authenticator app. It takes effect after `confirm-administrator-second-factor` with a first code. `QUARRY_ADMIN_KEY` needs no second factor; a new `QUARRY_ADMIN_PASSWORD_HASH` disables it.',
    request: EmptyRequest,
    reply: factors.BeginSecondFactorResponse,
    example: {},
    errorResponses: { 409: 'The second factor is already enabled.' },
    serve: (services, call, request) => services.beginAdministratorSecondFactor(call, request),
  }),
  administratorRoute({
    operation: 'confirm-administrator-second-factor',
    path: '/admin/confirm-administrator-second-factor',
    summary: 'Enable the second factor of the administrator',
    description:
      'Requires the first code of the authenticator app. Recovery codes are shown only in this reply.',
    request: factors.SecondFactorCodeRequest,
    reply: factors.ConfirmSecondFactorResponse,
    example: { code: '123456' },
    serve: (services, call, request) => services.confirmAdministratorSecondFactor(call, request),
  }),
  administratorRoute({
    operation: 'disable-administrator-second-factor',
    path: '/admin/disable-administrator-second-factor',
    summary: 'Disable the second factor of the administrator',
    description: 'Requires a code of the authenticator app or a recovery code.',
    request: factors.SecondFactorCodeRequest,
    reply: DefaultResponse,
    example: { code: '123456' },
    serve: (services, call, request) => services.disableAdministratorSecondFactor(call, request),
  }),
  administratorRoute({
    operation: 'get-any-audit-log',
    path: '/admin/get-audit-log',
    summary: 'Read an audit log',
    description:
      'Returns audit log entries, newest first: of one organization, or without an ID those that belong to no organization, such as sign-ins. For the next page, send `next_cursor` as `cursor`; repeat until it is null.',
    request: audit.AuditLogRequest,
    reply: audit.AuditLogResponse,
    example: organizationExample,
    errorResponses: { 404: organizationNotFound },
    serve: (services, call, request) => services.getAuditLog(call, request),
  }),
];

const usageExample: usage.UsageRequest = {
  start_time: 1_790_000_000,
  end_time: 1_790_086_400,
  aggregation_window: 'hourly',
};

function checkUsage(request: usage.UsageRequest): void {
  checks.checkUsageTimes(request.start_time, request.end_time);
  for (const name of request.collection_names ?? []) checks.checkCollectionName(name);
}

const filteredKeyUsage = 'The key has a metadata filter and cannot read counts of whole collections.';
const restrictedKeyUsage = 'The key is restricted and cannot read the model usage of the organization.';

const usageRoutes: readonly Route[] = [
  organizationRoute({
    operation: 'usage-documents',
    path: '/usage/documents',
    summary: 'Document usage over time',
    description:
      'Returns one row per time window, collection and event (added, deleted, parsed, indexed). Files of `parse-document` count as `parsed` in the collection `00000000-0000-0000-0000-000000000000`.',
    request: usage.UsageRequest,
    reply: usage.DocumentUsageList,
    example: usageExample,
    errorResponses: { 403: filteredKeyUsage, 404: collectionNotFound },
    check: checkUsage,
    serve: (services, call, request) => services.usageDocuments(call, request),
  }),
  organizationRoute({
    operation: 'usage-queries',
    path: '/usage/queries',
    summary: 'Query usage over time',
    description: 'Returns one row per time window, collection and query type.',
    request: usage.UsageRequest,
    reply: usage.QueryUsageList,
    example: usageExample,
    errorResponses: { 403: filteredKeyUsage, 404: collectionNotFound },
    check: checkUsage,
    serve: (services, call, request) => services.usageQueries(call, request),
  }),
  organizationRoute({
    operation: 'usage-reranker',
    path: '/usage/models/reranker',
    summary: 'Reranker usage over time',
    description: 'Returns one row per time window and model; collections are ignored.',
    request: usage.UsageRequest,
    reply: usage.RerankUsageList,
    example: usageExample,
    errorResponses: { 403: restrictedKeyUsage },
    check: checkUsage,
    serve: (services, call, request) => services.usageReranker(call, request),
  }),
  organizationRoute({
    operation: 'usage-embed',
    path: '/usage/models/embed',
    summary: 'Embedding usage over time',
    description: 'Returns one row per time window and model; collections are ignored.',
    request: usage.UsageRequest,
    reply: usage.EmbedUsageList,
    example: usageExample,
    errorResponses: { 403: restrictedKeyUsage },
    check: checkUsage,
    serve: (services, call, request) => services.usageEmbed(call, request),
  }),
  organizationRoute({
    operation: 'usage-models-counters',
    path: '/usage/models/counters',
    summary: 'Model usage totals',
    description: 'Returns model counters in total and for the current billing cycle. The body may be empty.',
    request: EmptyRequest,
    reply: usage.ModelsUsageCountersResponse,
    example: {},
    errorResponses: { 403: restrictedKeyUsage },
    serve: (services, call, request) => services.usageModelsCounters(call, request),
  }),
  organizationRoute({
    operation: 'usage-counters',
    path: '/usage/counters',
    summary: 'Document and query usage totals',
    description:
      'Returns document and query counters in total and for the current billing cycle. The body may be empty.',
    request: EmptyRequest,
    reply: usage.UsageCountersResponse,
    example: {},
    errorResponses: { 403: filteredKeyUsage },
    serve: (services, call, request) => services.usageCounters(call, request),
  }),
];

function createPageRoute(
  name: PageRoute['page'],
  options: Pick<PageRoute, 'path' | 'operation' | 'summary' | 'description'> &
    Partial<Pick<PageRoute, 'errorResponses'>>,
): PageRoute {
  return {
    kind: 'page',
    page: name,
    method: 'GET',
    isVersioned: false,
    tag: 'server',
    errorResponses: {},
    ...options,
  };
}

const pageRoutes: readonly Route[] = [
  createPageRoute('home', {
    path: '/',
    operation: 'dashboard',
    summary: 'Start page',
    description: 'Redirects to the dashboard.',
  }),
  createPageRoute('dashboard-entry', {
    path: '/app',
    operation: 'dashboard',
    summary: 'Dashboard entry',
    description: 'Redirects to the dashboard.',
  }),
  createPageRoute('dashboard', {
    path: '/app/*',
    operation: 'dashboard',
    summary: 'Dashboard page',
    description: 'The same page for every path; it renders the view of the path.',
  }),
  createPageRoute('asset', {
    path: '/assets/:file_path',
    operation: 'asset',
    summary: 'Dashboard asset',
    description: 'The name contains a hash of the content, so it can be cached permanently.',
    errorResponses: { 404: 'The file does not exist.' },
  }),
  createPageRoute('healthz', {
    path: '/healthz',
    operation: 'healthz',
    summary: 'Liveness probe',
    description: 'Returns 200 while the process responds.',
  }),
  createPageRoute('readyz', {
    path: '/readyz',
    operation: 'readyz',
    summary: 'Readiness probe',
    description:
      'Returns 200 when every component is ready, otherwise 503. The body lists the components and the detected optional tools.',
    errorResponses: { 503: 'Not ready.' },
  }),
  createPageRoute('metrics', {
    path: '/metrics',
    operation: 'metrics',
    summary: 'Prometheus metrics',
    description: 'Open to local requests; other requests require the administrator key.',
  }),
  createPageRoute('openapi', {
    path: '/openapi.json',
    operation: 'openapi',
    summary: 'OpenAPI document',
    description: 'OpenAPI 3.1, generated from the route table.',
  }),
  createPageRoute('account-openapi', {
    path: '/api/openapi.json',
    operation: 'account-openapi',
    summary: 'OpenAPI document of the account API',
    description: 'OpenAPI 3.1 of sign-in, users and organizations.',
  }),
  createPageRoute('docs', {
    path: '/docs',
    operation: 'docs',
    summary: 'API documentation page',
    description: 'HTML page without scripts or external resources.',
  }),
];

export const routes: readonly Route[] = [
  ...collectionRoutes,
  ...documentWriteRoutes,
  ...documentReadRoutes,
  ...queryRoutes,
  ...modelRoutes,
  ...adminRoutes,
  ...usageRoutes,
  ...accountRoutes,
  ...pageRoutes,
];
