import { signal } from '@preact/signals';
import { now } from '../browser/clock.ts';
import { compareByBytes } from '../format/compare-by-bytes.ts';
import { type DocumentRow, listDocuments } from '../server/retrieval.ts';
import { type DocumentQuery, hasFilters, toListFilters } from './document-query.ts';

/** Rows per request. Every page of an order other than paths costs the server a scan of the collection. */
const pageRows = 1_024;
/** Maximum and minimum number of rows per refresh. */
const refreshedMax = 200;
const refreshedMin = 50;

interface ListPage {
  readonly documents: readonly DocumentRow[];
  readonly nextCursor: string | null;
}

/** The documents of a collection that match a query, in its order, as far as loaded. */
export class DocumentList {
  readonly query: DocumentQuery;
  readonly rows = signal<readonly DocumentRow[]>([]);
  /** Number of matching documents when the list was loaded; null if the query does not restrict it. */
  readonly matching = signal<number | null>(null);
  /** True if all rows are loaded. */
  readonly isComplete = signal(false);
  readonly isLoading = signal(false);
  readonly error = signal<unknown>(null);
  readonly #filters: ReturnType<typeof toListFilters>;
  #nextCursor: string | null = null;
  #abort = new AbortController();

  constructor(query: DocumentQuery) {
    this.query = query;
    this.#filters = toListFilters(query, now());
  }

  /** Starts loading, unless rows from an earlier use exist. */
  open(): void {
    this.#abort = new AbortController();
    if (this.rows.peek().length === 0 || this.error.peek() !== null) void this.loadMore();
  }

  /** Cancels pending requests. No rows are loaded until the next `open`. */
  close(): void {
    this.#abort.abort();
  }

  /** Loads the next rows, unless they are being loaded or none are left. */
  async loadMore(): Promise<void> {
    if (this.isLoading.peek() || this.isComplete.peek()) return;
    this.isLoading.value = true;
    const { signal } = this.#abort;
    try {
      const found = this.#isPathOrder
        ? await this.#listAfter(this.rows.peek().at(-1)?.path, pageRows)
        : await this.#listSorted(this.#nextCursor);
      this.#append(found);
      this.error.value = null;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    } finally {
      this.isLoading.value = false;
    }
  }

  /** Adds rows at the end. A concurrent refresh or a change of their position may already have added some. */
  #append({ documents, nextCursor }: ListPage): void {
    const rows = this.rows.peek();
    const known = new Set(rows.map(({ path }) => path));
    this.rows.value = [...rows, ...documents.filter(({ path }) => !known.has(path))];
    this.#nextCursor = nextCursor;
    this.isComplete.value = nextCursor === null;
  }

  /**
   * Reloads the rows from `first` to `end`: updates changed rows, removes deleted ones, inserts new ones. An
   * order other than paths is reloaded from the start.
   */
  async refresh({ first, end }: { readonly first: number; readonly end: number }): Promise<void> {
    if (!this.#isPathOrder) return this.restart();
    const previous = this.rows.peek()[first - 1]?.path;
    const limit = Math.min(refreshedMax, Math.max(refreshedMin, end - first));
    const { documents: found } = await this.#listAfter(previous, limit);
    const last = found.at(-1)?.path;
    const isEnd = found.length < limit || last === undefined;
    const rows = this.rows.peek();
    const head = previous === undefined ? [] : rows.filter(({ path }) => compareByBytes(path, previous) <= 0);
    const tail = isEnd ? [] : rows.filter(({ path }) => compareByBytes(path, last) > 0);
    this.rows.value = [...head, ...found, ...tail];
    if (isEnd) this.isComplete.value = true;
    else if (tail.length === 0) this.isComplete.value = false;
  }

  /** Reloads the list from the start; later rows are loaded on demand. */
  async restart(): Promise<void> {
    const found = this.#isPathOrder
      ? await this.#listAfter(undefined, pageRows)
      : await this.#listSorted(null);
    this.rows.value = found.documents;
    this.#nextCursor = found.nextCursor;
    this.isComplete.value = found.nextCursor === null;
    this.error.value = null;
  }

  /**
   * Iterates over all matching documents on the server by path, including rows that are not loaded: changes
   * made meanwhile cannot move a document to another page.
   */
  async *pages(): AsyncGenerator<readonly DocumentRow[], void, void> {
    for (let after: string | undefined; ; ) {
      const { documents, nextCursor } = await this.#listAfter(after, pageRows);
      yield documents;
      after = documents.at(-1)?.path;
      if (nextCursor === null) return;
    }
  }

  get #isPathOrder(): boolean {
    return this.query.sort === 'path' && !this.query.isDescending;
  }

  /** `nextCursor` is only used as a mark of the end. */
  async #listAfter(after: string | undefined, limit: number): Promise<ListPage> {
    const counts = after === undefined && this.#needsCount;
    const reply = await listDocuments(
      {
        ...this.#filters,
        limit,
        ...(after === undefined ? {} : { path_gt: after }),
        ...(counts ? { include_count: true } : {}),
      },
      this.#abort.signal,
    );
    if (counts) this.matching.value = reply.num_matching ?? null;
    return { documents: reply.documents, nextCursor: reply.documents.length < limit ? null : '' };
  }

  async #listSorted(cursor: string | null): Promise<ListPage> {
    const { sort, isDescending } = this.query;
    const counts = cursor === null && this.#needsCount;
    const order = { sort_by: sort, descending: isDescending, ...(cursor === null ? {} : { cursor }) };
    const reply = await listDocuments(
      { ...this.#filters, ...order, limit: pageRows, ...(counts ? { include_count: true } : {}) },
      this.#abort.signal,
    );
    if (counts) this.matching.value = reply.num_matching ?? null;
    return { documents: reply.documents, nextCursor: reply.next_cursor ?? null };
  }

  /** The status of the collection has the number of its documents. */
  get #needsCount(): boolean {
    return hasFilters(this.query) || this.query.show !== 'all';
  }
}
