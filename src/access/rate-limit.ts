import type { ModelLimits } from '../accounts/tiers.ts';
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

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

  constructor(allowance: number, quarter: number) {
    this.#allowance = allowance;
    this.#balance = allowance;
    this.#quarter = quarter;
  }

  /** True when the bucket holds all it can at `quarter` and owes nobody. */
  isFullAt(quarter: number): boolean {
    this.#advance(quarter);
    return this.#balance >= this.#allowance && this.#reservations.length === 0;
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
    assert(to >= this.#quarter, 'the clock of the buckets never goes backwards');
    for (const { quarter, cost } of this.#reservations) {
      if (quarter > to) break;
      this.#balance = this.#grown(this.#balance, quarter - this.#quarter) - cost;
      this.#quarter = quarter;
    }
    this.#balance = this.#grown(this.#balance, to - this.#quarter);
    this.#quarter = to;
    this.#reservations = this.#reservations.filter(({ quarter }) => quarter > to);
  }

  #grown(balance: number, quarters: number): number {
    return Math.min(this.#allowance, balance + (quarters * this.#allowance) / limits.bucketRefillsPerMinute);
  }
}

interface Due {
  readonly limit: LimitName;
  readonly allowancePerMinute: number;
  readonly cost: number;
  readonly bucket: Bucket;
}

/** The buckets of all organisations. Decides at once and never waits; time is the clock's monotonic reading. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #bucketsKept: number;
  readonly #buckets = new Map<string, Bucket>();
  #sweptAtQuarter = -1;

  constructor(clock: Clock, bucketsKept = bucketsKeptMax) {
    this.#clock = clock;
    this.#bucketsKept = bucketsKept;
  }

  /** Buckets in memory. */
  get size(): number {
    return this.#buckets.size;
  }

  /** Charges a fast call in full, or charges nothing and says which limit it does not fit. */
  takeFast(charge: ModelCharge): LimitRefusal | null {
    const dues = this.#dues(charge, 'fast');
    const refusal = this.#refusal(dues, 0);
    if (refusal === null) for (const due of dues) due.bucket.take(due.cost, 0);
    return refusal;
  }

  /**
   * Charges a slow call that may start after `waitMs`, in the order of asking; refuses, charging nothing, when that
   * is more than `waitMsMax`.
   */
  reserveSlow(charge: ModelCharge, waitMsMax: number): SlowReservation | LimitRefusal {
    const dues = this.#dues(charge, 'slow');
    const refusal = this.#refusal(dues, waitMsMax);
    if (refusal !== null) return refusal;
    const waitMs = Math.max(0, ...dues.map((due) => this.#waitMs(due)));
    const takes = dues.map((due) => due.bucket.take(due.cost, due.bucket.quartersUntil(due.cost)));
    const giveBack = once(() => {
      for (const untake of takes) untake();
    });
    return { waitMs, giveBack };
  }

  /** The due that must wait longest, if that is longer than `waitMsMax`. */
  #refusal(dues: readonly Due[], waitMsMax: number): LimitRefusal | null {
    let worst: LimitRefusal | null = null;
    for (const due of dues) {
      const waitMs = this.#waitMs(due);
      if (waitMs <= (worst?.waitMs ?? waitMsMax)) continue;
      worst = { limit: due.limit, allowancePerMinute: due.allowancePerMinute, waitMs };
    }
    return worst;
  }

  #waitMs(due: Due): number {
    const quarters = due.bucket.quartersUntil(due.cost);
    if (quarters === 0) return 0;
    return quarters * limits.bucketRefillMs - (this.#clock.monotonic() % limits.bucketRefillMs);
  }

  #dues(charge: ModelCharge, mode: LatencyMode): Due[] {
    const { kind, chargedBytes } = charge;
    const { bytesPerMinuteFast, bytesPerMinuteSlow, rerankRequestsPerMinute } = charge.limits;
    const bytes = mode === 'fast' ? bytesPerMinuteFast : bytesPerMinuteSlow;
    const dues: Due[] = [];
    if (bytes !== null) dues.push(this.#due(charge, `${kind}-bytes-${mode}`, bytes, chargedBytes));
    if (mode === 'fast' && kind === 'rerank' && rerankRequestsPerMinute !== null) {
      dues.push(this.#due(charge, 'rerank-requests', rerankRequestsPerMinute, 1));
    }
    return dues;
  }

  #due(charge: ModelCharge, limit: LimitName, allowancePerMinute: number, cost: number): Due {
    const key = `${charge.organizationId} ${limit}`;
    const quarter = Math.floor(this.#clock.monotonic() / limits.bucketRefillMs);
    let bucket = this.#buckets.get(key);
    if (bucket === undefined) {
      this.#forgetFull(quarter);
      bucket = new Bucket(allowancePerMinute, quarter);
      this.#buckets.set(key, bucket);
    }
    bucket.settle(allowancePerMinute, quarter);
    return { limit, allowancePerMinute, cost, bucket };
  }

  /** A full bucket and a missing one are the same. Looks at most once a quarter; what still owes stays. */
  #forgetFull(quarter: number): void {
    if (this.#buckets.size < this.#bucketsKept || this.#sweptAtQuarter === quarter) return;
    this.#sweptAtQuarter = quarter;
    for (const [key, bucket] of this.#buckets) if (bucket.isFullAt(quarter)) this.#buckets.delete(key);
  }
}

function once(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}
