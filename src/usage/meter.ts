import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import { countOperations } from './rows.ts';
import {
  addAmounts,
  type DocumentUsageEvent,
  type EmbedUsageEvent,
  type QueryUsageEvent,
  type RerankUsageEvent,
  toDocumentIncrement,
  toEmbedIncrement,
  toQueryIncrement,
  toRerankIncrement,
  type UsageIncrement,
} from './usage-events.ts';

export interface UsageMeterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether an organization has been deleted. Its pending usage is discarded instead of written. */
  readonly isOrganizationDeleted?: (organizationId: string) => boolean;
  /** Milliseconds between writes, which is how much usage a crash can lose. */
  readonly flushMs?: number;
  /**
   * Number of totals in memory that triggers an early write. Above twice this number, new totals are dropped.
   */
  readonly pendingTotalsMax?: number;
}

interface PendingTotal extends UsageIncrement {
  readonly minute: number;
  readonly amounts: number[];
}

/**
 * Pending totals by organization and subject. Both are strings whose hash the engine has already computed, so
 * searching the few totals of a subject costs less than building a combined key.
 */
class PendingTotals {
  readonly #totals = new Map<string, Map<string, PendingTotal[]>>();
  size = 0;

  find(
    { organizationId, subjectId, kind, category }: UsageIncrement,
    minute: number,
  ): PendingTotal | undefined {
    const subjectTotals = this.#totals.get(organizationId)?.get(subjectId);
    if (subjectTotals === undefined) return undefined;
    for (const total of subjectTotals) {
      if (total.minute === minute && total.kind === kind && total.category === category) return total;
    }
    return undefined;
  }

  add(total: PendingTotal): void {
    const { organizationId, subjectId } = total;
    const organizationTotals = this.#totals.get(organizationId) ?? new Map<string, PendingTotal[]>();
    this.#totals.set(organizationId, organizationTotals);
    const subjectTotals = organizationTotals.get(subjectId) ?? [];
    organizationTotals.set(subjectId, subjectTotals);
    subjectTotals.push(total);
    this.size += 1;
  }

  all(): PendingTotal[] {
    return [...this.#totals.values()].flatMap((organizationTotals) =>
      [...organizationTotals.values()].flat(),
    );
  }
}

/**
 * Counts usage. Recording is a few additions in memory; the totals of each minute are added to the store
 * every few seconds and on `close`. A crash loses the last seconds of recorded usage. Callers that need exact
 * counts add `documentOperations` to their own write instead.
 */
export class UsageMeter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #isOrganizationDeleted: (organizationId: string) => boolean;
  readonly #flushMs: number;
  readonly #pendingTotalsMax: number;
  #pending = new PendingTotals();
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #isFlushing = false;

  constructor(options: UsageMeterOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#isOrganizationDeleted = options.isOrganizationDeleted ?? (() => false);
    this.#flushMs = options.flushMs ?? limits.usageFlushMs;
    this.#pendingTotalsMax = options.pendingTotalsMax ?? limits.usagePendingMax;
  }

  /** Number of totals that are only in memory. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Starts periodic writes. */
  start(): void {
    this.#timer ??= setInterval(() => this.#flushSoon(), this.#flushMs).unref();
  }

  recordDocument(event: DocumentUsageEvent): void {
    this.#record(toDocumentIncrement(event));
  }

  recordQuery(event: QueryUsageEvent): void {
    this.#record(toQueryIncrement(event));
  }

  recordEmbed(event: EmbedUsageEvent): void {
    this.#record(toEmbedIncrement(event));
  }

  recordRerank(event: RerankUsageEvent): void {
    this.#record(toRerankIncrement(event));
  }

  /**
   * Same as `recordDocument`, as part of the caller's own atomic write: counted exactly if that write is
   * durable.
   */
  documentOperations(event: DocumentUsageEvent): WriteOperation[] {
    return countOperations(toDocumentIncrement(event), this.#clock.now());
  }

  /** Writes everything recorded before the call. Rejects as `Store.write` does. */
  flush(): Promise<void> {
    const flushed = this.#flushing.then(() => this.#write());
    // The next flush waits for this one even if it fails; only the caller of this one receives the error.
    this.#flushing = flushed.catch(() => undefined);
    return flushed;
  }

  /** Same as `flush`, for readers: a failed write is logged and retried later. */
  async tryFlush(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      this.#logger.warn({ error: String(error) }, 'usage write failed, will retry');
    }
  }

  /** Writes the remaining totals. The store must still be open. Idempotent. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.flush();
  }

  #record(increment: UsageIncrement): void {
    const minute = Math.floor(this.#clock.now() / 60_000);
    const pending = this.#pending.find(increment, minute);
    if (pending !== undefined) {
      addAmounts(pending.amounts, increment.amounts);
      return;
    }
    if (this.#pending.size >= this.#pendingTotalsMax * 2) {
      this.#dropped += 1;
      return;
    }
    this.#pending.add({ ...increment, minute, amounts: [...increment.amounts] });
    if (this.#pending.size >= this.#pendingTotalsMax) this.#flushSoon();
  }

  /**
   * Queues at most one background flush at a time. `tryFlush` never rejects, so its promise needs no owner.
   */
  #flushSoon(): void {
    if (this.#isFlushing) return;
    this.#isFlushing = true;
    void this.tryFlush().finally(() => {
      this.#isFlushing = false;
    });
  }

  async #write(): Promise<void> {
    this.#logDropped();
    const pending = this.#pending;
    this.#pending = new PendingTotals();
    const totals = pending.all().filter(({ organizationId }) => !this.#isOrganizationDeleted(organizationId));
    for (let at = 0; at < totals.length; at += limits.usageBatchMax) {
      const batch = totals.slice(at, at + limits.usageBatchMax);
      try {
        await this.#store.write(
          batch.flatMap((total) => toOperations(total)),
          { mayUseReserve: true },
        );
      } catch (error) {
        this.#restore(totals.slice(at));
        throw error;
      }
    }
  }

  /** A rejected write changed nothing, so its totals are merged into the next one. */
  #restore(totals: readonly PendingTotal[]): void {
    for (const total of totals) {
      const newer = this.#pending.find(total, total.minute);
      if (newer === undefined) this.#pending.add(total);
      else addAmounts(newer.amounts, total.amounts);
    }
  }

  #logDropped(): void {
    if (this.#dropped === 0) return;
    this.#logger.error({ events: this.#dropped }, 'usage dropped: the store rejects writes');
    this.#dropped = 0;
  }
}

function toOperations(pending: PendingTotal): WriteOperation[] {
  return countOperations(pending, pending.minute * 60_000);
}
