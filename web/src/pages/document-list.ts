import { signal } from '@preact/signals';
import { type DocumentRow, listDocuments } from '../server/retrieval.ts';
import { compareByBytes } from '../words/compare-by-bytes.ts';

const pageRows = 1_024;
/** Rows that are looked at again at one time, at most and at least. */
const refreshedMax = 200;
const refreshedMin = 50;

export interface DocumentListQuery {
  readonly collection: string;
  readonly prefix: string;
  /** Only those that could not be parsed or indexed. */
  readonly onlyFailed: boolean;
}

/** The documents of a collection whose paths begin with a prefix, in the order of their paths, as far as loaded. */
export class DocumentList {
  readonly rows = signal<readonly DocumentRow[]>([]);
  /** True when there are no more rows than those. */
  readonly isComplete = signal(false);
  readonly isLoading = signal(false);
  readonly error = signal<unknown>(null);
  readonly #options: DocumentListQuery;
  #abort = new AbortController();

  constructor(options: DocumentListQuery) {
    this.#options = options;
  }

  /** Begins to load, unless some rows are there from the last time. */
  open(): void {
    this.#abort = new AbortController();
    if (this.rows.peek().length === 0 || this.error.peek() !== null) void this.loadMore();
  }

  /** Ends whatever loads; nothing comes until it is opened again. */
  close(): void {
    this.#abort.abort();
  }

  /** The next rows, unless they are being loaded or there are none. */
  async loadMore(): Promise<void> {
    if (this.isLoading.peek() || this.isComplete.peek()) return;
    this.isLoading.value = true;
    const { signal } = this.#abort;
    try {
      const found = await this.#list(this.rows.peek().at(-1)?.path, pageRows);
      // What was looked at again meanwhile may have brought some of them.
      const rows = this.rows.peek();
      const last = rows.at(-1)?.path;
      const fresh = last === undefined ? found : found.filter(({ path }) => compareByBytes(path, last) > 0);
      this.rows.value = [...rows, ...fresh];
      this.isComplete.value = found.length < pageRows;
      this.error.value = null;
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    } finally {
      this.isLoading.value = false;
    }
  }

  /** Looks again at the rows from `first` to `end`: what changed, what is gone, what came between. */
  async refresh({ first, end }: { readonly first: number; readonly end: number }): Promise<void> {
    const previous = this.rows.peek()[first - 1]?.path;
    const limit = Math.min(refreshedMax, Math.max(refreshedMin, end - first));
    const found = await this.#list(previous, limit);
    const last = found.at(-1)?.path;
    const isEnd = found.length < limit || last === undefined;
    const rows = this.rows.peek();
    const head = previous === undefined ? [] : rows.filter(({ path }) => compareByBytes(path, previous) <= 0);
    const tail = isEnd ? [] : rows.filter(({ path }) => compareByBytes(path, last) > 0);
    this.rows.value = [...head, ...found, ...tail];
    if (isEnd) this.isComplete.value = true;
    else if (tail.length === 0) this.isComplete.value = false;
  }

  /** Begins anew: the first rows are loaded again, those behind them when they are wanted. */
  async restart(): Promise<void> {
    const found = await this.#list(undefined, pageRows);
    this.rows.value = found;
    this.isComplete.value = found.length < pageRows;
    this.error.value = null;
  }

  /** All rows as the server has them, also those that are not loaded, a page at a time. */
  async *pages(): AsyncGenerator<readonly DocumentRow[], void, void> {
    let after: string | undefined;
    for (;;) {
      const found = await this.#list(after, pageRows);
      yield found;
      after = found.at(-1)?.path;
      if (found.length < pageRows) return;
    }
  }

  /** Takes rows away that this page deleted. */
  remove(paths: ReadonlySet<string>): void {
    this.rows.value = this.rows.peek().filter(({ path }) => !paths.has(path));
  }

  async #list(after: string | undefined, limit: number): Promise<DocumentRow[]> {
    const { collection, prefix, onlyFailed } = this.#options;
    const request = {
      collection_name: collection,
      path_prefix: prefix,
      limit,
      path_gt: after ?? null,
      ...(onlyFailed ? { only_failed: true } : {}),
    };
    return (await listDocuments(request, this.#abort.signal)).documents;
  }
}
