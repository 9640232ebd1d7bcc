import { limits } from '../core/limits.ts';

/** Maximum bytes that uWebSockets.js reads from a socket at a time. */
const bufferBytes = 524_288;
/** Chunks of fewer bytes are copied to memory of exactly their size instead of a pooled buffer. */
const chunkBytesMin = 65_536;
/** Maximum number of free buffers kept for reuse. */
const freeMax = limits.chunkBuffersFreeMax;

/**
 * Pool of buffers for the chunks of large bodies. A new buffer for each chunk is off-heap garbage, which V8
 * collects after every few dozen megabytes received: 217 us of CPU per chunk of 512 KiB, with the pool 21 us
 * (2 GB of chunks in a heap of 40 MB). A chunk that is not released is garbage-collected as usual.
 */
class ChunkBuffers {
  readonly #free: ArrayBuffer[] = [];
  /** Buffers of chunks that are not released yet. */
  readonly #inUse = new WeakSet<ArrayBufferLike>();

  /** Copies bytes that are valid only during the call. */
  copy(bytes: ArrayBuffer): Uint8Array {
    if (bytes.byteLength < chunkBytesMin || bytes.byteLength > bufferBytes)
      return Buffer.from(new Uint8Array(bytes));
    const buffer = this.#free.pop() ?? new ArrayBuffer(bufferBytes);
    this.#inUse.add(buffer);
    const copy = new Uint8Array(buffer, 0, bytes.byteLength);
    copy.set(new Uint8Array(bytes));
    return copy;
  }

  /** Returns the buffers of chunks that are no longer read. Idempotent; ignores chunks of another origin. */
  release(chunks: readonly Uint8Array[]): void {
    for (const { buffer } of chunks) {
      const wasInUse = this.#inUse.delete(buffer);
      if (wasInUse && this.#free.length < freeMax) this.#free.push(buffer as ArrayBuffer);
    }
  }
}

export const chunkBuffers = new ChunkBuffers();
