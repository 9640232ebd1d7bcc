/** Which side of a search a text stands on: models treat the two differently. */
export const inputTypes = ['query', 'document'] as const;
export type InputType = (typeof inputTypes)[number];

export interface Embeddings {
  /** One row of `Embedder.dimensions` components per text, in the order given; every row has length 1. */
  readonly vectors: Float32Array;
  /** How many tokens the texts have together. */
  readonly tokens: number;
}

/** What is embedded of a chunk: its text under its prefix, and parts of its text. */
export interface ChunkEmbeddingInput {
  readonly text: string;
  readonly prefix: string;
  /** In UTF-16 units of the text, ascending. */
  readonly children: readonly { readonly start: number; readonly end: number }[];
}

export interface ChunkVectors {
  /** One row per chunk. */
  readonly vectors: Float32Array;
  /** One record of `codeBytes` per child, chunk after chunk. */
  readonly codes: Uint8Array;
  readonly tokens: number;
}

/**
 * Text to vector. The same text and type always give the same bytes, whatever else is in the batch; with a transformer
 * from a file they may differ by rounding.
 */
export interface Embedder {
  readonly id: string;
  /** Components of a vector as the model makes it, before `toDimensions`. */
  readonly dimensions: number;
  /** Any text is valid, the empty one too; no text gives no row. */
  embed(texts: readonly string[], inputType: InputType): Promise<Embeddings>;
  /** The same at once, in the calling thread, of a model that takes microseconds. */
  embedSync?(texts: readonly string[], inputType: InputType): Embeddings;
  /**
   * For a model that reads a chunk and its parts at once: what `embed` and `quantise` give for each of them (see
   * `embedChunks`).
   */
  embedChunks?(chunks: readonly ChunkEmbeddingInput[]): ChunkVectors;
  /** Frees the model; twice does no harm, embedding afterwards is a mistake of the caller. */
  close(): Promise<void>;
}

export interface RerankScores {
  /** One score in 0..1 per document, in the order given. */
  readonly scores: Float32Array;
  /** How many tokens the query and the documents have together; the query counts once. */
  readonly tokens: number;
}

/** Query and documents to scores. A score depends on the query and its own document alone. */
export interface Reranker {
  readonly id: string;
  score(query: string, documents: readonly string[]): Promise<RerankScores>;
  /** Frees the model; twice does no harm, scoring afterwards is a mistake of the caller. */
  close(): Promise<void>;
}
