import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitUntil as untilHappened } from '../timeouts.ts';

export interface RawReply {
  readonly status: number;
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** Client that sends arbitrary bytes, for protocol violations that an HTTP client cannot produce. */
export class RawClient {
  readonly socket: Socket;
  #received = Buffer.alloc(0);
  #chunks: Buffer[] = [];
  #chunkBytes = 0;
  /** Number of received bytes needed before parsing is retried. */
  #neededBytes = 0;
  #ended = false;
  #wake: (() => void) | null = null;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.on('data', (chunk: Buffer) => {
      this.#chunks.push(chunk);
      this.#chunkBytes += chunk.length;
      this.#wake?.();
    });
    for (const event of ['end', 'error', 'close']) {
      socket.on(event, () => {
        this.#ended = true;
        this.#wake?.();
      });
    }
  }

  static async open(port: number): Promise<RawClient> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    await once(socket, 'connect');
    return new RawClient(socket);
  }

  send(bytes: string | Uint8Array): boolean {
    return this.socket.write(bytes);
  }

  /** Sends request line and headers, with Host and a key that has all permissions. */
  sendHead(method: string, path: string, headers: Record<string, string> = {}): boolean {
    const all = { host: 'test', authorization: 'Bearer all', ...headers };
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
    return this.send(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
  }

  /** Next reply, including interim ones (100). Rejects if the connection ends before it is complete. */
  async readReply({ hasBody = true } = {}): Promise<RawReply> {
    for (;;) {
      const parsed = this.#parse(hasBody);
      if (parsed) return parsed;
      if (this.#ended)
        throw new Error(`the connection ended after ${this.#received.length + this.#chunkBytes} bytes`);
      await this.#waitForData();
    }
  }

  /** Resolves when the server has closed the connection. */
  async waitForEnd(): Promise<void> {
    while (!this.#ended) await this.#waitForData();
  }

  /** Resolves when at least `count` bytes have been received in total. */
  async waitForBytes(count: number): Promise<void> {
    while (this.#received.length + this.#chunkBytes < count && !this.#ended) await this.#waitForData();
  }

  close(): void {
    this.socket.destroy();
  }

  #waitForData(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #parse(hasBody: boolean): RawReply | null {
    if (this.#received.length + this.#chunkBytes < this.#neededBytes) return null;
    this.#received = Buffer.concat([this.#received, ...this.#chunks]);
    this.#chunks = [];
    this.#chunkBytes = 0;
    const end = this.#received.indexOf('\r\n\r\n');
    if (end < 0) return null;
    const [first = '', ...lines] = this.#received.subarray(0, end).toString().split('\r\n');
    const headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(':');
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()] as const;
      }),
    );
    const status = Number(first.split(' ')[1]);
    const length =
      hasBody && status !== 100 && status !== 304 ? Number(headers.get('content-length') ?? 0) : 0;
    const start = end + 4;
    this.#neededBytes = this.#received.length < start + length ? start + length : 0;
    if (this.#neededBytes > 0) return null;
    const body = this.#received.subarray(start, start + length);
    this.#received = this.#received.subarray(start + length);
    return { status, headers, body };
  }
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Waits until `condition` holds. */
export function waitUntil(condition: () => boolean): Promise<void> {
  return untilHappened('the expected event', condition, 5);
}
