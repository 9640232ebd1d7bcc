import type { SearchRequest } from './query-request.ts';

/**
 * Rows per result that lexical and vector search each return, as candidates for fusion: on six judged
 * collections, ten results from 32 and from 1,000 rows differed in only 2 of 1,000 cases and were equally
 * good (nDCG).
 */
const depthPerResult = 3;
/** Bounds of that depth: at least `depthMin`; above `depthDefaultMax`, only as many rows as results. */
const depthMin = 32;
const depthDefaultMax = 100;
/** Number of best candidates that a reranker scores. */
export const rerankDepth = 100;

/** Returns the search depth for a number of wanted rows. */
export function depthFor(countWanted: number): number {
  return Math.max(countWanted, Math.min(depthDefaultMax, Math.max(depthMin, depthPerResult * countWanted)));
}

/** Returns the number of items in the final stage: those scored by a reranker, or just the results. */
export function poolSizeFor({ k, reranker }: SearchRequest): number {
  return reranker === null ? k : Math.max(rerankDepth, k);
}
