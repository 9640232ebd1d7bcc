import type { CandidateList } from '../candidates.ts';
import { type ChunkHit, readChunks, toModelText } from '../chunk-hits.ts';
import { findAcceptedPages, scorePages } from '../chunk-pages.ts';
import { type ChunkList, findConstrainedChunks, hasConstraints } from '../constrained-chunks.ts';
import { toHitOrigin, toMatchedText } from '../hit-origin.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import { readBestChunks, usesProximity } from '../proximity-rescoring.ts';
import type { SearchRequest } from '../query-request.ts';
import type { RankedItem } from '../rerank.ts';
import type { SearchComponents } from '../search-components.ts';
import { depthFor } from '../search-depth.ts';
import type { PageHit } from '../search-result.ts';
import { searchShards } from '../search-shards.ts';
import { Quota } from '../selection.ts';
import { toResultLimits, type WritableStrategy } from './result-strategy.ts';

/** Maximum depth for pages, whose chunks must be read to know the pages. */
const depthMax = 4_096;
/** Minimum number of chunks per read of a query that reads only as many as it needs. */
const batchSizeMin = 8;

/** Pages of the best coarse chunks. */
export const pages: WritableStrategy<ChunkHit, PageHit, PageHit> = {
  planReply: ({ request }) => ({ depth: depthForPages(request), fine: null }),
  findItems: async (components, query) => {
    const { chunkHits, candidates } = hasConstraints(query.request)
      ? await findConstrainedPageChunks(components, query)
      : await findPageChunks(components, query);
    return { items: chunkHits, candidates };
  },
  textOf: toModelText,
  fusedOf: ({ candidate }) => candidate.fused,
  toResults: toPages,
  limitsOf: toResultLimits,
  versionOf: ({ version }) => version.version,
  keyOf: ({ version, pageIndex }) => `${version.version} ${pageIndex}`,
  readHits: async (_components, _query, results) => [...results],
};

function depthForPages({ k }: SearchRequest): number {
  return depthFor(k * 2);
}

/**
 * Returns coarse chunks on at least `k` pages, if that many match: a page with many chunks must not hide
 * all others.
 */
async function findPageChunks(components: SearchComponents, query: PreparedQuery): Promise<ChunkList> {
  const { k } = query.request;
  for (let depth = depthForPages(query.request); ; depth *= 4) {
    const candidates = await searchShards(components, query, depth);
    const chunkHits = await readPageChunks(components, query, candidates, depth);
    if (countPages(chunkHits) >= k || candidates.length < depth || depth >= depthMax)
      return { chunkHits, candidates };
  }
}

/**
 * Returns the best `depth` chunks, or the first of them that decide the results: `toPages` ends after `k` pages
 * with the full score of a chunk, and the page of a chunk on one page has it. Most queries read 12 to 20 of 60
 * chunks then. A reranker and proximity rescoring need all.
 */
async function readPageChunks(
  components: SearchComponents,
  query: PreparedQuery,
  candidates: CandidateList,
  depth: number,
): Promise<readonly ChunkHit[]> {
  const { k, reranker } = query.request;
  if (reranker !== null || usesProximity(query)) return readBestChunks(components, query, candidates, depth);
  const best = candidates.best(depth);
  const batchSize = Math.max(k, batchSizeMin);
  const chunkHits: ChunkHit[] = [];
  for (let start = 0; start < best.length; start += batchSize) {
    chunkHits.push(...(await readChunks(components, query, best.slice(start, start + batchSize))));
    if (countPages(chunkHits.filter(isOnOnePage)) >= k) break;
  }
  return chunkHits;
}

function isOnOnePage({ chunk: { pageStart, pageEnd } }: ChunkHit): boolean {
  return pageEnd - pageStart === 1;
}

function findConstrainedPageChunks(components: SearchComponents, query: PreparedQuery): Promise<ChunkList> {
  const { k, control } = query.request;
  const depth = depthFor(k * 2);
  return findConstrainedChunks(components, query, {
    depth,
    poolSize: depth,
    resultsOf: (chunkHit) => findAcceptedPages(chunkHit, control.operators, components.reader).map(String),
  });
}

function countPages(chunkHits: readonly ChunkHit[]): number {
  const keys = new Set<string>();
  for (const { version, chunk } of chunkHits)
    for (let page = chunk.pageStart; page < chunk.pageEnd; page += 1) keys.add(`${version.version} ${page}`);
  return keys.size;
}

/** Returns the pages of the chunks, each with its best score. */
async function toPages(
  components: SearchComponents,
  query: PreparedQuery,
  ranked: readonly RankedItem<ChunkHit>[],
): Promise<PageHit[]> {
  const { k, yieldToEventLoop, control } = query.request;
  const best = new Map<string, PageHit>();
  // The best page of a chunk has the score of the chunk, so after k pages in order no better page can
  // follow.
  const quota = new Quota(control.maxPerDocument);
  for (const entry of ranked) {
    if (quota.count >= k) break;
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const { version, candidate, chunk } = entry.item;
    const origin = toHitOrigin(query, entry, candidate, toMatchedText(chunk));
    for (const { pageIndex, share } of await findPages(components, query, entry.item)) {
      const key = `${version.version} ${pageIndex}`;
      const score = entry.score * share;
      if (share === 1) quota.tryAdd(version.version, key);
      const known = best.get(key);
      const rows = isOnOnePage(entry.item) ? [...(known?.rows ?? []), candidate.row] : (known?.rows ?? []);
      const isBetter = (known?.score ?? -1) < score;
      best.set(key, isBetter || !known ? { version, pageIndex, score, origin, rows } : { ...known, rows });
    }
  }
  return [...best.values()].sort((a, b) => b.score - a.score);
}

/** Returns the pages of a chunk that the operators of the query accept, with their share of its score. */
async function findPages(components: SearchComponents, query: PreparedQuery, chunkHit: ChunkHit) {
  const { operators } = query.request.control;
  const scored = await scorePages(components, query, chunkHit);
  if (operators === null) return scored;
  const accepted = findAcceptedPages(chunkHit, operators, components.reader);
  return scored.filter(({ pageIndex }) => accepted.includes(pageIndex));
}
