import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { ModelLimits } from './tiers.ts';

/** The two kinds of model work; each has buckets of its own. */
export type ModelKind = 'embed' | 'rerank';
export type LatencyMode = 'fast' | 'slow';

/** A model call as the limits see it. */
export interface ModelCharge {
  readonly organizationId: string;
  readonly kind: ModelKind;
  readonly chargedBytes: number;
  readonly limits: ModelLimits;
}

export type LimitName =
  | 'requests'
  | 'queries'
  | 'document-bytes'
  | 'embed-bytes-fast'
  | 'embed-bytes-slow'
  | 'rerank-bytes-fast'
  | 'rerank-bytes-slow'
  | 'rerank-requests';

/** Why a call does not fit. */
export interface LimitRefusal {
  readonly limit: LimitName;
  readonly allowancePerMinute: number;
  /** Milliseconds until it would fit if nobody else came; Infinity when it is larger than a full bucket. */
  readonly waitMs: number;
}

/** Room for a slow call `waitMs` from now. `giveBack` returns it when the call never runs; twice is once. */
export interface SlowReservation {
  readonly waitMs: number;
  readonly giveBack: () => void;
}

/** Buckets kept before full ones, which say nothing that a new one would not, are forgotten. */
const bucketsKeptMax = 30_000;

/** What a call takes of one bucket. */
export interface Due {
  readonly limit: LimitName;
  /** What the bucket holds and gains in a minute. */
  readonly allowance: number;
  readonly cost: number;
}

/** Where buckets are kept for the next start; see `PersistedBuckets`. */
export interface BucketPersistence {
  /** What is left of a bucket that nobody has used since the start; null when nothing is known of it. */
  recall(organizationId: string, limit: LimitName, allowance: number): number | null;
  /** It has changed since it was noted last. */
  note(organizationId: string, limit: LimitName): void;
}

const noMemory: BucketPersistence = { recall: () => null, note: () => {} };

/** What waiting calls will take when a quarter begins. */
interface Reservation {
  readonly quarter: number;
  readonly cost: number;
}

/**
 * One allowance. It holds a full minute's worth, starts full, and gains a quarter at every quarter minute; the
 * quarters are the same instants for every bucket. Calls that wait have their place: nobody is served before them.
 */
class Bucket {
  #allowance: number;
  #balance: number;
  #quarter: number;
  /** In order of time, one per quarter, all of them later than `#quarter`. */
  #reservations: Reservation[] = [];

  constructor(allowance: number, quarter: number, balance = allowance) {
    this.#allowance = allowance;
    this.#balance = Math.min(balance, allowance);
    this.#quarter = quarter;
  }

  /** True when the bucket holds all it can at `quarter` and owes nobody. */
  isFullAt(quarter: number): boolean {
    this.#advance(quarter);
    return this.#balance >= this.#allowance && this.#reservations.length === 0;
  }

  /** What is left now, without what calls that wait will take: those end with the process. */
  balanceAt(quarter: number): number {
    this.#advance(quarter);
    return this.#balance;
  }

