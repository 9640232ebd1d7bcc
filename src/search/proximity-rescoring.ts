import { type Candidate, type CandidateList, compareByFusedScore } from './candidates.ts';
import { type ChunkHit, readChunks } from './chunk-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { addProximity, rescoringDepth, scoreProximity, type TermStatistics } from './proximity.ts';
import type { SearchComponents } from './search-components.ts';

/** Whether chunks are rescored by word proximity, which requires reading them. */
export function usesProximity({ request, lexicalQuery }: PreparedQuery): boolean {
  return request.isWide && lexicalQuery.terms.length > 0;
}

/** Reads the best `count` chunks, after proximity rescoring if the query uses it. */
export async function readBestChunks(
  components: SearchComponents,
  query: PreparedQuery,
  candidates: CandidateList,
  count: number,
): Promise<readonly ChunkHit[]> {
  if (!usesProximity(query)) return readChunks(components, query, candidates.best(count));
  const best = candidates.best(Math.max(count, rescoringDepth));
  const chunkHits = await readChunks(components, query, best);
  return (await rescoreByProximity(components, query, chunkHits)).slice(0, count);
}

/** Returns the best `count` candidates, after proximity rescoring if the query uses it: only that reads them. */
export async function rankBest(
  components: SearchComponents,
  query: PreparedQuery,
  candidates: CandidateList,
  count: number,
): Promise<readonly Candidate[]> {
  if (!usesProximity(query)) return candidates.best(count);
  return (await readBestChunks(components, query, candidates, count)).map(({ candidate }) => candidate);
}

/** Rescores the first chunks by proximity, if the query uses it, and returns all in the new order. */
export async function rescoreByProximity(
  components: SearchComponents,
  query: PreparedQuery,
  chunkHits: readonly ChunkHit[],
): Promise<readonly ChunkHit[]> {
  if (!usesProximity(query) || chunkHits.length === 0) return chunkHits;
  const { recorder, lexicalQuery, request } = query;
  const first = chunkHits.slice(0, rescoringDepth);
  const scores = await recorder.measure('search', async () =>
    scoreProximity(first, lexicalQuery, countTerms(components, query), request),
  );
  recorder.recordRescored(first.length);
  return chunkHits
    .map((chunkHit, i) => {
      const { candidate } = chunkHit;
      const proximity = scores[i] ?? null;
      const rescored: Candidate = { ...candidate, fused: addProximity(candidate.fused, proximity) };
      return { ...chunkHit, candidate: proximity === null ? rescored : { ...rescored, proximity } };
    })
    .sort((a, b) => compareByFusedScore(a.candidate, b.candidate));
}

function countTerms(
  { getIndex }: SearchComponents,
  { request, generation, lexicalQuery }: PreparedQuery,
): TermStatistics {
  const index = getIndex(request.collection.collectionId, generation);
  const rows = index.countRowsOfTerms(lexicalQuery.terms.map(({ hash }) => hash));
  const rowsByGroup = lexicalQuery.words.map(() => 0);
  for (const [i, { group }] of lexicalQuery.terms.entries())
    rowsByGroup[group] = rowsByGroup[group]! + rows[i]!;
  return { rows: index.statistics().rows, rowsByGroup };
}
