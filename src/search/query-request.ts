import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { FilterNode } from '../index/collection-index.ts';
import type { Collection } from '../storage/collections.ts';
import { defaultWeights, type Weights } from './fuse.ts';
import type { QueryOperators } from './operators.ts';

/** What a query asks of a search beyond its words. */
export interface SearchControl {
  readonly weights: Weights;
  /** Results that score less are left out; 0 leaves none out. */
  readonly minScore: number;
  /** Pages or snippets of one document at most; infinite for any number. */
  readonly maxPerDocument: number;
  /** What the text of a result must and must not say; null when the query is natural language. */
  readonly operators: QueryOperators | null;
}

/** Of a query that asks for nothing of the kind. */
export const defaultControl: SearchControl = {
  weights: defaultWeights,
  minScore: 0,
  maxPerDocument: Number.POSITIVE_INFINITY,
  operators: null,
};

/** A question to one collection, checked and understood. */
export interface SearchRequest {
  readonly collection: Collection;
  /** What is looked for, without operators. */
  readonly query: string;
  /** Of unit length, where the caller made it; otherwise the model of the collection does. */
  readonly vector?: Float32Array | null;
  /** How many results at most. */
  readonly k: number;
  readonly filter: FilterNode | null;
  /** The caller must learn nothing of documents that the filter leaves out, not even which words they have. */
  readonly isRestricted?: boolean;
  /** Reranking model, null for none. */
  readonly reranker: string | null;
  /** `latency_mode: high`: search wider and share model runs with others. */
  readonly isWide: boolean;
  /** Milliseconds left for the whole search. */
  readonly deadlineMs: number;
  readonly caller: CancellationToken;
  /** Asked before every unit of work that takes a few milliseconds. */
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly explain: boolean;
  readonly control: SearchControl;
}

/** Where the time of a query went, in milliseconds. */
export interface SearchTimes {
  embed: number;
  search: number;
  rerank: number;
  read: number;
}
