import { decodeLineBoxes, type EncodedPages, eachEncodedPage } from '../core/line-box-codec.ts';
import type { LineBoxes } from '../core/line-boxes.ts';
import { contentTable, parts } from './content-table.ts';
import type { Store, WriteOperation } from './store.ts';

/** Boxes of the lines of pages, by document id. */
export class PageLineBoxes {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Yields one operation per page with boxes. */
  *put(documentId: string, pages: EncodedPages): Generator<WriteOperation> {
    for (const { page, bytes } of eachEncodedPage(pages))
      yield contentTable.put([documentId, parts.lineBoxes, page], bytes);
  }

  /**
   * Returns the boxes of pages, in the order of `pages`, whose `length` is the number of code points of their text; null
   * for a page without boxes. An attempt to parse the document that ended with a crash may have left boxes of another
   * text, which are ignored.
   */
  read(
    documentId: string,
    pages: readonly { readonly page: number; readonly length: number }[],
  ): (LineBoxes | null)[] {
    const keys = pages.map(({ page }) => contentTable.keyOf(documentId, parts.lineBoxes, page));
    return this.#store
      .getMany(keys)
      .map((bytes, i) => (bytes === undefined ? null : decodeLineBoxes(bytes, pages[i]!.length)));
  }
}
