import { AppError } from '../../src/core/app-error.ts';
import type { Store, WriteOperation, WriteOptions } from '../../src/storage/store.ts';
import type { TestRandom } from '../storage/test-random.ts';

/**
 * Store owned by one simulated process after another: writes fail at random, some immediately and some later.
 * `crash` discards waiting writes; the caller does not learn whether the others were written.
 */
export class FlakyStore implements Store {
  /** Percentage of writes that fail. */
  failurePercent = 0;
  failedWrites = 0;
  readonly #store: Store;
  readonly #random: TestRandom;
  #pendingFailure: Promise<never> | null = null;
  #lastWrite: Promise<void> = Promise.resolve();
  #isCrashed = false;

  constructor(store: Store, random: TestRandom) {
    this.#store = store;
    this.#random = random;
  }

  get(key: Uint8Array) {
    return this.#store.get(key);
  }

  getMany(keys: readonly Uint8Array[]) {
    return this.#store.getMany(keys);
  }

  range(options: Parameters<Store['range']>[0]) {
    return this.#store.range(options);
  }

  async write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    if (this.#isCrashed) return throwClosed();
    // As in the real store, writes queued behind a failing write fail with it.
    if (this.#pendingFailure !== null) return this.#pendingFailure;
    if (this.#random.below(100) < this.failurePercent) return this.#failWrite();
    const written = this.#writeLater(operations, options);
    this.#lastWrite = written.catch(() => {});
    return written;
  }

  /** Writes in call order after a random number of event loop turns; `crash` discards waiting writes. */
  async #writeLater(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    const before = this.#lastWrite;
    for (let turns = this.#random.below(6); turns > 0; turns -= 1) await nextEventLoopTurn();
    await before;
    if (this.#isCrashed) return throwClosed();
    await this.#store.write(operations, options);
    if (this.#isCrashed) return throwClosed();
  }

  revisionOf(table: number) {
    return this.#store.revisionOf(table);
  }

  statistics() {
    return this.#store.statistics();
  }

  snapshot() {
    return this.#store.snapshot();
  }

  async close(): Promise<void> {
    await this.#store.write([]);
  }

  /** Simulates the end of the process: callers do not learn the outcome of writes in flight. */
  crash(): void {
    this.#isCrashed = true;
  }

  #failWrite(): Promise<never> {
    this.failedWrites += 1;
    const refused = new AppError('reserve_reached', 'the disk is full', { retryAfterMs: 1 });
    if (this.#random.below(2) === 0) return Promise.reject(refused);
    this.#pendingFailure = (async () => {
      for (let turns = 0; turns < 3; turns += 1) await nextEventLoopTurn();
      this.#pendingFailure = null;
      throw refused;
    })();
    return this.#pendingFailure;
  }
}

function nextEventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function throwClosed(): never {
  throw new AppError('unavailable', 'the process has ended', { retryAfterMs: 1 });
}
