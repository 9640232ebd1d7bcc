import Type, { type Static, type TSchema } from 'typebox';
import { Compile } from 'typebox/compile';
import { GetChangesResponse } from './change-replies.ts';
import {
  GetHealthResponse,
  GetLogLinesResponse,
  GetSettingsResponse,
  ListOrganizationsResponse,
  ModelDetails,
} from './installation-replies.ts';
import { DateTime, Nullable, OneOf, Uuid } from './reply-types.ts';
import {
  GetSourceItemListResponse,
  GetSourceListResponse,
  PreviewSourceResponse,
  SourceResponse,
} from './source-replies.ts';
import {
  CloneCollectionResponse,
  ExportDocumentsResponse,
  GetAliasListResponse,
  GetCollectionInfoResponse,
} from './transfer-replies.ts';
import {
  DocumentUsageResponse,
  EmbedUsageResponse,
  ModelsUsageCountersResponse,
  QueryUsageResponse,
  RerankUsageResponse,
  UsageCountersResponse,
} from './usage-replies.ts';
import { webhookReplies } from './webhook-replies.ts';

/**
 * Reply shapes from which existing clients were generated: names, types, required fields and nullable fields. The
 * first ones were generated from the published description and contain no text of it; those of later operations are
 * added by hand. Additional fields are allowed.
 */

/** Numbers, booleans and points only if a client sent them. */
const Metadata = Type.Unsafe<
  Record<string, string | string[] | number | boolean | { lat: number; lon: number }>
>({
  type: 'object',
  additionalProperties: {
    anyOf: [
      { type: 'string' },
      { type: 'array', items: { type: 'string' } },
      { type: 'number' },
      { type: 'boolean' },
      {
        type: 'object',
        properties: { lat: { type: 'number' }, lon: { type: 'number' } },
        required: ['lat', 'lon'],
      },
    ],
  },
});
const IndexStatus = OneOf([
  'not_parsed',
  'parsing',
  'not_indexed',
  'indexing',
  'indexed',
  'parsing_failed',
  'indexing_failed',
]);

const DefaultResponse = Type.Object({ message: Type.Optional(Type.String()) });
const AddAPIKeyResponse = Type.Object({ api_key: Type.String() });
const APIKeyInfo = Type.Object({
  id: Uuid,
  created_at: DateTime,
  name: Type.String(),
  permission: OneOf(['all', 'read_only']),
  created_by: Nullable(Type.String()),
  api_key: Type.String(),
});
const ListAPIKeysResponse = Type.Object({ api_keys: Type.Array(APIKeyInfo) });
const GetOrganizationResponse = Type.Object({
  organization_id: Uuid,
  name: Type.String(),
  subscription_tier: OneOf(['free', 'starter', 'teams', 'enterprise']),
  override_bpm_fast: Nullable(Type.Integer()),
  override_bpm_slow: Nullable(Type.Integer()),
  override_max_bytes_per_request: Nullable(Type.Integer()),
  zdr: Type.Boolean(),
});
const RerankResponse = Type.Object({
  results: Type.Array(Type.Object({ index: Type.Integer(), relevance_score: Type.Number() })),
  total_bytes: Type.Integer(),
  total_tokens: Type.Integer(),
  actual_latency_mode: OneOf(['fast', 'slow']),
  e2e_latency: Type.Number(),
  inference_latency: Type.Number(),
});
const EmbedResponse = Type.Object({
  results: Type.Array(Type.Object({ embedding: Type.Union([Type.Array(Type.Number()), Type.String()]) })),
  usage: Type.Object({ total_bytes: Type.Integer(), total_tokens: Type.Integer() }),
});
const StatusResponse = Type.Object({
  num_documents: Type.Integer(),
  num_parsing_documents: Type.Integer(),
  num_indexing_documents: Type.Integer(),
  num_indexed_documents: Type.Integer(),
  num_failed_documents: Type.Integer(),
  num_indexed_bytes: Type.Integer(),
});
const GetCollectionListResponse = Type.Object({ collection_names: Type.Array(Type.String()) });
const documentFields = {
  id: Uuid,
  collection_name: Type.String(),
  path: Type.String(),
  metadata: Metadata,
  index_status: IndexStatus,
  size: Type.Integer(),
  num_pages: Nullable(Type.Integer()),
  file_url: Type.String(),
  /** Additive: reason of the failure. */
  error: Nullable(Type.String()),
  error_code: Nullable(Type.String()),
};
const GetDocumentInfoResponse = Type.Object({
  document: Type.Object({ ...documentFields, content: Type.Optional(Nullable(Type.String())) }),
});
const GetDocumentInfoListResponse = Type.Object({
  documents: Type.Array(Type.Object({ ...documentFields, created_at: DateTime })),
  /** Additive: only with `sort_by`, and only with `include_count`. */
  next_cursor: Type.Optional(Nullable(Type.String())),
  num_matching: Type.Optional(Type.Integer()),
});
const DeleteDocumentResponse = Type.Object({ deleted_paths: Type.Array(Type.String()) });
const changes = { has_more: Type.Boolean(), num_matching: Type.Optional(Type.Integer()) };
const DeleteDocumentsResponse = Type.Object({ deleted_paths: Type.Array(Type.String()), ...changes });
const UpdateDocumentsResponse = Type.Object({
  updated_paths: Type.Array(Type.String()),
  skipped_paths: Type.Array(Type.String()),
  ...changes,
});
const GetPageInfoResponse = Type.Object({
  page: Type.Object({
    id: Uuid,
    collection_name: Type.String(),
    path: Type.String(),
    page_index: Type.Integer(),
    /** Additive. */
    start_index: Nullable(Type.Integer()),
    content: Type.Optional(Nullable(Type.String())),
    image_url: Nullable(Type.String()),
  }),
});

