import { CandidateList, findCandidates } from './candidates.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** Searches all shards for words and vectors and fuses both scores. */
export function searchShards(
  { getIndex }: SearchComponents,
  { request, vector, generation, lexicalQuery, weights, recorder, found }: PreparedQuery,
  depth: number,
): Promise<CandidateList> {
  if (found?.depth === depth) return Promise.resolve(new CandidateList(found.hits, vector !== null, weights));
  const {
    filter,
    excluded = null,
    requiredVersion = null,
    isWide,
    deadlineMs,
    caller,
    yieldToEventLoop,
    collection,
  } = request;
  return recorder.measure('search', () =>
    findCandidates(getIndex(collection.collectionId, generation), {
      vector,
      lexicalQuery,
      weights,
      filter,
      depth: depth + (excluded?.count ?? 0),
      excluded,
      requiredVersion,
      isWide,
      deadlineMs,
      caller,
      yieldToEventLoop,
      recorder,
    }),
  );
}
