import { assert } from '../core/assert.ts';

/**
 * Contract of the durable store: an ordered map from bytes to bytes. Two implementations pass one test suite
 * (test/storage/store-contract.ts): `RocksStore` on disk and `MemoryStore` for tests.
 *
 * Keys compare by unsigned bytes; a key is not empty and does not start with 0x00, which is reserved for the
 * store. Arrays passed in or returned must not be modified afterwards.
 */
export interface Store {
  /**
   * Returns the value as of the last acknowledged write, or undefined. Synchronous and cheap (a few
   * microseconds when cached).
   */
  get(key: Uint8Array): Uint8Array | undefined;

  /** `get` for many keys in one call, in the order of `keys`. */
  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[];

  /**
   * Returns the entries of a range in key order, read in bounded chunks off the event loop, from one snapshot
   * taken at the first step of the iteration.
   */
  range(options: RangeOptions): AsyncIterableIterator<Entry>;

  /**
   * Applies all operations or none. Resolves when they are durable (fsynced) and visible to every later read;
   * writes are applied and acknowledged in the order of the calls, and waiting writes share one fsync.
   *
   * Errors: `AppError` queue_full (too many bytes are waiting), reserve_reached (no space, nothing was
   * changed), unavailable (closed), `ExpectationFailedError`, or an internal error. A rejected write is not
   * visible, and every write queued behind a failed one is rejected with it, because it may depend on it. An
   * empty write resolves when everything before it is durable. Keep one write below
   * `limits.storeGroupBytesMax`: a larger one is accepted only while no other write is waiting.
   */
  write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void>;

  /**
   * Returns a number that increases before the promise of a write settles that may have changed values of
   * keys with this first byte. While it is unchanged, a previously read value of such a key is still "as of
   * the last acknowledged write".
   */
  revisionOf(table: number): number;

  statistics(): StoreStatistics;

  /** Returns all entries as of one commit. Close it soon: until then the store keeps replaced data on disk. */
  snapshot(): Promise<StoreSnapshot>;

  /**
   * Rejects new work, completes accepted work and frees all resources. May be called at any time. Idempotent.
   */
  close(): Promise<void>;
}

export type WriteOperation =
  | { readonly type: 'put'; readonly key: Uint8Array; readonly value: Uint8Array }
  | { readonly type: 'delete'; readonly key: Uint8Array }
  /**
   * Adds to the counters stored under a key (`readCounters` decodes them); a missing key counts as zeros.
   * Evaluated in write order and stored as an absolute total, so that a crash or a repeated recovery never
   * counts twice.
   */
  | { readonly type: 'add'; readonly key: Uint8Array; readonly amounts: readonly number[] }
  /**
   * Numbers an entry with the next value of the first counter under `key`, and stores it. Evaluated in write order: the
   * numbers of a counter have no gaps and increase with the order of the writes. Without a stored counter, nothing is
   * written. `entry` must not throw.
   */
  | {
      readonly type: 'append';
      readonly key: Uint8Array;
      readonly entry: (number: number) => Entry;
    }
  /**
   * A condition that must hold when this write is applied, after all writes before it; otherwise the whole
   * write is rejected with `ExpectationFailedError` and changes nothing.
   */
  | {
      readonly type: 'expect';
      readonly key: Uint8Array;
      readonly holds: (value: Uint8Array | undefined) => boolean;
      readonly description: string;
    };

export interface WriteOptions {
  /** For work that frees space or completes an accepted request: allowed below the free-space reserve. */
  readonly mayUseReserve?: boolean;
  /**
   * For work that is bounded elsewhere and would be lost by a rejection: queued regardless of the waiting
   * bytes, so that small writes that fill every gap cannot starve a larger one.
   */
  readonly mayExceedQueue?: boolean;
  /** Organization that the waiting bytes are counted for; absent for work of the server. */
  readonly organizationId?: string;
}

export interface RangeOptions {
  readonly gt?: Uint8Array;
  readonly gte?: Uint8Array;
  readonly lt?: Uint8Array;
  readonly lte?: Uint8Array;
  /** Maximum number of entries; all by default. */
  readonly limit?: number;
  /** Descending order when true. */
  readonly reverse?: boolean;
  /** False: entries have empty values, which is cheaper when only keys are needed. */
  readonly values?: boolean;
}

export interface Entry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

/** Entries of the store as of one commit. */
export interface StoreSnapshot {
  /** Sequence number of the last commit that the snapshot contains; 0 before the first one. */
  readonly sequence: number;
  /** Returns the next entries in key order, read in bounded chunks off the event loop; empty at the end. */
  next(): Promise<readonly Entry[]>;
  /** Idempotent. */
  close(): Promise<void>;
}

export interface StoreStatistics {
  /** Bytes of writes accepted and not yet durable. */
  readonly pendingBytes: number;
  readonly pendingWrites: number;
  /** Number of synced batches since the store was opened, and of the writes in them. */
  readonly commits: number;
  readonly committedWrites: number;
  readonly failedCommits: number;
  /** Estimated live bytes on disk (in memory for `MemoryStore`). */
  readonly liveBytes: number;
}

/**
 * Checked before a write is accepted; throws `AppError` `reserve_reached` while free space is below the
 * reserve.
 */
export interface FreeSpaceCheck {
  check(): void;
}

/**
 * An `expect` operation did not hold because of a concurrent write. The caller decides between 409 and a
 * retry.
 */
export class ExpectationFailedError extends Error {
  override readonly name = 'ExpectationFailedError';
  readonly description: string;

  constructor(description: string) {
    super(`write rejected, precondition failed: ${description}`);
    this.description = description;
  }
}

/** Encodes counters as stored by `add`: 64-bit little-endian floats, exact for whole numbers up to 2^53. */
export function encodeCounters(amounts: readonly number[]): Uint8Array {
  const bytes = new Uint8Array(amounts.length * 8);
  const view = new DataView(bytes.buffer);
  amounts.forEach((amount, index) => {
    view.setFloat64(index * 8, amount, true);
  });
  return bytes;
}

/** Returns the counters of a value, padded with zeros to `count`. */
export function readCounters(value: Uint8Array | undefined, count: number): number[] {
  const amounts = new Array<number>(count).fill(0);
  if (value === undefined) return amounts;
  const view = new DataView(value.buffer, value.byteOffset, value.byteLength);
  for (let index = 0; index < Math.min(count, value.byteLength / 8); index += 1) {
    amounts[index] = view.getFloat64(index * 8, true);
  }
  return amounts;
}

/** Returns the bytes that a write occupies while it waits. */
export function operationsBytes(operations: readonly WriteOperation[]): number {
  let bytes = 0;
  for (const operation of operations) {
    assert((operation.key[0] ?? 0) > 0, 'a key is not empty and does not start with 0x00');
    bytes += operation.key.byteLength + 16;
    if (operation.type === 'put') bytes += operation.value.byteLength;
  }
  return bytes;
}
