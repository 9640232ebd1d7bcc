import type { ChunkEmbeddingInput, ChunkVectors, Embedder } from './model.ts';
import { getCodeBytes, quantize } from './quantization.ts';

/** Maximum number of chunks per embedding batch; bounds the memory for a very long document. */
const batchChunksMax = 64;

/**
 * Embeds chunks as coarse and fine chunks. Calls `onStep` before each batch; an exception from it aborts the
 * work.
 */
export async function embedChunks(
  embedder: Pick<Embedder, 'dimensions' | 'embed' | 'embedChunks'>,
  chunks: readonly ChunkEmbeddingInput[],
  onStep: () => void,
): Promise<ChunkVectors> {
  if (chunks.length <= batchChunksMax) {
    onStep();
    return embedBatch(embedder, chunks);
  }
  const { dimensions } = embedder;
  const children = chunks.reduce((sum, chunk) => sum + chunk.children.length, 0);
  const vectors = new Float32Array(chunks.length * dimensions);
  const codes = new Uint8Array(children * getCodeBytes(dimensions));
  let tokens = 0;
  let written = 0;
  for (let first = 0; first < chunks.length; first += batchChunksMax) {
    onStep();
    const group = await embedBatch(embedder, chunks.slice(first, first + batchChunksMax));
    vectors.set(group.vectors, first * dimensions);
    codes.set(group.codes, written);
    written += group.codes.length;
    tokens += group.tokens;
  }
  return { vectors, codes, tokens };
}

async function embedBatch(
  embedder: Pick<Embedder, 'dimensions' | 'embed' | 'embedChunks'>,
  chunks: readonly ChunkEmbeddingInput[],
): Promise<ChunkVectors> {
  if (embedder.embedChunks !== undefined) return embedder.embedChunks(chunks);
  const [coarse, fine] = await Promise.all([
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
    codes: quantize(fine.vectors, embedder.dimensions),
    tokens: coarse.tokens + fine.tokens,
  };
}
