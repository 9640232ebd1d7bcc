import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import type { Clock } from '../core/clock.ts';
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
import type { PastSearch } from '../search/past-search.ts';
import { countQueries, type SearchRequest } from '../search/query-request.ts';
import type { ReplyFormat, ReplyParts } from '../search/reply-parts.ts';
import type { Search } from '../search/search.ts';
import type { QueryOutcome, WrittenResult } from '../search/search-result.ts';
import { isWritable } from '../search/write-reply.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { ServiceCall } from './call.ts';
import type { DocumentUrls } from './document-urls.ts';
import { LineRectangles } from './line-rectangles.ts';
import { type QueryModelDescriptions, setQueryHeaders } from './model-headers.ts';
import {
  type PageReplyOptions,
  type ReplyOptions,
  renderDocuments,
  renderPages,
  renderSnippets,
} from './query-replies.ts';
import { recordQueryUsage, type UsageRecorder } from './query-usage.ts';
import { RenderedJson } from './rendered-json.ts';
import { ReplyCacheWriter } from './reply-cache-writer.ts';
import { ReplyFragments } from './reply-fragments.ts';
import { remainingMs, SearchRequestFactory, type SearchRequestFactoryOptions } from './search-requests.ts';
import type { SlowQueryLog } from './slow-query-log.ts';

type QuerySemaphore = Pick<FairSemaphore, 'acquire' | 'release'>;

export interface QueryServicesOptions extends SearchRequestFactoryOptions, UsageRecorder {
  readonly search: Search;
  readonly past: Pick<PastSearch, 'run' | 'findSequence'>;
  readonly reader: VersionReader;
  readonly documentUrls: DocumentUrls;
  readonly models: QueryModelDescriptions;
  /** Null if the engine writes no replies. */
  readonly replyParts: ReplyParts | null;
  readonly clock: Clock;
  /**
   * Semaphore for a reranker; null: for queries without one. They are separate because their bottlenecks
   * differ.
   */
  readonly semaphoreOf: (reranker: string | null) => QuerySemaphore;
  /** Charges queries to the rate limit of an organization, in addition to the request. Errors: 429. */
  readonly chargeQueries: (organizationId: string, count: number) => void;
  /** Null logs no slow queries. */
  readonly slowQueries: SlowQueryLog | null;
}

/** Type of a query, and its text as sent. */
interface QueryKind {
  readonly type: QueryEnum;
  readonly query: string;
  /** Whether no text and no vector is compared; absent: no. */
  readonly isListing?: boolean;
}

type QueryCall = ServiceCall<OrganizationPrincipal>;

/** Searches a collection for the best documents, pages or snippets. */
export class QueryServices {
  readonly #options: QueryServicesOptions;
  readonly #fragments: ReplyFragments;
  readonly #cache: ReplyCacheWriter;
  readonly #requests: SearchRequestFactory;
  readonly #rectangles: LineRectangles;

  constructor(options: QueryServicesOptions) {
    this.#options = options;
    this.#fragments = new ReplyFragments(options.documentUrls);
    this.#cache = new ReplyCacheWriter({ ...options, fragments: this.#fragments });
    this.#requests = new SearchRequestFactory(options);
    this.#rectangles = new LineRectangles(options.reader);
  }

