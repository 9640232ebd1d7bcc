import type { WrittenReply } from '../index/written-reply.ts';
import { emptyQuery } from './analyze.ts';
import { combineCollections } from './combined-collections.ts';
import { needsSelection, searchQueries } from './multi-query.ts';
import { combinePast } from './past-search.ts';
import { findCuratedHits } from './pinned-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import { QueryRecorder } from './query-recorder.ts';
import type { SearchRequest } from './query-request.ts';
import type { ReplyFormat } from './reply-parts.ts';
import { completeResult, findHits, prepareQuery, toModelStats, toPreparedQuery } from './run-query.ts';
import type { SearchComponents } from './search-components.ts';
import type { DocumentHit, Hit, PageHit, SearchResult, SnippetHit, WrittenResult } from './search-result.ts';
import { documents } from './strategies/documents.ts';
import { fineSnippets } from './strategies/fine-snippets.ts';
import { createListing } from './strategies/listing.ts';
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

  /** Lists documents that match a filter, in no particular order or sorted, without lexical or vector search. */
  async listDocuments(
    request: Omit<SearchRequest, 'query' | 'reranker' | 'isWide'>,
  ): Promise<SearchResult<DocumentHit>> {
    const components = this.#componentsFor(request);
    const recorder = new QueryRecorder(components.clock, request.trace);
    const listingRequest = { ...request, query: '', reranker: null, isWide: false, order: null };
    const analyzed = { lexicalQuery: emptyQuery, text: '', corrections: [] };
    const query = toPreparedQuery(listingRequest, recorder, analyzed, null);
    const listing = createListing(request.order?.sort ?? null);
    return completeResult(components, query, await findHits(components, listing, query));
  }

  #componentsFor(request: Omit<SearchRequest, 'query' | 'reranker' | 'isWide'>): SearchComponents {
    const { members = null, past = null } = request;
    if (past !== null) return combinePast(this.#components, request, past);
    return members === null ? this.#components : combineCollections(this.#components, members);
  }

  async #search<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: ResultStrategy<Item, Result, H>,
    request: SearchRequest,
  ): Promise<SearchResult<H>> {
    const components = this.#componentsFor(request);
    if (needsSelection(request)) return searchQueries(components, strategy, request);
    const query = await prepareQuery(components, request);
    return completeResult(components, query, await findCuratedHits(components, strategy, query));
  }

  async #write<Item, Result extends { readonly score: number }, H extends Hit>(
    strategy: WritableStrategy<Item, Result, H>,
    request: SearchRequest,
    format: ReplyFormat,
  ): Promise<SearchResult<H> | WrittenResult> {
    const components = this.#components;
    const query = await prepareQuery(components, request);
    const find = async (prepared: PreparedQuery) =>
      completeResult(components, prepared, await findHits(components, strategy, prepared));
    // A reply without a model has a warning.
    if (query.recorder.missing.length > 0) return find(query);
    const found = await query.recorder.measure('search', () =>
      searchAndWrite(components, query, strategy.planReply(query), format),
    );
    return 'hits' in found ? find({ ...query, found }) : toWrittenResult(query, found);
  }
}

function toWrittenResult(query: PreparedQuery, written: WrittenReply): WrittenResult {
  const { times, selection } = query.recorder;
  const hits = { length: written.results };
  return { written, hits, candidates: written, times, models: toModelStats(query), selection };
}
