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

/**
 * Yields the events of `produce` while it runs, and heartbeats in its pauses. Rejects as `produce` does. It is not
 * stopped when the consumer leaves: it must observe the cancellation of its call.
 */
export async function* produceEvents(
  produce: (emit: (event: StreamEvent) => void) => Promise<void>,
): AsyncGenerator<StreamEvent, void, void> {
  const pending: StreamEvent[] = [];
  let isDone = false;
  let wake = () => {};
  const work = produce((event) => {
    pending.push(event);
    wake();
  }).finally(() => {
    isDone = true;
    wake();
  });
  // The rejection is thrown below, after the events before it.
  work.catch(() => undefined);
  while (!isDone || pending.length > 0) {
    const event = pending.shift();
    if (event !== undefined) {
      yield event;
      continue;
    }
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, heartbeatMs);
      wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    if (pending.length === 0 && !isDone) yield { type: null };
  }
  await work;
}
