import { BackgroundScheduler } from '../core/async/background-scheduler.ts';
import { systemClock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { shuttingDownError } from '../core/shutting-down-error.ts';
import { type PlainOperation, toKeyText } from './evaluate-group.ts';
import { GroupCommit } from './group-commit.ts';
import type {
  Entry,
  FreeSpaceCheck,
  RangeOptions,
  Store,
  StoreSnapshot,
  StoreStatistics,
  WriteOperation,
  WriteOptions,
} from './store.ts';

export interface MemoryStoreOptions {
  readonly pendingBytesMax?: number;
  readonly space?: FreeSpaceCheck;
}

const emptyBytes = new Uint8Array(0);

/**
 * In-memory implementation with the contract of the store on disk; no data survive `close`. For tests and
 * simulations.
 */
export class MemoryStore implements Store {
  readonly #entries = new Map<string, Entry>();
  /** The keys of `#entries` in order, as latin1 text. */
  readonly #keys: string[] = [];
  readonly #commits: GroupCommit;
  #closed = false;

  constructor(options: MemoryStoreOptions = {}) {
    const pendingBytesMax = options.pendingBytesMax ?? limits.storePendingBytesMax;
    this.#commits = new GroupCommit({
      getMany: (keys) => keys.map((key) => this.#entries.get(toKeyText(key))?.value),
      commit: (operations) => this.#commit(operations),
      pendingBytesMax,
      groupBytesMax: Math.min(pendingBytesMax, limits.storeGroupBytesMax),
      ...(options.space === undefined ? {} : { space: options.space }),
      backgroundScheduler: new BackgroundScheduler(systemClock),
    });
  }

  get(key: Uint8Array): Uint8Array | undefined {
    if (this.#closed) throw shuttingDownError();
    return this.#entries.get(toKeyText(key))?.value;
  }

  getMany(keys: readonly Uint8Array[]): (Uint8Array | undefined)[] {
    return keys.map((key) => this.get(key));
  }

  async *range(options: RangeOptions): AsyncGenerator<Entry, void, void> {
    if (this.#closed) throw shuttingDownError();
    const keys = this.#keysOf(options);
    const entries = keys.map((key) => this.#entries.get(key) as Entry);
    for (let index = 0; index < entries.length; index += 1) {
      if (index % limits.storeRangeChunk === 0) await new Promise((resolve) => setImmediate(resolve));
      if (this.#closed) throw shuttingDownError();
      const entry = entries[index] as Entry;
      yield options.values === false ? { key: entry.key, value: emptyBytes } : entry;
    }
  }

  write(operations: readonly WriteOperation[], options?: WriteOptions): Promise<void> {
    return this.#commits.write(operations, options);
  }

  revisionOf(table: number): number {
    return this.#commits.revisionOf(table);
  }

  statistics(): StoreStatistics {
    let liveBytes = 0;
    for (const { key, value } of this.#entries.values()) liveBytes += key.byteLength + value.byteLength;
    return { ...this.#commits.statistics, liveBytes };
  }

  async snapshot(): Promise<StoreSnapshot> {
    if (this.#closed) throw shuttingDownError();
    const entries = this.#keys.map((key) => this.#entries.get(key) as Entry);
    return {
      sequence: this.#commits.statistics.commits,
      next: async () => entries.splice(0, limits.storeRangeChunk),
      close: async () => {
        entries.length = 0;
      },
    };
  }

  async close(): Promise<void> {
    await this.#commits.close();
    this.#closed = true;
  }

  async #commit(operations: readonly PlainOperation[]): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    for (const operation of operations) this.#apply(operation);
  }

  #apply(operation: PlainOperation): void {
    const text = toKeyText(operation.key);
    const known = this.#entries.has(text);
    if (operation.type === 'put') {
      this.#entries.set(text, { key: operation.key, value: operation.value });
      if (!known) this.#keys.splice(this.#position(text), 0, text);
    } else if (known) {
      this.#entries.delete(text);
      this.#keys.splice(this.#position(text), 1);
    }
  }

  #keysOf(options: RangeOptions): string[] {
    const { gt, gte, lt, lte } = options;
    let start = 0;
    let end = this.#keys.length;
    if (gte !== undefined) start = Math.max(start, this.#position(toKeyText(gte)));
    if (gt !== undefined) start = Math.max(start, this.#position(`${toKeyText(gt)}\0`));
    if (lt !== undefined) end = Math.min(end, this.#position(toKeyText(lt)));
    if (lte !== undefined) end = Math.min(end, this.#position(`${toKeyText(lte)}\0`));
    if (end <= start) return [];
    const limit = options.limit ?? Number.POSITIVE_INFINITY;
    if (options.reverse !== true) return this.#keys.slice(start, Math.min(end, start + limit));
    return this.#keys.slice(Math.max(start, end - limit), end).reverse();
  }

  /** Index of the first key that is not below `text`. */
  #position(text: string): number {
    let low = 0;
    let high = this.#keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#keys[middle] as string) < text) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
