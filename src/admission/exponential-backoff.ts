import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { formatWait } from '../core/format.ts';
import { limits } from '../core/limits.ts';

interface FailureCount {
  readonly count: number;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly until: number;
}

/** Number of the first consecutive failure that causes a wait. */
const freeFailuresMax = 3;
const waitMsMin = 1_000;
const waitMsMax = 15 * 60_000;

/**
 * Exponential backoff per key: after repeated failures, further attempts must wait 1 s, 2 s, 4 s and so on,
 * up to 15 minutes. A success resets the count.
 */
export class ExponentialBackoff {
  readonly #clock: Clock;
  readonly #failures = new Map<string, FailureCount>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Errors: 429 while any of the keys must wait. */
  check(keys: readonly string[]): void {
    const now = this.#clock.monotonic();
    const until = Math.max(...keys.map((key) => this.#failures.get(key)?.until ?? 0));
    if (until <= now) return;
    throw new AppError('rate_limited', `Too many failed attempts. Try again in ${formatWait(until - now)}.`, {
      retryAfterMs: until - now,
    });
  }

  recordFailure(keys: readonly string[]): void {
    const now = this.#clock.monotonic();
    for (const key of keys) {
      const count = (this.#failures.get(key)?.count ?? 0) + 1;
      const waitMs =
        count < freeFailuresMax ? 0 : Math.min(waitMsMax, waitMsMin * 2 ** (count - freeFailuresMax));
      this.#failures.delete(key);
      this.#failures.set(key, { count, until: now + waitMs });
    }
    while (this.#failures.size > limits.rateLimitKeysMax) {
      const oldest = this.#failures.keys().next();
      if (oldest.done === true) break;
      this.#failures.delete(oldest.value);
    }
  }

  reset(keys: readonly string[]): void {
    for (const key of keys) this.#failures.delete(key);
  }
}
