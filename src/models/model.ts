/** Role of a text in a search; models embed queries and documents differently. */
export const inputTypes = ['query', 'document'] as const;
export type InputType = (typeof inputTypes)[number];

export interface Embeddings {
  /** One row of `Embedder.dimensions` components per text, in the order given; every row has length 1. */
  readonly vectors: Float32Array;
  /** Total number of tokens of all texts. */
  readonly tokens: number;
}

/** Input for embedding a chunk: its text with its prefix, and the spans of its fine chunks. */
export interface ChunkEmbeddingInput {
  readonly text: string;
  readonly prefix: string;
  /** Spans of the fine chunks in UTF-16 units of the text, ascending. */
  readonly children: readonly { readonly start: number; readonly end: number }[];
}

export interface ChunkVectors {
  /** One row per chunk. */
  readonly vectors: Float32Array;
  /** One record of `getCodeBytes` bytes per fine chunk, in the order of the chunks. */
  readonly codes: Uint8Array;
  readonly tokens: number;
}

/**
 * Embedding model. The same text and type always give the same bytes, independent of the other texts in the
 * batch; with an added transformer model they may differ by rounding.
 */
export interface Embedder {
  readonly id: string;
  /** Components of a vector as the model outputs it, before `toDimensions`. */
  readonly dimensions: number;
  /** Embeds texts. Every text is valid, including the empty one; no texts give no rows. */
  embed(texts: readonly string[], inputType: InputType): Promise<Embeddings>;
  /** Same as `embed`, but synchronous in the calling thread; only for a model that takes microseconds. */
  embedSync?(texts: readonly string[], inputType: InputType): Embeddings;
  /**
   * Embeds chunks and their fine chunks in one pass. Returns the results of `embed` and `quantize` for each
   * of them (see `embedChunks` in chunk-vectors.ts).
   */
  embedChunks?(chunks: readonly ChunkEmbeddingInput[]): ChunkVectors;
  /** Frees the model. Idempotent. Embedding after `close` is a bug of the caller. */
  close(): Promise<void>;
}

export interface RerankScores {
  /** One score in 0..1 per document, in the order given. */
  readonly scores: Float32Array;
  /** Total number of tokens of the query and the documents; the query counts once. */
  readonly tokens: number;
}

/** Reranking model. A score depends only on the query and its own document. */
export interface Reranker {
  readonly id: string;
  score(query: string, documents: readonly string[]): Promise<RerankScores>;
  /** Frees the model. Idempotent. Scoring after `close` is a bug of the caller. */
  close(): Promise<void>;
}
