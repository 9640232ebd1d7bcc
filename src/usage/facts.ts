import type { DocumentEventEnum, QueryEnum } from '../schemas/usage.ts';

/*
 * What is worth counting, as the rooms that do the work report it. Bytes are UTF-8 or raw bytes, times milliseconds.
 * No text of anybody is part of a fact.
 */

export interface DocumentFact {
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

export interface QueryFact {
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

export interface EmbedFact {
  readonly organizationId: string;
  readonly model: string;
  /** True for a call of the model operation, false for work of documents and queries. */
  readonly explicitCall: boolean;
  readonly bytes: number;
  readonly tokens: number;
  readonly timeTakenMs: number;
}

export interface RerankFact extends EmbedFact {
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
export type Counters<Kind extends UsageKind> = Readonly<Record<CounterName<Kind>, number>>;

/** One thing to count: who, of what, and how much of each counter. */
export interface Count {
  readonly kind: UsageKind;
  readonly organizationId: string;
  /** A collection id, or a model. */
  readonly about: string;
  /** An event or type, or whether the model was called. */
  readonly what: string;
  /** As `counterNames` orders them. */
  readonly amounts: readonly number[];
}

export function countOfDocument(fact: DocumentFact): Count {
  return count('documents', fact.organizationId, fact.collectionId, fact.event, {
    event_count: 1,
    total_file_size_bytes: fact.fileBytes,
    total_content_tokens: fact.contentTokens,
    total_llm_tokens: 0,
    total_embedding_tokens: fact.embeddingTokens,
    total_coarse_chunks: fact.coarseChunks,
    total_fine_chunks: fact.fineChunks,
    total_pages: fact.pages,
    total_time_taken_ms: fact.timeTakenMs,
  });
}

/** What stands in the place of a collection where none is concerned. */
export const noCollectionId = '00000000-0000-0000-0000-000000000000';

/** A file that was parsed and not stored. */
export function parseOutsideCollections(
  parse: Pick<DocumentFact, 'organizationId' | 'fileBytes' | 'pages' | 'timeTakenMs'>,
): DocumentFact {
  const nothing = { contentTokens: 0, embeddingTokens: 0, coarseChunks: 0, fineChunks: 0 };
  return { collectionId: noCollectionId, event: 'parsed', ...nothing, ...parse };
}

export function countOfQuery(fact: QueryFact): Count {
  return count('queries', fact.organizationId, fact.collectionId, fact.type, {
    event_count: 1,
    total_query_bytes: fact.queryBytes,
    total_queried_bytes: fact.queriedBytes,
    total_query_tokens: fact.queryTokens,
    total_results_returned: fact.results,
    total_time_taken_ms: fact.timeTakenMs,
  });
}

export function countOfEmbed(fact: EmbedFact): Count {
  return count('embed', fact.organizationId, fact.model, String(fact.explicitCall), {
    event_count: 1,
    total_request_bytes: fact.bytes,
    total_request_tokens: fact.tokens,
    total_time_taken_ms: fact.timeTakenMs,
  });
}

export function countOfRerank(fact: RerankFact): Count {
  return count('rerank', fact.organizationId, fact.model, String(fact.explicitCall), {
    event_count: 1,
    total_request_bytes: fact.bytes,
    total_reranker_tokens: fact.tokens,
    total_documents_reranked: fact.documents,
    total_time_taken_ms: fact.timeTakenMs,
    total_reranking_time_ms: fact.inferenceMs,
  });
}

function count<Kind extends UsageKind>(
  kind: Kind,
  organizationId: string,
  about: string,
  what: string,
  counters: Counters<Kind>,
): Count {
  const names: readonly CounterName<Kind>[] = counterNames[kind];
  return { kind, organizationId, about, what, amounts: names.map((name) => counters[name]) };
}

/** Adds `amounts` to `sums` in place. */
export function addAmounts(sums: number[], amounts: readonly number[]): void {
  for (let i = 0; i < sums.length; i += 1) sums[i] = (sums[i] ?? 0) + (amounts[i] ?? 0);
}