  /** Brings the bucket to `quarter`. A changed allowance keeps the share that is left, so a change resets nothing. */
  settle(allowance: number, quarter: number): void {
    this.#advance(quarter);
    if (allowance === this.#allowance) return;
    const share = this.#allowance === 0 ? 1 : this.#balance / this.#allowance;
    this.#allowance = allowance;
    this.#balance = allowance * share;
  }

  /** Quarters until `cost` fits behind all that wait: 0 is now, Infinity is never. */
  quartersUntil(cost: number): number {
    if (cost === 0) return 0;
    if (cost > this.#allowance) return Number.POSITIVE_INFINITY;
    let quarter = this.#quarter;
    let balance = this.#balance;
    for (const reservation of this.#reservations) {
      balance = this.#grown(balance, reservation.quarter - quarter) - reservation.cost;
      quarter = reservation.quarter;
    }
    const missing = Math.max(0, cost - balance);
    const more = missing === 0 ? 0 : Math.ceil((missing * limits.bucketRefillsPerMinute) / this.#allowance);
    return quarter + more - this.#quarter;
  }

  /** Whether `cost` fits now, behind all that wait. */
  fits(cost: number): boolean {
    return this.#reservations.length === 0 ? cost <= this.#balance : this.quartersUntil(cost) === 0;
  }

  /** Takes what fits now and is not given back. */
  spend(cost: number): void {
    this.#balance -= cost;
  }

  /** Takes `cost` so many quarters from now, as `quartersUntil` said. Returns how to give it back. */
  take(cost: number, quarters: number): () => void {
    const quarter = this.#quarter + quarters;
    this.#change(quarter, cost);
    return () => this.#change(quarter, -cost);
  }

  #change(quarter: number, cost: number): void {
    if (quarter <= this.#quarter) {
      this.#balance = Math.min(this.#allowance, this.#balance - cost);
      return;
    }
    const known = this.#reservations.find((reservation) => reservation.quarter === quarter)?.cost ?? 0;
    const others = this.#reservations.filter((reservation) => reservation.quarter !== quarter);
    const changed = known + cost === 0 ? others : [...others, { quarter, cost: known + cost }];
    this.#reservations = changed.sort((a, b) => a.quarter - b.quarter);
  }

  #advance(to: number): void {
    if (to === this.#quarter) return;
    assert(to > this.#quarter, 'the clock of the buckets never goes backwards');
    for (const { quarter, cost } of this.#reservations) {
      if (quarter > to) break;
      this.#balance = this.#grown(this.#balance, quarter - this.#quarter) - cost;
      this.#quarter = quarter;
    }
    this.#balance = this.#grown(this.#balance, to - this.#quarter);
    this.#quarter = to;
    if (this.#reservations.length > 0)
      this.#reservations = this.#reservations.filter(({ quarter }) => quarter > to);
  }

  #grown(balance: number, quarters: number): number {
    return Math.min(this.#allowance, balance + (quarters * this.#allowance) / limits.bucketRefillsPerMinute);
  }
}

interface Account extends Due {
  readonly bucket: Bucket;
}

/** The buckets of all organisations. Decides at once and never waits; time is the clock's monotonic reading. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #memory: BucketPersistence;
  readonly #bucketsKept: number;
  /** By organisation and limit. */
  readonly #buckets = new Map<string, Map<LimitName, Bucket>>();
  #size = 0;
  #sweptAtQuarter = -1;

  constructor(clock: Clock, memory: BucketPersistence = noMemory, bucketsKept = bucketsKeptMax) {
    this.#clock = clock;
    this.#memory = memory;
    this.#bucketsKept = bucketsKept;
  }

  /** Buckets in memory. */
  get size(): number {
    return this.#size;
  }

  /** Takes all of it for good, or takes nothing and says which limit it does not fit. For calls that are over at once. */
  spend(organizationId: string, dues: readonly Due[]): LimitRefusal | null {
    const quarter = this.#quarter();
    for (const due of dues)
      if (!this.#bucket(organizationId, due, quarter).fits(due.cost)) return this.look(organizationId, dues);
    for (const due of dues) {
      this.#bucket(organizationId, due, quarter).spend(due.cost);
      this.#memory.note(organizationId, due.limit);
    }
    return null;
  }

  /** Takes all of it and gives how to give it back, or takes nothing and says which limit it does not fit. */
  take(organizationId: string, dues: readonly Due[]): LimitRefusal | (() => void) {
    const accounts = this.#accounts(organizationId, dues);
    const refusal = this.#refusal(accounts, 0);
    if (refusal !== null) return refusal;
    const takes = accounts.map((account) => this.#take(organizationId, account, 0));
    return once(() => {
      for (const untake of takes) untake();
    });
  }

  /** Whether it would fit now; takes nothing. */
  look(organizationId: string, dues: readonly Due[]): LimitRefusal | null {
    return this.#refusal(this.#accounts(organizationId, dues), 0);
  }

  /** Charges a fast call in full, or charges nothing and says which limit it does not fit. */
  takeFast(charge: ModelCharge): LimitRefusal | null {
    return this.spend(charge.organizationId, duesOf(charge, 'fast'));
  }

  /** What is left of a bucket now; null for one that is not in memory. */
  balance(organizationId: string, limit: LimitName): number | null {
    const bucket = this.#buckets.get(organizationId)?.get(limit);
    return bucket?.balanceAt(this.#quarter()) ?? null;
  }

  /** The organisation is gone. */
  forget(organizationId: string): void {
    this.#size -= this.#buckets.get(organizationId)?.size ?? 0;
    this.#buckets.delete(organizationId);
  }

  /**
   * Charges a slow call that may start after `waitMs`, in the order of asking; refuses, charging nothing, when that
   * is more than `waitMsMax`.
   */
  reserveSlow(charge: ModelCharge, waitMsMax: number): SlowReservation | LimitRefusal {
    const { organizationId } = charge;
    const accounts = this.#accounts(organizationId, duesOf(charge, 'slow'));
    const refusal = this.#refusal(accounts, waitMsMax);
    if (refusal !== null) return refusal;
    const waitMs = Math.max(0, ...accounts.map((account) => this.#waitMs(account)));
    const takes = accounts.map((account) =>
      this.#take(organizationId, account, account.bucket.quartersUntil(account.cost)),
    );
    const giveBack = once(() => {
      for (const untake of takes) untake();
    });
    return { waitMs, giveBack };
  }

  /** The due that must wait longest, if that is longer than `waitMsMax`. */
  #refusal(accounts: readonly Account[], waitMsMax: number): LimitRefusal | null {
    let worst: LimitRefusal | null = null;
    for (const account of accounts) {
      const waitMs = this.#waitMs(account);
      if (waitMs <= (worst?.waitMs ?? waitMsMax)) continue;
      worst = { limit: account.limit, allowancePerMinute: account.allowance, waitMs };
    }
    return worst;
  }

  #take(organizationId: string, { limit, bucket, cost }: Account, quarters: number): () => void {
    const untake = bucket.take(cost, quarters);
    this.#memory.note(organizationId, limit);
    return () => {
      untake();
      this.#memory.note(organizationId, limit);
    };
  }

  #waitMs({ bucket, cost }: Account): number {
    const quarters = bucket.quartersUntil(cost);
    if (quarters === 0) return 0;
    return quarters * limits.bucketRefillMs - (this.#clock.monotonic() % limits.bucketRefillMs);
  }

  #accounts(organizationId: string, dues: readonly Due[]): Account[] {
    const quarter = this.#quarter();
    return dues.map((due) => ({ ...due, bucket: this.#bucket(organizationId, due, quarter) }));
  }

  #bucket(organizationId: string, { limit, allowance }: Due, quarter: number): Bucket {
    const bucket =
      this.#buckets.get(organizationId)?.get(limit) ??
      this.#open(organizationId, { limit, allowance }, quarter);
    bucket.settle(allowance, quarter);
    return bucket;
  }

  #open(organizationId: string, { limit, allowance }: Omit<Due, 'cost'>, quarter: number): Bucket {
    this.#forgetFull(quarter);
    const left = this.#memory.recall(organizationId, limit, allowance);
    const bucket = new Bucket(allowance, quarter, left ?? allowance);
    const buckets = this.#buckets.get(organizationId) ?? new Map<LimitName, Bucket>();
    this.#buckets.set(organizationId, buckets.set(limit, bucket));
    this.#size += 1;
    return bucket;
  }

  #quarter(): number {
    return Math.floor(this.#clock.monotonic() / limits.bucketRefillMs);
  }

  /** A full bucket and a missing one are the same. Looks at most once a quarter; what still owes stays. */
  #forgetFull(quarter: number): void {
    if (this.#size < this.#bucketsKept || this.#sweptAtQuarter === quarter) return;
    this.#sweptAtQuarter = quarter;
    for (const [organizationId, buckets] of this.#buckets) {
      for (const [limit, bucket] of buckets) {
        if (!bucket.isFullAt(quarter)) continue;
        buckets.delete(limit);
        this.#size -= 1;
      }
      if (buckets.size === 0) this.#buckets.delete(organizationId);
    }
  }
}

function duesOf({ kind, chargedBytes, limits: own }: ModelCharge, mode: LatencyMode): Due[] {
  const { bytesPerMinuteFast, bytesPerMinuteSlow, rerankRequestsPerMinute } = own;
  const bytes = mode === 'fast' ? bytesPerMinuteFast : bytesPerMinuteSlow;
  const dues: Due[] = [];
  if (bytes !== null) dues.push({ limit: `${kind}-bytes-${mode}`, allowance: bytes, cost: chargedBytes });
  if (mode === 'fast' && kind === 'rerank' && rerankRequestsPerMinute !== null)
    dues.push({ limit: 'rerank-requests', allowance: rerankRequestsPerMinute, cost: 1 });
  return dues;
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}
