import type { Principal } from '../schemas/principal.ts';

/** What every use case knows about the call it serves, besides the request itself. */
export interface Call<P extends Principal = Principal> {
  readonly principal: P;
  readonly requestId: string;
  /** `https://host:port` without a trailing slash: what file and image addresses start with. */
  readonly baseUrl: string;
  /** Milliseconds of `Clock.monotonic()` when the request line arrived. */
  readonly receivedAt: number;
  /** Aborted when the client went away or the request's deadline passed. */
  readonly signal: AbortSignal;
}
