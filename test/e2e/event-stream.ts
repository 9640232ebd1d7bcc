import { waitUntil } from '../timeouts.ts';
import type { TestServer } from './server.ts';

export interface ReceivedEvent {
  readonly id: string;
  readonly type: string;
  readonly data: unknown;
}

/** A client of server-sent events, written from the standard and independent of the server. */
export class EventStreamClient {
  readonly events: ReceivedEvent[] = [];
  heartbeats = 0;
  /** Position of a client that reconnects. */
  lastEventId = '';
  hasEnded = false;
  readonly #abort = new AbortController();

  /** Follows changes. Errors: the status of a reply that is no event stream. */
  static open(
    server: Pick<TestServer, 'url'>,
    key: string,
    { query = '', lastEventId }: { readonly query?: string; readonly lastEventId?: string } = {},
  ): Promise<EventStreamClient> {
    return EventStreamClient.#connect(`${server.url}/v1/changes${query}`, key, {
      headers: {
        accept: 'text/event-stream',
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
      },
    });
  }

  /** Posts JSON to an operation. Errors as `open`. */
  static post(
    server: Pick<TestServer, 'url'>,
    key: string,
    { path, body }: { readonly path: string; readonly body: object },
  ): Promise<EventStreamClient> {
    return EventStreamClient.#connect(`${server.url}/v1/${path}`, key, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  }

  static async #connect(url: string, key: string, init: RequestInit): Promise<EventStreamClient> {
    const client = new EventStreamClient();
    const headers = { ...(init.headers as Record<string, string>), authorization: `Bearer ${key}` };
    const response = await fetch(url, { ...init, headers, signal: client.#abort.signal });
    if (response.status !== 200 || response.body === null)
      throw new Error(`${response.status}: ${await response.text()}`);
    if (response.headers.get('content-type') !== 'text/event-stream') throw new Error('not an event stream');
    void client.#read(response.body);
    return client;
  }

  waitForEvents(count: number): Promise<void> {
    return waitUntil(`${count} events`, () => this.events.length >= count);
  }

  close(): void {
    this.#abort.abort();
  }

  async #read(body: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let text = '';
    try {
      for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
        text += decoder.decode(piece, { stream: true });
        const blocks = text.split('\n\n');
        text = blocks.pop() ?? '';
        for (const block of blocks) this.#dispatch(block);
      }
    } catch {
      // the test closed the stream, or the server died
    }
    this.hasEnded = true;
  }

  #dispatch(block: string): void {
    let type = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      if (name === '') this.heartbeats += 1;
      if (name === 'id') this.lastEventId = value;
      if (name === 'event') type = value;
      if (name === 'data') data.push(value);
    }
    if (data.length > 0) this.events.push({ id: this.lastEventId, type, data: JSON.parse(data.join('\n')) });
  }
}
