import type { ChunkVectors } from './model.ts';
import { getCodeBytes, quantize } from './quantization.ts';

/** A chunk on a single page. */
interface PageChunk {
  readonly pageStart: number;
  readonly blank: boolean;
  /** Number of its fine chunks. */
  readonly children: number;
}

/**
 * Assigns page vectors to chunks: a chunk, and each of its fine chunks, gets the vector of its page.
 * `pageVectors`: unit vectors of the pages, concatenated.
 */
export function toChunkVectors(
  chunks: readonly PageChunk[],
  pageVectors: Float32Array,
  dimensions: number,
): Pick<ChunkVectors, 'vectors' | 'codes'> {
  const rows = chunks.filter(({ blank }) => !blank);
  const pageCodes = quantize(pageVectors, dimensions);
  const bytes = getCodeBytes(dimensions);
  const vectors = new Float32Array(rows.length * dimensions);
  const codes = new Uint8Array(bytes * rows.reduce((sum, { children }) => sum + children, 0));
  let at = 0;
  rows.forEach(({ pageStart, children }, row) => {
    vectors.set(pageVectors.subarray(pageStart * dimensions, (pageStart + 1) * dimensions), row * dimensions);
    const record = pageCodes.subarray(pageStart * bytes, (pageStart + 1) * bytes);
    for (let child = 0; child < children; child += 1, at += bytes) codes.set(record, at);
  });
  return { vectors, codes };
}
