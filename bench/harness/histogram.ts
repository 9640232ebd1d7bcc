import { assert } from '../../src/core/assert.ts';

/** Transferable form of a histogram, for messages between threads. */
export interface HistogramCounts {
  readonly counts: Uint32Array;
  readonly values: number;
  readonly totalMs: number;
  readonly mostMs: number;
}

const linearSteps = 2_048;
const stepsPerDoubling = linearSteps / 2;
/** Range of about one hour; longer values count in the last step, while the maximum stays exact. */
const doublings = 21;
const slots = linearSteps + doublings * stepsPerDoubling;

/**
 * Latency histogram with fixed memory: steps of 1 us up to 2 ms, beyond that 1,024 steps per doubling, so
 * that quantiles are accurate to 0.1 %. A quantile is the upper edge of its step, that is, never too low.
 * Count, mean and maximum are exact.
 */
export class LatencyHistogram {
  readonly #counts = new Uint32Array(slots);
  #values = 0;
  #totalMs = 0;
  #mostMs = 0;

  /** Records a latency; `milliseconds` must not be negative. */
  record(milliseconds: number): void {
    assert(milliseconds >= 0, 'a latency is not negative');
    const slot = slotOf(Math.ceil(milliseconds * 1_000));
    this.#counts[slot] = (this.#counts[slot] ?? 0) + 1;
    this.#values += 1;
    this.#totalMs += milliseconds;
    this.#mostMs = Math.max(this.#mostMs, milliseconds);
  }

  add(other: HistogramCounts): void {
    assert(other.counts.length === slots, 'histograms have the same steps');
    other.counts.forEach((count, slot) => {
      this.#counts[slot] = (this.#counts[slot] ?? 0) + count;
    });
    this.#values += other.values;
    this.#totalMs += other.totalMs;
    this.#mostMs = Math.max(this.#mostMs, other.mostMs);
  }

  get values(): number {
    return this.#values;
  }

  get mostMs(): number | null {
    return this.#values === 0 ? null : this.#mostMs;
  }

  get meanMs(): number | null {
    return this.#values === 0 ? null : this.#totalMs / this.#values;
  }

  /**
   * Returns the smallest latency that a share of `quantile` (0..1) of the values does not exceed; null if
   * there are too few values for one to lie beyond it: a p99 of fifty values would only be their maximum.
   */
  quantileMs(quantile: number): number | null {
    assert(quantile >= 0 && quantile < 1, 'a quantile lies in 0..1');
    if (this.#values === 0 || this.#values * (1 - quantile) < 1 - 1e-9) return null;
    const rank = Math.max(1, Math.ceil(this.#values * quantile - 1e-9));
    let seen = 0;
    for (let slot = 0; slot < slots; slot++) {
      seen += this.#counts[slot] ?? 0;
      if (seen >= rank) return Math.min(upperEdge(slot) / 1_000, this.#mostMs);
    }
    return this.#mostMs;
  }

  counts(): HistogramCounts {
    return {
      counts: this.#counts.slice(),
      values: this.#values,
      totalMs: this.#totalMs,
      mostMs: this.#mostMs,
    };
  }
}

function slotOf(microseconds: number): number {
  if (microseconds < linearSteps) return microseconds;
  const doubling = Math.floor(Math.log2(microseconds)) - Math.log2(stepsPerDoubling);
  const slot = stepsPerDoubling * doubling + Math.floor(microseconds / 2 ** doubling);
  return Math.min(slot, slots - 1);
}

/** Returns the largest integer number of microseconds that falls into the slot. */
function upperEdge(slot: number): number {
  if (slot < linearSteps) return slot;
  const doubling = Math.floor(slot / stepsPerDoubling) - 1;
  const step = slot - stepsPerDoubling * doubling;
  return (step + 1) * 2 ** doubling - 1;
}
