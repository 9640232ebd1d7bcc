import type { CandidateList } from './candidates.ts';
import { type ChunkHit, readChunks } from './chunk-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { rescoreByProximity } from './proximity-rescoring.ts';
import type { SearchRequest } from './query-request.ts';
import type { SearchComponents } from './search-components.ts';
import { poolSizeFor, rerankDepth } from './search-depth.ts';
import { searchShards } from './search-shards.ts';
import { type SelectionOptions, selectChunks } from './selection.ts';

/** A reranker gets up to this multiple of the maximum results per document, so that it has a choice. */
export const oversamplingMax = 3;

type ChunkConstraints = Pick<SelectionOptions, 'depth' | 'resultsOf'> & {
  /** Number of chunks wanted; default: those of the final stage. */
  readonly poolSize?: number;
  /** Maximum number of results per document; default: that of the request. */
  readonly perDocument?: number;
  /** Multiple of `perDocument` that limits the additional chunks per document; default: `oversamplingFor`. */
  readonly oversampling?: number;
};

/** Chunks that have been read, and the search that found them. */
export interface ChunkList {
  /** In the order of the fused scores. */
  readonly chunkHits: readonly ChunkHit[];
  readonly candidates: CandidateList;
}

/** Whether the results are constrained beyond their order. */
export function hasConstraints({ control }: SearchRequest): boolean {
  return control.operators !== null || Number.isFinite(control.maxPerDocument);
}

/** Returns a predicate that tests a text against the operators of the query. */
export function toTextPredicate({ control: { operators } }: SearchRequest): (text: string) => boolean {
  return (text) => operators === null || operators.accepts(text);
}

/**
 * Returns the multiple of the maximum results per document that enters the final stage, such that the
 * reranked items yield `k` results.
 */
export function oversamplingFor({ k, reranker }: SearchRequest): number {
  return reranker === null ? 1 : Math.min(oversamplingMax, Math.max(1, Math.floor(rerankDepth / k)));
}

/** Returns coarse chunks that satisfy the constraints of the query; searches deeper until `k` results exist. */
export async function findConstrainedChunks(
  components: SearchComponents,
  query: PreparedQuery,
  constraints: ChunkConstraints,
): Promise<ChunkList> {
  const { request, recorder } = query;
  const perDocument = constraints.perDocument ?? request.control.maxPerDocument;
  const { chunkHits, candidates, checked, complete } = await selectChunks({
    depth: constraints.depth,
    resultsOf: constraints.resultsOf,
    k: request.k,
    poolSize: constraints.poolSize ?? poolSizeFor(request),
    perDocument,
    extraPerDocument: perDocument * (constraints.oversampling ?? oversamplingFor(request)),
    find: (depth) => searchShards(components, query, depth),
    read: (batch) => readChunks(components, query, batch),
    caller: request.caller,
    yieldToEventLoop: request.yieldToEventLoop,
  });
  recorder.recordSelection({ checked, complete });
  return { chunkHits: await rescoreByProximity(components, query, chunkHits), candidates };
}
