import { assert } from '../core/assert.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { ModelLimits } from './tiers.ts';

/** The two kinds of model work; each has buckets of its own. */
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

/** Why a call does not fit. */
export interface LimitExceeded {
  readonly limit: LimitName;
  readonly allowancePerMinute: number;
  /** Milliseconds until it would fit if nobody else came; Infinity when it is larger than a full bucket. */
  readonly waitMs: number;
}

/** Room for a slow call `waitMs` from now. `giveBack` returns it when the call never runs; twice is once. */
export interface SlowCallReservation {
  readonly waitMs: number;
  readonly release: () => void;
}

/** Buckets kept before full ones, which say nothing that a new one would not, are forgotten. */
const bucketsMaxDefault = 30_000;

/** What a call takes of one bucket. */
export interface LimitCharge {
  readonly limit: LimitName;
  /** What the bucket holds and gains in a minute. */
  readonly allowance: number;
  readonly cost: number;
}

/** Where buckets are kept for the next start; see `PersistedBuckets`. */
export interface BucketPersistence {
  /** What is left of a bucket that nobody has used since the start; null when nothing is known of it. */
  load(organizationId: string, limit: LimitName, allowance: number): number | null;
  /** It has changed since it was noted last. */
  markDirty(organizationId: string, limit: LimitName): void;
}

const noPersistence: BucketPersistence = { load: () => null, markDirty: () => {} };

/** What waiting calls will take when a quarter begins. */
interface BucketReservation {
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
  #reservations: BucketReservation[] = [];

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
  advanceTo(allowance: number, quarter: number): void {
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
      balance = this.#refilled(balance, reservation.quarter - quarter) - reservation.cost;
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
  consume(cost: number): void {
    this.#balance -= cost;
  }

  /** Takes `cost` so many quarters from now, as `quartersUntil` said. Returns how to give it back. */
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

/** The buckets of all organisations. Decides at once and never waits; time is the clock's monotonic reading. */
export class RateLimiter {
  readonly #clock: Clock;
  readonly #persistence: BucketPersistence;
  readonly #bucketsMax: number;
  /** By organisation and limit. */
  readonly #buckets = new Map<string, Map<LimitName, Bucket>>();
  #size = 0;
  #evictedAtQuarter = -1;

  constructor(clock: Clock, persistence: BucketPersistence = noPersistence, bucketsMax = bucketsMaxDefault) {
    this.#clock = clock;
    this.#persistence = persistence;
    this.#bucketsMax = bucketsMax;
  }

  /** Buckets in memory. */
  get size(): number {
    return this.#size;
  }

  /** Takes all of it for good, or takes nothing and says which limit it does not fit. For calls that are over at once. */
  consume(organizationId: string, charges: readonly LimitCharge[]): LimitExceeded | null {
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

  /** Takes all of it and gives how to give it back, or takes nothing and says which limit it does not fit. */
  reserve(organizationId: string, charges: readonly LimitCharge[]): LimitExceeded | (() => void) {
    const bucketCharges = this.#bucketCharges(organizationId, charges);
    const exceeded = this.#findExceeded(bucketCharges, 0);
    if (exceeded !== null) return exceeded;
    const undos = bucketCharges.map((bucketCharge) => this.#reserve(organizationId, bucketCharge, 0));
    return runOnce(() => {
      for (const undo of undos) undo();
    });
  }

  /** Whether it would fit now; takes nothing. */
  check(organizationId: string, charges: readonly LimitCharge[]): LimitExceeded | null {
    return this.#findExceeded(this.#bucketCharges(organizationId, charges), 0);
  }

  /** Charges a fast call in full, or charges nothing and says which limit it does not fit. */
  consumeFast(charge: ModelCallCharge): LimitExceeded | null {
    return this.consume(charge.organizationId, chargesOf(charge, 'fast'));
  }

  /** What is left of a bucket now; null for one that is not in memory. */
  balance(organizationId: string, limit: LimitName): number | null {
    const bucket = this.#buckets.get(organizationId)?.get(limit);
    return bucket?.balanceAt(this.#quarter()) ?? null;
  }

  /** The organisation is gone. */
  delete(organizationId: string): void {
    this.#size -= this.#buckets.get(organizationId)?.size ?? 0;
    this.#buckets.delete(organizationId);
  }

  /**
   * Charges a slow call that may start after `waitMs`, in the order of asking; refuses, charging nothing, when that
   * is more than `waitMsMax`.
   */
  reserveSlow(charge: ModelCallCharge, waitMsMax: number): SlowCallReservation | LimitExceeded {
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

  /** The due that must wait longest, if that is longer than `waitMsMax`. */
  #findExceeded(bucketCharges: readonly BucketCharge[], waitMsMax: number): LimitExceeded | null {
    let worst: LimitExceeded | null = null;
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

  /** A full bucket and a missing one are the same. Looks at most once a quarter; what still owes stays. */
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
