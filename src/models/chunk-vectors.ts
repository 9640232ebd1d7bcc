import { codeBytes, quantise } from './codes.ts';
import type { ChunkVectors, EmbeddedChunk, Embedder } from './model.ts';

/** Chunks that are embedded in one go; bounds the memory of a very long document. */
const chunksAtOnce = 64;

/** Embeds chunks at both granularities. `onStep` is called now and then; what it throws ends the work. */
export async function embedChunks(
  embedder: Pick<Embedder, 'dimensions' | 'embed' | 'embedChunks'>,
  chunks: readonly EmbeddedChunk[],
  onStep: () => void,
): Promise<ChunkVectors> {
  if (chunks.length <= chunksAtOnce) {
    onStep();
    return embedGroup(embedder, chunks);
  }
  const { dimensions } = embedder;
  const children = chunks.reduce((sum, chunk) => sum + chunk.children.length, 0);
  const vectors = new Float32Array(chunks.length * dimensions);
  const codes = new Uint8Array(children * codeBytes(dimensions));
  let tokens = 0;
  let written = 0;
  for (let first = 0; first < chunks.length; first += chunksAtOnce) {
    onStep();
    const group = await embedGroup(embedder, chunks.slice(first, first + chunksAtOnce));
    vectors.set(group.vectors, first * dimensions);
    codes.set(group.codes, written);
    written += group.codes.length;
    tokens += group.tokens;
  }
  return { vectors, codes, tokens };
}

async function embedGroup(
  embedder: Pick<Embedder, 'dimensions' | 'embed' | 'embedChunks'>,
  chunks: readonly EmbeddedChunk[],
): Promise<ChunkVectors> {
  if (embedder.embedChunks !== undefined) return embedder.embedChunks(chunks);
  const [coarse, precise] = await Promise.all([
    embedder.embed(
      chunks.map(({ prefix, text }) => `${prefix}\n\n${text}`),
      'document',
    ),
    embedder.embed(
      chunks.flatMap(({ text, children }) => children.map(({ start, end }) => text.slice(start, end))),
      'document',
    ),
  ]);
  return {
    vectors: coarse.vectors,
    codes: quantise(precise.vectors, embedder.dimensions),
    tokens: coarse.tokens + precise.tokens,
  };
}
