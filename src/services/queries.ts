import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { checkK, checkQuery } from '../schemas/checks.ts';
import type { OrganisationPrincipal } from '../schemas/principal.ts';
import type {
  DocumentRetrievalResponse,
  QueryExplanation,
  ResultExplanation,
  TopDocumentsRequest,
  TopDocumentsResponse,
  TopPagesRequest,
  TopPagesResponse,
  TopSnippetsRequest,
  TopSnippetsResponse,
} from '../schemas/queries.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import type { DocumentMetadataJson } from '../schemas/wire.ts';
import { parseFilter } from '../search/filter.ts';
import type { SearchRequest } from '../search/query-request.ts';
import type { Found, HitOrigin, PageHit, Search, SnippetHit } from '../search/search.ts';
import type { Collections } from '../store/collections.ts';
import type { Counts } from '../store/counts.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { VersionRecord } from '../store/versions.ts';
import type { UsageMeter } from '../usage/meter.ts';
import type { Addresses } from './addresses.ts';
import type { Call } from './call.ts';
import { findCollection } from './collections.ts';

export interface QueryServicesOptions {
  readonly search: Search;
  readonly collections: Collections;
  readonly reader: VersionReader;
  readonly counts: Counts;
  readonly addresses: Addresses;
  readonly meter: Pick<UsageMeter, 'recordQuery' | 'recordEmbed' | 'recordRerank'>;
  readonly clock: Clock;
  /** Ids a query may name. */
  readonly rerankModels: readonly string[];
  /** Reranker of queries that name none; null for no reranking. */
  readonly rerankerDefault: string | null;
  readonly embedModel: string;
}

type QueryCall = Call<OrganisationPrincipal>;
type AnyRequest = Pick<
  TopPagesRequest,
  'collection_name' | 'k' | 'filter' | 'reranker' | 'latency_mode' | 'explain'
> & {
  readonly query: string | null;
};
interface AnyHit {
  readonly version: VersionRecord;
  readonly score: number;
  readonly origin: HitOrigin;
}

/** Questions: the best documents, pages or snippets of a collection. */
export class QueryServices {
  readonly #options: QueryServicesOptions;

  constructor(options: QueryServicesOptions) {
    this.#options = options;
  }

  async topDocuments(call: QueryCall, request: TopDocumentsRequest): Promise<TopDocumentsResponse> {
    const search = this.#understand(call, request, limits.topDocumentsMax);
    const listing = request.query === null;
    const found = await (listing
      ? this.#options.search.list(search)
      : this.#options.search.documents(search));
    this.#record(call, search, 'documents', found);
    const withMetadata = request.include_metadata ?? false;
    return {
      results: found.hits.map((hit) => ({
        ...this.#document(call, hit, withMetadata),
        ...explained(search, hit),
      })),
      ...explanation(search, found),
    };
  }

  async topPages(call: QueryCall, request: TopPagesRequest): Promise<TopPagesResponse> {
    const { addresses, reader } = this.#options;
    const search = this.#understand(call, request, limits.topPagesMax);
    const found = await this.#options.search.pages(search);
    this.#record(call, search, 'pages', found);
    const content = ({ version, pageIndex }: PageHit) =>
      request.include_content ? (reader.page(version, pageIndex) ?? null) : null;
    return {
      results: found.hits.map((hit) => ({
        path: hit.version.path,
        page_index: hit.pageIndex,
        score: hit.score,
        content: content(hit),
        image_url: addresses.pageImage(call.baseUrl, hit.version, hit.pageIndex),
        ...explained(search, hit),
      })),
      document_results: this.#documentsOf(call, found.hits, request.include_metadata ?? false),
      ...explanation(search, found),
    };
  }

  async topSnippets(call: QueryCall, request: TopSnippetsRequest): Promise<TopSnippetsResponse> {
    const search = this.#understand(call, request, limits.topSnippetsMax);
    const precise = request.precise_responses ?? false;
    const found = await (precise
      ? this.#options.search.preciseSnippets(search)
      : this.#options.search.snippets(search));
    this.#record(call, search, precise ? 'fine' : 'coarse', found);
    return {
      results: found.hits.map((hit) => ({ ...snippet(hit), ...explained(search, hit) })),
      document_results: this.#documentsOf(call, found.hits, request.include_document_metadata ?? false),
      ...explanation(search, found),
    };
  }

  /** Checks a request and turns it into a question; the order of the checks is the order of the fields. */
  #understand(call: QueryCall, request: AnyRequest, kMax: number): SearchRequest {
    const { collections, rerankModels, rerankerDefault, clock } = this.#options;
    const collection = findCollection(collections, call.principal, request.collection_name);
    const query = request.query ?? '';
    checkQuery(query);
    checkK(request.k, kMax);
    const reranker = request.reranker === undefined ? rerankerDefault : request.reranker;
    if (reranker !== null && !rerankModels.includes(reranker)) {
      throw new AppError(
        'not_found',
        `There is no reranker ${JSON.stringify(reranker)}; the available ones are: ${rerankModels.join(', ')}.`,
      );
    }
    return {
      collection,
      query: query.toWellFormed(),
      k: request.k,
      filter: parseFilter(request.filter),
      reranker,
      wide: request.latency_mode === 'high',
      deadlineMs: Math.max(1, limits.requestMsMax - (clock.monotonic() - call.receivedAt)),
      signal: call.signal,
      explain: request.explain ?? false,
    };
  }

  #document(call: QueryCall, { version, score }: AnyHit, withMetadata: boolean): DocumentRetrievalResponse {
    return {
      path: version.path,
      score,
      metadata: withMetadata ? (version.metadata as DocumentMetadataJson) : null,
      file_url: this.#options.addresses.file(call.baseUrl, version.documentId),
    };
  }

