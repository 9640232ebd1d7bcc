import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';

interface Allowance {
  /** Mails that may be sent now; fractions fill up over time. */
  readonly mails: number;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly at: number;
}

/**
 * Decides whether a request for a sign-in link sends one more mail to an address. A stranger who asks for the links of
 * somebody else must neither fill a mailbox nor keep the owner out, so no request is refused on account of the
 * address: where no mail is due, the links of the mails before are still valid, because an address gets a new one at
 * least twice within the life of a link. A client that asks again at once gets no second mail either.
 */
export class SignInMailPace {
  readonly #clock: Clock;
  /** By address; those that were used longest ago come first. */
  readonly #allowances = new Map<string, Allowance>();
  /** When a client last caused a mail to an address, by both. */
  readonly #lastOfPair = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isDue(email: string, client: string): boolean {
    const last = this.#lastOfPair.get(pairOf(email, client));
    if (last !== undefined && this.#clock.monotonic() - last < limits.signInMailPauseMs) return false;
    return this.#allowanceOf(email) >= 1;
  }

  /** Counts a mail that was sent. */
  sent(email: string, client: string): void {
    const at = this.#clock.monotonic();
    put(this.#allowances, email, { mails: this.#allowanceOf(email) - 1, at });
    put(this.#lastOfPair, pairOf(email, client), at);
  }

  #allowanceOf(email: string): number {
    const { signInMailsAtOnceMax: most, signInMailRefillMs: refillMs } = limits;
    const known = this.#allowances.get(email);
    if (known === undefined) return most;
    return Math.min(most, known.mails + (this.#clock.monotonic() - known.at) / refillMs);
  }
}

function pairOf(email: string, client: string): string {
  return `${email} ${client}`;
}

/** Forgets what was used longest ago when there is too much. */
function put<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
  if (map.size <= limits.attemptsRememberedMax) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}
