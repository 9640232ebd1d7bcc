import { durationBucketOf, durationBuckets } from '../core/duration-histogram.ts';
import type { DocumentEventEnum, QueryEnum } from '../schemas/usage.ts';

/*
 * Usage events as reported by the services. Bytes are UTF-8 or raw bytes, times are milliseconds. Events
 * contain no text of users.
 */

export interface DocumentUsageEvent {
  readonly organizationId: string;
  readonly collectionId: string;
  readonly event: DocumentEventEnum;
  /** Number of documents with the sizes below in total; default 1. */
  readonly documents?: number;
  readonly fileBytes: number;
  readonly contentTokens: number;
  readonly embeddingTokens: number;
  readonly coarseChunks: number;
  readonly fineChunks: number;
  readonly pages: number;
  readonly timeTakenMs: number;
}

export interface QueryUsageEvent {
  readonly organizationId: string;
  readonly collectionId: string;
  readonly type: QueryEnum;
  readonly queryBytes: number;
  /** Indexed bytes of the collection at the time of the query. */
  readonly queriedBytes: number;
  readonly queryTokens: number;
  readonly results: number;
  readonly timeTakenMs: number;
}

export interface EmbedUsageEvent {
  readonly organizationId: string;
  readonly model: string;
  /** True for a call of the model operation; false for calls made for documents and queries. */
  readonly explicitCall: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly timeTakenMs: number;
}

export interface RerankUsageEvent extends EmbedUsageEvent {
  readonly documents: number;
  /** Part of `timeTakenMs` spent in the model. */
  readonly inferenceMs: number;
}

export const usageKinds = ['documents', 'queries', 'embed', 'rerank'] as const;
export type UsageKind = (typeof usageKinds)[number];

/**
 * Counters of a row of each kind, in storage order, by their names in the API. The order is part of the disk
 * format: append new counters.
 */
export const counterNames = {
  documents: [
    'event_count',
    'total_file_size_bytes',
    'total_content_tokens',
    'total_llm_tokens',
    'total_embedding_tokens',
    'total_coarse_chunks',
    'total_fine_chunks',
    'total_pages',
    'total_time_taken_ms',
  ],
  queries: [
    'event_count',
    'total_query_bytes',
    'total_queried_bytes',
    'total_query_tokens',
    'total_results_returned',
    'total_time_taken_ms',
  ],
  embed: ['event_count', 'total_request_bytes', 'total_request_tokens', 'total_time_taken_ms'],
  rerank: [
    'event_count',
    'total_request_bytes',
    'total_reranker_tokens',
    'total_documents_reranked',
    'total_time_taken_ms',
    'total_reranking_time_ms',
  ],
} as const satisfies Readonly<Record<UsageKind, readonly string[]>>;

/** Number of stored amounts of a row: its counters, followed for queries by a histogram of their times. */
export function amountsOf(kind: UsageKind): number {
  return counterNames[kind].length + (kind === 'queries' ? durationBuckets : 0);
}

/** Returns the histogram of the times of a row of queries. Rows of earlier versions have none. */
export function queryTimesOf(amounts: readonly number[]): number[] {
  const first = counterNames.queries.length;
  return Array.from({ length: durationBuckets }, (_, bucket) => amounts[first + bucket] ?? 0);
}

export type CounterName<Kind extends UsageKind> = (typeof counterNames)[Kind][number];
export type UsageCounters<Kind extends UsageKind> = Readonly<Record<CounterName<Kind>, number>>;

/** Amounts to add to the counters of one subject. */
export interface UsageIncrement {
  readonly kind: UsageKind;
  readonly organizationId: string;
  /** Collection id or model. */
  readonly subjectId: string;
  /** Event or query type; for models, whether the model was called explicitly. */
  readonly category: string;
  /** In the order of `counterNames`; see `amountsOf`. */
  readonly amounts: readonly number[];
}

export function toDocumentIncrement(event: DocumentUsageEvent): UsageIncrement {
  return createIncrement('documents', event.organizationId, event.collectionId, event.event, {
    event_count: event.documents ?? 1,
    total_file_size_bytes: event.fileBytes,
    total_content_tokens: event.contentTokens,
    total_llm_tokens: 0,
    total_embedding_tokens: event.embeddingTokens,
    total_coarse_chunks: event.coarseChunks,
    total_fine_chunks: event.fineChunks,
    total_pages: event.pages,
    total_time_taken_ms: event.timeTakenMs,
  });
}

/** Collection id of usage outside any collection. */
export const noCollectionId = '00000000-0000-0000-0000-000000000000';

/** Returns the event for a file that was parsed and not stored. */
export function parseOutsideCollections(
  parse: Pick<DocumentUsageEvent, 'organizationId' | 'fileBytes' | 'pages' | 'timeTakenMs'>,
): DocumentUsageEvent {
  const noCounts = { contentTokens: 0, embeddingTokens: 0, coarseChunks: 0, fineChunks: 0 };
  return { collectionId: noCollectionId, event: 'parsed', ...noCounts, ...parse };
}

export function toQueryIncrement(event: QueryUsageEvent): UsageIncrement {
  const increment = createIncrement('queries', event.organizationId, event.collectionId, event.type, {
    event_count: 1,
    total_query_bytes: event.queryBytes,
    total_queried_bytes: event.queriedBytes,
    total_query_tokens: event.queryTokens,
    total_results_returned: event.results,
    total_time_taken_ms: event.timeTakenMs,
  });
  const times = new Array<number>(durationBuckets).fill(0);
  times[durationBucketOf(event.timeTakenMs)] = 1;
  return { ...increment, amounts: [...increment.amounts, ...times] };
}

export function toEmbedIncrement(event: EmbedUsageEvent): UsageIncrement {
  return createIncrement('embed', event.organizationId, event.model, String(event.explicitCall), {
    event_count: 1,
    total_request_bytes: event.bytes,
    total_request_tokens: event.tokens,
    total_time_taken_ms: event.timeTakenMs,
  });
}

export function toRerankIncrement(event: RerankUsageEvent): UsageIncrement {
  return createIncrement('rerank', event.organizationId, event.model, String(event.explicitCall), {
    event_count: 1,
    total_request_bytes: event.bytes,
    total_reranker_tokens: event.tokens,
    total_documents_reranked: event.documents,
    total_time_taken_ms: event.timeTakenMs,
    total_reranking_time_ms: event.inferenceMs,
  });
}

function createIncrement<Kind extends UsageKind>(
  kind: Kind,
  organizationId: string,
  subjectId: string,
  category: string,
  counters: UsageCounters<Kind>,
): UsageIncrement {
  const names: readonly CounterName<Kind>[] = counterNames[kind];
  return { kind, organizationId, subjectId, category, amounts: names.map((name) => counters[name]) };
}

/** Adds `amounts` to `sums` in place. */
export function addAmounts(sums: number[], amounts: readonly number[]): void {
  for (let i = 0; i < sums.length; i += 1) sums[i] = (sums[i] ?? 0) + (amounts[i] ?? 0);
}
