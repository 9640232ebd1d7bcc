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

interface Pending extends Count {
  readonly minute: number;
  readonly amounts: number[];
}

/**
 * Sums by organisation, and in it by what they are about: both are strings whose hash is known from earlier look-ups, so
 * that finding a sum among the few of one subject costs less than putting a key together.
 */
class Sums {
  readonly #sums = new Map<string, Map<string, Pending[]>>();
  size = 0;

  find({ organizationId, about, kind, what }: Count, minute: number): Pending | undefined {
    const few = this.#sums.get(organizationId)?.get(about);
    if (few === undefined) return undefined;
    for (const sum of few) {
      if (sum.minute === minute && sum.kind === kind && sum.what === what) return sum;
    }
    return undefined;
  }

  add(sum: Pending): void {
    const { organizationId, about } = sum;
    const ofOrganisation = this.#sums.get(organizationId) ?? new Map<string, Pending[]>();
    this.#sums.set(organizationId, ofOrganisation);
    const few = ofOrganisation.get(about) ?? [];
    ofOrganisation.set(about, few);
    few.push(sum);
    this.size += 1;
  }

  all(): Pending[] {
    return [...this.#sums.values()].flatMap((ofOrganisation) => [...ofOrganisation.values()].flat());
  }
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
  #pending = new Sums();
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
    const pending = this.#pending.find(counted, minute);
    if (pending !== undefined) {
      addAmounts(pending.amounts, counted.amounts);
      return;
    }
    if (this.#pending.size >= this.#pendingMax * 2) {
      this.#dropped += 1;
      return;
    }
    this.#pending.add({ ...counted, minute, amounts: [...counted.amounts] });
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
    this.#pending = new Sums();
    const sums = written.all().filter(({ organizationId }) => !this.#isGone(organizationId));
    for (let at = 0; at < sums.length; at += limits.usageBatchMax) {
      const batch = sums.slice(at, at + limits.usageBatchMax);
      try {
        await this.#store.write(
          batch.flatMap((sum) => operationsOf(sum)),
          { mayUseReserve: true },
        );
      } catch (error) {
        this.#takeBack(sums.slice(at));
        throw error;
      }
    }
  }

  /** A refused write changed nothing, so its sums wait for the next one, together with what came meanwhile. */
  #takeBack(sums: readonly Pending[]): void {
    for (const sum of sums) {
      const newer = this.#pending.find(sum, sum.minute);
      if (newer === undefined) this.#pending.add(sum);
      else addAmounts(newer.amounts, sum.amounts);
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
