import type { Caller } from '../base/caller.ts';
import type { FilterNode } from '../engine/collection-index.ts';
import type { Collection } from '../store/collections.ts';

/** A question to one collection, checked and understood. */
export interface SearchRequest {
  readonly collection: Collection;
  readonly query: string;
  /** How many results at most. */
  readonly k: number;
  readonly filter: FilterNode | null;
  /** Reranking model, null for none. */
  readonly reranker: string | null;
  /** `latency_mode: high`: search wider and share model runs with others. */
  readonly wide: boolean;
  /** Milliseconds left for the whole search. */
  readonly deadlineMs: number;
  readonly caller: Caller;
  readonly explain: boolean;
}

/** Where the time of a query went, in milliseconds. */
export interface SearchTimes {
  embed: number;
  search: number;
  rerank: number;
  read: number;
}
