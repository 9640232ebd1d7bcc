import { getGeneration } from '../storage/collections.ts';
import { analyze, emptyQuery } from './analyze.ts';
import { embed } from './embed.ts';
import type { AnalyzedQuery, PreparedQuery } from './prepared-query.ts';
import { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import { measureRelevance } from './relevance.ts';
import { appendUnranked, rerank } from './rerank.ts';
import type { SearchComponents } from './search-components.ts';
import type { DocumentHit, Hit, PageHit, SearchResult, SnippetHit } from './search-result.ts';
import { limitResults } from './selection.ts';
import { documents } from './strategies/documents.ts';
import { fineSnippets } from './strategies/fine-snippets.ts';
import { listing } from './strategies/listing.ts';
import { pages } from './strategies/pages.ts';
import type { ResultStrategy } from './strategies/result-strategy.ts';
import { snippets } from './strategies/snippets.ts';

/**
 * Runs queries and returns ranked results. All kinds of results pass the same stages; a strategy per kind has
 * the differences.
 */
export class Search {
  readonly #components: SearchComponents;

  constructor(components: SearchComponents) {
    this.#components = components;
  }

  /** Searches coarse chunks of about 2,000 characters. */
  searchSnippets(request: SearchRequest): Promise<SearchResult<SnippetHit>> {
    return this.#search(snippets, request);
  }

  /** Searches fine chunks of about 200 characters: the children of the best coarse chunks. */
  searchFineSnippets(request: SearchRequest): Promise<SearchResult<SnippetHit>> {
    return this.#search(fineSnippets, request);
  }

  searchPages(request: SearchRequest): Promise<SearchResult<PageHit>> {
    return this.#search(pages, request);
  }

  searchDocuments(request: SearchRequest): Promise<SearchResult<DocumentHit>> {
    return this.#search(documents, request);
  }

  /** Lists documents that match a filter, in no particular order, without lexical or vector search. */
  async listDocuments(
    request: Omit<SearchRequest, 'query' | 'reranker' | 'isWide'>,
  ): Promise<SearchResult<DocumentHit>> {
    const recorder = new QueryRecorder(this.#components.clock, request.trace);
    const listingRequest = { ...request, query: '', reranker: null, isWide: false };
    const analyzed = { lexicalQuery: emptyQuery, text: '', corrections: [] };
    return this.#findResults(listing, prepareQuery(listingRequest, recorder, analyzed, null));
  }

  async #search<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: ResultStrategy<Item, Result, H>,
    request: SearchRequest,
  ): Promise<SearchResult<H>> {
    const components = this.#components;
    const recorder = new QueryRecorder(components.clock, request.trace);
    const analyzed = await recorder.measure('search', () => analyze(components, request), 'analyze');
    const vector = await recorder.measure('embed', () => embed(components, request, analyzed.text, recorder));
    return this.#findResults(strategy, prepareQuery(request, recorder, analyzed, vector));
  }

  /** Runs the stages after analysis and embedding. */
  async #findResults<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: ResultStrategy<Item, Result, H>,
    query: PreparedQuery,
  ): Promise<SearchResult<H>> {
    const components = this.#components;
    // Searches the shards, fuses the scores, and reads what the next stages need.
    const { items, rest, candidates } = await strategy.findItems(components, query);
    const reranked = await rerank(components, query, items, strategy);
    const ranked = rest === undefined ? reranked : appendUnranked(reranked, rest, strategy.fusedOf);
    const results = await strategy.toResults(components, query, ranked);
    const best = limitResults(results, strategy.limitsOf(query.request), strategy.versionOf);
    const hits = await strategy.readHits(components, query, best);
    const measured = await measureRelevance(components, query, hits);
    return toSearchResult(query, measured, candidates);
  }
}

function prepareQuery(
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
    recorder,
    vector,
    generation: getGeneration(request.collection),
    weights: request.control.weights,
    yieldToEventLoop: request.yieldToEventLoop,
  };
}

function toSearchResult<H>(
  { request, recorder, vector, corrections }: PreparedQuery,
  { hits, goodMatch }: Pick<SearchResult<H>, 'hits' | 'goodMatch'>,
  candidates: SearchResult<H>['candidates'],
): SearchResult<H> {
  const { times, selection, missing, reranked } = recorder;
  const embedded = vector !== null && (request.vector ?? null) === null;
  const models = { embedded, reranked, missing };
  return { hits, goodMatch, candidates, times, models, control: request.control, selection, corrections };
}
