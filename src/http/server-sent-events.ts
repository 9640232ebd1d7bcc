import type { StreamedChange } from '../services/changes.ts';

/** Server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them. */

export async function* encodeEventStream(
  changes: AsyncIterable<StreamedChange>,
): AsyncGenerator<Uint8Array, void, void> {
  for await (const change of changes) yield encodeEvent(change);
}

/** A heartbeat has no `data`, so clients dispatch no event, but they store its position for a reconnection. */
function encodeEvent({ cursor, change }: StreamedChange): Uint8Array {
  if (change === null) return Buffer.from(`: heartbeat\nid: ${cursor}\n\n`);
  // JSON has no line breaks, which would end the field.
  return Buffer.from(`id: ${cursor}\nevent: ${change.type}\ndata: ${JSON.stringify(change)}\n\n`);
}
