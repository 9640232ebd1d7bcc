import { AppError } from '../core/app-error.ts';
import type { DocumentSortField, GetDocumentInfoListRequest } from '../schemas/document-list.ts';
import { type DocumentIndexStatus, indexStatuses } from '../schemas/documents.ts';
import type { DocumentListOptions, DocumentRecord, Documents } from '../storage/documents.ts';
import type { CollectionAccess, DocumentCall } from './document-access.ts';

/** Filtered and sorted lists of the documents of a collection. */

/** Place in a sorted list: the sort key of a document and its path. */
type Position = readonly [key: number, path: string];

/** One page of a list. */
export interface DocumentPage {
  readonly records: readonly DocumentRecord[];
  /** Cursor of the next page; null if there is none or the list has no `sort_by`. */
  readonly nextCursor: string | null;
  /** Number of matching documents on all pages; exact only if the request asks for it. */
  readonly matching: number;
}

/** Sort key of a document. Documents without pages come first. */
const sortKeys: Readonly<Record<DocumentSortField, (record: DocumentRecord) => number>> = {
  path: () => 0,
  created_at: ({ createdAt }) => createdAt,
  size: ({ size }) => size,
  num_pages: ({ numPages }) => numPages ?? -1,
  index_status: ({ status }) => indexStatuses.indexOf(status),
};

const failedStatuses: ReadonlySet<DocumentIndexStatus> = new Set(['parsing_failed', 'indexing_failed']);

/**
 * Reads one page of at most `limit` documents. Errors: 400 for a cursor that no reply contained. A canceled call
 * ends early with the documents found so far.
 */
export async function readDocumentPage(
  documents: Documents,
  { call, access, limit }: { call: DocumentCall; access: CollectionAccess; limit: number },
  request: GetDocumentInfoListRequest,
): Promise<DocumentPage> {
  const sortBy = request.sort_by ?? null;
  const order = new DocumentOrder(sortBy ?? 'path', request.descending ?? false);
  const after = request.cursor == null ? null : decodeCursor(request.cursor);
  const isPathOrder = order.isPathOrder;
  const countsAll = request.include_count ?? false;
  const accepts = recordFilter(request);
  const readsPage = isPathOrder && !countsAll;
  const afterPath = readsPage ? (after?.[1] ?? request.path_gt ?? null) : null;
  const collectionId = access.collection.collectionId;
  const options: DocumentListOptions = {
    ...(request.path_prefix == null ? {} : { prefix: request.path_prefix }),
    ...(afterPath === null ? {} : { pathGt: afterPath }),
    ...pathFilter(request),
    // Rejected documents do not count, so only a scan that rejects none can be limited.
    ...(readsPage && !hasFilter(request, call) ? { limit: limit + 1 } : {}),
  };
  const records = readsOnlyFailed(request)
    ? documents.listFailed(collectionId, options)
    : documents.list(collectionId, options);
  const start = after ?? (request.path_gt == null ? null : ([0, request.path_gt] as const));
  const found: DocumentRecord[] = [];
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
    if (!readsPage && start !== null && order.compare(order.positionOf(record), start) <= 0) continue;
    if (isPathOrder && found.length > limit) continue;
    if (bound !== null && order.compare(order.positionOf(record), bound) >= 0) continue;
    found.push(record);
    if (readsPage && found.length > limit) break;
    if (isPathOrder || found.length <= 2 * limit) continue;
    order.keepFirst(found, limit + 1);
    bound = order.positionOf(found[limit]!);
  }
  if (!isPathOrder) order.keepFirst(found, limit + 1);
  const page = found.slice(0, limit);
  const last = page.at(-1);
  const hasMore = found.length > limit && sortBy !== null && last !== undefined;
  return { records: page, nextCursor: hasMore ? encodeCursor(order.positionOf(last)) : null, matching };
}

/** Order of a list; equal sort keys are ordered by the UTF-8 bytes of the paths. */
class DocumentOrder {
  readonly isPathOrder: boolean;
  readonly #keyOf: (record: DocumentRecord) => number;
  readonly #sign: 1 | -1;

  constructor(field: DocumentSortField, isDescending: boolean) {
    this.isPathOrder = field === 'path' && !isDescending;
    this.#keyOf = sortKeys[field];
    this.#sign = isDescending ? -1 : 1;
  }

  positionOf(record: DocumentRecord): Position {
    return [this.#keyOf(record), record.path];
  }

  compare([key, path]: Position, [otherKey, otherPath]: Position): number {
    const byKey = key - otherKey;
    return this.#sign * (byKey === 0 ? comparePaths(path, otherPath) : byKey);
  }

  /** Sorts records and drops those after the first `count`, so that a scan holds a bounded number of them. */
  keepFirst(records: DocumentRecord[], count: number): void {
    records.sort((a, b) => this.compare(this.positionOf(a), this.positionOf(b)));
    records.length = Math.min(records.length, count);
  }
}

/** Compares by UTF-8 bytes, which equals the order of code points. */
function comparePaths(a: string, b: string): number {
  const end = Math.min(a.length, b.length);
  let i = 0;
  while (i < end && a.charCodeAt(i) === b.charCodeAt(i)) i += 1;
  if (i === end) return a.length - b.length;
  const [left, right] = [a.charCodeAt(i), b.charCodeAt(i)];
  // UTF-16 places surrogates, which encode the greatest code points, before the last 8,192 units.
  if (isSurrogate(left) !== isSurrogate(right)) return isSurrogate(left) ? 1 : -1;
  return left - right;
}

function isSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdfff;
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

function encodeCursor(position: Position): string {
  return Buffer.from(JSON.stringify(position)).toString('base64url');
}

function decodeCursor(cursor: string): Position {
  try {
    const position: unknown = JSON.parse(Buffer.from(cursor, 'base64url').toString());
    if (Array.isArray(position) && Number.isFinite(position[0]) && typeof position[1] === 'string')
      return [position[0], position[1]];
  } catch {
    // Not JSON: rejected below.
  }
  throw new AppError('bad_request', 'cursor is invalid; send the next_cursor of the previous page.');
}
