import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import { groupKey } from './group-number.ts';
import type { RocksDatabase } from './rocksdb.ts';
import { type Entry, type RangeOptions, readCounters, type StoreSnapshot } from './store.ts';

const emptyBytes = new Uint8Array(0);
const firstKey = Uint8Array.of(0x01);

/**
 * Reads of a store on disk, whose database is closed for a moment when it is reopened. While it is closed, reads
 * throw `AppError` unavailable.
 */
export class RocksReader {
  readonly #isClosing: () => boolean;
  #database: RocksDatabase | null;

  /** `isClosing`: whether a closed database stays closed. */
  constructor(database: RocksDatabase, isClosing: () => boolean) {
    this.#database = database;
    this.#isClosing = isClosing;
  }

  /** Null while it is closed. */
  get database(): RocksDatabase | null {
    return this.#database;
  }

  requireDatabase(): RocksDatabase {
    if (this.#database !== null) return this.#database;
    throw this.#closedError();
  }

  attach(database: RocksDatabase): void {
    this.#database = database;
  }

  /** Returns the database, which the caller closes; null if it is detached already. */
  detach(): RocksDatabase | null {
    const database = this.#database;
    this.#database = null;
    return database;
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return keys.length === 0 ? [] : this.requireDatabase().getMany(keys);
  }

  async *range(options: RangeOptions): AsyncGenerator<Entry, void, void> {
    const database = this.requireDatabase();
    const start = options.gt === undefined && options.gte === undefined ? { gte: firstKey } : {};
    const iterator = database.iterate({ ...options, ...start });
    try {
      for (;;) {
        const chunk = await this.#readStep(() => iterator.nextv(limits.storeRangeChunk), database);
        if (chunk.length === 0) return;
        for (const [key, value] of chunk) yield { key, value: value ?? emptyBytes };
      }
    } finally {
      await iterator.close();
    }
  }

  async snapshot(): Promise<StoreSnapshot> {
    const database = this.requireDatabase();
    const iterator = database.iterate({ gte: groupKey, fillCache: false });
    const read = (count: number) => this.#readStep(() => iterator.nextv(count), database);
    try {
      const [[key, value] = []] = await read(1);
      const isMarked = key !== undefined && Buffer.compare(key, groupKey) === 0;
      if (key !== undefined && !isMarked) throw new Error('the store has entries without a group number');
      return {
        sequence: readCounters(value, 1)[0]!,
        next: async () =>
          (await read(limits.storeRangeChunk)).map((entry) => ({
            key: entry[0],
            value: entry[1] ?? emptyBytes,
          })),
        close: () => iterator.close(),
      };
    } catch (error) {
      await iterator.close();
      throw error;
    }
  }

  /** Performs one read of an iteration; if the database was closed meanwhile, the error is `unavailable`. */
  async #readStep<T>(read: () => Promise<T>, database: RocksDatabase): Promise<T> {
    if (this.requireDatabase() !== database) throw storeReopening();
    try {
      return await read();
    } catch (error) {
      if (this.#database === database) throw error;
      throw this.#closedError();
    }
  }

  #closedError(): AppError {
    return this.#isClosing() ? shuttingDownError() : storeReopening();
  }
}

function storeReopening(): AppError {
  return new AppError('unavailable', 'The store is being reopened after a disk error. Try again shortly.', {
    retryAfterMs: 1_000,
  });
}
