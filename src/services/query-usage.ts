import type { Clock } from '../core/clock.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import { countQueries, type SearchRequest } from '../search/query-request.ts';
import type { Hit, QueryOutcome } from '../search/search-result.ts';
import type { Counts } from '../storage/counts.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { ServiceCall } from './call.ts';

export interface UsageRecorder {
  readonly meter: Pick<UsageMeter, 'recordQuery' | 'recordEmbed' | 'recordRerank'>;
  readonly counts: Counts;
  readonly clock: Clock;
  /** Model of collections without a stored model. */
  readonly defaultEmbeddingModel: string;
}

/** Written replies have no list of hits. */
type QueryResult = Omit<QueryOutcome, 'hits'> & {
  readonly hits: QueryOutcome['hits'] | readonly Pick<Hit, 'version'>[];
};

export interface RecordedQuery {
  readonly call: ServiceCall<OrganizationPrincipal>;
  readonly search: SearchRequest;
  readonly type: QueryEnum;
  /** Text of the query as sent. */
  readonly query: string;
}

/**
 * Records a request as one query for each of its texts, and the calls of models. The results and the time of the request
 * are counted once: the results with its first query, the time in equal shares.
 */
export function recordQueryUsage(
  recorder: UsageRecorder,
  { call, search, type, query }: RecordedQuery,
  result: QueryResult,
): void {
  const { meter, counts, clock } = recorder;
  const { organizationId } = call.principal;
  const { members, otherQueries = [] } = search;
  const timeTakenMs = (clock.monotonic() - call.receivedAt) / countQueries(search);
  const texts = [query, ...otherQueries.map((other) => other.query)].map(measureText);
  for (const { collection } of members ?? [search]) {
    const { collectionId } = collection;
    const queriedBytes = counts.get(collectionId).indexedBytes;
    for (const [i, { bytes: queryBytes, tokens: queryTokens }] of texts.entries()) {
      const results = i === 0 ? countResults(result, members == null ? null : collectionId) : 0;
      const sizes = { queryBytes, queriedBytes, queryTokens };
      meter.recordQuery({ organizationId, collectionId, type, ...sizes, results, timeTakenMs });
    }
  }
  recordModelUsage(recorder, { organizationId, search }, result);
}

/** Returns the number of results, those of one collection if it is not null. */
function countResults({ hits }: QueryResult, collectionId: string | null): number {
  if (collectionId === null || !('filter' in hits)) return hits.length;
  return hits.filter(({ version }) => version.collectionId === collectionId).length;
}

function recordModelUsage(
  { meter, defaultEmbeddingModel }: UsageRecorder,
  { organizationId, search }: { readonly organizationId: string; readonly search: SearchRequest },
  { times, models }: QueryOutcome,
): void {
  const { otherQueries = [] } = search;
  const texts = [search.query, ...otherQueries.map(({ query }) => query)].map(measureText);
  const model = search.collection.model?.id ?? defaultEmbeddingModel;
  const common = { organizationId, explicitCall: false };
  if (models.embedded)
    for (const size of texts)
      meter.recordEmbed({ ...common, ...size, model, timeTakenMs: times.embed / texts.length });
  if (search.reranker === null || models.reranked === 0) return;
  meter.recordRerank({
    ...common,
    bytes: texts.reduce((sum, { bytes }) => sum + bytes, 0),
    tokens: texts.reduce((sum, { tokens }) => sum + tokens, 0),
    model: search.reranker,
    documents: models.reranked,
    timeTakenMs: times.rerank,
    inferenceMs: times.rerank,
  });
}

function measureText(text: string): { bytes: number; tokens: number } {
  const tokens = text.split(/\s+/u).filter((word) => word !== '').length;
  return { bytes: Buffer.byteLength(text), tokens };
}
