import { getGeneration } from '../storage/collections.ts';
import { analyze } from './analyze.ts';
import { embed } from './embed.ts';
import { countFacets } from './facets.ts';
import type { AnalyzedQuery, PreparedQuery } from './prepared-query.ts';
import { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import { measureRelevance } from './relevance.ts';
import { appendUnranked, rerank } from './rerank.ts';
import { explainBoost, groupHits, selectResults, widenResults } from './result-order.ts';
import { encodeNextCursor } from './result-page.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit, ModelStats, SearchResult } from './search-result.ts';
import type { ResultStrategy } from './strategies/result-strategy.ts';

/** The stages of a query, in order. */

/** Runs analysis and embedding. */
export async function prepareQuery(
  components: SearchComponents,
  request: SearchRequest,
  recorder = new QueryRecorder(components.clock, request.trace),
): Promise<PreparedQuery> {
  const analyzed = await recorder.measure('search', () => analyze(components, request), 'analyze');
  const vector = await recorder.measure('embed', () => embed(components, request, analyzed.text, recorder));
  return toPreparedQuery(request, recorder, analyzed, vector);
}

export function toPreparedQuery(
  request: SearchRequest,
  recorder: QueryRecorder,
  { lexicalQuery, text, corrections }: AnalyzedQuery,
  vector: Float32Array | null,
): PreparedQuery {
  return {
    lexicalQuery,
    text,
    corrections,
    request,
    highlightedWords: [lexicalQuery],
    recorder,
    vector,
    found: null,
    generation: getGeneration(request.collection),
    weights: request.control.weights,
    yieldToEventLoop: request.yieldToEventLoop,
  };
}

/** Hits of a query, before the stages that concern the reply as a whole. */
export type FoundResults<H> = Pick<SearchResult<H>, 'hits' | 'candidates' | 'nextCursor'> & {
  readonly parents: NonNullable<SearchResult<H>['parents']>;
};

/** Searches the shards, fuses the scores, reranks, orders by metadata, and reads what the next stages need. */
export async function findHits<Item, Result extends { readonly score: number }, H extends Hit>(
  components: SearchComponents,
  strategy: ResultStrategy<Item, Result, H>,
  prepared: PreparedQuery,
): Promise<FoundResults<H>> {
  const query = widenResults(prepared);
  const { items, rest, parents = [], candidates } = await strategy.findItems(components, query);
  const reranked = await rerank(components, query, items, strategy);
  const ranked = rest === undefined ? reranked : appendUnranked(reranked, rest, strategy.fusedOf);
  const results = await strategy.toResults(components, query, ranked);
  const best = await selectResults(components, query, prepared.request.k, results, strategy);
  const hits = explainBoost(query, await strategy.readHits(components, query, best));
  const { k, page = null } = prepared.request;
  const nextCursor = page === null ? null : encodeNextCursor(page, k, best.length);
  return { hits, parents, candidates, nextCursor };
}

/** Measures the relevance of the hits and counts facets, if the request asks for it. */
export async function completeResult<H extends Hit>(
  components: SearchComponents,
  query: PreparedQuery,
  { hits, parents, candidates, nextCursor = null }: FoundResults<H>,
): Promise<SearchResult<H>> {
  const measured = await measureRelevance(components, query, hits);
  const facets = await countFacets(components, query);
  const groups = groupHits(query, measured.hits);
  return { ...toSearchResult(query, measured, candidates), parents, facets, groups, nextCursor };
}

function toSearchResult<H>(
  query: PreparedQuery,
  { hits, goodMatch }: Pick<SearchResult<H>, 'hits' | 'goodMatch'>,
  candidates: SearchResult<H>['candidates'],
): SearchResult<H> {
  const { request, recorder, corrections } = query;
  const { times, selection } = recorder;
  const models = toModelStats(query);
  return { hits, goodMatch, candidates, times, models, control: request.control, selection, corrections };
}

export function toModelStats({ request, recorder, vector }: PreparedQuery): ModelStats {
  const embedded = vector !== null && (request.vector ?? null) === null;
  return { embedded, reranked: recorder.reranked, missing: recorder.missing };
}
