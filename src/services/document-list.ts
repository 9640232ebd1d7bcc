import { orderLimits } from '../core/order-limits.ts';
import type { GetDocumentInfoListRequest } from '../schemas/document-list.ts';
import type { DocumentIndexStatus } from '../schemas/documents.ts';
import type { FacetResponse } from '../schemas/facets.ts';
import { FacetCounter } from '../search/facet-counter.ts';
import { parseFacets } from '../search/facets.ts';
import { parseSort } from '../search/sort.ts';
import type { DocumentListOptions, DocumentRecord, Documents } from '../storage/documents.ts';
import type { CollectionAccess, DocumentCall } from './document-access.ts';
import { type DocumentOrder, MetadataOrder, type Position, PropertyOrder } from './document-order.ts';
import { toFacetResponses } from './facet-replies.ts';

/** Filtered and sorted lists of the documents of a collection. */

/** One page of a list. */
export interface DocumentPage {
  readonly records: readonly DocumentRecord[];
  /** Cursor of the next page; null if there is none or the list has no order. */
  readonly nextCursor: string | null;
  /** Number of matching documents on all pages; exact only if the request asks for it. */
  readonly matching: number;
  /** Null without facets. */
  readonly facets: readonly FacetResponse[] | null;
}

const failedStatuses: ReadonlySet<DocumentIndexStatus> = new Set(['parsing_failed', 'indexing_failed']);

/** Documents to list. */
interface ListSource {
  readonly call: DocumentCall;
  readonly access: CollectionAccess;
  readonly limit: number;
}

/** A record with its place in the list. */
interface ListedRecord {
  readonly record: DocumentRecord;
  readonly position: Position;
}

/**
 * Reads one page of at most `limit` documents. Errors: 400 for a cursor that no reply contained, an invalid order or
 * invalid facets. A canceled call ends early with the documents found so far.
 */
export async function readDocumentPage(
  documents: Documents,
  source: ListSource,
  request: GetDocumentInfoListRequest,
): Promise<DocumentPage> {
  const { call, access, limit } = source;
  const order = toOrder(request, access);
  const isSorted = isSortedList(request);
  const after = request.cursor == null ? null : order.decodeCursor(request.cursor);
  const { isPathOrder } = order;
  const facets = parseFacets(request.facets, access.collection.metadataSchema);
  const counter = facets === null ? null : new FacetCounter(facets, orderLimits.listFacetBytesMax);
  const accepts = recordFilter(request);
  const readsPage = isPathOrder && request.include_count !== true && counter === null;
  const records = readRecords(documents, source, request, { after, readsPage });
  const start = after ?? (request.path_gt == null ? null : { keys: [0], path: request.path_gt });
  const found: ListedRecord[] = [];
  let matching = 0;
  /** Place after which no document of this page comes; null until enough documents are found. */
  let bound: Position | null = null;
  for await (const record of records) {
    // A caller can force a scan of all documents; stop when the call is canceled.
    if (call.cancellation.isCanceled) break;
    const pause = call.yieldToEventLoop();
    if (pause !== null) await pause;
    if (!access.isVisible(record) || !accepts(record)) continue;
    matching += 1;
    counter?.add(record.metadata);
    const position = order.positionOf(record);
    if (!readsPage && start !== null && order.compare(position, start) <= 0) continue;
    if (isPathOrder && found.length > limit) continue;
    if (bound !== null && order.compare(position, bound) >= 0) continue;
    found.push({ record, position });
    if (readsPage && found.length > limit) break;
    if (isPathOrder || found.length <= 2 * limit) continue;
    keepFirst(found, order, limit + 1);
    bound = found[limit]!.position;
  }
  if (!isPathOrder) keepFirst(found, order, limit + 1);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const hasMore = found.length > limit && isSorted && last !== undefined;
  return {
    records: page.map(({ record }) => record),
    nextCursor: hasMore ? order.encodeCursor(last.position) : null,
    matching,
    facets: facets === null ? null : toFacetResponses(facets, counter!.results()),
  };
}

/** Whether a reply has a cursor. */
export function isSortedList({ sort, sort_by }: GetDocumentInfoListRequest): boolean {
  return sort_by != null || (sort != null && sort.length > 0);
}

function toOrder(request: GetDocumentInfoListRequest, { collection }: CollectionAccess): DocumentOrder {
  const sort = parseSort(request.sort, collection.metadataSchema);
  if (sort !== null) return new MetadataOrder(sort);
  return new PropertyOrder(request.sort_by ?? 'path', request.descending ?? false);
}

/** `readsPage`: whether the documents after the start are read in the order of their paths, and no others. */
function readRecords(
  documents: Documents,
  { call, access, limit }: ListSource,
  request: GetDocumentInfoListRequest,
  { after, readsPage }: { readonly after: Position | null; readonly readsPage: boolean },
): AsyncGenerator<DocumentRecord, void, void> {
  const afterPath = readsPage ? (after?.path ?? request.path_gt ?? null) : null;
  const { collectionId } = access.collection;
  const options: DocumentListOptions = {
    ...(request.path_prefix == null ? {} : { prefix: request.path_prefix }),
    ...(afterPath === null ? {} : { pathGt: afterPath }),
    ...pathFilter(request),
    // Rejected documents do not count, so only a scan that rejects none can be limited.
    ...(readsPage && !hasFilter(request, call) ? { limit: limit + 1 } : {}),
  };
  return readsOnlyFailed(request)
    ? documents.listFailed(collectionId, options)
    : documents.list(collectionId, options);
}

/** Sorts records and drops those after the first `count`, so that a scan holds a bounded number of them. */
function keepFirst(records: ListedRecord[], order: DocumentOrder, count: number): void {
  records.sort((a, b) => order.compare(a.position, b.position));
  records.length = Math.min(records.length, count);
}

function hasFilter(request: GetDocumentInfoListRequest, call: DocumentCall): boolean {
  return (
    call.principal.restriction !== undefined ||
    pathFilter(request).acceptsPath !== undefined ||
    (request.index_statuses ?? null) !== null ||
    (request.created_at_gte ?? null) !== null ||
    (request.created_at_lt ?? null) !== null
  );
}

function readsOnlyFailed({ only_failed, index_statuses: statuses }: GetDocumentInfoListRequest): boolean {
  return only_failed === true || statuses?.every((status) => failedStatuses.has(status)) === true;
}

/** Conditions on the path, which are checked before a record is decoded. */
function pathFilter(request: GetDocumentInfoListRequest): Pick<DocumentListOptions, 'acceptsPath'> {
  const text = foldPath(request.path_contains ?? '');
  const endings = request.extensions?.map((extension) => `.${foldPath(extension)}`) ?? null;
  if (text === '' && endings === null) return {};
  return {
    acceptsPath: (path) => {
      const folded = foldPath(path);
      return folded.includes(text) && (endings?.some((ending) => folded.endsWith(ending)) ?? true);
    },
  };
}

/** Paths of macOS decompose letters with accents; both forms and both cases are equal. */
function foldPath(path: string): string {
  return path.normalize('NFC').toLowerCase();
}

function recordFilter(request: GetDocumentInfoListRequest): (record: DocumentRecord) => boolean {
  const statuses = request.index_statuses == null ? null : new Set(request.index_statuses);
  const start = request.created_at_gte == null ? -Infinity : Date.parse(request.created_at_gte);
  const end = request.created_at_lt == null ? Infinity : Date.parse(request.created_at_lt);
  return ({ status, createdAt }) => (statuses?.has(status) ?? true) && createdAt >= start && createdAt < end;
}
