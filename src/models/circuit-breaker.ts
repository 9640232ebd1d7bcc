import type { Clock } from '../base/clock.ts';

/** closed: requests go; open: none goes for a while; half-open: one goes, and decides. */
export const breakerStates = ['closed', 'half-open', 'open'] as const;
export type BreakerState = (typeof breakerStates)[number];

export interface BreakerOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** 0..1, even; spreads the probes of several servers that lost the same provider. */
  readonly random: () => number;
  /** Failures in a row that open it. */
  readonly failuresMax: number;
  /** Milliseconds it stays open at first; each further time twice as long, up to `restMsMax`. */
  readonly restMsFirst: number;
  readonly restMsMax: number;
}

/** Keeps requests away from a provider that fails, and lets one through now and then to see whether it is back. */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  /** How often it has opened since the last success. */
  #openings = 0;
  #openUntil = 0;
  #probing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openings === 0) return 'closed';
    return this.#probing || this.#options.clock.monotonic() >= this.#openUntil ? 'half-open' : 'open';
  }

  /** Milliseconds until a request may go; 0: it would be let through now. */
  waitMs(): number {
    if (this.#openings === 0) return 0;
    const left = Math.max(0, this.#openUntil - this.#options.clock.monotonic());
    return this.#probing ? Math.max(left, this.#options.restMsFirst) : left;
  }

  /** 0: the request goes, and `succeeded`, `failed` or `gaveUp` is told of it. Otherwise as `waitMs`. */
  enter(): number {
    const wait = this.waitMs();
    if (wait === 0 && this.#openings > 0) this.#probing = true;
    return wait;
  }

  succeeded(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#probing = false;
  }

  /** `final`: there is no use in asking again soon. */
  failed(final = false): void {
    this.#failures += 1;
    const wasProbe = this.#probing;
    this.#probing = false;
    // Requests that were under way when it opened say nothing new.
    if (this.#openings > 0 && !wasProbe) return;
    if (!wasProbe && !final && this.#failures < this.#options.failuresMax) return;
    const { clock, random, restMsFirst, restMsMax } = this.#options;
    const rest = Math.min(restMsMax, restMsFirst * 2 ** this.#openings);
    this.#openings += 1;
    this.#openUntil = clock.monotonic() + rest * (0.75 + 0.5 * random());
  }

  /** The request ended without saying anything about the provider. */
  gaveUp(): void {
    this.#probing = false;
  }
}
