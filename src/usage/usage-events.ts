import type { DocumentEventEnum, QueryEnum } from '../schemas/usage.ts';

/*
 * What is worth counting, as the rooms that do the work report it. Bytes are UTF-8 or raw bytes, times milliseconds.
 * No text of anybody is part of a fact.
 */

export interface DocumentUsageEvent {
  readonly organizationId: string;
  readonly collectionId: string;
  readonly event: DocumentEventEnum;
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
  /** Indexed bytes of the collection when it was asked. */
  readonly queriedBytes: number;
  readonly queryTokens: number;
  readonly results: number;
  readonly timeTakenMs: number;
}

export interface EmbedUsageEvent {
  readonly organizationId: string;
  readonly model: string;
  /** True for a call of the model operation, false for work of documents and queries. */
  readonly explicitCall: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly timeTakenMs: number;
}

export interface RerankUsageEvent extends EmbedUsageEvent {
  readonly documents: number;
  /** Of `timeTakenMs`, the part spent in the model. */
  readonly inferenceMs: number;
}

export const usageKinds = ['documents', 'queries', 'embed', 'rerank'] as const;
export type UsageKind = (typeof usageKinds)[number];

/**
 * What a row of each kind adds up, in the order in which its counters are stored; the names are those of the API.
 * The order is part of the format on disk: new counters go to the end.
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

export type CounterName<Kind extends UsageKind> = (typeof counterNames)[Kind][number];
export type UsageCounters<Kind extends UsageKind> = Readonly<Record<CounterName<Kind>, number>>;

/** One thing to count: who, of what, and how much of each counter. */
export interface UsageIncrement {
  readonly kind: UsageKind;
  readonly organizationId: string;
  /** A collection id, or a model. */
  readonly subjectId: string;
  /** An event or type, or whether the model was called. */
  readonly category: string;
  /** As `counterNames` orders them. */
  readonly amounts: readonly number[];
}

export function toDocumentIncrement(event: DocumentUsageEvent): UsageIncrement {
  return createIncrement('documents', event.organizationId, event.collectionId, event.event, {
    event_count: 1,
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

/** What stands in the place of a collection where none is concerned. */
export const noCollectionId = '00000000-0000-0000-0000-000000000000';

/** A file that was parsed and not stored. */
export function parseOutsideCollections(
  parse: Pick<DocumentUsageEvent, 'organizationId' | 'fileBytes' | 'pages' | 'timeTakenMs'>,
): DocumentUsageEvent {
  const nothing = { contentTokens: 0, embeddingTokens: 0, coarseChunks: 0, fineChunks: 0 };
  return { collectionId: noCollectionId, event: 'parsed', ...nothing, ...parse };
}

export function toQueryIncrement(event: QueryUsageEvent): UsageIncrement {
  return createIncrement('queries', event.organizationId, event.collectionId, event.type, {
    event_count: 1,
    total_query_bytes: event.queryBytes,
    total_queried_bytes: event.queriedBytes,
    total_query_tokens: event.queryTokens,
    total_results_returned: event.results,
    total_time_taken_ms: event.timeTakenMs,
  });
}

export function toEmbedIncrement(event: EmbedUsageEvent): UsageIncrement {
  return createIncrement('embed', event.organizationId, event.model, String(event.explicitCall), {
    event_count: 1,
    total_request_bytes: event.bytes,
    total_request_tokens: event.tokens,
    total_time_taken_ms: event.timeTakenMs,
  });
}

export function toRerankIncrement(fact: RerankUsageEvent): UsageIncrement {
  return createIncrement('rerank', fact.organizationId, fact.model, String(fact.explicitCall), {
    event_count: 1,
    total_request_bytes: fact.bytes,
    total_reranker_tokens: fact.tokens,
    total_documents_reranked: fact.documents,
    total_time_taken_ms: fact.timeTakenMs,
    total_reranking_time_ms: fact.inferenceMs,
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
