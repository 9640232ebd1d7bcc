import { codeBytes, quantise } from './codes.ts';
import type { Embedder } from './model.ts';

/** What is embedded of a chunk: its text under its prefix, and parts of its text. */
export interface EmbeddedChunk {
  readonly text: string;
  readonly prefix: string;
  /** In UTF-16 units of the text. */
  readonly children: readonly { readonly start: number; readonly end: number }[];
}

export interface ChunkVectors {
  /** One row per chunk. */
  readonly vectors: Float32Array;
  /** One record of `codeBytes` per child, chunk after chunk. */
  readonly codes: Uint8Array;
  readonly tokens: number;
}

/** Chunks that are embedded in one go; bounds the memory of a very long document. */
const chunksAtOnce = 64;

/** Embeds chunks at both granularities. `onStep` is called now and then; what it throws ends the work. */
export async function embedChunks(
  embedder: Embedder,
  chunks: readonly EmbeddedChunk[],
  onStep: () => void,
): Promise<ChunkVectors> {
  const { dimensions } = embedder;
  const children = chunks.reduce((sum, chunk) => sum + chunk.children.length, 0);
  const vectors = new Float32Array(chunks.length * dimensions);
  const codes = new Uint8Array(children * codeBytes(dimensions));
  let tokens = 0;
  let written = 0;
  for (let first = 0; first < chunks.length; first += chunksAtOnce) {
    onStep();
    const group = chunks.slice(first, first + chunksAtOnce);
    const coarse = await embedder.embed(
      group.map(({ prefix, text }) => `${prefix}\n\n${text}`),
      'document',
    );
    const precise = await embedder.embed(
      group.flatMap((chunk) => chunk.children.map(({ start, end }) => chunk.text.slice(start, end))),
      'document',
    );
    vectors.set(coarse.vectors, first * dimensions);
    const records = quantise(precise.vectors, dimensions);
    codes.set(records, written);
    written += records.length;
    tokens += coarse.tokens + precise.tokens;
  }
  return { vectors, codes, tokens };
}
