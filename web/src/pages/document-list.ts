import { signal } from '@preact/signals';
import { type DocumentRow, listDocuments } from '../server/retrieval.ts';
import { byBytes } from '../words/by-bytes.ts';

const pageRows = 1_024;
/** Rows that are looked at again at one time, at most and at least. */
const refreshedMax = 200;
const refreshedMin = 50;

interface ListOptions {
  readonly collection: string;
  readonly prefix: string;
}

/** The documents of a collection whose paths begin with a prefix, in the order of their paths, as far as loaded. */
export class DocumentList {
  readonly rows = signal<readonly DocumentRow[]>([]);
  /** True when there are no more rows than those. */
  readonly isComplete = signal(false);
  readonly isLoading = signal(false);
  readonly error = signal<unknown>(null);
  readonly #options: ListOptions;
  readonly #abort = new AbortController();

  constructor(options: ListOptions) {
    this.#options = options;
  }

  /** Ends whatever loads; nothing comes any more. */
  close(): void {
    this.#abort.abort();
  }

  /** The next rows, unless they are being loaded or there are none. */
  async loadMore(): Promise<void> {
    if (this.isLoading.peek() || this.isComplete.peek()) return;
    this.isLoading.value = true;
    try {
      const found = await this.#list(this.rows.peek().at(-1)?.path, pageRows);
      this.rows.value = [...this.rows.peek(), ...found];
      this.isComplete.value = found.length < pageRows;
      this.error.value = null;
    } catch (error) {
      if (!this.#abort.signal.aborted) this.error.value = error;
    } finally {
      this.isLoading.value = false;
    }
  }

  async loadAll(): Promise<void> {
    while (!this.isComplete.peek() && this.error.peek() === null && !this.#abort.signal.aborted)
      await this.loadMore();
  }

  /** Looks again at the rows from `first` to `end`: what changed, what is gone, what came between. */
  async refresh({ first, end }: { readonly first: number; readonly end: number }): Promise<void> {
    const previous = this.rows.peek()[first - 1]?.path;
    const asked = Math.min(refreshedMax, Math.max(refreshedMin, end - first));
    const found = await this.#list(previous, asked);
    const last = found.at(-1)?.path;
    const isEnd = found.length < asked || last === undefined;
    const rows = this.rows.peek();
    const head = previous === undefined ? [] : rows.filter(({ path }) => byBytes(path, previous) <= 0);
    const tail = isEnd ? [] : rows.filter(({ path }) => byBytes(path, last) > 0);
    this.rows.value = [...head, ...found, ...tail];
    if (isEnd) this.isComplete.value = true;
    else if (tail.length === 0) this.isComplete.value = false;
  }

  /** Looks again at all rows, and changes them in one step. */
  async refreshAll(): Promise<void> {
    const rows: DocumentRow[] = [];
    for (;;) {
      const found = await this.#list(rows.at(-1)?.path, pageRows);
      rows.push(...found);
      if (found.length < pageRows) break;
    }
    this.rows.value = rows;
    this.isComplete.value = true;
  }

  /** Takes rows away that this page deleted. */
  remove(paths: ReadonlySet<string>): void {
    this.rows.value = this.rows.peek().filter(({ path }) => !paths.has(path));
  }

  async #list(after: string | undefined, limit: number): Promise<DocumentRow[]> {
    const { collection, prefix } = this.#options;
    const request = { collection_name: collection, path_prefix: prefix, limit, path_gt: after ?? null };
    return (await listDocuments(request, this.#abort.signal)).documents;
  }
}
