import type { Clock } from '../core/clock.ts';

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
  readonly openMsInitial: number;
  readonly openMsMax: number;
}

/** Keeps requests away from a provider that fails, and lets one through now and then to see whether it is back. */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  /** How often it has opened since the last success. */
  #openings = 0;
  #openUntil = 0;
  #isProbing = false;

  constructor(options: BreakerOptions) {
    this.#options = options;
  }

  get state(): BreakerState {
    if (this.#openings === 0) return 'closed';
    return this.#isProbing || this.#options.clock.monotonic() >= this.#openUntil ? 'half-open' : 'open';
  }

  /** Milliseconds until a request may go; 0: it would be let through now. */
  getWaitMs(): number {
    if (this.#openings === 0) return 0;
    const left = Math.max(0, this.#openUntil - this.#options.clock.monotonic());
    return this.#isProbing ? Math.max(left, this.#options.openMsInitial) : left;
  }

  /** 0: the request goes, and `succeeded`, `failed` or `gaveUp` is told of it. Otherwise as `waitMs`. */
  acquire(): number {
    const wait = this.getWaitMs();
    if (wait === 0 && this.#openings > 0) this.#isProbing = true;
    return wait;
  }

  recordSuccess(): void {
    this.#failures = 0;
    this.#openings = 0;
    this.#isProbing = false;
  }

  /** `final`: there is no use in asking again soon. */
  recordFailure(isPermanent = false): void {
    this.#failures += 1;
    const wasProbe = this.#isProbing;
    this.#isProbing = false;
    // Requests that were under way when it opened say nothing new.
    if (this.#openings > 0 && !wasProbe) return;
    if (!wasProbe && !isPermanent && this.#failures < this.#options.failuresMax) return;
    const { clock, random, openMsInitial: restMsFirst, openMsMax: restMsMax } = this.#options;
    const openMs = Math.min(restMsMax, restMsFirst * 2 ** this.#openings);
    this.#openings += 1;
    this.#openUntil = clock.monotonic() + openMs * (0.75 + 0.5 * random());
  }

  /** The request ended without saying anything about the provider. */
  recordIgnored(): void {
    this.#isProbing = false;
  }
}
