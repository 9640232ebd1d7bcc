import { type Static, Type } from './typebox.ts';
import { Component, Count, Nullable, OneOf, Uuid } from './wire.ts';

const aggregationWindows = ['minutely', 'hourly', 'daily'] as const;
export const AggregationWindow = OneOf(aggregationWindows, {
  title: 'AggregationWindow',
  description: 'Length of the time window of one row.',
});
export type AggregationWindow = Static<typeof AggregationWindow>;

const documentEvents = ['added', 'deleted', 'parsed', 'indexed'] as const;
export const DocumentEventEnum = OneOf(documentEvents, {
  title: 'DocumentEventEnum',
  description: 'Type of document event.',
});
export type DocumentEventEnum = Static<typeof DocumentEventEnum>;

const queryTypes = ['fine', 'coarse', 'pages', 'documents'] as const;
export const QueryEnum = OneOf(queryTypes, {
  title: 'QueryEnum',
  description: 'Query type: `fine` for precise snippets, `coarse` for other snippets.',
});
export type QueryEnum = Static<typeof QueryEnum>;

export const UsageRequest = Component('UsageRequest', 'A time range.', {
  start_time: Type.Integer({
    description: 'First second, in seconds since the epoch UTC.',
    examples: [1790000000],
  }),
  end_time: Type.Integer({ description: 'Last second, not before the first.', examples: [1790086400] }),
  aggregation_window: AggregationWindow,
  collection_names: Type.Optional(
    Nullable(Type.Array(Type.String()), {
      description: 'Only these collections; absent or null means all. Ignored for models.',
    }),
  ),
  include_times: Type.Optional(
    Type.Boolean({
      default: false,
      description: 'For queries: include the percentiles and the histogram of their times.',
    }),
  ),
});
export type UsageRequest = Static<typeof UsageRequest>;

const windowFields = {
  window_start: Count('First second of the row, in seconds since the epoch UTC.'),
  organization_id: Uuid('ID of the organization.'),
} as const;
const eventCount = Count('Number of events.');
const totalTime = Type.Number({ description: 'Processing time in milliseconds.' });
const explicitCall = Type.Boolean({
  description: 'True for calls of the model operation, false for work of documents and queries.',
});

export const DocumentUsageResponse = Component('DocumentUsageResponse', 'Documents of one row.', {
  ...windowFields,
  collection_id: Uuid('ID of the collection; all zeros for files of `parse-document`.'),
  event_type: DocumentEventEnum,
  event_count: eventCount,
  total_file_size_bytes: Count('Raw bytes.'),
  total_content_tokens: Count('Tokens of the text.'),
  total_llm_tokens: Count('Tokens of language models; 0 if none is used.'),
  total_embedding_tokens: Count('Embedded tokens.'),
  total_coarse_chunks: Count('Chunks of about 2,000 characters.'),
  total_fine_chunks: Count('Chunks of about 200 characters.'),
  total_pages: Count('Pages.'),
  total_time_taken_ms: totalTime,
});
export type DocumentUsageResponse = Static<typeof DocumentUsageResponse>;
export const DocumentUsageList = Type.Array(DocumentUsageResponse);

export const QueryTimes = Component('QueryTimes', 'Times of the queries of one row.', {
  count: Count('Queries whose time is in the histogram; queries of earlier versions are only in the sums.'),
  p50_ms: Type.Number({ description: 'Half of the queries took at most this time, in milliseconds.' }),
  p95_ms: Type.Number({ description: '95 % of the queries took at most this time.' }),
  p99_ms: Type.Number({ description: '99 % of the queries took at most this time.' }),
  histogram: Type.Array(
    Type.Object({
      le_ms: Nullable(Type.Number(), {
        description: 'Upper bound of the times in milliseconds, inclusive; null for no bound.',
      }),
      count: Count('Queries above the previous bound and up to this one.'),
    }),
    {
      description:
        'Buckets with queries, ascending. The bounds are the same in all rows, so that rows can be added. A bound is 26 % above the one before it; percentiles are interpolated within a bucket.',
    },
  ),
});
export type QueryTimes = Static<typeof QueryTimes>;

export const QueryUsageResponse = Component('QueryUsageResponse', 'Queries of one row.', {
  ...windowFields,
  collection_id: Uuid('ID of the collection.'),
  query_type: QueryEnum,
  event_count: eventCount,
  total_query_bytes: Count('UTF-8 bytes of the queries.'),
  total_queried_bytes: Count('Indexed bytes of the collections at the time of the query.'),
  total_query_tokens: Count('Tokens of the queries.'),
  total_results_returned: Count('Results.'),
  total_time_taken_ms: totalTime,
  times: Type.Optional(QueryTimes),
});
export type QueryUsageResponse = Static<typeof QueryUsageResponse>;
export const QueryUsageList = Type.Array(QueryUsageResponse);

export const RerankUsageResponse = Component('RerankUsageResponse', 'Reranking of one row.', {
  ...windowFields,
  reranker_model: Type.String(),
  explicit_call: explicitCall,
  event_count: eventCount,
  total_request_bytes: Count('Charged bytes.'),
  total_reranker_tokens: Count('Tokens read by the model.'),
  total_documents_reranked: Count('Scored texts.'),
  total_time_taken_ms: totalTime,
  total_reranking_time_ms: Type.Number({ description: 'Milliseconds in the model.' }),
});
export type RerankUsageResponse = Static<typeof RerankUsageResponse>;
export const RerankUsageList = Type.Array(RerankUsageResponse);

export const EmbedUsageResponse = Component('EmbedUsageResponse', 'Embedding of one row.', {
  ...windowFields,
  embedding_model: Type.String(),
  explicit_call: explicitCall,
  event_count: eventCount,
  total_request_bytes: Count('Charged bytes.'),
  total_request_tokens: Count('Tokens read by the model.'),
  total_time_taken_ms: totalTime,
});
export type EmbedUsageResponse = Static<typeof EmbedUsageResponse>;
export const EmbedUsageList = Type.Array(EmbedUsageResponse);

export const UsageMetric = Component('UsageMetric', 'One counter.', {
  count: Count('Events.'),
  bytes: Count('Bytes.'),
  billable_units: Count('Billable units.'),
});
export type UsageMetric = Static<typeof UsageMetric>;

export const ModelsUsageStats = Component('ModelsUsageStats', 'Counters of the models.', {
  rerank: UsageMetric,
  embed: UsageMetric,
});
export type ModelsUsageStats = Static<typeof ModelsUsageStats>;

export const ModelsUsageCountersResponse = Component('ModelsUsageCountersResponse', 'Usage of models.', {
  all_time: ModelsUsageStats,
  billing_cycle: ModelsUsageStats,
});
export type ModelsUsageCountersResponse = Static<typeof ModelsUsageCountersResponse>;

export const UsageStats = Component('UsageStats', 'Counters of documents and queries.', {
  docs: UsageMetric,
  ocr: UsageMetric,
  indexed: UsageMetric,
  queries: UsageMetric,
});
export type UsageStats = Static<typeof UsageStats>;

export const UsageCountersResponse = Component('UsageCountersResponse', 'Usage of documents and queries.', {
  all_time: UsageStats,
  billing_cycle: UsageStats,
});
export type UsageCountersResponse = Static<typeof UsageCountersResponse>;
