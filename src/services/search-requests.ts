import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { OrganizationPrincipal } from '../schemas/principal.ts';
import type { TopPagesRequest } from '../schemas/queries.ts';
import type { QueryEnum } from '../schemas/usage.ts';
import { withoutHidden } from '../search/curation.ts';
import { parseFacets } from '../search/facets.ts';
import { parseFilter } from '../search/filter.ts';
import { parseOperators } from '../search/operators.ts';
import { parseOrder } from '../search/order-request.ts';
import {
  defaultControl,
  type OtherQuery,
  type SearchControl,
  type SearchRequest,
} from '../search/query-request.ts';
import { parsePage } from '../search/result-page.ts';
import type { Collection, Collections } from '../storage/collections.ts';
import { documentFilterOf, restrictFilter } from './access-filter.ts';
import { parseAsOf } from './as-of.ts';
import type { ServiceCall } from './call.ts';
import { readCuration } from './curations.ts';
import { accessCollection } from './document-access.ts';
import type { ModelDescriptions } from './model-headers.ts';
import type { Moments } from './moments.ts';
import { checkCommonModel, findRequestCollections } from './query-collections.ts';
import { readSimilarSource, type SimilarComponents } from './similar-source.ts';
import { parseQueryVector } from './vector-inputs.ts';

export interface SearchRequestFactoryOptions extends SimilarComponents {
  readonly collections: Collections;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly models: Pick<ModelDescriptions, 'checkReranker'>;
  readonly moments: Moments;
  /** Reranker of queries that name none; null for no reranking. */
  readonly rerankerDefault: string | null;
  /** Model of collections without a stored model. */
  readonly defaultEmbeddingModel: string;
}

type QueryCall = ServiceCall<OrganizationPrincipal>;
type QueryRequest = Pick<
  TopPagesRequest,
  | 'collection_name'
  | 'collection_names'
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
  | 'similar_to'
  | 'diversity'
  | 'facets'
  | 'sort'
  | 'boost'
  | 'group_by'
  | 'cursor'
  | 'include_cursor'
  | 'highlights'
  | 'queries'
  | 'as_of'
> & {
  readonly query: string | null;
  readonly include_rectangles?: boolean | undefined;
};

/** Maximum `k` of a query. */
const resultsMaxOf: Readonly<Record<QueryEnum, number>> = {
  documents: limits.topDocumentsMax,
  pages: limits.topPagesMax,
  coarse: limits.topSnippetsMax,
  fine: limits.topSnippetsMax,
};

/** Creates the searches of requests. */
export class SearchRequestFactory {
  readonly #options: SearchRequestFactoryOptions;

  constructor(options: SearchRequestFactoryOptions) {
    this.#options = options;
  }

  /**
   * Errors: 404 for an unknown collection, reranker or source of similar content, 400 for an invalid filter, vector or
   * source.
   */
  create(call: QueryCall, request: QueryRequest, kind: QueryEnum): SearchRequest {
    const { collections, clock, defaultEmbeddingModel } = this.#options;
    const { collection, members } = findRequestCollections(collections, call.principal, request);
    const isSimilar = (request.similar_to ?? null) !== null;
    const isListing = request.query === null && !isSimilar;
    const reranker = this.#findReranker(request);
    // Several collections have no common defaults.
    const defaults = members === null ? collection.queryDefaults : undefined;
    const merged = defaults === undefined ? request : { ...defaults, ...request };
    const { query, control } = parseQuery(request.query ?? '', merged);
    const asOf = parseAsOf(request.as_of, {
      moments: this.#options.moments,
      collectionId: collection.collectionId,
      now: call.now(),
    });
    const isCurated = members === null && asOf === null;
    const curation = isCurated ? readCuration(this.#options.documents, collection, request, control) : null;
    if (members !== null && !isListing && control.weights.vector > 0)
      checkCommonModel(members, defaultEmbeddingModel);
    const requested = parseFilter(request.filter, collection.metadataSchema);
    return {
      collection,
      members,
      query,
      otherQueries: (request.queries ?? []).map((text) => parseOtherQuery(text, merged)),
      ...this.#findVector(call, collection, { request, kind, control }),
      k: request.k,
      filter: withoutHidden(restrictFilter(call.principal, requested), curation),
      curation,
      facets: parseFacets(request.facets, collection.metadataSchema),
      isRestricted: documentFilterOf(call.principal) !== null,
      reranker,
      isWide: request.latency_mode === 'high',
      deadlineMs: remainingMs(clock, call.receivedAt),
      caller: call.cancellation,
      yieldToEventLoop: call.yieldToEventLoop,
      explain: request.explain ?? false,
      hasHighlights: request.highlights ?? false,
      hasRectangles: request.include_rectangles ?? false,
      diversity: request.diversity ?? 0,
      trace: call.trace ?? null,
      control,
      order: parseOrder(request, collection.metadataSchema, call.now()),
      page: parsePage(request, resultsMaxOf[kind]),
      asOf,
    };
  }

  /** Returns the vector of the caller or of similar content; null if a model computes it. */
  #findVector(
    call: QueryCall,
    collection: Collection,
    {
      request: { query, query_vector: vector = null, similar_to: similarTo = null, collection_name: name },
      kind,
      control,
    }: { readonly request: QueryRequest; readonly kind: QueryEnum; readonly control: SearchControl },
  ): Pick<SearchRequest, 'vector' | 'excluded'> {
    if (similarTo !== null)
      return readSimilarSource(
        this.#options,
        accessCollection(this.#options.collections, call, name),
        similarTo,
        kind,
      );
    if (query === null && vector !== null)
      throw new AppError('bad_request', 'query_vector requires a query, which may be empty.');
    const isRequired = query !== null && control.weights.vector > 0;
    return { vector: parseQueryVector(collection, vector, { isRequired }), excluded: null };
  }

  /** Similar content without a query has no text for a reranker. */
  #findReranker({ query, reranker: requested, similar_to: similarTo = null }: QueryRequest): string | null {
    const { rerankerDefault, models } = this.#options;
    const hasText = similarTo === null || (query ?? '') !== '';
    if (requested === undefined) return hasText ? rerankerDefault : null;
    if (requested !== null) models.checkReranker(requested);
    return requested;
  }
}

/** Returns the milliseconds left for a request. */
export function remainingMs(clock: Pick<Clock, 'monotonic'>, receivedAt: number): number {
  return Math.max(1, limits.requestMsMax - (clock.monotonic() - receivedAt));
}

/** Splits a query into its text and its search controls: operators, weights and thresholds. */
function parseQuery(text: string, request: QueryRequest): { query: string; control: SearchControl } {
  const { query, operators } = parseOtherQuery(text, request);
  return {
    query,
    control: {
      weights: findWeights(request),
      minScore: request.min_score ?? defaultControl.minScore,
      maxPerDocument: request.max_per_document ?? defaultControl.maxPerDocument,
      operators,
    },
  };
}

function findWeights({ query, similar_to: similarTo = null, weights = null }: QueryRequest) {
  if (similarTo === null) return weights ?? defaultControl.weights;
  if ((query ?? '') === '') return { lexical: 0, vector: 1 };
  // The weights may be defaults of the collection, without vectors.
  return weights === null || weights.vector === 0 ? defaultControl.weights : weights;
}

/** Errors: 400 for invalid operators. */
function parseOtherQuery(queryText: string, { syntax }: Pick<QueryRequest, 'syntax'>): OtherQuery {
  const wellFormed = queryText.toWellFormed();
  if (syntax !== 'operators') return { query: wellFormed, operators: null };
  const { text, operators } = parseOperators(wellFormed);
  return { query: text, operators };
}
