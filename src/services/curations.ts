import { AppError } from '../core/app-error.ts';
import type { Curations } from '../schemas/curations.ts';
import { findCuration, toCuratedQuery } from '../search/curation.ts';
import type { QueryCuration, SearchRequest } from '../search/query-request.ts';
import type { Collection } from '../storage/collections.ts';
import type { Documents } from '../storage/documents.ts';

/** Errors: AppError `bad_request` for a query that occurs in several rules, or that has no words. */
export function checkCuratedQueries(curations: Curations): void {
  const known = new Map<string, number>();
  for (const [i, { queries }] of curations.entries()) {
    for (const query of queries) {
      const words = toCuratedQuery(query);
      if (words === '')
        throw new AppError(
          'bad_request',
          `curations[${i}]: the query ${JSON.stringify(query)} has no words.`,
        );
      const other = known.get(words) ?? i;
      if (other !== i)
        throw new AppError(
          'bad_request',
          `curations[${i}] repeats the query ${JSON.stringify(query)} of curations[${other}]. A query may occur in one rule only.`,
        );
      known.set(words, i);
    }
  }
}

/** Parts of a request that determine whether a curation applies. */
interface CuratedRequest {
  readonly query: string | null;
  readonly queries?: readonly string[] | null | undefined;
  readonly similar_to?: unknown;
}

/** Returns the curation of a request to one collection, with the current versions of its documents; null for none. */
export function readCuration(
  documents: Pick<Documents, 'getMany'>,
  { collectionId, curations }: Collection,
  { query, queries, similar_to: similarTo = null }: CuratedRequest,
  { operators }: SearchRequest['control'],
): QueryCuration | null {
  if (curations === undefined || query === null || similarTo !== null || (queries ?? []).length > 0)
    return null;
  if (operators !== null && operators.phrases.length + operators.excluded.length > 0) return null;
  const found = findCuration(curations, query);
  if (found === undefined) return null;
  const { pinned = [], hidden = [] } = found;
  const readVersions = (paths: readonly string[]) =>
    documents
      .getMany(collectionId, paths)
      .map((record) => record?.live ?? null)
      .filter((version) => version !== null);
  return { pinned: readVersions(pinned), hidden: readVersions(hidden), hiddenPaths: new Set(hidden) };
}
