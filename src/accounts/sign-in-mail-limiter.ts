import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';

interface TokenBucket {
  /** Number of emails that may be sent now; refills continuously. */
  readonly tokens: number;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly updatedAt: number;
}

/**
 * Decides whether a request for a sign-in link sends another mail to an address. Requests by a third party
 * must neither fill a mailbox nor lock the owner out, so no request is rejected because of the address. If no
 * mail is sent, earlier links are still valid, because an address gets a new one at least twice within the
 * lifetime of a link. A client that repeats its request immediately causes no second mail.
 */
export class SignInMailLimiter {
  readonly #clock: Clock;
  /** Buckets by address, least recently used first. */
  readonly #buckets = new Map<string, TokenBucket>();
  /** Time of the last mail by address and client. */
  readonly #lastSentByPair = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isAllowed(email: string, client: string): boolean {
    const last = this.#lastSentByPair.get(pairKey(email, client));
    if (last !== undefined && this.#clock.monotonic() - last < limits.signInMailIntervalMsMin) return false;
    return this.#availableTokens(email) >= 1;
  }

  /** Records a sent mail. */
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

/** Inserts an entry and evicts the least recently used one if the map is full. */
function putBounded<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limits.rateLimitKeysMax) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
