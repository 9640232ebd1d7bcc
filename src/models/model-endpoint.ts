import type { Clock } from '../core/clock.ts';
import { type BreakerState, CircuitBreaker } from './circuit-breaker.ts';
import type { ProviderError } from './post-json.ts';

export interface ModelEndpointOptions {
  readonly url: string;
  readonly clock: Clock;
  readonly random: () => number;
}

/** Upper bound of a provider's `retry-after`. */
export const retryAfterMsMax = 60_000;

/** One endpoint of a model service: its circuit breaker, the pause that it asked for, and its last error. */
export class ModelEndpoint {
  readonly url: string;
  /** Number of requests in flight. */
  running = 0;
  readonly #clock: Clock;
  readonly #breaker: CircuitBreaker;
  #lastError: string | null = null;
  /** Time on the monotonic clock until which the endpoint asked for no requests (`retry-after`). */
  #pausedUntil = 0;

  constructor({ url, clock, random }: ModelEndpointOptions) {
    this.url = url;
    this.#clock = clock;
    this.#breaker = new CircuitBreaker({
      clock,
      random,
      failuresMax: 5,
      openMsInitial: 1_000,
      openMsMax: 30_000,
    });
  }

  get state(): BreakerState {
    return this.#breaker.state;
  }

  /** Message of the last error; null while the endpoint answers. */
  get lastError(): string | null {
    return this.#lastError;
  }

  /** Milliseconds until the end of the pause that the endpoint asked for. */
  get pauseMs(): number {
    return Math.max(0, this.#pausedUntil - this.#clock.monotonic());
  }

  /** Milliseconds for which the circuit breaker rejects requests. */
  get breakerWaitMs(): number {
    return this.#breaker.getWaitMs();
  }

  /** Whether a request may be sent now. */
  get isAvailable(): boolean {
    return this.pauseMs === 0 && this.breakerWaitMs === 0;
  }

  /** As `CircuitBreaker.acquire`: 0 if the request may be sent, which is then recorded by one of the next methods. */
  acquire(): number {
    return this.#breaker.acquire();
  }

  recordSuccess(): void {
    this.#lastError = null;
    this.#breaker.recordSuccess();
  }

  recordFailure(error: ProviderError): void {
    this.#lastError = error.message;
    if (error.kind === 'busy') this.#breaker.recordIgnored();
    else this.#breaker.recordFailure(error.kind === 'misconfigured');
    const pause = Math.min(error.retryAfterMs ?? 0, retryAfterMsMax);
    this.#pausedUntil = Math.max(this.#pausedUntil, this.#clock.monotonic() + pause);
  }

  /** Records that the request ended without information about the endpoint. */
  recordIgnored(): void {
    this.#breaker.recordIgnored();
  }
}