/** Additive. */
const GetDocumentTextResponse = Type.Object({
  text: Type.Object({
    collection_name: Type.String(),
    path: Type.String(),
    num_pages: Type.Integer(),
    length: Type.Integer(),
    start_index: Type.Integer(),
    end_index: Type.Integer(),
    page_span: Type.Tuple([Type.Integer(), Type.Integer()]),
    next_index: Nullable(Type.Integer()),
    content: Type.String(),
  }),
});

/** Additive: only with `explain: true`. */
const explainedFields = {
  explain: Type.Optional(
    Type.Object({
      lexical: Type.Object({ score: Type.Number(), terms: Type.Array(Type.String()) }),
      vector: Type.Object({ similarity: Nullable(Type.Number()) }),
      fused: Type.Number(),
      rerank: Nullable(Type.Number()),
    }),
  ),
};
const shardExplanation = {
  explain: Type.Optional(
    Type.Object({
      shards: Type.Array(
        Type.Object({
          shard: Type.Integer(),
          strategy: Type.String(),
          candidates: Type.Integer(),
          ms: Type.Number(),
        }),
      ),
      ms: Type.Object({
        embed: Type.Number(),
        search: Type.Number(),
        rerank: Type.Number(),
        read: Type.Number(),
      }),
    }),
  ),
};
const DocumentRetrievalResponse = Type.Object({
  path: Type.String(),
  score: Type.Number(),
  metadata: Nullable(Metadata),
  file_url: Type.String(),
  ...explainedFields,
});
const TopDocumentsResponse = Type.Object({
  results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});
const TopPagesResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Type.String(),
      page_index: Type.Integer(),
      score: Type.Number(),
      content: Nullable(Type.String()),
      image_url: Nullable(Type.String()),
      ...explainedFields,
    }),
  ),
  document_results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});
const TopSnippetsResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Type.String(),
      start_index: Type.Integer(),
      end_index: Type.Integer(),
      page_span: Type.Tuple([Type.Integer(), Type.Integer()]),
      content: Type.String(),
      score: Type.Number(),
      ...explainedFields,
    }),
  ),
  document_results: Type.Array(DocumentRetrievalResponse),
  ...shardExplanation,
});

/** Additive operations, as defined by Quarry's own API. */
const AddedResponse = Type.Object({
  message: Type.Optional(Type.String()),
  index_status: Type.Optional(IndexStatus),
  error: Type.Optional(Nullable(Type.String())),
  error_code: Type.Optional(Nullable(Type.String())),
});
const AddDocumentsResponse = Type.Object({
  results: Type.Array(
    Type.Object({
      path: Nullable(Type.String()),
      status: Type.Integer(),
      detail: Type.Optional(Type.String()),
      index_status: Type.Optional(IndexStatus),
    }),
  ),
});
const GetModelListResponse = Type.Object({
  embedding_models: Type.Array(Type.String()),
  rerankers: Type.Array(Type.String()),
  default_embedding_model: Type.String(),
  default_reranker: Nullable(Type.String()),
  models: Type.Optional(Type.Array(ModelDetails)),
});
const ParseDocumentResponse = Type.Object({ pages: Type.Array(Type.String()) });
const OpenAiEmbeddings = Type.Object({
  object: Type.Literal('list'),
  data: Type.Array(
    Type.Object({
      object: Type.Literal('embedding'),
      index: Type.Integer(),
      embedding: Type.Union([Type.Array(Type.Number()), Type.String()]),
    }),
  ),
  model: Type.String(),
  usage: Type.Object({ prompt_tokens: Type.Integer(), total_tokens: Type.Integer() }),
});
const CohereRerank = Type.Object({
  id: Type.String(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer(),
      relevance_score: Type.Number(),
      document: Type.Optional(Type.Object({ text: Type.String() })),
    }),
  ),
  meta: Type.Object({}),
});

