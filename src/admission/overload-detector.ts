import type { OverloadObserver } from '../core/async/fair-semaphore.ts';
import type { Clock } from '../core/clock.ts';

const windowMs = 500;
/**
 * Consecutive overloaded windows that count as an overload. A single one is a burst: rejected clients retry after
 * a second.
 */
const windowsMin = 2;
/** Minimum share of rejected requests in an overloaded window. */
const rejectedShareMin = 0.1;

interface ObservationWindow {
  startedAt: number;
  requests: number;
  rejections: number;
  /** Number of consecutive overloaded windows before this one. */
  overloadedWindows: number;
}

/**
 * Distinguishes a burst from a sustained overload, per organization. Clients that wait for their replies, on
 * any number of connections, send no more than is answered, so their queue does not overflow repeatedly. If
 * it overflows in several consecutive windows, requests arrive faster than they are answered, and queueing
 * only delays all of them.
 */
export class OverloadDetector implements OverloadObserver {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** By organization; only those with a rejection in this window or the one before. */
  readonly #windows = new Map<string, ObservationWindow>();
  #overloadedUntil = Number.NEGATIVE_INFINITY;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Whether an organization was overloaded within the last two windows. */
  get isOverloaded(): boolean {
    return this.#clock.monotonic() < this.#overloadedUntil;
  }

  /** Number of tracked organizations. */
  get size(): number {
    return this.#windows.size;
  }

  /** Counts an incoming request. Returns whether its organization is overloaded. */
  recordRequest(key: string): boolean {
    const window = this.#windowOf(key);
    if (window === null) return false;
    window.requests += 1;
    if (window.overloadedWindows < windowsMin) return false;
    this.#overloadedUntil = window.startedAt + 2 * windowMs;
    return true;
  }

  /** Counts the rejection of a request that was already recorded. */
  recordRejection(key: string): void {
    let window = this.#windowOf(key);
    if (window === null) {
      window = { startedAt: this.#clock.monotonic(), requests: 1, rejections: 0, overloadedWindows: 0 };
      this.#windows.set(key, window);
    }
    window.rejections += 1;
  }

  #windowOf(key: string): ObservationWindow | null {
    const window = this.#windows.get(key);
    if (window === undefined) return null;
    const now = this.#clock.monotonic();
    const elapsed = now - window.startedAt;
    if (elapsed < windowMs) return window;
    const hasMany = window.rejections > 0 && window.rejections >= rejectedShareMin * window.requests;
    if (!hasMany || elapsed >= 2 * windowMs) {
      this.#windows.delete(key);
      return null;
    }
    Object.assign(window, {
      startedAt: now,
      requests: 0,
      rejections: 0,
      overloadedWindows: window.overloadedWindows + 1,
    });
    return window;
  }
}
