import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { SavedBuckets } from '../store/buckets.ts';
import type { Operation, Store } from '../store/store.ts';
import type { BucketPersistence, LimitName } from './rate-limiter.ts';

export interface PersistedBucketsOptions {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** What is left of a bucket now; null when that is not known. */
type Balances = (organizationId: string, limit: LimitName) => number | null;

/**
 * Remembers the buckets of rate limits over a restart. Those that were used are written together every second, so that a
 * crash gives back what a second took and no more; what a bucket gained while the server was away comes from the clock
 * on the wall, a step backwards of which gains nothing.
 */
export class PersistedBuckets implements BucketPersistence {
  readonly #options: PersistedBucketsOptions;
  readonly #saved: SavedBuckets;
  /** By organisation. */
  #noted = new Map<string, Set<LimitName>>();
  #balances: Balances = () => null;
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: PersistedBucketsOptions) {
    this.#options = options;
    this.#saved = new SavedBuckets(options.store);
  }

  /** Begins to write by itself. */
  start(balances: Balances): void {
    this.#balances = balances;
    this.#timer ??= setInterval(() => void this.#writeOrWarn(), limits.bucketWriteMs).unref();
  }

  recall(organizationId: string, limit: LimitName, allowance: number): number | null {
    const saved = this.#saved.get(organizationId, limit);
    if (saved === undefined) return null;
    const away = Math.max(0, this.#options.clock.now() - saved.at);
    const refills = Math.floor(away / limits.bucketRefillMs);
    return saved.balance + (refills * allowance) / limits.bucketRefillsPerMinute;
  }

  note(organizationId: string, limit: LimitName): void {
    const noted = this.#noted.get(organizationId);
    if (noted === undefined) this.#noted.set(organizationId, new Set([limit]));
    else noted.add(limit);
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
  endAll(organizationId: string): Promise<Operation[]> {
    this.#noted.delete(organizationId);
    return this.#saved.endAll(organizationId);
  }

  async #writeOrWarn(): Promise<void> {
    if (this.#noted.size === 0) return;
    try {
      await this.write();
    } catch (error) {
      this.#options.logger.warn({ error: String(error) }, 'rate limits were not written; will retry');
    }
  }

  async #write(): Promise<void> {
    const noted = this.#noted;
    if (noted.size === 0) return;
    this.#noted = new Map();
    const at = this.#options.clock.now();
    const operations = [...noted].flatMap(([organizationId, changed]) =>
      [...changed].flatMap((limit) => {
        const balance = this.#balances(organizationId, limit);
        return balance === null ? [] : [this.#saved.put(organizationId, limit, { balance, at })];
      }),
    );
    try {
      await this.#options.store.write(operations, { mayUseReserve: true });
    } catch (error) {
      for (const [organizationId, changed] of noted)
        for (const limit of changed) this.note(organizationId, limit);
      throw error;
    }
  }
}
