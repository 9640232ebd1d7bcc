import type { ChunkTaskResult, StoredChunks } from './chunk-task.ts';

/** Start alignment of each array, in bytes: a multiple of the size of every element type. */
const alignment = 8;

function alignBytes(bytes: number): number {
  return Math.ceil(bytes / alignment) * alignment;
}

/** Returns the arrays of a result in its stored form. */
export function arraysOf(stored: StoredChunks | undefined): (Uint8Array | Uint32Array)[] {
  return stored === undefined ? [] : [stored.records, stored.ends, stored.starts, stored.chunkOfRow];
}

/**
 * Returns the same results with all arrays in one block of memory. Moving one block between threads is
 * cheaper than moving the separate blocks of many small results.
 */
export function packResults(results: readonly ChunkTaskResult[]): {
  readonly results: ChunkTaskResult[];
  readonly block: ArrayBuffer;
} {
  const sizes = results.flatMap(({ terms, fineTerms, spans, vectors, codes, stored }) =>
    [terms, fineTerms, spans, vectors, codes, ...arraysOf(stored)].map((array) =>
      alignBytes(array.byteLength),
    ),
  );
  const block = new ArrayBuffer(sizes.reduce((sum, bytes) => sum + bytes, 0));
  let offset = 0;
  const copyIntoBlock = <Numbers extends Uint8Array | Uint32Array | Float32Array>(
    numbers: Numbers,
    make: (at: number) => Numbers,
  ): Numbers => {
    const copy = make(offset);
    copy.set(numbers);
    offset += alignBytes(numbers.byteLength);
    return copy;
  };
  const packStored = (stored: StoredChunks): StoredChunks => ({
    ...stored,
    records: copyIntoBlock(stored.records, (at) => new Uint8Array(block, at, stored.records.length)),
    ends: copyIntoBlock(stored.ends, (at) => new Uint32Array(block, at, stored.ends.length)),
    starts: copyIntoBlock(stored.starts, (at) => new Uint32Array(block, at, stored.starts.length)),
    chunkOfRow: copyIntoBlock(
      stored.chunkOfRow,
      (at) => new Uint32Array(block, at, stored.chunkOfRow.length),
    ),
  });
  return {
    results: results.map((result) => ({
      ...result,
      terms: copyIntoBlock(result.terms, (at) => new Uint8Array(block, at, result.terms.length)),
      fineTerms: copyIntoBlock(result.fineTerms, (at) => new Uint8Array(block, at, result.fineTerms.length)),
      spans: copyIntoBlock(result.spans, (at) => new Uint32Array(block, at, result.spans.length)),
      vectors: copyIntoBlock(result.vectors, (at) => new Float32Array(block, at, result.vectors.length)),
      codes: copyIntoBlock(result.codes, (at) => new Uint8Array(block, at, result.codes.length)),
      ...(result.stored === undefined ? {} : { stored: packStored(result.stored) }),
    })),
    block,
  };
}
