import type { WrittenReply } from '../index/written-reply.ts';
import { getGeneration } from '../storage/collections.ts';
import { analyze, emptyQuery } from './analyze.ts';
import { embed } from './embed.ts';
import { countFacets } from './facets.ts';
import type { AnalyzedQuery, PreparedQuery } from './prepared-query.ts';
import { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import { measureRelevance } from './relevance.ts';
import type { ReplyFormat } from './reply-parts.ts';
import { appendUnranked, rerank } from './rerank.ts';
import type { SearchComponents } from './search-components.ts';
import type {
  DocumentHit,
  Hit,
  ModelStats,
  PageHit,
  SearchResult,
  SnippetHit,
  WrittenResult,
} from './search-result.ts';
import { limitResults } from './selection.ts';
import { documents } from './strategies/documents.ts';
import { fineSnippets } from './strategies/fine-snippets.ts';
import { listing } from './strategies/listing.ts';
import { pages } from './strategies/pages.ts';
import type { ResultStrategy, WritableStrategy } from './strategies/result-strategy.ts';
import { snippets } from './strategies/snippets.ts';
import { searchAndWrite } from './write-reply.ts';

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

  /** Same as `searchSnippets`, but returns the reply itself if the engine can write it; see `isWritable`. */
  writeSnippets(
    request: SearchRequest,
    format: ReplyFormat,
  ): Promise<SearchResult<SnippetHit> | WrittenResult> {
    return this.#write(snippets, request, format);
  }

  /** Same as `searchFineSnippets`, but returns the reply itself if the engine can write it. */
  writeFineSnippets(
    request: SearchRequest,
    format: ReplyFormat,
  ): Promise<SearchResult<SnippetHit> | WrittenResult> {
    return this.#write(fineSnippets, request, format);
  }

  /** Same as `searchPages`, but returns the reply itself if the engine can write it. */
  writePages(request: SearchRequest, format: ReplyFormat): Promise<SearchResult<PageHit> | WrittenResult> {
    return this.#write(pages, request, format);
  }

  /** Same as `searchDocuments`, but returns the reply itself if the engine can write it. */
  writeDocuments(
    request: SearchRequest,
    format: ReplyFormat,
  ): Promise<SearchResult<DocumentHit> | WrittenResult> {
    return this.#write(documents, request, format);
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
    return this.#findResults(strategy, await this.#prepare(request));
  }

  async #write<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: WritableStrategy<Item, Result, H>,
    request: SearchRequest,
    format: ReplyFormat,
  ): Promise<SearchResult<H> | WrittenResult> {
    const query = await this.#prepare(request);
    const { recorder } = query;
    // A reply without a model has a warning.
    if (recorder.missing.length > 0) return this.#findResults(strategy, query);
    const found = await recorder.measure('search', () =>
      searchAndWrite(this.#components, query, strategy.planReply(query), format),
    );
    return 'hits' in found ? this.#findResults(strategy, { ...query, found }) : toWrittenResult(query, found);
  }

  /** Runs analysis and embedding. */
  async #prepare(request: SearchRequest): Promise<PreparedQuery> {
    const components = this.#components;
    const recorder = new QueryRecorder(components.clock, request.trace);
    const analyzed = await recorder.measure('search', () => analyze(components, request), 'analyze');
    const vector = await recorder.measure('embed', () => embed(components, request, analyzed.text, recorder));
    return prepareQuery(request, recorder, analyzed, vector);
  }

  /** Runs the stages after analysis and embedding. */
  async #findResults<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: ResultStrategy<Item, Result, H>,
    query: PreparedQuery,
  ): Promise<SearchResult<H>> {
    const components = this.#components;
    // Searches the shards, fuses the scores, and reads what the next stages need.
    const { items, rest, parents = [], candidates } = await strategy.findItems(components, query);
    const reranked = await rerank(components, query, items, strategy);
    const ranked = rest === undefined ? reranked : appendUnranked(reranked, rest, strategy.fusedOf);
    const results = await strategy.toResults(components, query, ranked);
    const best = limitResults(results, strategy.limitsOf(query.request), strategy.versionOf);
    const hits = await strategy.readHits(components, query, best);
    const measured = await measureRelevance(components, query, hits);
    const facets = await countFacets(components, query);
    return { ...toSearchResult(query, measured, candidates), parents, facets };
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
    found: null,
    generation: getGeneration(request.collection),
    weights: request.control.weights,
    yieldToEventLoop: request.yieldToEventLoop,
  };
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

function toWrittenResult(query: PreparedQuery, written: WrittenReply): WrittenResult {
  const { times, selection } = query.recorder;
  const hits = { length: written.results };
  return { written, hits, candidates: written, times, models: toModelStats(query), selection };
}

function toModelStats({ request, recorder, vector }: PreparedQuery): ModelStats {
  const embedded = vector !== null && (request.vector ?? null) === null;
  return { embedded, reranked: recorder.reranked, missing: recorder.missing };
}
