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
  /** Whether the fine chunks of a row are cached, for this generation and base URL. */
  replyFineChunksHas(
    collection: number,
    version: number,
    row: number,
    generation: number,
    baseUrl: number,
  ): boolean;
  /** Caches a page of a cached document as a result. `rows`: rows of the document that are on this page only. */
  replyPagePut(collection: number, version: number, page: NativePageParts, rows: readonly number[]): void;
  /** Caches the fine chunks of a row whose JSON was cached. */
  replyFineChunksPut(collection: number, version: number, row: number, fine: NativeFineParts): void;
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

/** The fine chunks of a row, to score and to show them. */
export interface NativeFineParts {
  /** Generation of the vectors of the collection. */
  readonly generation: number;
  /** Bytes of the JSON of the row up to the end of the path. */
  readonly pathEnd: number;
  readonly terms: Uint8Array;
  readonly codes: Uint8Array;
  /**
   * Six numbers per fine chunk: first byte of its text in the JSON of the row, and the byte after the last; start and end in
   * code points of the document; first page, and the page after the last.
   */
  readonly spans: Uint32Array;
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
