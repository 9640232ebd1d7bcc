/** An event of a stream; `id` is the position at which a client that reconnects continues, if it can. */
export interface StreamEvent {
  readonly id?: string;
  /** Null for a heartbeat, which keeps the connection open and which clients do not get. */
  readonly type: string | null;
  /** Sent as JSON. */
  readonly data?: unknown;
}

/** An open stream. Iterate over its events once, or call `close`. */
export interface EventStream {
  readonly events: AsyncIterable<StreamEvent>;
  /** Idempotent. */
  readonly close: () => void;
  /** Whether a stop of the server waits until the stream ends, for at most its grace period. */
  readonly isAwaitedAtStop: boolean;
}

/**
 * Milliseconds between two heartbeats: uWebSockets.js closes a connection 10 s after the last piece of a streamed
 * reply.
 */
export const heartbeatMs = 5_000;
