import { type ChunkHit, toModelText } from '../chunk-hits.ts';
import { findConstrainedChunks, hasConstraints, toTextPredicate } from '../constrained-chunks.ts';
import { toHitOrigin, toMatchedText } from '../hit-origin.ts';
import type { PreparedQuery } from '../prepared-query.ts';
import { readBestChunks } from '../proximity-rescoring.ts';
import type { RankedItem } from '../rerank.ts';
import type { SearchComponents } from '../search-components.ts';
import { depthFor, poolSizeFor } from '../search-depth.ts';
import type { SnippetHit } from '../search-result.ts';
import { searchShards } from '../search-shards.ts';
import { type ItemList, toResultLimits, type WritableStrategy } from './result-strategy.ts';

/** Coarse chunks of about 2,000 characters. */
export const snippets: WritableStrategy<ChunkHit, RankedItem<ChunkHit>, SnippetHit> = {
  planReply: ({ request }) => ({ depth: depthFor(poolSizeFor(request)), fine: null }),
  findItems: findSnippetChunks,
  textOf: toModelText,
  fusedOf: ({ candidate }) => candidate.fused,
  toResults: async (_components, _query, ranked) => ranked,
  limitsOf: toResultLimits,
  versionOf: ({ item }) => item.candidate.version,
  keyOf: ({ version, snippet }) => `${version.version} ${snippet.start}`,
  readHits: async (_components, query, results) => results.map((result) => toHit(query, result)),
};

async function findSnippetChunks(
  components: SearchComponents,
  query: PreparedQuery,
): Promise<ItemList<ChunkHit>> {
  const { request } = query;
  const poolSize = poolSizeFor(request);
  const depth = depthFor(poolSize);
  if (hasConstraints(request)) {
    const isAccepted = toTextPredicate(request);
    const { chunkHits, candidates } = await findConstrainedChunks(components, query, {
      depth,
      resultsOf: ({ chunk, number }) => (isAccepted(chunk.text) ? [String(number)] : []),
    });
    return { items: chunkHits, candidates };
  }
  const candidates = await searchShards(components, query, depth);
  const items = await readBestChunks(components, query, candidates, poolSize);
  return { items, candidates };
}

function toHit(query: PreparedQuery, result: RankedItem<ChunkHit>): SnippetHit {
  const { version, chunk, candidate } = result.item;
  const origin = toHitOrigin(query, result, candidate, toMatchedText(chunk));
  return { version, score: result.score, origin, snippet: chunk, row: candidate.row };
}
