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

/** Buckets kept before full ones, which say nothing that a new one would not, are forgotten. */
const bucketsKeptMax = 30_000;

/**
 * One allowance. It holds a full minute's worth, starts full, and gains a quarter at every quarter minute; the
 * quarters are the same instants for every bucket. Its balance falls below nothing while slow calls wait their turn.
 */
class Bucket {
  #allowance: number;
  #balance: number;
  #quarter: number;

  constructor(allowance: number, quarter: number) {
    this.#allowance = allowance;
    this.#balance = allowance;
    this.#quarter = quarter;
  }

  /** True when the bucket holds all it can at `quarter`. */
  isFullAt(quarter: number): boolean {
    this.#gain(quarter);
    return this.#balance >= this.#allowance;
  }

  /** Brings the bucket to `quarter`. A changed allowance keeps the share that is left, so a change resets nothing. */
  settle(allowance: number, quarter: number): void {
    this.#gain(quarter);
    if (allowance === this.#allowance) return;
    const share = this.#allowance === 0 ? 1 : this.#balance / this.#allowance;
    this.#allowance = allowance;
    this.#balance = allowance * share;
  }

  /** Quarters until `cost` fits: 0 is now, Infinity is never. */
  quartersUntil(cost: number): number {
    if (cost === 0) return 0;
    if (cost > this.#allowance) return Number.POSITIVE_INFINITY;
    const missing = cost - this.#balance;
    return missing <= 0 ? 0 : Math.ceil((missing * limits.bucketRefillsPerMinute) / this.#allowance);
  }

  take(cost: number): void {
    this.#balance -= cost;
  }

  giveBack(cost: number): void {
    this.#balance = Math.min(this.#allowance, this.#balance + cost);
  }

  #gain(quarter: number): void {
    const passed = quarter - this.#quarter;
    assert(passed >= 0, 'the clock of the buckets never goes backwards');
    this.#quarter = quarter;
    const gained = (passed * this.#allowance) / limits.bucketRefillsPerMinute;
    this.#balance = Math.min(this.#allowance, this.#balance + gained);
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
    if (refusal === null) for (const due of dues) due.bucket.take(due.cost);
    return refusal;
  }

  /**
   * Charges a slow call that may start after `waitMs`, in the order of asking; refuses, charging nothing, when that
   * is more than `waitMsMax`.
   */
  reserveSlow(charge: ModelCharge, waitMsMax: number): { readonly waitMs: number } | LimitRefusal {
    const dues = this.#dues(charge, 'slow');
    const refusal = this.#refusal(dues, waitMsMax);
    if (refusal !== null) return refusal;
    const waitMs = Math.max(0, ...dues.map((due) => this.#waitMs(due)));
    for (const due of dues) due.bucket.take(due.cost);
    return { waitMs };
  }

  /** Returns what a slow call that never ran was charged. */
  giveBackSlow(charge: ModelCharge): void {
    for (const due of this.#dues(charge, 'slow')) due.bucket.giveBack(due.cost);
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
