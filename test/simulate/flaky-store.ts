import { AppError } from '../../src/base/app-error.ts';
import type { Operation, Store, WriteOptions } from '../../src/store/store.ts';
import type { Seeded } from '../store/seeded.ts';

/**
 * A store of which one process after another is the owner: writes fail at random, some at once and some a while
 * later, and `crash` loses those that wait; of the others the caller does not learn whether they were written.
 */
export class FlakyStore implements Store {
  /** Writes that fail, of a hundred. */
  failures = 0;
  failed = 0;
  readonly #store: Store;
  readonly #chance: Seeded;
  #failing: Promise<never> | null = null;
  #last: Promise<void> = Promise.resolve();
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
    const written = this.#later(operations, options);
    this.#last = written.catch(() => {});
    return written;
  }

  /** In the order of the calls, each some turns later; what a crash catches waiting is lost. */
  async #later(operations: readonly Operation[], options?: WriteOptions): Promise<void> {
    const before = this.#last;
    for (let turns = this.#chance.below(6); turns > 0; turns -= 1) await turn();
    await before;
    if (this.#crashed) return gone();
    await this.#store.write(operations, options);
    if (this.#crashed) return gone();
  }

  revisionOf(table: number) {
    return this.#store.revisionOf(table);
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
      for (let turns = 0; turns < 3; turns += 1) await turn();
      this.#failing = null;
      throw refused;
    })();
    return this.#failing;
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function gone(): never {
  throw new AppError('unavailable', 'the process is gone', { retryAfterMs: 1 });
}
