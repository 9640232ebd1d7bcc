import { type CandidateList, findCandidates } from './candidates.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** Searches all shards for words and vectors and fuses both scores. */
export function searchShards(
  { getIndex }: SearchComponents,
  { request, vector, generation, lexicalQuery, weights, recorder }: PreparedQuery,
  depth: number,
): Promise<CandidateList> {
  const { filter, isWide, deadlineMs, caller, yieldToEventLoop, collection } = request;
  return recorder.measure('search', () =>
    findCandidates(getIndex(collection.collectionId, generation), {
      vector,
      lexicalQuery,
      weights,
      filter,
      depth,
      isWide,
      deadlineMs,
      caller,
      yieldToEventLoop,
      recorder,
    }),
  );
}
