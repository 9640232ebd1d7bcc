/** Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them. */

interface ServerSentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

/** JSON has no line breaks, which would end the field. */
export function encodeEvent({ id, type, data }: ServerSentEvent): Uint8Array {
  return Buffer.from(`id: ${id}\nevent: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}

/** Keeps the connection open, and moves the position from which a client reconnects; clients dispatch no event. */
export function heartbeatEvent(id: string): Uint8Array {
  return Buffer.from(`: heartbeat\nid: ${id}\n\n`);
}
