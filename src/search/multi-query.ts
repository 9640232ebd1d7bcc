import { diversify, poolSizeForDiversity } from './diversity.ts';
import { fuseByMeanScore } from './mean-score-fusion.ts';
import { pinHits } from './pinned-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import { completeResult, type FoundResults, findHits, prepareQuery } from './run-query.ts';
import type { SearchComponents } from './search-components.ts';
import type { Hit, MissingModel, SearchResult } from './search-result.ts';
import { limitResults } from './selection.ts';
import type { ResultStrategy } from './strategies/result-strategy.ts';

/** Number of results of each query that are fused, at least: a result that several queries find ranks low in each. */
const fusedHitsMin = 50;

interface QueryHits<H> extends FoundResults<H> {
  readonly query: PreparedQuery;
}

/** Whether the hits of a request come from more than one list, or are chosen from more than `k`. */
export function needsSelection({ otherQueries = [], diversity = 0 }: SearchRequest): boolean {
  return otherQueries.length > 0 || diversity > 0;
}

/**
 * Runs the queries of a request one after the other, fuses their results by their mean scores, and chooses diverse ones
 * if requested. Relevance and facets are those of the first query.
 */
export async function searchQueries<Item, Result extends { readonly score: number }, H extends Hit>(
  components: SearchComponents,
  strategy: ResultStrategy<Item, Result, H>,
  request: SearchRequest,
): Promise<SearchResult<H>> {
  const recorder = new QueryRecorder(components.clock, request.trace);
  const { diversity = 0 } = request;
  const wanted = diversity > 0 ? poolSizeForDiversity(request.k) : request.k;
  const queries = listQueries(request);
  const depth = queries.length > 1 ? Math.max(wanted, fusedHitsMin) : wanted;
  const prepared: PreparedQuery[] = [];
  for (const { query: text, operators } of queries) {
    // The minimum score applies to fused scores.
    const minScore = queries.length > 1 ? 0 : request.control.minScore;
    const control = { ...request.control, operators, minScore };
    const each = { ...request, query: text, control, k: depth };
    prepared.push(await prepareQuery(components, each, recorder));
  }
  const highlightedWords = prepared.map(({ lexicalQuery }) => lexicalQuery);
  const found: QueryHits<H>[] = [];
  for (const each of prepared) {
    const query = { ...each, highlightedWords };
    found.push({ query, ...(await findHits(components, strategy, query)) });
  }
  const first = found[0]!;
  const best = selectHits(strategy, request, { found, k: wanted });
  const hits =
    diversity > 0 ? await diversify(components, first.query, best, { k: request.k, diversity }) : best;
  const query = { ...first.query, request };
  const curated = await pinHits(components, strategy, query, { ...first, hits });
  return combine(found, await completeResult(components, query, curated));
}

/** Returns the best hits of all queries, at most `k`. */
function selectHits<Item, Result extends { readonly score: number }, H extends Hit>(
  strategy: ResultStrategy<Item, Result, H>,
  request: SearchRequest,
  { found, k }: { readonly found: readonly QueryHits<H>[]; readonly k: number },
): H[] {
  if (found.length === 1) return found[0]!.hits;
  const lists = found.map(({ hits }) => hits);
  const { maxPerDocument, minScore } = strategy.limitsOf(request);
  return limitResults(
    fuseByMeanScore(lists, strategy.keyOf),
    { k, maxPerDocument, minScore },
    ({ version }) => version.version,
  );
}

/** The first query, and the others. */
function listQueries({ query, control, otherQueries = [] }: SearchRequest) {
  return [{ query, operators: control.operators }, ...otherQueries];
}

/** Adds the facts about all queries of the request to a result. */
function combine<H>(found: readonly QueryHits<H>[], result: SearchResult<H>): SearchResult<H> {
  const { models } = result;
  return {
    ...result,
    parents: found.flatMap(({ parents }) => parents),
    candidates: {
      get shards() {
        return found.flatMap(({ candidates }) => candidates.shards);
      },
    },
    corrections: found.flatMap(({ query }) => query.corrections),
    models: {
      ...models,
      embedded: found.some(({ query }) => query.vector !== null && (query.request.vector ?? null) === null),
      missing: withoutRepetitions(models.missing),
    },
  };
}

/** Each query reports an unavailable model; the result has it once. */
function withoutRepetitions(missing: readonly MissingModel[]): MissingModel[] {
  return missing.filter(
    ({ part, model }, i) => missing.findIndex((other) => other.part === part && other.model === model) === i,
  );
}
