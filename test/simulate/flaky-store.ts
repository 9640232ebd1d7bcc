import { AppError } from '../../src/base/app-error.ts';
import type { Operation, Store, WriteOptions } from '../../src/store/store.ts';
import type { Seeded } from '../store/seeded.ts';

/**
 * A store of which one process after another is the owner: writes fail at random, some at once and some a while
 * later, and after `crash` nothing reaches the caller any more, whether it was written or not.
 */
export class FlakyStore implements Store {
  /** Writes that fail, of a hundred. */
  failures = 0;
  failed = 0;
  readonly #store: Store;
  readonly #chance: Seeded;
  #failing: Promise<never> | null = null;
  #crashed = false;

  constructor(store: Store, chance: Seeded) {
    this.#store = store;
    this.#chance = chance;
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

  async write(operations: readonly Operation[], options?: WriteOptions): Promise<void> {
    if (this.#crashed) return gone();
    // Like the real one: what is queued behind a failing write fails with it.
    if (this.#failing !== null) return this.#failing;
    if (this.#chance.below(100) < this.failures) return this.#fail();
    await this.#store.write(operations, options);
    if (this.#crashed) return gone();
  }

  statistics() {
    return this.#store.statistics();
  }

  async close(): Promise<void> {
    await this.#store.write([]);
  }

  /** The process is gone: of the writes under way nobody learns how they end. */
  crash(): void {
    this.#crashed = true;
  }

  #fail(): Promise<never> {
    this.failed += 1;
    const refused = new AppError('reserve_reached', 'the disk is full', { retryAfterMs: 1 });
    if (this.#chance.below(2) === 0) return Promise.reject(refused);
    this.#failing = (async () => {
      for (let turns = 0; turns < 3; turns += 1) await new Promise((resolve) => setImmediate(resolve));
      this.#failing = null;
      throw refused;
    })();
    return this.#failing;
  }
}

function gone(): never {
  throw new AppError('unavailable', 'the process is gone', { retryAfterMs: 1 });
}
