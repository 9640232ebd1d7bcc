import { assertDefined } from '../core/assert.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { eachText, type PackedTexts, type Texts } from '../core/packed-texts.ts';
import { contentTable, parts } from './content-table.ts';
import type { Store, WriteOperation } from './store.ts';
import { recordCodec } from './table.ts';
import { decodeTextParts, decodeUtf8, type TextParts } from './text-parts.ts';
import { asBytes, toAlignedBuffer } from './typed-bytes.ts';

/** Result of the parse step, without the pages. */
export interface ParsedHead {
  readonly kind: string;
  readonly contentType: string;
  readonly pageCount: number;
  readonly unordered: boolean;
  /** Lines that start with `#` are headings. */
  readonly headings: boolean;
  readonly title: string | null;
  readonly language: string | null;
  readonly warnings: readonly string[];
}

const headCodec = recordCodec<ParsedHead>();

/** Bytes of a page copied per step. */
const copiedBytesMax = 524_288;

/** Text and supplied vectors of documents between the parse and the chunk step. */
export class ParsedPages {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** `text`: a string or its UTF-8. */
  putPage(documentId: string, page: number, text: string | Uint8Array): WriteOperation {
    const bytes = typeof text === 'string' ? Buffer.from(text, 'utf8') : text;
    return contentTable.put([documentId, parts.parsedPage, page], bytes);
  }

  /** Yields one operation per page of the document. */
  *putPages(documentId: string, pages: Texts): Generator<WriteOperation> {
    let page = 0;
    for (const text of eachText(pages)) {
      yield this.putPage(documentId, page, text);
      page += 1;
    }
  }

  putSuppliedVector(documentId: string, page: number, vector: Float32Array): WriteOperation {
    return contentTable.put([documentId, parts.suppliedVector, page], asBytes(vector));
  }

  /** Returns the vector supplied with a page of a document that is not chunked yet. */
  readSuppliedVector(documentId: string, page: number): Float32Array {
    const bytes = this.#get(documentId, parts.suppliedVector, page);
    return new Float32Array(toAlignedBuffer(assertDefined(bytes, 'each page has its supplied vector')));
  }

  /** Write this with or after the last page: it marks the parse step as complete. */
  putHead(documentId: string, head: ParsedHead): WriteOperation {
    return contentTable.put([documentId, parts.parsedHead, 0], headCodec.encode(head));
  }

  readHead(documentId: string): ParsedHead | undefined {
    const bytes = this.#get(documentId, parts.parsedHead, 0);
    return bytes === undefined ? undefined : headCodec.decode(bytes);
  }

  /** Returns one page of a document that is not chunked yet; otherwise undefined. */
  readPage(documentId: string, page: number): TextParts | undefined {
    const bytes = this.#get(documentId, parts.parsedPage, page);
    return bytes === undefined ? undefined : decodeTextParts(bytes);
  }

  /** Returns the first `count` pages, or all if there are fewer. */
  async readPages(documentId: string, count: number): Promise<TextParts[]> {
    const pages: TextParts[] = [];
    // An attempt that ended with a crash may have left more pages than the successful one.
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.parsedPage], {
      limit: count,
    }))
      pages.push(decodeTextParts(value));
    return pages;
  }

  /**
   * Returns the first `count` parsed pages as UTF-8, or all if there are fewer; copies them in slices of
   * background work.
   */
  async packPages(
    documentId: string,
    count: number,
    yieldToEventLoop: YieldToEventLoop,
  ): Promise<PackedTexts> {
    const pages: Uint8Array[] = [];
    let bytes = 0;
    // An attempt that ended with a crash may have left more pages than the successful one.
    for await (const { value } of contentTable.range(this.#store, [documentId, parts.parsedPage], {
      limit: count,
    })) {
      pages.push(value);
      bytes += value.byteLength;
    }
    const block = new Uint8Array(bytes);
    const lengths = new Uint32Array(pages.length);
    let start = 0;
    for (const [i, page] of pages.entries()) {
      lengths[i] = page.byteLength;
      for (let at = 0; at < page.byteLength; at += copiedBytesMax) {
        const pause = yieldToEventLoop();
        if (pause !== null) await pause;
        block.set(page.subarray(at, at + copiedBytesMax), start + at);
      }
      start += page.byteLength;
    }
    return { block, lengths };
  }

  /** Returns the parse results of documents with few pages in one read; undefined for one that is chunked. */
  readDocuments(
    documents: readonly { readonly documentId: string; readonly pageCount: number }[],
  ): ({ readonly head: ParsedHead; readonly pages: readonly string[] } | undefined)[] {
    const keys = documents.flatMap(({ documentId, pageCount }) => [
      contentTable.keyOf(documentId, parts.parsedHead, 0),
      ...Array.from({ length: pageCount }, (_, page) =>
        contentTable.keyOf(documentId, parts.parsedPage, page),
      ),
    ]);
    const values = this.#store.getMany(keys);
    const text = (page: Uint8Array | undefined) =>
      decodeUtf8(assertDefined(page, 'a parsed document has its pages'));
    let at = 0;
    return documents.map(({ pageCount }) => {
      const [head, ...pages] = values.slice(at, at + 1 + pageCount);
      at += 1 + pageCount;
      return head === undefined ? undefined : { head: headCodec.decode(head), pages: pages.map(text) };
    });
  }

  /** Include this in the write that completes the chunks: from then on they contain the text. */
  *delete(documentId: string, pageCount: number, { vectors = false } = {}): Generator<WriteOperation> {
    yield contentTable.delete([documentId, parts.parsedHead, 0]);
    for (let page = 0; page < pageCount; page += 1) {
      yield contentTable.delete([documentId, parts.parsedPage, page]);
      if (vectors) yield contentTable.delete([documentId, parts.suppliedVector, page]);
    }
  }

  #get(documentId: string, part: number, index: number): Uint8Array | undefined {
    return contentTable.get(this.#store, [documentId, part, index]);
  }
}
