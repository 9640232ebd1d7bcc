import type { ChunkedDocument, ChunkingInput, CoarseChunk } from './chunk-document.ts';

/** What a chunk worker is asked: cut a document and analyse the words of its chunks. */
export interface ChunkTask extends ChunkingInput {
  /** What the document says of its language (a tag such as "de-AT"), null when it says nothing. */
  readonly language: string | null;
}

export interface ChunkTaskResult {
  readonly chunks: readonly AnalysedChunk[];
  readonly pageStarts: ChunkedDocument['pageStarts'];
  /** Code points of the document's text. */
  readonly length: number;
  /** TermBlock (see text/terms.ts) with one row per chunk that is not blank, in order. */
  readonly terms: Uint8Array;
  readonly tokens: number;
}

export interface AnalysedChunk extends CoarseChunk {
  /** Language its words were stemmed in, null where unsure or blank. */
  readonly language: string | null;
}
