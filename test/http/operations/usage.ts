import Type from 'typebox';
import { readAccess, withoutFilter, withoutRestrictions } from './expected-statuses.ts';
import { allTime, usageOfCollection, withBody } from './inputs.ts';
import { type OperationTests, published } from './operation-test.ts';
import { OneOf, Uuid } from './reply-types.ts';

const DocumentUsageResponse = Type.Object({
  window_start: Type.Integer(),
  organization_id: Uuid,
  collection_id: Uuid,
  event_type: OneOf(['added', 'deleted', 'parsed', 'indexed']),
  event_count: Type.Integer(),
  total_file_size_bytes: Type.Integer(),
  total_content_tokens: Type.Integer(),
  total_llm_tokens: Type.Integer(),
  total_embedding_tokens: Type.Integer(),
  total_coarse_chunks: Type.Integer(),
  total_fine_chunks: Type.Integer(),
  total_pages: Type.Integer(),
  total_time_taken_ms: Type.Number(),
});
const QueryUsageResponse = Type.Object({
  window_start: Type.Integer(),
  organization_id: Uuid,
  collection_id: Uuid,
  query_type: OneOf(['fine', 'coarse', 'pages', 'documents']),
  event_count: Type.Integer(),
  total_query_bytes: Type.Integer(),
  total_queried_bytes: Type.Integer(),
  total_query_tokens: Type.Integer(),
  total_results_returned: Type.Integer(),
  total_time_taken_ms: Type.Number(),
});
const RerankUsageResponse = Type.Object({
  window_start: Type.Integer(),
  organization_id: Uuid,
  reranker_model: Type.String(),
  explicit_call: Type.Boolean(),
  event_count: Type.Integer(),
  total_request_bytes: Type.Integer(),
  total_reranker_tokens: Type.Integer(),
  total_documents_reranked: Type.Integer(),
  total_time_taken_ms: Type.Number(),
  total_reranking_time_ms: Type.Number(),
});
const EmbedUsageResponse = Type.Object({
  window_start: Type.Integer(),
  organization_id: Uuid,
  embedding_model: Type.String(),
  explicit_call: Type.Boolean(),
  event_count: Type.Integer(),
  total_request_bytes: Type.Integer(),
  total_request_tokens: Type.Integer(),
  total_time_taken_ms: Type.Number(),
});
const UsageMetric = Type.Object({
  count: Type.Integer(),
  bytes: Type.Integer(),
  billable_units: Type.Integer(),
});
const ModelsUsageStats = Type.Object({ rerank: UsageMetric, embed: UsageMetric });
const ModelsUsageCountersResponse = Type.Object({
  all_time: ModelsUsageStats,
  billing_cycle: ModelsUsageStats,
});
const UsageStats = Type.Object({
  docs: UsageMetric,
  ocr: UsageMetric,
  indexed: UsageMetric,
  queries: UsageMetric,
});
const UsageCountersResponse = Type.Object({ all_time: UsageStats, billing_cycle: UsageStats });

/** Operations of usage. */
export const usageTests = {
  'usage-documents': {
    expected: withoutFilter(readAccess(200)),
    buildInput: usageOfCollection,
    published: published('usage/documents', Type.Array(DocumentUsageResponse)),
  },
  'usage-queries': {
    expected: withoutFilter(readAccess(200)),
    buildInput: usageOfCollection,
    published: published('usage/queries', Type.Array(QueryUsageResponse)),
  },
  'usage-reranker': {
    expected: withoutRestrictions(readAccess(200, 200)),
    buildInput: withBody(allTime),
    published: published('usage/models/reranker', Type.Array(RerankUsageResponse)),
  },
  'usage-embed': {
    expected: withoutRestrictions(readAccess(200, 200)),
    buildInput: withBody(allTime),
    published: published('usage/models/embed', Type.Array(EmbedUsageResponse)),
  },
  'usage-models-counters': {
    expected: withoutRestrictions(readAccess(200, 200)),
    published: published('usage/models/counters', ModelsUsageCountersResponse),
  },
  'usage-counters': {
    expected: withoutFilter(readAccess(200, 200)),
    published: published('usage/counters', UsageCountersResponse),
  },
} satisfies OperationTests;
