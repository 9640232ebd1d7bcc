import { Chunks } from './chunks.ts';
import { contentTable } from './content-table.ts';
import { IndexBlocks } from './index-blocks.ts';
import { ParsedPages } from './parsed-pages.ts';
import type { Store, WriteOperation } from './store.ts';

/** Text, pages, chunks, vectors and terms by document id. */
export class Contents {
  readonly parsed: ParsedPages;
  readonly chunks: Chunks;
  readonly blocks: IndexBlocks;
  readonly #store: Store;

  constructor(store: Store) {
    this.parsed = new ParsedPages(store);
    this.chunks = new Chunks(store);
    this.blocks = new IndexBlocks(store);
    this.#store = store;
  }

  /** Deletes up to `limit` entries of a document id. Returns an empty list when nothing is left. */
  async deleteAll(documentId: string, limit: number): Promise<WriteOperation[]> {
    const operations: WriteOperation[] = [];
    for await (const key of contentTable.keys(this.#store, [documentId], { limit })) {
      operations.push({ type: 'delete', key });
    }
    return operations;
  }
}
