import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { waitWords } from '../base/counted.ts';
import { limits } from '../base/limits.ts';

/** At most `max` within any `ms` milliseconds. */
export interface WindowBound {
  readonly ms: number;
  readonly max: number;
}

/**
 * Sliding window per key: refuses what exceeds one of its bounds. The counts are in memory only, and the least recently
 * used keys are dropped beyond `attemptsRememberedMax`: it slows guessing down, it does not stop a botnet.
 */
export class RateWindow {
  readonly #clock: Clock;
  readonly #what: string;
  readonly #windows: readonly WindowBound[];
  readonly #longestMs: number;
  /** Times of the latest attempts, oldest first, in milliseconds of `Clock.monotonic()`. */
  readonly #times = new Map<string, number[]>();

  /** `what` completes the sentence of a refusal: "Too many <what>". */
  constructor(what: string, windows: readonly WindowBound[], clock: Clock) {
    this.#what = what;
    this.#windows = windows;
    this.#clock = clock;
    this.#longestMs = Math.max(...windows.map(({ ms }) => ms));
  }

  /** Counts one attempt. 429 with the time to wait when it is too many; that one is not counted. */
  take(key: string): void {
    const now = this.#clock.monotonic();
    const times = (this.#times.get(key) ?? []).filter((time) => now - time < this.#longestMs);
    const waits = this.#windows.map(({ ms, max }) => {
      const oldest = times.at(-max);
      return oldest === undefined ? 0 : oldest + ms - now;
    });
    const waitMs = Math.max(0, ...waits);
    if (waitMs > 0) {
      throw new AppError('rate_limited', `Too many ${this.#what}; wait ${waitWords(waitMs)} and try again.`, {
        retryAfterMs: waitMs,
      });
    }
    times.push(now);
    this.#times.delete(key);
    this.#times.set(key, times);
    if (this.#times.size > limits.attemptsRememberedMax) this.#forgetOldest();
  }

  #forgetOldest(): void {
    const oldest = this.#times.keys().next();
    if (oldest.done !== true) this.#times.delete(oldest.value);
  }
}
