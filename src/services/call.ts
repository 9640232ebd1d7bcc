import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import type { Principal } from '../schemas/principal.ts';

/** What every use case knows about the call it serves, besides the request itself. */
export interface ServiceCall<P extends Principal = Principal> {
  readonly principal: P;
  readonly requestId: string;
  /** `https://host:port` without a trailing slash: what file and image addresses start with. */
  readonly baseUrl: string;
  /** Milliseconds of `Clock.monotonic()` when the request line arrived. */
  readonly receivedAt: number;
  readonly cancellation: CancellationToken;
  /** Asked before every unit of work that takes a few milliseconds. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Network address of the client; behind a trusted proxy the one that the proxy names. */
  readonly address: () => string;
}

/**
 * What is left of `msMax` milliseconds counted from `since` (as `receivedAt`), in whole ones for a timer. A JSON body that
 * was slow to arrive has used up some of the time after which a client no longer waits for its answer.
 */
export function remainingMs(
  { msMax, since }: { readonly msMax: number; readonly since: number },
  clock: Pick<Clock, 'monotonic'>,
): number {
  return Math.max(0, Math.ceil(msMax - (clock.monotonic() - since)));
}
