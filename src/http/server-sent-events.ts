import type { StreamEvent } from '../services/event-stream.ts';

/** Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them. */

export async function* encodeEventStream(
  events: AsyncIterable<StreamEvent>,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const event of events) yield encodeEvent(event);
}

/** A heartbeat has no `data`, so clients dispatch no event, but they store its position for a reconnection. */
function encodeEvent({ id, type, data }: StreamEvent): Uint8Array {
  const position = id === undefined ? '' : `id: ${id}\n`;
  if (type === null) return Buffer.from(`: heartbeat\n${position}\n`);
  // JSON has no line breaks, which would end the field.
  return Buffer.from(`${position}event: ${type}\ndata: ${JSON.stringify(data)}\n\n`);
}
