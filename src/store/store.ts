import { AppError } from '../base/app-error.ts';
import { assert } from '../base/assert.ts';

/**
 * The small contract everything durable rests on: an ordered map from bytes to bytes. Two implementations pass one
 * suite (test/store/store-contract.ts): `RocksStore` on disk and `MemoryStore` for tests.
 *
 * Keys compare by unsigned bytes; a key is not empty and does not start with 0x00, which is the store's own. Arrays
 * handed in or out must not be changed afterwards by anybody.
 */
export interface Store {
  /** The value as of the last acknowledged write, or undefined. Synchronous and cheap (a few microseconds when cached). */
  get(key: Uint8Array): Uint8Array | undefined;

  /** `get` for many keys in one call, in the order asked. */
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[];

  /**
   * The entries of a range in key order, read in bounded chunks off the event loop. All of them come from one
   * snapshot, taken at the first step of the iteration.
   */
  range(options: RangeOptions): AsyncIterableIterator<Entry>;

  /**
   * Applies all operations or none. Resolves when they are durable (fsynced) and visible to every later read; writes
   * are applied and acknowledged in the order of the calls, and those that wait together share one fsync.
   *
   * Rejects with `AppError` queue_full (too many bytes wait already), reserve_reached (no space, nothing was changed),
   * unavailable (closed), with `ExpectationFailed`, or with an internal error. A rejected write is not visible, and
   * every write that was queued behind a failed one is rejected with it, because it may have been built on it.
   * A write of nothing resolves when everything before it is durable. Keep one write below `limits.storeGroupBytesMax`:
   * a larger one is accepted only while nothing else waits.
   */
  write(operations: readonly Operation[], options?: WriteOptions): Promise<void>;

  /**
   * Grows before the promise of a write settles that may have changed what reads answer of keys that begin with this
   * byte; while it stays, a value of such a key that was read earlier is still "as of the last acknowledged write".
   */
  revisionOf(table: number): number;

  statistics(): StoreStatistics;

  /** Refuses new work, finishes what was accepted, frees everything. May be called at any moment and again. */
  close(): Promise<void>;
}

export type Operation =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'delete'; readonly key: Uint8Array }
  /**
   * Adds to the counters kept under a key (`readCounters` decodes them); a missing key counts as zeros. Evaluated in
   * write order and stored as an absolute total, so a crash or a repeated recovery never counts twice.
   */
  | { readonly type: 'add'; readonly key: Uint8Array; readonly amounts: readonly number[] }
  /**
   * A condition that must hold when this write's turn comes, after all writes before it; otherwise the whole write is
   * rejected with `ExpectationFailed` and changes nothing.
   */
  | {
      readonly type: 'expect';
      readonly key: Uint8Array;
      readonly holds: (value: Uint8Array | undefined) => boolean;
      readonly what: string;
    };

export interface WriteOptions {
  /** For work that frees space or finishes what was promised: allowed although the free-space reserve is reached. */
  readonly mayUseReserve?: boolean;
  /**
   * For work that is bounded elsewhere and would be lost by a refusal: is queued however many bytes wait, so that small
   * writes that fill every gap cannot keep a larger one out for ever.
   */
  readonly mayExceedQueue?: boolean;
}

export interface RangeOptions {
  readonly gt?: Uint8Array;
  readonly gte?: Uint8Array;
  readonly lt?: Uint8Array;
  readonly lte?: Uint8Array;
  /** At most this many entries; all by default. */
  readonly limit?: number;
  /** Descending order when true. */
  readonly reverse?: boolean;
  /** False: entries have empty values, which is cheaper when only keys are wanted. */
  readonly values?: boolean;
}

export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

export interface StoreStatistics {
  /** Bytes of writes accepted and not yet durable. */
  readonly pendingBytes: number;
  readonly pendingWrites: number;
  /** Synced batches and the writes they carried, since the store was opened. */
  readonly commits: number;
  readonly committedWrites: number;
  readonly failedCommits: number;
  /** Estimated live bytes on disk (in memory for the twin). */
  readonly liveBytes: number;
}

/** Asked before a write is accepted; throws `AppError` reserve_reached while free space is below the reserve. */
export interface SpaceGuard {
  check(): void;
}

/** An `expect` operation did not hold: somebody else was faster. The caller decides between 409 and another try. */
export class ExpectationFailed extends Error {
  override readonly name = 'ExpectationFailed';
  readonly what: string;

  constructor(what: string) {
    super(`a write was refused because its expectation did not hold: ${what}`);
    this.what = what;
  }
}

export function storeClosed(): AppError {
  return new AppError('unavailable', 'The server is shutting down; try again in a moment.', {
    retryAfterMs: 2_000,
  });
}

/** What `add` stores: 64-bit little-endian floats, exact for whole numbers up to 2^53. */
export function encodeCounters(amounts: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(amounts.length * 8);
  const view = new DataView(bytes.buffer);
  amounts.forEach((amount, index) => {
    view.setFloat64(index * 8, amount, true);
  });
  return bytes;
}

/** The counters under a key, padded with zeros to `count`. */
export function readCounters(value: Uint8Array | undefined, count: number): number[] {
  const amounts = new Array<number>(count).fill(0);
  if (value === undefined) return amounts;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  for (let index = 0; index < Math.min(count, value.byteLength / 8); index += 1) {
    amounts[index] = view.getFloat64(index * 8, true);
  }
  return amounts;
}

/** Bytes a write occupies while it waits. */
export function operationsBytes(operations: readonly Operation[]): number {
  let bytes = 0;
  for (const operation of operations) {
    assert((operation.key[0] ?? 0) > 0, 'a key is not empty and does not start with 0x00');
    bytes += operation.key.byteLength + 16;
    if (operation.type === 'put') bytes += operation.value.byteLength;
  }
  return bytes;
}
