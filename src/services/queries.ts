import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { FairSemaphore } from '../core/async/fair-semaphore.ts';
import { checkControl, checkK, checkQuery } from '../schemas/checks.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type {
  TopDocumentsRequest,
  TopDocumentsResponse,
  TopPagesRequest,
  TopPagesResponse,
  TopSnippetsRequest,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import { parseFilter } from '../search/filter.ts';
import { parseOperators } from '../search/operators.ts';
import { type SearchControl, type SearchRequest, usualControl } from '../search/query-request.ts';
import type { DocumentHit, Found, Search } from '../search/search.ts';
import type { Collections } from '../store/collections.ts';
import type { Counts } from '../store/counts.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { Addresses } from './addresses.ts';
import type { Call } from './call.ts';
import { findCollection } from './collections.ts';
import { vectorOfQuery } from './given-vectors.ts';
import { documentsReply, pagesReply, type Showing, snippetsReply } from './query-replies.ts';
import type { Rendered } from './rendered.ts';
import { filterOf, within } from './sight.ts';

type QuerySemaphore = Pick<FairSemaphore, 'acquire' | 'release'>;

export interface QueryServicesOptions {
  readonly search: Search;
  readonly collections: Collections;
  readonly reader: VersionReader;
  readonly counts: Counts;
  readonly addresses: Addresses;
  readonly meter: Pick<UsageMeter, 'recordQuery' | 'recordEmbed' | 'recordRerank'>;
  readonly clock: Clock;
  /** Of queries with this reranker; queries without one (null) and with one spend their time in different places. */
  readonly semaphoreOf: (reranker: string | null) => QuerySemaphore;
  /** Ids a query may name. */
  readonly rerankModels: () => readonly string[];
  /** Reranker of queries that name none; null for no reranking. */
  readonly rerankerDefault: string | null;
  /** The model of collections that remember none. */
  readonly embedModel: string;
}

type QueryCall = Call<OrganisationPrincipal>;
type AnyRequest = Pick<
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
> & {
  readonly query: string | null;
};
/** Questions: the best documents, pages or snippets of a collection. */
export class QueryServices {
  readonly #options: QueryServicesOptions;

  constructor(options: QueryServicesOptions) {
    this.#options = options;
  }

  async topDocuments(call: QueryCall, request: TopDocumentsRequest): Promise<Rendered<TopDocumentsResponse>> {
    // A document is one result, whatever a client says.
    const search = this.#understand(call, { ...request, max_per_document: null }, limits.topDocumentsMax);
    const listing = request.query === null;
    const found = await this.#inTurn(call, search, (engine, asked) =>
      listing ? engine.list(asked) : engine.documents(asked),
    );
    this.#record(call, search, { type: 'documents', query: request.query ?? '' }, found);
    return documentsReply(found, this.#showing(call, search, request.include_metadata));
  }

  async topPages(call: QueryCall, request: TopPagesRequest): Promise<Rendered<TopPagesResponse>> {
    const { addresses, reader } = this.#options;
    const search = this.#understand(call, request, limits.topPagesMax);
    const found = await this.#inTurn(call, search, (engine, asked) => engine.pages(asked));
    this.#record(call, search, { type: 'pages', query: request.query }, found);
    return pagesReply(found, {
      ...this.#showing(call, search, request.include_metadata),
      content: ({ version, pageIndex }) =>
        request.include_content ? (reader.page(version, pageIndex) ?? null) : null,
      imageUrl: ({ version, pageIndex }) => addresses.pageImage(call.baseUrl, version, pageIndex),
    });
  }

  async topSnippets(call: QueryCall, request: TopSnippetsRequest): Promise<Rendered<TopSnippetsResponse>> {
    const search = this.#understand(call, request, limits.topSnippetsMax);
    const precise = request.precise_responses ?? false;
    const found = await this.#inTurn(call, search, (engine, asked) =>
      precise ? engine.preciseSnippets(asked) : engine.snippets(asked),
    );
    this.#record(call, search, { type: precise ? 'fine' : 'coarse', query: request.query }, found);
    return snippetsReply(found, this.#showing(call, search, request.include_document_metadata));
  }