/** Reply shape of each operation. */
const replyShapes = {
  'admin/create-organization': DefaultResponse,
  'admin/add-api-key': AddAPIKeyResponse,
  'admin/list-api-keys': ListAPIKeysResponse,
  'admin/delete-api-key': DefaultResponse,
  'admin/get-organization': GetOrganizationResponse,
  'admin/update-organization': DefaultResponse,
  'admin/update-api-key': DefaultResponse,
  'admin/delete-organization': DefaultResponse,
  'admin/list-organizations': ListOrganizationsResponse,
  'admin/get-health': GetHealthResponse,
  'admin/get-settings': GetSettingsResponse,
  'admin/get-log-lines': GetLogLinesResponse,
  'usage/documents': Type.Array(DocumentUsageResponse),
  'usage/queries': Type.Array(QueryUsageResponse),
  'usage/models/reranker': Type.Array(RerankUsageResponse),
  'usage/models/embed': Type.Array(EmbedUsageResponse),
  'usage/models/counters': ModelsUsageCountersResponse,
  'usage/counters': UsageCountersResponse,
  'models/rerank': RerankResponse,
  'models/embed': EmbedResponse,
  'status/get-status': StatusResponse,
  'collections/add-collection': DefaultResponse,
  'collections/get-collection-list': GetCollectionListResponse,
  'collections/delete-collection': DefaultResponse,
  'documents/add-document': AddedResponse,
  'documents/update-document': DefaultResponse,
  'documents/get-document-info': GetDocumentInfoResponse,
  'documents/get-document-info-list': GetDocumentInfoListResponse,
  'documents/delete-document': DeleteDocumentResponse,
  'documents/delete-documents': DeleteDocumentsResponse,
  'documents/update-documents': UpdateDocumentsResponse,
  'documents/get-page-info': GetPageInfoResponse,
  'documents/get-document-text': GetDocumentTextResponse,
  'queries/top-documents': TopDocumentsResponse,
  'queries/top-pages': TopPagesResponse,
  'queries/top-snippets': TopSnippetsResponse,
  'documents/add-documents': AddDocumentsResponse,
  'collections/change-model': DefaultResponse,
  'collections/update-collection': DefaultResponse,
  'collections/clone-collection': CloneCollectionResponse,
  'collections/rename-collection': DefaultResponse,
  'aliases/add-alias': DefaultResponse,
  'aliases/update-aliases': DefaultResponse,
  'aliases/delete-alias': DefaultResponse,
  'aliases/get-alias-list': GetAliasListResponse,
  'changes/get-changes': GetChangesResponse,
  'sources/add-source': DefaultResponse,
  'sources/update-source': DefaultResponse,
  'sources/delete-source': DefaultResponse,
  'sources/pause-source': DefaultResponse,
  'sources/resume-source': DefaultResponse,
  'sources/get-source': SourceResponse,
  'sources/get-source-list': GetSourceListResponse,
  'sources/sync-source': SourceResponse,
  'sources/preview-source': PreviewSourceResponse,
  'sources/get-source-item-list': GetSourceItemListResponse,
  ...webhookReplies,
  'collections/get-collection-info': GetCollectionInfoResponse,
  'documents/export-documents': ExportDocumentsResponse,
  'parsers/parse-document': ParseDocumentResponse,
  'models/get-model-list': GetModelListResponse,
  embeddings: OpenAiEmbeddings,
  rerank: CohereRerank,
} as const;

export type PublishedOperationName = keyof typeof replyShapes;
export type ReplyOf<O extends PublishedOperationName> = Static<(typeof replyShapes)[O]>;
export const operations = Object.keys(replyShapes) as PublishedOperationName[];

const Detail = Type.Object({ detail: Type.String({ minLength: 10 }) });
const Issues = Type.Object({
  detail: Type.Array(
    Type.Object({ loc: Type.Array(Type.String()), msg: Type.String({ minLength: 3 }), type: Type.String() }),
    { minItems: 1 },
  ),
});

const validators = new Map<TSchema, ReturnType<typeof Compile>>();

/** Throws with the paths at which the body differs from the shape. */
function validate(name: string, shape: TSchema, body: unknown): void {
  const check = validators.get(shape) ?? Compile(shape);
  validators.set(shape, check);
  if (check.Check(body)) return;
  const errors = check.Errors(body).map(({ instancePath, message }) => `${instancePath || '/'} ${message}`);
  const bodyText = JSON.stringify(body)?.slice(0, 500);
  throw new Error(
    `The reply of ${name} has another shape than published: ${errors.join('; ')} in ${bodyText}`,
  );
}

/** Validates a reply against the published shape: the shape of a success, `{detail}` of an error. */
export function checkReply(operation: string, status: number, body: unknown): void {
  if (status < 400) {
    const shape = replyShapes[operation as PublishedOperationName];
    if (shape === undefined)
      throw new Error(`${operation} has no reply shape; add it to test/e2e/published-replies.ts`);
    validate(operation, shape, body);
    return;
  }
  validate(`${operation} (${status})`, status === 422 ? Issues : Detail, body);
  if (status !== 422) return;
  for (const { loc } of (body as Static<typeof Issues>).detail) {
    if (loc[0] !== 'body' && loc[0] !== 'query') throw new Error(`${operation}: loc is ${loc.join('.')}`);
  }
}
