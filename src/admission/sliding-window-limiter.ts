import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { formatWait } from '../core/format.ts';
import { limits } from '../core/limits.ts';
import type { WindowLimit } from '../core/rate-limits.ts';

/**
 * Sliding window per key: rejects attempts that exceed one of its windows. The counts are in memory only, and
 * the least recently used keys are dropped beyond `rateLimitKeysMax`: this slows guessing down but does not
 * stop a botnet.
 */
export class SlidingWindowLimiter {
  readonly #clock: Clock;
  readonly #noun: string;
  readonly #windows: readonly WindowLimit[];
  readonly #longestMs: number;
  /** Times of the latest attempts, oldest first, in milliseconds of `Clock.monotonic()`. */
  readonly #times = new Map<string, number[]>();

  /** `noun` completes the error message "Too many <noun>". */
  constructor(noun: string, windows: readonly WindowLimit[], clock: Clock) {
    this.#noun = noun;
    this.#windows = windows;
    this.#clock = clock;
    this.#longestMs = Math.max(...windows.map(({ ms }) => ms));
  }

  /** Counts one attempt. Errors: 429 with the time to wait; a rejected attempt is not counted. */
  consume(key: string): void {
    const now = this.#clock.monotonic();
    const times = (this.#times.get(key) ?? []).filter((time) => now - time < this.#longestMs);
    const waits = this.#windows.map(({ ms, max }) => {
      const oldest = times.at(-max);
      return oldest === undefined ? 0 : oldest + ms - now;
    });
    const waitMs = Math.max(0, ...waits);
    if (waitMs > 0) {
      throw new AppError('rate_limited', `Too many ${this.#noun}. Try again in ${formatWait(waitMs)}.`, {
        retryAfterMs: waitMs,
      });
    }
    times.push(now);
    this.#times.delete(key);
    this.#times.set(key, times);
    if (this.#times.size > limits.rateLimitKeysMax) this.#evictOldest();
  }

  #evictOldest(): void {
    const oldest = this.#times.keys().next();
    if (oldest.done !== true) this.#times.delete(oldest.value);
  }
}