  /** Searches when the organisation has its turn. */
  async #inTurn<T>(
    { principal, caller, receivedAt }: QueryCall,
    search: SearchRequest,
    work: (engine: Search, asked: SearchRequest) => Promise<T>,
  ): Promise<T> {
    const semaphore = this.#options.semaphoreOf(search.reranker);
    const turn = semaphore.acquire(principal.organizationId, caller);
    if (turn !== null) await turn;
    try {
      const asked = turn === null ? search : { ...search, deadlineMs: this.#msLeft(receivedAt) };
      return await work(this.#options.search, asked);
    } finally {
      semaphore.release();
    }
  }

  #msLeft(receivedAt: number): number {
    return Math.max(1, limits.requestMsMax - (this.#options.clock.monotonic() - receivedAt));
  }

  #showing(
    { baseUrl, yieldToEventLoop }: QueryCall,
    { explain }: SearchRequest,
    metadata: boolean | undefined,
  ): Showing {
    const { addresses } = this.#options;
    return {
      metadata: metadata ?? false,
      explain,
      fileUrl: addresses.files(baseUrl),
      yieldToEventLoop,
    };
  }

  /** Checks a request and turns it into a question; the order of the checks is the order of the fields. */
  #understand(call: QueryCall, request: AnyRequest, kMax: number): SearchRequest {
    const { collections, rerankerDefault } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    const typed = request.query ?? '';
    checkQuery(typed);
    checkK(request.k, kMax);
    const reranker = request.reranker === undefined ? rerankerDefault : request.reranker;
    if (reranker !== null) this.#checkReranker(reranker);
    checkControl(request);
    const { queryDefaults } = collection;
    const asked = queryDefaults === undefined ? request : { ...queryDefaults, ...request };
    const { query, control } = understood(typed.toWellFormed(), asked);
    const isListing = request.query === null;
    if (isListing && (request.query_vector ?? null) !== null)
      throw new AppError('bad_request', 'query_vector needs a query; an empty one will do.');
    const vector = vectorOfQuery(collection, request.query_vector ?? null, {
      needed: !isListing && control.weights.vector > 0,
    });
    return {
      collection,
      query,
      vector,
      k: request.k,
      filter: within(call.principal, parseFilter(request.filter)),
      isConfined: filterOf(call.principal) !== null,
      reranker,
      wide: request.latency_mode === 'high',
      deadlineMs: this.#msLeft(call.receivedAt),
      caller: call.caller,
      yieldToEventLoop: call.yieldToEventLoop,
      explain: request.explain ?? false,
      control,
    };
  }

  #checkReranker(reranker: string): void {
    const known = this.#options.rerankModels();
    if (known.includes(reranker)) return;
    throw new AppError(
      'not_found',
      `There is no reranker ${JSON.stringify(reranker)}; the available ones are: ${known.join(', ')}.`,
    );
  }

  #record(
    call: QueryCall,
    search: SearchRequest,
    { type, query }: { readonly type: QueryEnum; readonly query: string },
    found: Found<DocumentHit>,
  ): void {
    const { hits, times, models } = found;
    const { meter, counts, clock, embedModel } = this.#options;
    const { organizationId } = call.principal;
    const { collectionId } = search.collection;
    const asked = size(query);
    const timeTakenMs = clock.monotonic() - call.receivedAt;
    const queriedBytes = counts.get(collectionId).indexedBytes;
    const results = hits.length;
    meter.recordQuery({
      organizationId,
      collectionId,
      type,
      queryBytes: asked.bytes,
      queriedBytes,
      queryTokens: asked.tokens,
      results,
      timeTakenMs,
    });
    const { bytes, tokens } = search.query === query ? asked : size(search.query);
    if (models.embedded)
      meter.recordEmbed({
        organizationId,
        explicitCall: false,
        bytes,
        tokens,
        model: search.collection.model?.id ?? embedModel,
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

/** A query as it is searched for, and what it asks beyond its words. */
function understood(typed: string, request: AnyRequest): { query: string; control: SearchControl } {
  const { asked, operators } =
    request.syntax === 'operators' ? parseOperators(typed) : { asked: typed, operators: null };
  return {
    query: asked,
    control: {
      weights: request.weights ?? usualControl.weights,
      minScore: request.min_score ?? usualControl.minScore,
      maxPerDocument: request.max_per_document ?? usualControl.maxPerDocument,
      operators,
    },
  };
}

function size(text: string): { bytes: number; tokens: number } {
  const tokens = text.split(/\s+/u).filter((word) => word !== '').length;
  return { bytes: Buffer.byteLength(text), tokens };
}
