import { callIndex } from './call-index.ts';
import { intersectFilters } from './intersect-filters.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchRequest } from './query-request.ts';
import { encodeNextCursor } from './result-page.ts';
import { type FoundResults, findHits } from './run-query.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit } from './search-result.ts';
import { limitResults } from './selection.ts';
import type { ResultStrategy } from './strategies/result-strategy.ts';

/** Finds the hits of a query, with those that the curation of its collection pins or hides; see `pinHits`. */
export async function findCuratedHits<Item, Result extends { readonly score: number }, H extends Hit>(
  components: SearchComponents,
  strategy: ResultStrategy<Item, Result, H>,
  query: PreparedQuery,
): Promise<FoundResults<H>> {
  const { curation = null, page = null, k } = query.request;
  if (curation === null) return findHits(components, strategy, query);
  // Pinned hits move the others to later pages.
  const firstPages = page === null ? {} : { k: page.offset + k, page: { ...page, offset: 0 } };
  const request = { ...query.request, ...firstPages };
  return pinHits(components, strategy, query, await findHits(components, strategy, { ...query, request }));
}

/**
 * Puts the best hit of each pinned document first, in the order of the curation, and removes the hidden documents. Pinned
 * documents that do not match the filter of the request stay out. `found`: the hits of all pages up to that of the request.
 */
export async function pinHits<Item, Result extends { readonly score: number }, H extends Hit>(
  components: SearchComponents,
  strategy: ResultStrategy<Item, Result, H>,
  query: PreparedQuery,
  found: FoundResults<H>,
): Promise<FoundResults<H>> {
  const { curation = null, order = null, page = null, k } = query.request;
  if (curation === null) return found;
  // The filter has excluded the versions that were visible before the search; a document may have been replaced since.
  const visible = found.hits.filter(({ version }) => !curation.hiddenPaths.has(version.path));
  // An order that the caller has chosen comes before that of the curation.
  const mayPin = (order?.sort ?? null) === null && (order?.groupBy ?? null) === null;
  const pinned = mayPin ? await findPinnedHits(components, strategy, query) : [];
  const keys = new Set(pinned.map(strategy.keyOf));
  const offset = page?.offset ?? 0;
  const merged = limitResults(
    [...pinned, ...visible.filter((hit) => !keys.has(strategy.keyOf(hit)))],
    {
      k: mayPin ? offset + k : Number.POSITIVE_INFINITY,
      maxPerDocument: mayPin ? strategy.limitsOf(query.request).maxPerDocument : Number.POSITIVE_INFINITY,
      minScore: 0,
    },
    ({ version }) => version.version,
  );
  const hasMore = found.nextCursor !== null || merged.length === offset + k;
  const nextCursor = page === null ? null : encodeNextCursor(page, k, hasMore ? k : 0);
  return { ...found, hits: merged.slice(offset), nextCursor };
}

/** Returns the best hit of each pinned document that matches the filter. */
async function findPinnedHits<Item, Result extends { readonly score: number }, H extends Hit>(
  components: SearchComponents,
  strategy: ResultStrategy<Item, Result, H>,
  query: PreparedQuery,
): Promise<H[]> {
  const { request } = query;
  const { pinned = [] } = request.curation ?? {};
  const visible = pinned.length === 0 ? new Set<number>() : await listVisible(components, query, pinned);
  const hits: H[] = [];
  // One after the other, because the chunks of a long document would displace those of others in a common search.
  for (const version of pinned.filter((each) => visible.has(each))) {
    const own = { ...query, request: toPinnedRequest(request, version) };
    const { hits: best } = await findHits(components, strategy, own);
    hits.push(...best.map((hit) => ({ ...hit, origin: { ...hit.origin, pinned: true } })));
  }
  return hits;
}

/** Returns those of the versions that match the filter of the query. */
async function listVisible(
  { getIndex }: SearchComponents,
  { request, generation }: PreparedQuery,
  versions: readonly number[],
): Promise<ReadonlySet<number>> {
  const { collection, filter, deadlineMs, caller } = request;
  const index = getIndex(collection.collectionId, generation);
  const among = intersectFilters(filter, { kind: 'version', operator: 'in', versions });
  return new Set(await callIndex(caller, () => index.list(among, versions.length, deadlineMs)));
}

/** Returns the search for the best hit of one document. No reranker reads it, because its position is fixed. */
function toPinnedRequest(request: SearchRequest, version: number): SearchRequest {
  const { control, filter } = request;
  return {
    ...request,
    k: 1,
    filter: intersectFilters(filter, { kind: 'version', operator: 'in', versions: [version] }),
    requiredVersion: version,
    reranker: null,
    isWide: false,
    page: null,
    order: null,
    control: { ...control, minScore: 0, maxPerDocument: Number.POSITIVE_INFINITY },
  };
}
