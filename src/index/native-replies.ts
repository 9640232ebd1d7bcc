/** The functions of the native library that write query replies as JSON (native/engine/reply_writer.h). */
export interface NativeReplies {
  /** Sets the memory of the cached parts of this thread. Default: 0, so that no reply is written. */
  useReplyCacheBytesMax(bytes: number): void;
  /** Memory of the cached parts of this thread. */
  replyCacheBytes(): number;
  /**
   * Caches the parts of a document and, unless `row` is null, those of one of its rows. A collection has a number that no
   * other collection of the process has had.
   */
  replyPartsPut(
    collection: number,
    version: number,
    document: NativeDocumentParts,
    row: number | null,
    json: Uint8Array | null,
  ): void;
  /** Caches a page of a cached document as a result. `rows`: rows of the document that are on this page only. */
  replyPagePut(collection: number, version: number, page: NativePageParts, rows: readonly number[]): void;
  replyPartsDelete(collection: number, version: number): void;
  replyPartsDeleteCollection(collection: number): void;
}

/** Parts of a page as a result, as JSON. */
export interface NativePageParts {
  readonly index: number;
  /** Whether `tail` has the text of the page, or null in its place. */
  readonly hasContent: boolean;
  /** From the separating comma up to the score. */
  readonly head: Uint8Array;
  /** From the score to the closing brace. */
  readonly tail: Uint8Array;
}

/** Parts of a document that replies repeat, as JSON. */
export interface NativeDocumentParts {
  /** From the separating comma up to the score. */
  readonly prefix: Uint8Array;
  /** From the score to the closing brace. */
  readonly suffix: Uint8Array;
  /** Number of the start of the URLs in them. */
  readonly baseUrl: number;
  /** Milliseconds since the epoch; infinity: never. */
  readonly expiresAt: number;
}
