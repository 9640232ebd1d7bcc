import { limits } from '../core/limits.ts';
import type { Metadata } from '../storage/metadata-codec.ts';
import { readRecords } from './chunk-hits.ts';
import { sortByMetadata } from './metadata-order.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchRequest } from './query-request.ts';
import { boostOf } from './recency-boost.ts';
import { groupResults, listGroups, type ResultGroup } from './result-groups.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit } from './search-result.ts';
import { limitResults, type ResultLimits } from './selection.ts';

/** Number of the best results that are reordered, if the query does not ask for more. */
const orderedResultsMin = 100;

/**
 * Number of results that are found for each page at least, so that all pages are parts of one list: the scores of precise
 * snippets, and those of a reranker, depend on the results that are scored together.
 */
const pagedResultsMin = limits.topSnippetsMax;

/** Returns the query with as many results as it reorders, or as are on its page and the pages before. */
export function widenResults(query: PreparedQuery): PreparedQuery {
  const { request } = query;
  const { k, order = null, page = null } = request;
  if (order !== null) return { ...query, request: { ...request, k: Math.max(k, orderedResultsMin) } };
  if (page === null) return query;
  const wanted = Math.max(page.offset + k, pagedResultsMin);
  return { ...query, request: { ...request, k: Math.min(page.resultsMax, wanted) } };
}

/** Parts of a strategy that limit its results. */
interface Selection<Result> {
  readonly limitsOf: (request: SearchRequest) => ResultLimits;
  readonly versionOf: (result: Result) => number;
}

/**
 * Returns the best `k` results, or those of the page, best first. With an order, the best results of the widened `query`
 * are reordered: their scores are multiplied by the boost, and those above the minimum score are sorted; ties keep the order
 * of the scores. With groups, returns the first results of the first `k` groups.
 */
export async function selectResults<Result extends { readonly score: number }>(
  components: SearchComponents,
  query: PreparedQuery,
  k: number,
  results: readonly Result[],
  { limitsOf, versionOf }: Selection<Result>,
): Promise<Result[]> {
  const { request } = query;
  const resultLimits = limitsOf(request);
  const order = request.order ?? null;
  const offset = request.page?.offset ?? 0;
  if (order === null) return limitResults(results, resultLimits, versionOf).slice(offset, offset + k);
  const { boost, sort, groupBy } = order;
  const candidates = limitResults(results, { ...resultLimits, minScore: 0 }, versionOf);
  const metadataOf = await readMetadata(components, query, candidates.map(versionOf));
  const ofResult = (result: Result) => metadataOf(versionOf(result));
  const boosted: readonly Result[] =
    boost === null
      ? candidates
      : candidates
          .map((result) => ({ ...result, score: result.score * boostOf(boost, ofResult(result)) }))
          .sort((a, b) => b.score - a.score);
  const accepted =
    resultLimits.minScore > 0 ? boosted.filter(({ score }) => score >= resultLimits.minScore) : boosted;
  const sorted = sort === null ? accepted : sortByMetadata(accepted, sort, ofResult);
  return groupBy === null ? sorted.slice(offset, offset + k) : groupResults(sorted, groupBy, k, ofResult);
}

/** Returns the metadata by version; none for a version that was deleted meanwhile. */
async function readMetadata(
  components: SearchComponents,
  query: PreparedQuery,
  versions: readonly number[],
): Promise<(version: number) => Metadata> {
  const distinct = [...new Set(versions)];
  const records = await readRecords(components, query, distinct);
  const byVersion = new Map(distinct.map((version, i) => [version, records[i]?.metadata ?? {}]));
  return (version) => byVersion.get(version) ?? {};
}

/** Adds the factor of each hit to its explanation. */
export function explainBoost<H extends Hit>({ request }: PreparedQuery, hits: H[]): H[] {
  const boost = request.order?.boost ?? null;
  if (boost === null || !request.explain) return hits;
  return hits.map((hit) => ({
    ...hit,
    origin: { ...hit.origin, boost: boostOf(boost, hit.version.metadata) },
  }));
}

/** Returns the groups of the hits of a query; null if it has none. */
export function groupHits({ request }: PreparedQuery, hits: readonly Hit[]): ResultGroup[] | null {
  const groupBy = request.order?.groupBy ?? null;
  if (groupBy === null) return null;
  return listGroups(
    hits.map(({ version }) => version.metadata),
    groupBy,
  );
}
