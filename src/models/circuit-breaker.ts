import type { Clock } from '../core/clock.ts';

/**
 * closed: requests pass; open: requests are rejected for a period; half-open: one probe request passes and
 * decides the next state.
 */
export const breakerStates = ['closed', 'half-open', 'open'] as const;
export type BreakerState = (typeof breakerStates)[number];

export interface BreakerOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Uniform in 0..1; adds jitter, so that several servers that lost the same provider do not probe at once. */
  readonly random: () => number;
  /** Consecutive failures that open the breaker. */
  readonly failuresMax: number;
  /** Milliseconds of the first open period. Each further period is twice as long, up to `openMsMax`. */
  readonly openMsInitial: number;
  readonly openMsMax: number;
}

/** Circuit breaker: rejects requests to a failing provider and lets one probe pass after each open period. */
export class CircuitBreaker {
  readonly #options: BreakerOptions;
  #failures = 0;
  /** Number of openings since the last success. */
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

  /** Milliseconds until a request may be sent; 0 if one would pass now. */
  getWaitMs(): number {
    if (this.#openings === 0) return 0;
    const left = Math.max(0, this.#openUntil - this.#options.clock.monotonic());
    return this.#isProbing ? Math.max(left, this.#options.openMsInitial) : left;
  }

  /**
   * Returns 0 if the request may be sent; the caller then calls `recordSuccess`, `recordFailure` or
   * `recordIgnored`. Otherwise returns the wait as `getWaitMs` does.
   */
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

  /** `isPermanent`: opens the breaker at once, because an early retry cannot succeed. */
  recordFailure(isPermanent = false): void {
    this.#failures += 1;
    const wasProbe = this.#isProbing;
    this.#isProbing = false;
    // Requests sent before the breaker opened carry no new information.
    if (this.#openings > 0 && !wasProbe) return;
    if (!wasProbe && !isPermanent && this.#failures < this.#options.failuresMax) return;
    const { clock, random, openMsInitial, openMsMax } = this.#options;
    const openMs = Math.min(openMsMax, openMsInitial * 2 ** this.#openings);
    this.#openings += 1;
    this.#openUntil = clock.monotonic() + openMs * (0.75 + 0.5 * random());
  }

  /** Records that the request ended without information about the provider. */
  recordIgnored(): void {
    this.#isProbing = false;
  }
}
