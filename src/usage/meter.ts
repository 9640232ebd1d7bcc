import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Operation, Store } from '../store/store.ts';
import {
  addAmounts,
  type Count,
  countOfDocument,
  countOfEmbed,
  countOfQuery,
  countOfRerank,
  type DocumentFact,
  type EmbedFact,
  type QueryFact,
  type RerankFact,
} from './facts.ts';
import { countOperations } from './rows.ts';

export interface UsageMeterOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly logger: Logger;
  /** What was recorded for an organisation that is gone when it would be written is forgotten. */
  readonly isGone?: (organizationId: string) => boolean;
  /** Milliseconds between writes: what a crash can lose. */
  readonly flushMs?: number;
  /** Totals in memory at most; more of them at once write earlier, and beyond twice as many are not counted. */
  readonly pendingMax?: number;
}

interface Pending {
  readonly kind: Count['kind'];
  readonly organizationId: string;
  readonly subject: string;
  readonly minute: number;
  readonly amounts: number[];
}

/**
 * Counts what is used. Recording is a few additions in memory; the sums of each minute are added to the store every
 * few seconds and on `close`. A crash loses the last seconds of what was recorded here; what must be exact joins
 * `documentOperations` to its own write instead.
 */
export class UsageMeter {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #isGone: (organizationId: string) => boolean;
  readonly #flushMs: number;
  readonly #pendingMax: number;
  #pending = new Map<string, Pending>();
  #dropped = 0;
  #timer: NodeJS.Timeout | null = null;
  #flushing: Promise<void> = Promise.resolve();
  #settling = false;

  constructor(options: UsageMeterOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#isGone = options.isGone ?? (() => false);
    this.#flushMs = options.flushMs ?? limits.usageFlushMs;
    this.#pendingMax = options.pendingMax ?? limits.usagePendingMax;
  }

  /** Totals that are in memory only. */
  get pending(): number {
    return this.#pending.size;
  }

  /** Begins to write by itself. */
  start(): void {
    this.#timer ??= setInterval(() => this.#flushSoon(), this.#flushMs).unref();
  }

  recordDocument(fact: DocumentFact): void {
    this.#record(countOfDocument(fact));
  }

  recordQuery(fact: QueryFact): void {
    this.#record(countOfQuery(fact));
  }

  recordEmbed(fact: EmbedFact): void {
    this.#record(countOfEmbed(fact));
  }

  recordRerank(fact: RerankFact): void {
    this.#record(countOfRerank(fact));
  }

  /** The same as `recordDocument`, as part of the caller's own atomic write: counted exactly when that is durable. */
  documentOperations(fact: DocumentFact): Operation[] {
    return countOperations(countOfDocument(fact), this.#clock.now());
  }

  /** Everything recorded before the call is in the store when this resolves. Rejects as `Store.write` does. */
  flush(): Promise<void> {
    const flushed = this.#flushing.then(() => this.#write());
    // The next flush waits for this one, however it ends; how it ends is told to who asked for it.
    this.#flushing = flushed.catch(() => undefined);
    return flushed;
  }

  /** `flush` for a reader: when the store takes no writes, that is logged and tried again later. */
  async settle(): Promise<void> {
    try {
      await this.flush();
    } catch (error) {
      this.#logger.warn({ error: String(error) }, 'usage was not written; will retry');
    }
  }

  /** Writes what is left. The store must still be open. Twice is once. */
  async close(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.flush();
  }

  #record(counted: Count): void {
    const minute = Math.floor(this.#clock.now() / 60_000);
    const key = `${minute} ${counted.organizationId} ${counted.kind} ${counted.subject}`;
    const pending = this.#pending.get(key);
    if (pending !== undefined) {
      addAmounts(pending.amounts, counted.amounts);
      return;
    }
    if (this.#pending.size >= this.#pendingMax * 2) {
      this.#dropped += 1;
      return;
    }
    const { kind, organizationId, subject } = counted;
    this.#pending.set(key, { kind, organizationId, subject, minute, amounts: [...counted.amounts] });
    if (this.#pending.size >= this.#pendingMax) this.#flushSoon();
  }

  /** At most one unasked flush waits at a time. `settle` never rejects, so nobody needs to hold its promise. */
  #flushSoon(): void {
    if (this.#settling) return;
    this.#settling = true;
    void this.settle().finally(() => {
      this.#settling = false;
    });
  }

  async #write(): Promise<void> {
    this.#tellDropped();
    const written = this.#pending;
    this.#pending = new Map();
    const entries = [...written].filter(([, { organizationId }]) => !this.#isGone(organizationId));
    for (let at = 0; at < entries.length; at += limits.usageBatchMax) {
      const batch = entries.slice(at, at + limits.usageBatchMax);
      try {
        await this.#store.write(
          batch.flatMap(([, pending]) => operationsOf(pending)),
          { mayUseReserve: true },
        );
      } catch (error) {
        this.#takeBack(entries.slice(at));
        throw error;
      }
    }
  }

  /** A refused write changed nothing, so its sums wait for the next one, together with what came meanwhile. */
  #takeBack(entries: readonly (readonly [string, Pending])[]): void {
    for (const [key, pending] of entries) {
      const newer = this.#pending.get(key);
      if (newer === undefined) this.#pending.set(key, pending);
      else addAmounts(newer.amounts, pending.amounts);
    }
  }

  #tellDropped(): void {
    if (this.#dropped === 0) return;
    this.#logger.error({ facts: this.#dropped }, 'usage was not counted: the store takes no writes');
    this.#dropped = 0;
  }
}

function operationsOf(pending: Pending): Operation[] {
  return countOperations(pending, pending.minute * 60_000);
}
