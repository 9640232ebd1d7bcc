import { limits } from '../core/limits.ts';

/** What uWebSockets.js reads from a socket at a time, at most. */
const bufferBytes = 524_288;
/** A smaller chunk is copied into memory of its own size. */
const chunkBytesMin = 65_536;
/** Buffers kept for the next chunks. */
const freeMax = limits.chunkBuffersFreeMax;

/**
 * Buffers of the chunks of large bodies, used again and again. New ones for each chunk are garbage outside of the heap:
 * V8 collects the whole heap each time some dozens of megabytes have come. A chunk that is not given back is garbage as
 * any other.
 */
class ChunkBuffers {
  readonly #free: ArrayBuffer[] = [];
  /** Buffers of chunks that were not given back. */
  readonly #lent = new WeakSet<ArrayBufferLike>();

  /** A copy of bytes that are valid only now. */
  copyOf(bytes: ArrayBuffer): Uint8Array {
    if (bytes.byteLength < chunkBytesMin || bytes.byteLength > bufferBytes)
      return Buffer.from(new Uint8Array(bytes));
    const buffer = this.#free.pop() ?? new ArrayBuffer(bufferBytes);
    this.#lent.add(buffer);
    const copy = new Uint8Array(buffer, 0, bytes.byteLength);
    copy.set(new Uint8Array(bytes));
    return copy;
  }

  /** The bytes of these chunks are not read anymore. Harmless twice, and for chunks that have another origin. */
  giveBack(chunks: readonly Uint8Array[]): void {
    for (const { buffer } of chunks) {
      const isLent = this.#lent.delete(buffer);
      if (isLent && this.#free.length < freeMax) this.#free.push(buffer as ArrayBuffer);
    }
  }
}

export const chunkBuffers = new ChunkBuffers();
