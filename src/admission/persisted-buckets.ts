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

/** Returns the balance of a bucket now; null when unknown. */
type BalanceReader = (organizationId: string, limit: LimitName) => number | null;

/**
 * Persists the rate limit buckets across restarts. Changed buckets are written together every second, so a
 * crash loses at most one second of charges. Refills during downtime are computed from the wall clock; a step
 * backwards refills nothing.
 */
export class PersistedBuckets implements BucketPersistence {
  readonly #options: PersistedBucketsOptions;
  readonly #records: SavedBuckets;
  /** By organization. */
  #dirty = new Map<string, Set<LimitName>>();
  #readBalance: BalanceReader = () => null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: PersistedBucketsOptions) {
    this.#options = options;
    this.#records = new SavedBuckets(options.store);
  }

  /** Starts the periodic writes. */
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

  /** Resolves when every change marked before the call is stored. Rejects as `Store.write` does. */
  write(): Promise<void> {
    const written = this.#writing.then(() => this.#write());
    this.#writing = written.catch(() => undefined);
    return written;
  }

  /** Writes the remaining changes; the store must still be open. Idempotent. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.write();
  }

  /** Returns the operations to write with the removal of an organization. */
  deleteAllOperations(organizationId: string): Promise<WriteOperation[]> {
    this.#dirty.delete(organizationId);
    return this.#records.deleteAll(organizationId);
  }

  async #writeOrWarn(): Promise<void> {
    if (this.#dirty.size === 0) return;
    try {
      await this.write();
    } catch (error) {
      this.#options.logger.warn({ error: String(error) }, 'rate limit write failed, will retry');
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
