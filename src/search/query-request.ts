import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Trace } from '../core/trace.ts';
import type { FilterNode } from '../index/collection-index.ts';
import type { FacetRequest } from '../index/facets.ts';
import type { Collection } from '../storage/collections.ts';
import { defaultWeights, type Weights } from './fuse.ts';
import type { QueryOperators } from './operators.ts';
import type { ResultOrder } from './order-request.ts';
import type { AsOf, PastState } from './past-search.ts';
import type { ResultPage } from './result-page.ts';

/** Options of a search beyond its query text. */
export interface SearchControl {
  readonly weights: Weights;
  /** Minimum score of results; 0 for no minimum. */
  readonly minScore: number;
  /** Maximum number of pages or snippets per document; infinite for no maximum. */
  readonly maxPerDocument: number;
  /** Phrases and words that results must and must not contain; null when the query is natural language. */
  readonly operators: QueryOperators | null;
}

/** Options of a query that sets none. */
export const defaultControl: SearchControl = {
  weights: defaultWeights,
  minScore: 0,
  maxPerDocument: Number.POSITIVE_INFINITY,
  operators: null,
};

/** A further query of a request. */
export interface OtherQuery {
  /** Text without operators. */
  readonly query: string;
  /** See `SearchControl`. */
  readonly operators: QueryOperators | null;
}

/** Rows that are not returned: those of the source of a search for similar content. */
export interface ExcludedRows {
  readonly version: number;
  /** Null: all rows of the version. */
  readonly rows: ReadonlySet<number> | null;
  /** Number of rows by which the search is deepened, so that enough others are found. */
  readonly count: number;
}

/** Rule of the collection for the query of a request. */
export interface QueryCuration {
  /** Versions of the documents that come first, in order. */
  readonly pinned: readonly number[];
  /** Versions of the documents that are not returned, and the paths of these documents. */
  readonly hidden: readonly number[];
  readonly hiddenPaths: ReadonlySet<string>;
}

/** One of several collections of a request. */
export interface SearchMember {
  readonly collection: Collection;
  /** Name of the collection in the request, which may be an alias. */
  readonly name: string;
  /** The filter of the request, parsed for the types of the metadata of this collection. */
  readonly filter: FilterNode | null;
}

/** A validated query. */
export interface SearchRequest {
  /** With `members`: the first of them, with the languages and types of metadata of all. */
  readonly collection: Collection;
  /** Collections that are searched as one; absent or null: only `collection`. Their vectors have one model. */
  readonly members?: readonly SearchMember[] | null;
  /** Query text without operators. */
  readonly query: string;
  /** Queries whose results are fused with those of `query`; absent or empty for none. */
  readonly otherQueries?: readonly OtherQuery[];
  /** Query vector of unit length supplied by the caller; otherwise the model of the collection computes it. */
  readonly vector?: Float32Array | null;
  /** See `diversify`; absent or 0: results are ordered by score only. */
  readonly diversity?: number;
  /** Absent or null for none. */
  readonly excluded?: ExcludedRows | null;
  /** Absent or null for none. */
  readonly curation?: QueryCuration | null;
  /** A version that matches the filter: if the search finds nothing, its first row is the result. */
  readonly requiredVersion?: number | null;
  /** Maximum number of results. */
  readonly k: number;
  readonly filter: FilterNode | null;
  /** Counts of the documents that match the filter; absent or null for none. */
  readonly facets?: readonly FacetRequest[] | null;
  /**
   * The caller must not learn anything about documents outside the filter, not even which words they contain.
   */
  readonly isRestricted?: boolean;
  /** Reranking model, null for none. */
  readonly reranker: string | null;
  /** `latency_mode: high`: search deeper and share model runs with other queries. */
  readonly isWide: boolean;
  /** Milliseconds left for the whole search. */
  readonly deadlineMs: number;
  readonly caller: CancellationToken;
  /** Called before every unit of work that takes a few milliseconds. */
  readonly yieldToEventLoop: YieldToEventLoop;
  readonly explain: boolean;
  /** Whether the reply shows the matched words of each result; absent: no. */
  readonly hasHighlights?: boolean;
  /** Whether the reply shows the places of the lines of each result; absent: no. */
  readonly hasRectangles?: boolean;
  /** Null or absent if the query is not traced. */
  readonly trace?: Trace | null;
  readonly control: SearchControl;
  /** Absent or null for the order of the scores. */
  readonly order?: ResultOrder | null;
  /** Absent or null for the first `k` results. */
  readonly page?: ResultPage | null;
  /** Absent or null for the present. */
  readonly asOf?: AsOf | null;
  /** The state that `asOf` names; absent or null for the present. */
  readonly past?: PastState | null;
}

/** Number of queries that a request counts as. */
export function countQueries({
  otherQueries = [],
  members = null,
}: Pick<SearchRequest, 'otherQueries' | 'members'>): number {
  return (1 + otherQueries.length) * (members?.length ?? 1);
}
