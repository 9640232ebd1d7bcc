import { signal } from '@preact/signals';
import { compareByBytes } from '../format/compare-by-bytes.ts';
import { type DocumentRow, listDocuments } from '../server/retrieval.ts';

const pageRows = 1_024;
/** Maximum and minimum number of rows per refresh. */
const refreshedMax = 200;
const refreshedMin = 50;

export interface DocumentListQuery {
  readonly collection: string;
  readonly prefix: string;
  /** Only documents that could not be parsed or indexed. */
  readonly onlyFailed: boolean;
}

/** The documents of a collection whose paths start with a prefix, ordered by path, as far as loaded. */
export class DocumentList {
  readonly rows = signal<readonly DocumentRow[]>([]);
  /** True if all rows are loaded. */
  readonly isComplete = signal(false);
  readonly isLoading = signal(false);
  readonly error = signal<unknown>(null);
  readonly #options: DocumentListQuery;
  #abort = new AbortController();

  constructor(options: DocumentListQuery) {
    this.#options = options;
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
      const found = await this.#list(this.rows.peek().at(-1)?.path, pageRows);
      // A concurrent refresh may already have added some of these rows.
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

  /** Reloads the rows from `first` to `end`: updates changed rows, removes deleted ones, inserts new ones. */
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

  /** Reloads the list from the start; later rows are loaded on demand. */
  async restart(): Promise<void> {
    const found = await this.#list(undefined, pageRows);
    this.rows.value = found;
    this.isComplete.value = found.length < pageRows;
    this.error.value = null;
  }

  /** Iterates over all rows on the server, page by page, including rows that are not loaded. */
  async *pages(): AsyncGenerator<readonly DocumentRow[], void, void> {
    let after: string | undefined;
    for (;;) {
      const found = await this.#list(after, pageRows);
      yield found;
      after = found.at(-1)?.path;
      if (found.length < pageRows) return;
    }
  }

  /** Removes rows that this page has deleted. */
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
