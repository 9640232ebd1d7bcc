import type { IndexHits } from '../../index/collection-index.ts';
import type { Candidate } from '../candidates.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import type { SearchRequest } from '../query-request.ts';
import type { RankedItem, RerankAccess } from '../rerank.ts';
import type { SearchComponents } from '../search-components.ts';
import type { ResultLimits } from '../selection.ts';
import type { WritePlan } from '../write-reply.ts';

/** Items that enter the final stage of a query. */
export interface ItemList<Item> {
  /** Best first; a reranker may reorder them. */
  readonly items: readonly Item[];
  /** Items that follow the others; no reranker reads them. */
  readonly rest?: readonly Item[];
  /** The coarse chunks whose fine chunks were scored; absent if none were. */
  readonly parents?: readonly Candidate[];
  /** Creates the reports of the shards on access. */
  readonly candidates: Pick<IndexHits, 'shards'>;
}

/**
 * The differences between kinds of results; `search.ts` has their common order. `Item`: unit of the reranker.
 * `Result`: unit of the limits.
 */
export interface ResultStrategy<Item, Result extends { readonly score: number }, Hit>
  extends RerankAccess<Item> {
  /**
   * Searches the shards, deeper if necessary, and returns enough items for `k` results and for the reranker,
   * if that many match.
   */
  readonly findItems: (components: SearchComponents, query: PreparedQuery) => Promise<ItemList<Item>>;
  /** Converts ranked items to results, best first. */
  readonly toResults: (
    components: SearchComponents,
    query: PreparedQuery,
    ranked: readonly RankedItem<Item>[],
  ) => Promise<readonly Result[]>;
  readonly limitsOf: (request: SearchRequest) => ResultLimits;
  readonly versionOf: (result: Result) => number;
  /** Identifies a hit among those of several queries. */
  readonly keyOf: (hit: Hit) => string;
  /** Reads the data of the results that replies show; results of deleted documents are left out. */
  readonly readHits: (
    components: SearchComponents,
    query: PreparedQuery,
    results: readonly Result[],
  ) => Promise<Hit[]>;
}

/** A strategy for results whose reply the engine can write. */
export interface WritableStrategy<Item, Result extends { readonly score: number }, Hit>
  extends ResultStrategy<Item, Result, Hit> {
  readonly planReply: (query: PreparedQuery) => WritePlan;
}

/** The limits of a request, for kinds of results that all of them apply to. */
export function toResultLimits({ k, control: { maxPerDocument, minScore } }: SearchRequest): ResultLimits {
  return { k, maxPerDocument, minScore };
}
