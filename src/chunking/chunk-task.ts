import type { Texts } from '../core/packed-texts.ts';
import type { ChunkedDocument, ChunkingInput, CoarseChunk } from './chunk-document.ts';

/** What a chunk worker is asked: cut a document, analyse the words of its chunks, and embed them. */
export interface ChunkTask extends Omit<ChunkingInput, 'pages'> {
  /** Those of a long document are packed. */
  readonly pages: Texts;
  /** What the document says of its language (a tag such as "de-AT"), null when it says nothing. */
  readonly language: string | null;
  /** Embedding model of the vectors; null: they are made elsewhere, and the answer has none. */
  readonly model: string | null;
  /** Shared memory: 1 when nobody wants the result any more. Null for a document that is cut before a worker could look. */
  readonly cancelFlag: Int32Array | null;
}

/** Documents that ride to a worker together. */
export interface ChunkBatch {
  readonly tasks: readonly ChunkTask[];
}

/** What was made of a document, and how long the worker was at it. */
export interface TimedChunkResult {
  readonly result: ChunkTaskResult;
  readonly ms: number;
}

/** The same as it comes from a worker: chunks of a long document are packed, beside a result without any. */
export interface SentChunkAnswer extends TimedChunkResult {
  readonly packed: readonly Uint8Array<ArrayBuffer>[];
}

/** What became of one of them. */
export type ChunkOutcome = SentChunkAnswer | { readonly error: unknown };

/** Everything large lies in few blocks of memory, which move between threads without a copy. */
export interface ChunkTaskResult {
  readonly chunks: readonly AnalyzedChunk[];
  readonly pageStarts: ChunkedDocument['pageStarts'];
  /** Code points of the document's text. */
  readonly length: number;
  /** TermBlock (see text/terms.ts) with one row per chunk that is not blank, in order. */
  readonly terms: Uint8Array;
  /** Occurrences of terms, and tokens that the model read. */
  readonly tokens: { readonly content: number; readonly embedding: number };
  /**
   * Precise chunks of all chunks, four numbers each: start and end inside the chunk's text in UTF-16 units, start and end
   * in the document's text in code points.
   */
  readonly spans: Uint32Array;
  readonly dimensions: number;
  /** One row per chunk that is not blank. */
  readonly vectors: Float32Array;
  /** 8-bit vectors (see models/quantization.ts) of the precise chunks of all chunks that are not blank. */
  readonly codes: Uint8Array;
}

export interface AnalyzedChunk extends Omit<CoarseChunk, 'children'> {
  /** Language its words were stemmed in, null where unsure or blank. */
  readonly language: string | null;
  /** How many precise chunks it has. */
  readonly children: number;
}
