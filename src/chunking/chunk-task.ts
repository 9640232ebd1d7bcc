import type { Texts } from '../core/packed-texts.ts';
import type { ChunkedText, ChunkingInput, CoarseChunk } from './chunk-document.ts';

/** Input of a chunk worker: cut a document, analyze the words of its chunks, and embed them. */
export interface ChunkTask extends Omit<ChunkingInput, 'pages'> {
  /** Pages of a long document are packed. */
  readonly pages: Texts;
  /** Language that the document declares (a tag such as "de-AT"); null when it declares none. */
  readonly language: string | null;
  /**
   * Embedding model of the vectors; null when another component embeds, and the result then has no vectors.
   */
  readonly model: string | null;
  /**
   * Shared memory: 1 when the result is no longer needed. Null for a small document, which is cut
   * before a worker could check the flag.
   */
  readonly cancelFlag: Int32Array | null;
}

/** Documents sent to a worker in one message. */
export interface ChunkBatch {
  readonly tasks: readonly ChunkTask[];
}

/** Result for a document, and the milliseconds that the worker spent on it. */
export interface TimedChunkResult {
  readonly result: ChunkTaskResult;
  readonly ms: number;
}

/**
 * Result as sent by a worker: the chunks of a long document are packed, and `result.chunks` is then empty.
 */
export interface ChunkReply extends TimedChunkResult {
  readonly packed: readonly Uint8Array<ArrayBuffer>[];
}

/** Result or error for one document of a batch. */
export type ChunkOutcome = ChunkReply | { readonly error: unknown };

/** The chunks of a document in the form in which they are stored. */
export interface StoredChunks {
  /** Records of all chunks, concatenated; see `encodeChunk` of storage/chunks.ts. */
  readonly records: Uint8Array;
  /** Per chunk: where its record ends, and where its part of `codes` and of `fineTerms` ends. */
  readonly ends: Uint32Array;
  /** Per chunk: its start in the document text, in code points. */
  readonly starts: Uint32Array;
  /** Index of the chunk of each row. */
  readonly chunkOfRow: Uint32Array;
  /** Languages of the chunks, without duplicates. */
  readonly languages: readonly string[];
}

/** Large data lies in few blocks of memory, which move between threads without a copy. */
export interface ChunkTaskResult {
  /** Empty if the result has `stored`. */
  readonly chunks: readonly AnalyzedChunk[];
  /** Present if the worker embedded the chunks, which no other component needs then. */
  readonly stored?: StoredChunks;
  readonly pageStarts: ChunkedText['pageStarts'];
  /** Length of the document text in code points. */
  readonly length: number;
  /** TermBlock (see text/terms.ts), packed by workers, with one row per non-blank chunk, in order. */
  readonly terms: Uint8Array;
  /** Terms of the fine chunks of the same rows: their sizes in bytes as u32, then one block per row. */
  readonly fineTerms: Uint8Array;
  /** Number of term occurrences, and number of tokens that the model read. */
  readonly tokens: { readonly content: number; readonly embedding: number };
  /**
   * Fine chunks of all chunks, four numbers each: start and end inside the chunk's text in UTF-16 units,
   * start and end in the document text in code points.
   */
  readonly spans: Uint32Array;
  readonly dimensions: number;
  /** One row per non-blank chunk. */
  readonly vectors: Float32Array;
  /** 8-bit vectors (see models/quantization.ts) of the fine chunks of all non-blank chunks. */
  readonly codes: Uint8Array;
}

export interface AnalyzedChunk extends Omit<CoarseChunk, 'children'> {
  /** Language used for stemming; null when uncertain or blank. */
  readonly language: string | null;
  /** Number of fine chunks. */
  readonly children: number;
}
