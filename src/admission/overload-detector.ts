import type { Clock } from '../base/clock.ts';
import type { OverloadObserver } from '../core/async/fair-semaphore.ts';

const windowMs = 500;
/** Such windows in a row make an overload. A single one is a burst: refused clients come again after a second. */
const windowsMin = 2;
/** Share of refused requests from which on a window counts. */
const refusedShareMin = 0.1;

interface Window {
  startedAt: number;
  requests: number;
  refusals: number;
  /** Windows with many refusals in a row, until the one before this. */
  overloaded: number;
}

/**
 * Tells a burst from a sustained overload, by organization. A client that waits for its replies, on however many
 * connections, sends no more than is answered, so its queue does not overflow again and again. Where it does in each of
 * some seconds, requests come faster than they are answered, and a queue only makes all of them late.
 */
export class OverloadDetector implements OverloadObserver {
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** Of organizations with a refusal in this window or in the one before. */
  readonly #windows = new Map<string, Window>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  /** Organizations that it observes. */
  get size(): number {
    return this.#windows.size;
  }

  /** Counts a request that arrived. Whether its organization is overloaded. */
  request(key: string): boolean {
    const window = this.#windowOf(key);
    if (window === null) return false;
    window.requests += 1;
    return window.overloaded >= windowsMin;
  }

  /** Counts the refusal of a request that had arrived. */
  refusal(key: string): void {
    let window = this.#windowOf(key);
    if (window === null) {
      window = { startedAt: this.#clock.monotonic(), requests: 1, refusals: 0, overloaded: 0 };
      this.#windows.set(key, window);
    }
    window.refusals += 1;
  }

  #windowOf(key: string): Window | null {
    const window = this.#windows.get(key);
    if (window === undefined) return null;
    const now = this.#clock.monotonic();
    const elapsed = now - window.startedAt;
    if (elapsed < windowMs) return window;
    const hasMany = window.refusals > 0 && window.refusals >= refusedShareMin * window.requests;
    if (!hasMany || elapsed >= 2 * windowMs) {
      this.#windows.delete(key);
      return null;
    }
    Object.assign(window, { startedAt: now, requests: 0, refusals: 0, overloaded: window.overloaded + 1 });
    return window;
  }
}
