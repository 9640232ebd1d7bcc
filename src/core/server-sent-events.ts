/** A received server-sent event. */
export interface ServerSentEvent {
  /** `message` unless the event names its type. */
  readonly type: string;
  readonly data: string;
}

/** Reads server-sent events, as https://html.spec.whatwg.org/multipage/server-sent-events.html defines them, without ids. */
export async function* readServerSentEvents(
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<ServerSentEvent, void, undefined> {
  let type = '';
  let data: string[] = [];
  for await (const line of readLines(pieces)) {
    if (line === '') {
      if (data.length > 0) yield { type: type === '' ? 'message' : type, data: data.join('\n') };
      type = '';
      data = [];
    } else if (line.startsWith('data:')) data.push(readValue(line, 5));
    else if (line.startsWith('event:')) type = readValue(line, 6);
  }
  // Services that omit the last empty line mean the event.
  if (data.length > 0) yield { type: type === '' ? 'message' : type, data: data.join('\n') };
}

function readValue(line: string, start: number): string {
  return line.slice(line.charAt(start) === ' ' ? start + 1 : start);
}

async function* readLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string, void, undefined> {
  const decoder = new TextDecoder();
  let rest: string[] = [];
  for await (const piece of pieces) {
    const [first = '', ...lines] = decoder.decode(piece, { stream: true }).split('\n');
    rest.push(first);
    for (const line of lines) {
      yield withoutReturn(rest.join(''));
      rest = [line];
    }
  }
  yield withoutReturn(rest.join('') + decoder.decode());
}

function withoutReturn(line: string): string {
  return line.endsWith('\r') ? line.slice(0, -1) : line;
}
