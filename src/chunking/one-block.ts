import type { ChunkTaskResult } from './chunk-task.ts';

/** Where an array may begin: at a multiple of the size of any element. */
const alignment = 8;

function padded(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/**
 * The same results with their arrays in one block of memory, which moves between threads at the price of one: for many
 * small results that is less than what their own blocks cost.
 */
export function inOneBlock(results: readonly ChunkTaskResult[]): {
  readonly results: ChunkTaskResult[];
  readonly block: ArrayBuffer;
} {
  const sizes = results.flatMap(({ terms, spans, vectors, codes }) =>
    [terms, spans, vectors, codes].map((array) => padded(array.byteLength)),
  );
  const block = new ArrayBuffer(sizes.reduce((sum, bytes) => sum + bytes, 0));
  let offset = 0;
  const place = <Numbers extends Uint8Array | Uint32Array | Float32Array>(
    numbers: Numbers,
    make: (at: number) => Numbers,
  ): Numbers => {
    const placed = make(offset);
    placed.set(numbers);
    offset += padded(numbers.byteLength);
    return placed;
  };
  return {
    results: results.map((result) => ({
      ...result,
      terms: place(result.terms, (at) => new Uint8Array(block, at, result.terms.length)),
      spans: place(result.spans, (at) => new Uint32Array(block, at, result.spans.length)),
      vectors: place(result.vectors, (at) => new Float32Array(block, at, result.vectors.length)),
      codes: place(result.codes, (at) => new Uint8Array(block, at, result.codes.length)),
    })),
    block,
  };
}
