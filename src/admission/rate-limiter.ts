import { assert } from '../core/assert.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { ModelLimits } from './tiers.ts';

/** The two kinds of model work, with separate buckets. */
export type ModelKind = 'embed' | 'rerank';
export type LatencyMode = 'fast' | 'slow';

/** A model call as the limits see it. */
export interface ModelCallCharge {
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

/** The limit that a call exceeds. */
export interface ExceededLimit {
  readonly limit: LimitName;
  readonly allowancePerMinute: number;
  /** Milliseconds until the call would fit without other calls; Infinity when it exceeds a full bucket. */
  readonly waitMs: number;
}

/**
 * Reserved capacity for a slow call `waitMs` from now. `release` returns it if the call never runs;
 * idempotent.
 */
export interface SlowCallReservation {
  readonly waitMs: number;
  readonly release: () => void;
}

/** Number of buckets above which full ones are evicted; a full bucket equals a new one. */
const bucketsMaxDefault = 30_000;

/** Charge of a call to one bucket. */
export interface LimitCharge {
  readonly limit: LimitName;
  /** Capacity of the bucket, and its refill per minute. */
  readonly allowance: number;
  readonly cost: number;
}

/** Persistence of buckets across restarts; see `PersistedBuckets`. */
export interface BucketPersistence {
  /** Returns the balance of a bucket on its first use after the start; null when unknown. */
  load(organizationId: string, limit: LimitName, allowance: number): number | null;
  /** Marks the bucket as changed since it was last written. */
  markDirty(organizationId: string, limit: LimitName): void;
}

const noPersistence: BucketPersistence = { load: () => null, markDirty: () => {} };

/** Total cost of the waiting calls that start in a quarter. */
interface BucketReservation {
  readonly quarter: number;
  readonly cost: number;
}

/**
 * Token bucket of one allowance. It holds one minute's worth, starts full and refills by a quarter every 15
 * s, at the same instants for every bucket. Waiting calls keep their place: later calls are not served before
 * them.
 */
class Bucket {
  #allowance: number;
  #balance: number;
  #quarter: number;
  /** Ordered by time, one per quarter, all later than `#quarter`. */
  #reservations: BucketReservation[] = [];

  constructor(allowance: number, quarter: number, balance = allowance) {
    this.#allowance = allowance;
    this.#balance = Math.min(balance, allowance);
    this.#quarter = quarter;
  }

  /** Whether the bucket is full at `quarter` and has no reservations. */
  isFullAt(quarter: number): boolean {
    this.#advance(quarter);
    return this.#balance >= this.#allowance && this.#reservations.length === 0;
  }

  /** Returns the balance without future reservations, because waiting calls end with the process. */
  balanceAt(quarter: number): number {
    this.#advance(quarter);
    return this.#balance;
  }

