import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';

interface TokenBucket {
  /** Mails that may be sent now; fractions fill up over time. */
  readonly tokens: number;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly updatedAt: number;
}

/**
 * Decides whether a request for a sign-in link sends one more mail to an address. A stranger who asks for the links of
 * somebody else must neither fill a mailbox nor keep the owner out, so no request is refused on account of the
 * address: where no mail is due, the links of the mails before are still valid, because an address gets a new one at
 * least twice within the life of a link. A client that asks again at once gets no second mail either.
 */
export class SignInMailLimiter {
  readonly #clock: Clock;
  /** By address; those that were used longest ago come first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** When a client last caused a mail to an address, by both. */
  readonly #lastSentByPair = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isAllowed(email: string, client: string): boolean {
    const last = this.#lastSentByPair.get(pairKey(email, client));
    if (last !== undefined && this.#clock.monotonic() - last < limits.signInMailIntervalMsMin) return false;
    return this.#availableTokens(email) >= 1;
  }

  /** Counts a mail that was sent. */
  recordSent(email: string, client: string): void {
    const now = this.#clock.monotonic();
    putBounded(this.#buckets, email, { tokens: this.#availableTokens(email) - 1, updatedAt: now });
    putBounded(this.#lastSentByPair, pairKey(email, client), now);
  }

  #availableTokens(email: string): number {
    const { signInMailBurstMax: tokensMax, signInMailRefillMs: refillMs } = limits;
    const bucket = this.#buckets.get(email);
    if (bucket === undefined) return tokensMax;
    return Math.min(tokensMax, bucket.tokens + (this.#clock.monotonic() - bucket.updatedAt) / refillMs);
  }
}

function pairKey(email: string, client: string): string {
  return `${email} ${client}`;
}

/** Forgets what was used longest ago when there is too much. */
function putBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limits.rateLimitKeysMax) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
