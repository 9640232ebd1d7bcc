import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { checkCollectionName, checkInteger, checkPath, checkQuery, checkResultCount } from './checks.ts';
import type { TopDocumentsRequest, TopPagesRequest, TopSnippetsRequest } from './queries.ts';

/** Rules of the options of queries. Errors: each function throws AppError `bad_request`. */

function reject(detail: string): never {
  throw new AppError('bad_request', detail);
}

/** Rules that all kinds of queries share. `resultsMax`: inclusive maximum of `k`. */
export function checkCommonFields(
  request: TopDocumentsRequest | TopPagesRequest | TopSnippetsRequest,
  resultsMax: number,
): void {
  checkCollectionName(request.collection_name);
  checkOtherCollections(request);
  checkResultCount(request.k, resultsMax);
  if (request.query !== null) checkQuery(request.query);
  checkOtherQueries(request);
  checkSimilarTo(request);
  checkAsOf(request);
  checkDiversity(request);
  checkOrder(request);
  checkPage(request);
}

/** Highlights need a text, and are computed for a limited number of results. */
export function checkHighlights(
  request: Pick<TopSnippetsRequest, 'highlights' | 'k'> & Pick<TopPagesRequest, 'include_content'>,
): void {
  const { highlights, include_content: hasContent, k } = request;
  if (highlights !== true) return;
  if (hasContent === false) reject('highlights requires include_content.');
  if (k > queryLimits.highlightedResultsMax)
    reject(`k is ${k}; with highlights, it must be at most ${queryLimits.highlightedResultsMax}.`);
}

/** Rectangles of a page are those of its highlights. */
export function checkPageRectangles({
  include_rectangles: hasRectangles = false,
  highlights = false,
}: Pick<TopPagesRequest, 'include_rectangles' | 'highlights'>): void {
  if (hasRectangles && !highlights) reject('include_rectangles requires highlights in a query for pages.');
}

/** Further queries are texts like the first one, which must not be a listing. */
function checkOtherQueries({
  query,
  queries = null,
  query_vector: vector = null,
}: Pick<TopDocumentsRequest, 'query' | 'queries' | 'query_vector'>): void {
  if (queries === null || queries.length === 0) return;
  if (query === null) reject('queries requires a query.');
  if (vector !== null) reject('queries cannot be combined with query_vector, which belongs to one query.');
  const othersMax = queryLimits.queriesPerRequestMax - 1;
  if (queries.length > othersMax)
    reject(
      `queries contains ${queries.length} queries; at most ${othersMax} are allowed in addition to query.`,
    );
  for (const text of queries) checkQuery(text);
}

/** Checks the other collections of a query. */
function checkOtherCollections({
  collection_names: names = null,
  queries = null,
}: Pick<TopDocumentsRequest, 'collection_names' | 'queries'>): void {
  if (names === null || names.length === 0) return;
  const othersMax = queryLimits.collectionsPerRequestMax - 1;
  if (names.length > othersMax)
    reject(
      `collection_names contains ${names.length} names; at most ${othersMax} are allowed in addition to collection_name.`,
    );
  for (const name of names) checkCollectionName(name);
  const searches = (1 + names.length) * (1 + (queries?.length ?? 0));
  if (searches > queryLimits.searchesPerRequestMax)
    reject(
      `The request has ${searches} searches, the number of collections times the number of queries; at most ${queryLimits.searchesPerRequestMax} are allowed.`,
    );
}

/** The vector of a query has one source, and an empty query has no words for a reranker. */
function checkSimilarTo({
  query,
  similar_to: source = null,
  queries = null,
  query_vector: vector = null,
  reranker = null,
  weights = null,
}: Pick<
  TopDocumentsRequest,
  'query' | 'similar_to' | 'queries' | 'query_vector' | 'reranker' | 'weights'
>): void {
  if (source === null) return;
  checkPath(source.path);
  if (source.start_index !== undefined)
    checkInteger('similar_to.start_index', source.start_index, 0, Number.MAX_SAFE_INTEGER);
  if (vector !== null)
    reject('similar_to cannot be combined with query_vector: both are the vector of the query.');
  if (queries !== null && queries.length > 0) reject('similar_to cannot be combined with queries.');
  if (weights?.vector === 0) reject('similar_to compares vectors; weights.vector must not be 0.');
  if ((query ?? '') !== '') return;
  if (reranker !== null) reject('similar_to with a reranker requires a query, which the reranker reads.');
  if (weights !== null)
    reject('similar_to with weights requires a query: without one, only vectors are compared.');
}

/** A moment concerns the documents of one collection. The service parses it. */
function checkAsOf({
  as_of: asOf = null,
  collection_names: names = null,
  similar_to: source = null,
}: Pick<TopDocumentsRequest, 'as_of' | 'collection_names' | 'similar_to'>): void {
  if (asOf === null) return;
  if (names !== null && names.length > 0) reject('as_of cannot be combined with collection_names.');
  if (source !== null) reject('as_of cannot be combined with similar_to.');
}

/** 0 to 1; the results are compared with each other, so their number is limited. */
function checkDiversity({
  query,
  diversity = null,
  similar_to: source = null,
  k,
}: Pick<TopDocumentsRequest, 'query' | 'diversity' | 'similar_to' | 'k'>): void {
  if (diversity === null) return;
  if (!(diversity >= 0 && diversity <= 1)) reject(`diversity is ${diversity}; it must be from 0 to 1.`);
  if (diversity === 0) return;
  if (query === null && source === null) reject('diversity requires a query.');
  if (k > queryLimits.diverseResultsMax)
    reject(`k is ${k}; with diversity, it must be at most ${queryLimits.diverseResultsMax}.`);
}

/** An order applies to the results of one query. */
function checkOrder({
  query,
  similar_to: source = null,
  queries = null,
  diversity = null,
  sort = null,
  boost = null,
  group_by: groupBy = null,
}: Pick<
  TopDocumentsRequest,
  'query' | 'similar_to' | 'queries' | 'diversity' | 'sort' | 'boost' | 'group_by'
>): void {
  const isListing = query === null && source === null;
  if (isListing && boost !== null) reject('boost requires a query. Use sort to order a listing by date.');
  if (isListing && groupBy !== null)
    reject('group_by requires a query. Use facets to count values of a listing.');
  const field = sort !== null && sort.length > 0 ? 'sort' : groupBy !== null ? 'group_by' : null;
  if (field === null) return;
  if (queries !== null && queries.length > 0) reject(`${field} cannot be combined with queries.`);
  if ((diversity ?? 0) > 0) reject(`${field} cannot be combined with diversity.`);
}

/** Pages are parts of one list of results by score, or in an order by metadata. */
function checkPage({
  queries = null,
  diversity = null,
  cursor = null,
  include_cursor: hasCursor = false,
}: Pick<TopDocumentsRequest, 'queries' | 'diversity' | 'cursor' | 'include_cursor'>): void {
  if (cursor === null && !hasCursor) return;
  const field = cursor === null ? 'include_cursor' : 'cursor';
  if (queries !== null && queries.length > 0) reject(`${field} cannot be combined with queries.`);
  if ((diversity ?? 0) > 0) reject(`${field} cannot be combined with diversity.`);
}
