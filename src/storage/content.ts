import { Chunks } from './chunks.ts';
import { contentTable, partsOfGeneration } from './content-table.ts';
import { IndexBlocks } from './index-blocks.ts';
import { PageLineBoxes } from './line-boxes.ts';
import { ParsedPages } from './parsed-pages.ts';
import type { Store, WriteOperation } from './store.ts';

/** Text, pages, chunks, vectors and terms by document id. */
export class Contents {
  readonly parsed: ParsedPages;
  readonly chunks: Chunks;
  readonly blocks: IndexBlocks;
  readonly lineBoxes: PageLineBoxes;
  readonly #store: Store;

  constructor(store: Store) {
    this.parsed = new ParsedPages(store);
    this.chunks = new Chunks(store);
    this.blocks = new IndexBlocks(store);
    this.lineBoxes = new PageLineBoxes(store);
    this.#store = store;
  }

  /** Yields operations that copy all content of a document id, with the vectors of one generation. */
  async *copy(from: string, to: string, generation: number): AsyncGenerator<WriteOperation, void, void> {
    const skipped = new Set<number>(Object.values(partsOfGeneration(generation + 1)));
    for await (const { key, value } of contentTable.range(this.#store, [from])) {
      const [, part, index] = key;
      if (!skipped.has(part)) yield contentTable.put([to, part, index], value);
    }
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
