import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import { SavedBuckets } from '../storage/buckets.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { BucketPersistence, LimitName } from './rate-limiter.ts';

export interface PersistedBucketsOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** What is left of a bucket now; null when that is not known. */
type BalanceReader = (organizationId: string, limit: LimitName) => number | null;

/**
 * Remembers the buckets of rate limits over a restart. Those that were used are written together every second, so that a
 * crash gives back what a second took and no more; what a bucket gained while the server was away comes from the clock
 * on the wall, a step backwards of which gains nothing.
 */
export class PersistedBuckets implements BucketPersistence {
  readonly #options: PersistedBucketsOptions;
  readonly #records: SavedBuckets;
  /** By organisation. */
  #dirty = new Map<string, Set<LimitName>>();
  #readBalance: BalanceReader = () => null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: PersistedBucketsOptions) {
    this.#options = options;
    this.#records = new SavedBuckets(options.store);
  }

  /** Begins to write by itself. */
  start(readBalance: BalanceReader): void {
    this.#readBalance = readBalance;
    this.#timer ??= setInterval(() => void this.#writeOrWarn(), limits.bucketWriteMs).unref();
  }

  load(organizationId: string, limit: LimitName, allowance: number): number | null {
    const saved = this.#records.get(organizationId, limit);
    if (saved === undefined) return null;
    const elapsedMs = Math.max(0, this.#options.clock.now() - saved.at);
    const refills = Math.floor(elapsedMs / limits.bucketRefillMs);
    return saved.balance + (refills * allowance) / limits.bucketRefillsPerMinute;
  }

  markDirty(organizationId: string, limit: LimitName): void {
    const dirty = this.#dirty.get(organizationId);
    if (dirty === undefined) this.#dirty.set(organizationId, new Set([limit]));
    else dirty.add(limit);
  }

  /** Everything noted before the call is in the store when this resolves. Rejects as `Store.write` does. */
  write(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Writes what is left; the store must still be open. Twice is once. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.write();
  }

  /** To be written with the end of an organisation. */
  deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    this.#dirty.delete(organizationId);
    return this.#records.deleteAll(organizationId);
  }

  async #writeOrWarn(): Promise<void> {
    if (this.#dirty.size === 0) return;
    try {
      await this.write();
    } catch (error) {
      this.#options.logger.warn({ error: String(error) }, 'rate limits were not written; will retry');
    }
  }

  async #write(): Promise<void> {
    const dirty = this.#dirty;
    if (dirty.size === 0) return;
    this.#dirty = new Map();
    const at = this.#options.clock.now();
    const operations = [...dirty].flatMap(([organizationId, changed]) =>
      [...changed].flatMap((limit) => {
        const balance = this.#readBalance(organizationId, limit);
        return balance === null ? [] : [this.#records.put(organizationId, limit, { balance, at })];
      }),
    );
    try {
      await this.#options.store.write(operations, { mayUseReserve: true });
    } catch (error) {
      for (const [organizationId, changed] of dirty)
        for (const limit of changed) this.markDirty(organizationId, limit);
      throw error;
    }
  }
}