  /**
   * Advances the bucket to `quarter`. A changed allowance keeps the remaining fraction, so a change resets
   * nothing.
   */
  advanceTo(allowance: number, quarter: number): void {
    this.#advance(quarter);
    if (allowance === this.#allowance) return;
    const share = this.#allowance === 0 ? 1 : this.#balance / this.#allowance;
    this.#allowance = allowance;
    this.#balance = allowance * share;
  }

  /** Returns the quarters until `cost` fits after all waiting calls: 0 is now, Infinity is never. */
  quartersUntil(cost: number): number {
    if (cost === 0) return 0;
    if (cost > this.#allowance) return Number.POSITIVE_INFINITY;
    let quarter = this.#quarter;
    let balance = this.#balance;
    for (const reservation of this.#reservations) {
      balance = this.#refilled(balance, reservation.quarter - quarter) - reservation.cost;
      quarter = reservation.quarter;
    }
    const missing = Math.max(0, cost - balance);
    const more = missing === 0 ? 0 : Math.ceil((missing * limits.bucketRefillsPerMinute) / this.#allowance);
    return quarter + more - this.#quarter;
  }

  /** Whether `cost` fits now, after all waiting calls. */
  fits(cost: number): boolean {
    return this.#reservations.length === 0 ? cost <= this.#balance : this.quartersUntil(cost) === 0;
  }

  /** Takes a `cost` that fits now, permanently. */
  consume(cost: number): void {
    this.#balance -= cost;
  }

  /**
   * Reserves `cost` the given number of quarters from now, as computed by `quartersUntil`. Returns the undo
   * function.
   */
  reserve(cost: number, quarters: number): () => void {
    const quarter = this.#quarter + quarters;
    this.#change(quarter, cost);
    return () => this.#change(quarter, -cost);
  }

  #change(quarter: number, cost: number): void {
    if (quarter <= this.#quarter) {
      this.#balance = Math.min(this.#allowance, this.#balance - cost);
      return;
    }
    const reserved = this.#reservations.find((reservation) => reservation.quarter === quarter)?.cost ?? 0;
    const others = this.#reservations.filter((reservation) => reservation.quarter !== quarter);
    const changed = reserved + cost === 0 ? others : [...others, { quarter, cost: reserved + cost }];
    this.#reservations = changed.sort((a, b) => a.quarter - b.quarter);
  }

  #advance(to: number): void {
    if (to === this.#quarter) return;
    assert(to > this.#quarter, 'the clock of the buckets never goes backwards');
    for (const { quarter, cost } of this.#reservations) {
      if (quarter > to) break;
      this.#balance = this.#refilled(this.#balance, quarter - this.#quarter) - cost;
      this.#quarter = quarter;
    }
    this.#balance = this.#refilled(this.#balance, to - this.#quarter);
    this.#quarter = to;
    if (this.#reservations.length > 0)
      this.#reservations = this.#reservations.filter(({ quarter }) => quarter > to);
  }

  #refilled(balance: number, quarters: number): number {
    return Math.min(this.#allowance, balance + (quarters * this.#allowance) / limits.bucketRefillsPerMinute);
  }
}

interface BucketCharge extends LimitCharge {
  readonly bucket: Bucket;
}

/** Token buckets of all organizations. Decides immediately and never waits; uses the monotonic clock. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #persistence: BucketPersistence;
  readonly #bucketsMax: number;
  /** By organization and limit. */
  readonly #buckets = new Map<string, Map<LimitName, Bucket>>();
  #size = 0;
  #evictedAtQuarter = -1;

  constructor(clock: Clock, persistence: BucketPersistence = noPersistence, bucketsMax = bucketsMaxDefault) {
    this.#clock = clock;
    this.#persistence = persistence;
    this.#bucketsMax = bucketsMax;
  }

  /** Number of buckets in memory. */
  get size(): number {
    return this.#size;
  }

  /**
   * Takes all charges permanently, or takes nothing and returns the exceeded limit. For calls that cannot be
   * undone.
   */
  consume(organizationId: string, charges: readonly LimitCharge[]): ExceededLimit | null {
    const quarter = this.#quarter();
    for (const charge of charges)
      if (!this.#bucket(organizationId, charge, quarter).fits(charge.cost))
        return this.check(organizationId, charges);
    for (const charge of charges) {
      this.#bucket(organizationId, charge, quarter).consume(charge.cost);
      this.#persistence.markDirty(organizationId, charge.limit);
    }
    return null;
  }

  /** Takes all charges and returns the undo function, or takes nothing and returns the exceeded limit. */
  reserve(organizationId: string, charges: readonly LimitCharge[]): ExceededLimit | (() => void) {
    const bucketCharges = this.#bucketCharges(organizationId, charges);
    const exceeded = this.#findExceeded(bucketCharges, 0);
    if (exceeded !== null) return exceeded;
    const undos = bucketCharges.map((bucketCharge) => this.#reserve(organizationId, bucketCharge, 0));
    return runOnce(() => {
      for (const undo of undos) undo();
    });
  }

  /** Returns the exceeded limit, or null if the charges fit now; takes nothing. */
  check(organizationId: string, charges: readonly LimitCharge[]): ExceededLimit | null {
    return this.#findExceeded(this.#bucketCharges(organizationId, charges), 0);
  }

  /** Charges a fast call in full, or charges nothing and returns the exceeded limit. */
  consumeFast(charge: ModelCallCharge): ExceededLimit | null {
    return this.consume(charge.organizationId, chargesOf(charge, 'fast'));
  }

  /** Returns the balance of a bucket now; null if it is not in memory. */
  balance(organizationId: string, limit: LimitName): number | null {
    const bucket = this.#buckets.get(organizationId)?.get(limit);
    return bucket?.balanceAt(this.#quarter()) ?? null;
  }

  /** Deletes the buckets of a removed organization. */
  delete(organizationId: string): void {
    this.#size -= this.#buckets.get(organizationId)?.size ?? 0;
    this.#buckets.delete(organizationId);
  }

  /**
   * Charges a slow call that may start after `waitMs`, in order of arrival. Charges nothing and returns the
   * exceeded limit when the wait is longer than `waitMsMax`.
   */
  reserveSlow(charge: ModelCallCharge, waitMsMax: number): SlowCallReservation | ExceededLimit {
    const { organizationId } = charge;
    const bucketCharges = this.#bucketCharges(organizationId, chargesOf(charge, 'slow'));
    const exceeded = this.#findExceeded(bucketCharges, waitMsMax);
    if (exceeded !== null) return exceeded;
    const waitMs = Math.max(0, ...bucketCharges.map((bucketCharge) => this.#waitMs(bucketCharge)));
    const undos = bucketCharges.map((bucketCharge) =>
      this.#reserve(organizationId, bucketCharge, bucketCharge.bucket.quartersUntil(bucketCharge.cost)),
    );
    const release = runOnce(() => {
      for (const undo of undos) undo();
    });
    return { waitMs, release };
  }

  /** Returns the charge with the longest wait, if that is longer than `waitMsMax`. */
  #findExceeded(bucketCharges: readonly BucketCharge[], waitMsMax: number): ExceededLimit | null {
    let worst: ExceededLimit | null = null;
    for (const bucketCharge of bucketCharges) {
      const waitMs = this.#waitMs(bucketCharge);
      if (waitMs <= (worst?.waitMs ?? waitMsMax)) continue;
      worst = { limit: bucketCharge.limit, allowancePerMinute: bucketCharge.allowance, waitMs };
    }
    return worst;
  }

  #reserve(organizationId: string, { limit, bucket, cost }: BucketCharge, quarters: number): () => void {
    const undo = bucket.reserve(cost, quarters);
    this.#persistence.markDirty(organizationId, limit);
    return () => {
      undo();
      this.#persistence.markDirty(organizationId, limit);
    };
  }

  #waitMs({ bucket, cost }: BucketCharge): number {
    const quarters = bucket.quartersUntil(cost);
    if (quarters === 0) return 0;
    return quarters * limits.bucketRefillMs - (this.#clock.monotonic() % limits.bucketRefillMs);
  }

  #bucketCharges(organizationId: string, charges: readonly LimitCharge[]): BucketCharge[] {
    const quarter = this.#quarter();
    return charges.map((charge) => ({ ...charge, bucket: this.#bucket(organizationId, charge, quarter) }));
  }

  #bucket(organizationId: string, { limit, allowance }: LimitCharge, quarter: number): Bucket {
    const bucket =
      this.#buckets.get(organizationId)?.get(limit) ??
      this.#createBucket(organizationId, { limit, allowance }, quarter);
    bucket.advanceTo(allowance, quarter);
    return bucket;
  }

  #createBucket(
    organizationId: string,
    { limit, allowance }: Omit<LimitCharge, 'cost'>,
    quarter: number,
  ): Bucket {
    this.#evictFull(quarter);
    const left = this.#persistence.load(organizationId, limit, allowance);
    const bucket = new Bucket(allowance, quarter, left ?? allowance);
    const buckets = this.#buckets.get(organizationId) ?? new Map<LimitName, Bucket>();
    this.#buckets.set(organizationId, buckets.set(limit, bucket));
    this.#size += 1;
    return bucket;
  }

  #quarter(): number {
    return Math.floor(this.#clock.monotonic() / limits.bucketRefillMs);
  }

  /**
   * Evicts full buckets, which are equivalent to missing ones. Scans at most once per quarter; keeps buckets
   * with reservations.
   */
  #evictFull(quarter: number): void {
    if (this.#size < this.#bucketsMax || this.#evictedAtQuarter === quarter) return;
    this.#evictedAtQuarter = quarter;
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

function chargesOf(
  { kind, chargedBytes, limits: modelLimits }: ModelCallCharge,
  mode: LatencyMode,
): LimitCharge[] {
  const { bytesPerMinuteFast, bytesPerMinuteSlow, rerankRequestsPerMinute } = modelLimits;
  const bytes = mode === 'fast' ? bytesPerMinuteFast : bytesPerMinuteSlow;
  const charges: LimitCharge[] = [];
  if (bytes !== null) charges.push({ limit: `${kind}-bytes-${mode}`, allowance: bytes, cost: chargedBytes });
  if (mode === 'fast' && kind === 'rerank' && rerankRequestsPerMinute !== null)
    charges.push({ limit: 'rerank-requests', allowance: rerankRequestsPerMinute, cost: 1 });
  return charges;
}

function runOnce(run: () => void): () => void {
  let done = false;
  return () => {
    if (!done) run();
    done = true;
  };
}