  /** Each document that a hit comes from, once, with the score of its best hit. */
  #documentsOf(call: QueryCall, hits: readonly AnyHit[], withMetadata: boolean): DocumentRetrievalResponse[] {
    const best = new Map<number, AnyHit>();
    for (const hit of hits) if (!best.has(hit.version.version)) best.set(hit.version.version, hit);
    return [...best.values()].map((hit) => this.#document(call, hit, withMetadata));
  }

  #record(call: QueryCall, search: SearchRequest, type: QueryEnum, { hits, times }: Found<AnyHit>): void {
    const { meter, counts, clock, embedModel } = this.#options;
    const { organizationId } = call.principal;
    const { collectionId } = search.collection;
    const bytes = Buffer.byteLength(search.query);
    const tokens = search.query.split(/\s+/u).filter((word) => word !== '').length;
    const timeTakenMs = clock.monotonic() - call.receivedAt;
    const queriedBytes = counts.get(collectionId).indexedBytes;
    const results = hits.length;
    meter.recordQuery({
      organizationId,
      collectionId,
      type,
      queryBytes: bytes,
      queriedBytes,
      queryTokens: tokens,
      results,
      timeTakenMs,
    });
    const internal = { organizationId, explicitCall: false, bytes, tokens };
    meter.recordEmbed({ ...internal, model: embedModel, timeTakenMs: times.embed });
    if (search.reranker === null) return;
    meter.recordRerank({
      ...internal,
      model: search.reranker,
      documents: results,
      timeTakenMs: times.rerank,
      inferenceMs: times.rerank,
    });
  }
}

function snippet(hit: SnippetHit): TopSnippetsResponse['results'][number] {
  return {
    path: hit.version.path,
    start_index: hit.start,
    end_index: hit.end,
    page_span: [hit.pageStart, hit.pageEnd],
    content: hit.text,
    score: hit.score,
  };
}

function explained({ explain }: SearchRequest, { origin }: AnyHit): { explain?: ResultExplanation } {
  if (!explain) return {};
  return {
    explain: {
      lexical: { score: origin.lexical, terms: [...origin.words] },
      vector: { similarity: origin.similarity },
      fused: origin.fused,
      rerank: origin.rerank,
    },
  };
}

function explanation(
  { explain }: SearchRequest,
  { shards, times }: Found<AnyHit>,
): { explain?: QueryExplanation } {
  return explain ? { explain: { shards, ms: { ...times } } } : {};
}