  async topDocuments(
    call: QueryCall,
    request: TopDocumentsRequest,
  ): Promise<RenderedJson<TopDocumentsResponse>> {
    // Each document is one result, so `max_per_document` does not apply.
    const search = this.#requests.create(call, { ...request, max_per_document: null }, 'documents');
    const isListing = request.query === null && (request.similar_to ?? null) === null;
    const kind = { type: 'documents', query: request.query ?? '', isListing } as const;
    const format = isListing
      ? null
      : this.#createFormat(call, search, { unit: 'documents', metadata: request.include_metadata });
    const result = await this.#run(call, search, kind, (engine, searchRequest) => {
      if (isListing) return engine.listDocuments(searchRequest);
      return format === null
        ? engine.searchDocuments(searchRequest)
        : engine.writeDocuments(searchRequest, format);
    });
    recordQueryUsage(this.#options, { call, search, ...kind }, result);
    if ('written' in result) return toRenderedJson(result);
    if (format !== null) this.#cache.putHits(call, format, result.hits);
    return renderDocuments(result, this.#replyOptions(call, search, result, request.include_metadata));
  }

  async topPages(call: QueryCall, request: TopPagesRequest): Promise<RenderedJson<TopPagesResponse>> {
    const { documentUrls, reader } = this.#options;
    const search = this.#requests.create(call, request, 'pages');
    const kind = { type: 'pages', query: request.query } as const;
    const unit = request.include_content ? 'pages-with-content' : 'pages';
    const format = this.#createFormat(call, search, { unit, metadata: request.include_metadata });
    const result = await this.#run(call, search, kind, (engine, searchRequest) =>
      format === null ? engine.searchPages(searchRequest) : engine.writePages(searchRequest, format),
    );
    recordQueryUsage(this.#options, { call, search, ...kind }, result);
    if ('written' in result) return toRenderedJson(result);
    const options: PageReplyOptions = {
      ...this.#replyOptions(call, search, result, request.include_metadata),
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
    const precise = request.precise_responses ?? false;
    const kind = { type: precise ? 'fine' : 'coarse', query: request.query } as const;
    const search = this.#requests.create(call, request, kind.type);
    const metadata = request.include_document_metadata;
    const unit = precise ? 'fine-snippets' : 'snippets';
    const format = this.#createFormat(call, search, { unit, metadata });
    const result = await this.#run(call, search, kind, (engine, searchRequest) => {
      if (format === null)
        return precise ? engine.searchFineSnippets(searchRequest) : engine.searchSnippets(searchRequest);
      return precise
        ? engine.writeFineSnippets(searchRequest, format)
        : engine.writeSnippets(searchRequest, format);
    });
    recordQueryUsage(this.#options, { call, search, ...kind }, result);
    if ('written' in result) return toRenderedJson(result);
    if (format !== null && precise)
      await this.#cache.putFineChunks(call, format, {
        collection: search.collection,
        parents: result.parents ?? [],
      });
    else if (format !== null) this.#cache.putHits(call, format, result.hits);
    return renderSnippets(result, {
      ...this.#replyOptions(call, search, result, request.include_document_metadata),
      areChunks: !precise,
    });
  }

  /** Runs the search on the present, or on the state of the moment that the request names. */
  async #run<Result extends QueryOutcome>(
    call: QueryCall,
    search: SearchRequest,
    kind: QueryKind,
    work: (engine: Search, searchRequest: SearchRequest) => Promise<Result>,
  ): Promise<Result> {
    const { past, clock, moments } = this.#options;
    const { asOf = null, explain, collection, isRestricted = false } = search;
    // The moment concerns all documents of the collection.
    const toText = (sequence: number | null) =>
      isRestricted || sequence === null ? null : moments.toText(collection.collectionId, sequence);
    if (asOf === null) {
      if (!explain || collection.historyDays === undefined)
        return this.#runWithPermit(call, search, kind, work);
      const text = toText(await past.findSequence(collection));
      const result = await this.#runWithPermit(call, search, kind, work);
      return { ...result, moment: { text, past: null } };
    }
    return past.run(
      { ...search, asOf },
      () => remainingMs(clock, call.receivedAt),
      async (request) => {
        const result = await this.#runWithPermit(call, request, kind, work);
        const state = request.past ?? null;
        return { ...result, moment: { text: toText(state?.sequence ?? null), past: state } };
      },
    );
  }

  /** Runs the search with a permit of the organization's fair share, and records it if it was slow. */
  async #runWithPermit<Result extends QueryOutcome>(
    call: QueryCall,
    search: SearchRequest,
    kind: QueryKind,
    work: (engine: Search, searchRequest: SearchRequest) => Promise<Result>,
  ): Promise<Result> {
    const { slowQueries, semaphoreOf, clock, chargeQueries } = this.#options;
    const { organizationId } = call.principal;
    const others = countQueries(search) - 1;
    if (others > 0) chargeQueries(organizationId, others);
    const semaphore = semaphoreOf(search.reranker);
    let startedAt: number | null = null;
    try {
      const pause = semaphore.acquire(organizationId, call.cancellation);
      if (pause !== null) await pause;
      startedAt = clock.monotonic();
      try {
        const deadlineMs = remainingMs(clock, call.receivedAt);
        const result = await work(this.#options.search, pause === null ? search : { ...search, deadlineMs });
        slowQueries?.record({ call, search, ...kind, startedAt }, result);
        setQueryHeaders(call, this.#options.models, search, {
          isListing: kind.isListing ?? false,
          outcome: result,
        });
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

  #replyOptions(
    { baseUrl, yieldToEventLoop }: QueryCall,
    { explain, facets = null, hasHighlights, hasRectangles, members, page = null }: SearchRequest,
    { moment }: Pick<QueryOutcome, 'moment'>,
    metadata: boolean | undefined,
  ): ReplyOptions {
    return {
      past: moment?.past ?? null,
      facets,
      highlights: hasHighlights,
      rectangles: hasRectangles === true ? this.#rectangles : null,
      members,
      hasCursor: page !== null,
      metadata: metadata ?? false,
      explain,
      fragments: this.#fragments,
      baseUrl,
      yieldToEventLoop,
    };
  }
}

function toRenderedJson<Body>({ written }: WrittenResult): RenderedJson<Body> {
  return new RenderedJson<Body>([written.json], () => written.release());
}
