import { AppError } from '../core/app-error.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { unlistedRerankers } from '../models/registry.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type {
  TopDocumentsRequest,
  TopDocumentsResponse,
  TopPagesRequest,
  TopPagesResponse,
  TopSnippetsRequest,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import { parseFacets } from '../search/facets.ts';
import { parseFilter } from '../search/filter.ts';
import { parseOperators } from '../search/operators.ts';
import { defaultControl, type SearchControl, type SearchRequest } from '../search/query-request.ts';
import type { ReplyFormat, ReplyParts } from '../search/reply-parts.ts';
import type { Search } from '../search/search.ts';
import type { QueryOutcome, WrittenResult } from '../search/search-result.ts';
import { isWritable } from '../search/write-reply.ts';
import type { Collections } from '../storage/collections.ts';
import type { Counts } from '../storage/counts.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { UsageMeter } from '../usage/meter.ts';
import { documentFilterOf, restrictFilter } from './access-filter.ts';
import type { ServiceCall } from './call.ts';
import { findCollection } from './collections.ts';
import type { DocumentUrls } from './document-urls.ts';
import {
  type PageReplyOptions,
  type ReplyOptions,
  renderDocuments,
  renderPages,
  renderSnippets,
} from './query-replies.ts';
import { RenderedJson } from './rendered-json.ts';
import { ReplyCacheWriter } from './reply-cache-writer.ts';
import { ReplyFragments } from './reply-fragments.ts';
import type { SlowQueryLog } from './slow-query-log.ts';
import { parseQueryVector } from './vector-inputs.ts';

type QuerySemaphore = Pick<FairSemaphore, 'acquire' | 'release'>;

export interface QueryServicesOptions {
  readonly search: Search;
  readonly collections: Collections;
  readonly reader: VersionReader;
  readonly counts: Counts;
  readonly documentUrls: DocumentUrls;
  /** Null if the engine writes no replies. */
  readonly replyParts: ReplyParts | null;
  readonly meter: Pick<UsageMeter, 'recordQuery' | 'recordEmbed' | 'recordRerank'>;
  readonly clock: Clock;
  /**
   * Semaphore for a reranker; null: for queries without one. They are separate because their bottlenecks
   * differ.
   */
  readonly semaphoreOf: (reranker: string | null) => QuerySemaphore;
  /** Reranker IDs that a query may name. */
  readonly rerankModels: () => readonly string[];
  /** Reranker of queries that name none; null for no reranking. */
  readonly rerankerDefault: string | null;
  /** Model of collections without a stored model. */
  readonly defaultEmbeddingModel: string;
  /** Null logs no slow queries. */
  readonly slowQueries: SlowQueryLog | null;
}

/** The text of a query as sent, and what it searches. */
interface QueryKind {
  readonly type: QueryEnum;
  readonly query: string;
}

type QueryCall = ServiceCall<OrganizationPrincipal>;
type QueryRequest = Pick<
  TopPagesRequest,
  | 'collection_name'
  | 'k'
  | 'filter'
  | 'reranker'
  | 'latency_mode'
  | 'weights'
  | 'min_score'
  | 'max_per_document'
  | 'syntax'
  | 'explain'
  | 'query_vector'
  | 'facets'
  | 'highlights'
> & {
  readonly query: string | null;
};
/** Searches a collection for the best documents, pages or snippets. */
export class QueryServices {
  readonly #options: QueryServicesOptions;
  readonly #fragments: ReplyFragments;
  readonly #cache: ReplyCacheWriter;

  constructor(options: QueryServicesOptions) {
    this.#options = options;
    this.#fragments = new ReplyFragments(options.documentUrls);
    this.#cache = new ReplyCacheWriter({ ...options, fragments: this.#fragments });
  }

  async topDocuments(
    call: QueryCall,
    request: TopDocumentsRequest,
  ): Promise<RenderedJson<TopDocumentsResponse>> {
    // Each document is one result, so `max_per_document` does not apply.
    const search = this.#toSearchRequest(call, { ...request, max_per_document: null });
    const isListing = request.query === null;
    const kind = { type: 'documents', query: request.query ?? '' } as const;
    const format = isListing
      ? null
      : this.#createFormat(call, search, { unit: 'documents', metadata: request.include_metadata });
    const result = await this.#runWithPermit(call, search, kind, (engine, searchRequest) => {
      if (isListing) return engine.listDocuments(searchRequest);
      return format === null
        ? engine.searchDocuments(searchRequest)
        : engine.writeDocuments(searchRequest, format);
    });
    this.#recordUsage(call, search, kind, result);
    if ('written' in result) return toRenderedJson(result);
    if (format !== null) this.#cache.putHits(call, format, result.hits);
    return renderDocuments(result, this.#replyOptions(call, search, request.include_metadata));
  }

  async topPages(call: QueryCall, request: TopPagesRequest): Promise<RenderedJson<TopPagesResponse>> {
    const { documentUrls, reader } = this.#options;
    const search = this.#toSearchRequest(call, request);
    const kind = { type: 'pages', query: request.query } as const;
    const unit = request.include_content ? 'pages-with-content' : 'pages';
    const format = this.#createFormat(call, search, { unit, metadata: request.include_metadata });
    const result = await this.#runWithPermit(call, search, kind, (engine, searchRequest) =>
      format === null ? engine.searchPages(searchRequest) : engine.writePages(searchRequest, format),
    );
    this.#recordUsage(call, search, kind, result);
    if ('written' in result) return toRenderedJson(result);
    const options: PageReplyOptions = {
      ...this.#replyOptions(call, search, request.include_metadata),
      content: ({ version, pageIndex }) =>
        request.include_content
          ? (reader.readPageChunk(version, pageIndex) ?? reader.readPage(version, pageIndex) ?? null)
          : null,
      imageUrl: ({ version, pageIndex }) => documentUrls.pageImageUrl(call.baseUrl, version, pageIndex),
    };
    if (format !== null) this.#cache.putPages(call, format, { hits: result.hits, options });
    return renderPages(result, options);
  }

  async topSnippets(
    call: QueryCall,
    request: TopSnippetsRequest,
  ): Promise<RenderedJson<TopSnippetsResponse>> {
    const search = this.#toSearchRequest(call, request);
    const precise = request.precise_responses ?? false;
    const kind = { type: precise ? 'fine' : 'coarse', query: request.query } as const;
    const metadata = request.include_document_metadata;
    const unit = precise ? 'fine-snippets' : 'snippets';
    const format = this.#createFormat(call, search, { unit, metadata });
    const result = await this.#runWithPermit(call, search, kind, (engine, searchRequest) => {
      if (format === null)
        return precise ? engine.searchFineSnippets(searchRequest) : engine.searchSnippets(searchRequest);
      return precise
        ? engine.writeFineSnippets(searchRequest, format)
        : engine.writeSnippets(searchRequest, format);
    });
    this.#recordUsage(call, search, kind, result);
    if ('written' in result) return toRenderedJson(result);
    if (format !== null && precise)
      await this.#cache.putFineChunks(call, format, {
        collection: search.collection,
        parents: result.parents ?? [],
      });
    else if (format !== null) this.#cache.putHits(call, format, result.hits);
    return renderSnippets(result, {
      ...this.#replyOptions(call, search, request.include_document_metadata),
      areChunks: !precise,
    });
  }

  /** Runs the search with a permit of the organization's fair share, and records it if it was slow. */
  async #runWithPermit<Result extends QueryOutcome>(
    call: QueryCall,
    search: SearchRequest,
    kind: QueryKind,
    work: (engine: Search, searchRequest: SearchRequest) => Promise<Result>,
  ): Promise<Result> {
    const { slowQueries, semaphoreOf, clock } = this.#options;
    const semaphore = semaphoreOf(search.reranker);
    let startedAt: number | null = null;
    try {
      const pause = semaphore.acquire(call.principal.organizationId, call.cancellation);
      if (pause !== null) await pause;
      startedAt = clock.monotonic();
      try {
        const deadlineMs = this.#remainingMs(call.receivedAt);
        const result = await work(this.#options.search, pause === null ? search : { ...search, deadlineMs });
        slowQueries?.record({ call, search, ...kind, startedAt }, result);
        return result;
      } finally {
        semaphore.release();
      }
    } catch (error) {
      slowQueries?.recordFailure({ call, search, ...kind, startedAt }, error);
      throw error;
    }
  }

  /** Returns the format in which the engine can write the reply; null if it cannot. */
  #createFormat(
    call: QueryCall,
    search: SearchRequest,
    { unit, metadata }: { readonly unit: ReplyFormat['unit']; readonly metadata: boolean | undefined },
  ): ReplyFormat | null {
    const { replyParts } = this.#options;
    if (replyParts === null || metadata === true || !isWritable(search)) return null;
    const { collectionId } = search.collection;
    return replyParts.createFormat({ unit, collectionId, baseUrl: call.baseUrl, now: call.now() });
  }

  #remainingMs(receivedAt: number): number {
    return Math.max(1, limits.requestMsMax - (this.#options.clock.monotonic() - receivedAt));
  }

  #replyOptions(
    { baseUrl, yieldToEventLoop }: QueryCall,
    { explain, facets = null, hasHighlights }: SearchRequest,
    metadata: boolean | undefined,
  ): ReplyOptions {
    return {
      facets,
      highlights: hasHighlights,
      metadata: metadata ?? false,
      explain,
      fragments: this.#fragments,
      baseUrl,
      yieldToEventLoop,
    };
  }

  /** Errors: 404 for an unknown collection or reranker, 400 for an invalid filter or vector. */
  #toSearchRequest(call: QueryCall, request: QueryRequest): SearchRequest {
    const { collections, rerankerDefault } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    const reranker = request.reranker === undefined ? rerankerDefault : request.reranker;
    if (reranker !== null) this.#checkReranker(reranker);
    const { queryDefaults } = collection;
    const merged = queryDefaults === undefined ? request : { ...queryDefaults, ...request };
    const { query, control } = parseQuery((request.query ?? '').toWellFormed(), merged);
    const isListing = request.query === null;
    if (isListing && (request.query_vector ?? null) !== null)
      throw new AppError('bad_request', 'query_vector requires a query, which may be empty.');
    const vector = parseQueryVector(collection, request.query_vector ?? null, {
      isRequired: !isListing && control.weights.vector > 0,
    });
    return {
      collection,
      query,
      vector,
      k: request.k,
      filter: restrictFilter(call.principal, parseFilter(request.filter, collection.metadataSchema)),
      facets: parseFacets(request.facets),
      isRestricted: documentFilterOf(call.principal) !== null,
      reranker,
      isWide: request.latency_mode === 'high',
      deadlineMs: this.#remainingMs(call.receivedAt),
      caller: call.cancellation,
      yieldToEventLoop: call.yieldToEventLoop,
      explain: request.explain ?? false,
      hasHighlights: request.highlights ?? false,
      trace: call.trace ?? null,
      control,
    };
  }

  #checkReranker(reranker: string): void {
    const rerankers = this.#options.rerankModels();
    if (rerankers.includes(reranker) || Object.hasOwn(unlistedRerankers, reranker)) return;
    throw new AppError(
      'not_found',
      `The reranker ${JSON.stringify(reranker)} does not exist. Available rerankers: ${rerankers.join(', ')}.`,
    );
  }

  #recordUsage(
    call: QueryCall,
    search: SearchRequest,
    { type, query }: QueryKind,
    result: QueryOutcome,
  ): void {
    const { hits, times, models } = result;
    const { meter, counts, clock, defaultEmbeddingModel } = this.#options;
    const { organizationId } = call.principal;
    const { collectionId } = search.collection;
    const original = measureText(query);
    const timeTakenMs = clock.monotonic() - call.receivedAt;
    const queriedBytes = counts.get(collectionId).indexedBytes;
    const results = hits.length;
    meter.recordQuery({
      organizationId,
      collectionId,
      type,
      queryBytes: original.bytes,
      queriedBytes,
      queryTokens: original.tokens,
      results,
      timeTakenMs,
    });
    const { bytes, tokens } = search.query === query ? original : measureText(search.query);
    if (models.embedded)
      meter.recordEmbed({
        organizationId,
        explicitCall: false,
        bytes,
        tokens,
        model: search.collection.model?.id ?? defaultEmbeddingModel,
        timeTakenMs: times.embed,
      });
    if (search.reranker === null || models.reranked === 0) return;
    meter.recordRerank({
      organizationId,
      explicitCall: false,
      bytes,
      tokens,
      model: search.reranker,
      documents: models.reranked,
      timeTakenMs: times.rerank,
      inferenceMs: times.rerank,
    });
  }
}

function toRenderedJson<Body>({ written }: WrittenResult): RenderedJson<Body> {
  return new RenderedJson<Body>([written.json], () => written.release());
}

/** Splits a query into its text and its search controls: operators, weights and thresholds. */
function parseQuery(queryText: string, request: QueryRequest): { query: string; control: SearchControl } {
  const { text, operators } =
    request.syntax === 'operators' ? parseOperators(queryText) : { text: queryText, operators: null };
  return {
    query: text,
    control: {
      weights: request.weights ?? defaultControl.weights,
      minScore: request.min_score ?? defaultControl.minScore,
      maxPerDocument: request.max_per_document ?? defaultControl.maxPerDocument,
      operators,
    },
  };
}

function measureText(text: string): { bytes: number; tokens: number } {
  const tokens = text.split(/\s+/u).filter((word) => word !== '').length;
  return { bytes: Buffer.byteLength(text), tokens };
}
