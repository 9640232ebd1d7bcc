import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
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
 * `readPageVector` returns the unit vector of a page. Yields before each chunk: quantizing the vectors of
 * 900 pages of 8,192 dimensions takes 60 ms.
 */
export async function toChunkVectors(
  chunks: readonly PageChunk[],
  readPageVector: (page: number) => Float32Array,
  {
    dimensions,
    yieldToEventLoop,
  }: { readonly dimensions: number; readonly yieldToEventLoop: YieldToEventLoop },
): Promise<Pick<ChunkVectors, 'vectors' | 'codes'>> {
  const rows = chunks.filter(({ blank }) => !blank);
  const bytes = getCodeBytes(dimensions);
  const vectors = new Float32Array(rows.length * dimensions);
  const codes = new Uint8Array(bytes * rows.reduce((sum, { children }) => sum + children, 0));
  let at = 0;
  for (const [row, { pageStart, children }] of rows.entries()) {
    const pause = yieldToEventLoop();
    if (pause !== null) await pause;
    const vector = readPageVector(pageStart);
    vectors.set(vector, row * dimensions);
    const record = quantize(vector, dimensions);
    for (let child = 0; child < children; child += 1, at += bytes) codes.set(record, at);
  }
  return { vectors, codes };
}
