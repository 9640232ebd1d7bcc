import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { waitWords } from '../base/counted.ts';
import { limits } from '../base/limits.ts';

interface Failures {
  readonly count: number;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly until: number;
}

/** Wrong tries in a row that cost no waiting. */
const freeFailures = 3;
const firstMs = 1_000;
const longestMs = 15 * 60_000;

/**
 * Exponential back-off per key: after a few wrong tries each further one has to wait, 1 s, 2 s, 4 s and so on up to
 * 15 minutes. A right try clears the wrong ones.
 */
export class BackOff {
  readonly #clock: Clock;
  readonly #failures = new Map<string, Failures>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** 429 while any of the keys has to wait. */
  check(keys: readonly string[]): void {
    const now = this.#clock.monotonic();
    const until = Math.max(...keys.map((key) => this.#failures.get(key)?.until ?? 0));
    if (until <= now) return;
    throw new AppError(
      'rate_limited',
      `Too many wrong tries; wait ${waitWords(until - now)} and try again.`,
      {
        retryAfterMs: until - now,
      },
    );
  }

  failed(keys: readonly string[]): void {
    const now = this.#clock.monotonic();
    for (const key of keys) {
      const count = (this.#failures.get(key)?.count ?? 0) + 1;
      const waitMs = count < freeFailures ? 0 : Math.min(longestMs, firstMs * 2 ** (count - freeFailures));
      this.#failures.delete(key);
      this.#failures.set(key, { count, until: now + waitMs });
    }
    while (this.#failures.size > limits.attemptsRememberedMax) {
      const oldest = this.#failures.keys().next();
      if (oldest.done === true) break;
      this.#failures.delete(oldest.value);
    }
  }

  succeeded(keys: readonly string[]): void {
    for (const key of keys) this.#failures.delete(key);
  }
}
