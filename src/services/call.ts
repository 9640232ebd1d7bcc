import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import type { Trace } from '../core/trace.ts';
import type { Principal } from '../schemas/principal.ts';

/** Headers that services add to their replies. */
export type ServiceReplyHeader = 'x-quarry-model' | 'x-quarry-warnings';

/** Context of a use case, besides the request itself. */
export interface ServiceCall<P extends Principal = Principal> {
  readonly principal: P;
  readonly requestId: string;
  /** `https://host:port` without a trailing slash, the prefix of file and image URLs. */
  readonly baseUrl: string;
  /** Milliseconds of `Clock.monotonic()` when the request line arrived. */
  readonly receivedAt: number;
  readonly cancellation: CancellationToken;
  /** Milliseconds since the epoch; expired documents are treated as nonexistent. */
  readonly now: () => number;
  /** Called before every unit of work that takes a few milliseconds. */
  readonly yieldToEventLoop: YieldToEventLoop;
  /** Null or absent if the request is not traced. */
  readonly trace?: Trace | null;
  /** Network address of the client; behind a trusted proxy, the address that the proxy reports. */
  readonly address: () => string;
  /** Adds a header to the reply, if it succeeds; absent if the reply has no headers of its own. */
  readonly setReplyHeader?: (name: ServiceReplyHeader, value: string) => void;
}

/** Reply whose status depends on the outcome. */
export interface ServiceReply<Body> {
  readonly status: number;
  readonly body: Body;
}

/**
 * Returns the rest of `msMax` milliseconds since `since` (a time like `receivedAt`), rounded up for a timer.
 * A JSON body that arrives slowly uses up part of the time that a client is willing to wait.
 */
export function remainingMs(
  { msMax, since }: { readonly msMax: number; readonly since: number },
  clock: Pick<Clock, 'monotonic'>,
): number {
  return Math.max(0, Math.ceil(msMax - (clock.monotonic() - since)));
}
