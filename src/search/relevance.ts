import { goodMatchMin } from '../core/good-match.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit, SearchResult } from './search-result.ts';

/** Number of hits whose relevance is measured. */
export const measuredHitsMax = 10;

/**
 * Measures the relevance of the first hits if the query asks for an explanation. Unlike the score of a hit,
 * which orders the results of one query, it is comparable between queries.
 */
export async function measureRelevance<H extends Hit>(
  { models }: Pick<SearchComponents, 'models'>,
  { request: { explain, vector = null }, text, recorder }: PreparedQuery,
  hits: H[],
): Promise<Pick<SearchResult<H>, 'hits' | 'goodMatch'>> {
  // The text of a query with a vector of its own may say little about it.
  if (!explain || text === '' || vector !== null) return { hits, goodMatch: null };
  const texts = hits.slice(0, measuredHitsMax).map(({ origin }) => origin.modelText());
  const scores = await recorder.measure('rerank', () => models.measureRelevance(text, texts));
  if (scores === null) return { hits, goodMatch: null };
  return {
    hits: hits.map((hit, i) => ({ ...hit, origin: { ...hit.origin, relevance: scores[i] ?? null } })),
    goodMatch: scores.some((score) => score >= goodMatchMin),
  };
}
