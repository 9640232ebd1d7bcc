import { STATUS_CODES } from 'node:http';
import { createRequire } from 'node:module';
import { assert } from '../base/assert.ts';
import { limits } from '../base/limits.ts';
import { Rendered } from '../services/rendered.ts';
import { BodyQueue } from './body-queue.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import {
  bodySize,
  cannotListen,
  type Exchange,
  type HttpServer,
  inPieces,
  isStreamed,
  type Reply,
  type ServerBounds,
  type ServerOptions,
  type StreamedBody,
  wholeBody,
} from './exchange.ts';
import { lingers } from './linger.ts';

/**
 * The part of uWebSockets.js that we use; its packages carry no types. Laws of the library: a request lives only
 * during its handler; a response is dead after an abort and after its end; chunks of `onData` are reused; every write
 * outside the handler wants a cork; a second request on a connection whose first is unanswered ends the connection.
 */
interface UwsResponse {
  writeStatus(status: string): UwsResponse;
  writeHeader(name: string, value: string | Uint8Array): UwsResponse;
  end(body: Uint8Array | string, close?: boolean): UwsResponse;
  endWithoutBody(): UwsResponse;
  tryEnd(chunk: Uint8Array, totalSize: number): [ok: boolean, done: boolean];
  getWriteOffset(): number;
  onWritable(listener: (offset: number) => boolean): UwsResponse;
  onAborted(listener: () => void): UwsResponse;
  onData(listener: (chunk: ArrayBuffer, isLast: boolean) => void): UwsResponse;
  getRemoteAddressAsText(): ArrayBuffer;
  cork(write: () => void): UwsResponse;
  pause(): void;
  resume(): void;
  close(): UwsResponse;
}

interface UwsRequest {
  getUrl(): string;
  getQuery(): string | undefined;
  getCaseSensitiveMethod(): string;
  forEach(visit: (name: string, value: string) => void): void;
}

interface UwsApp {
  any(pattern: string, handler: (response: UwsResponse, request: UwsRequest) => void): UwsApp;
  listen(host: string, port: number, options: number, listening: (socket: unknown) => void): UwsApp;
  close(): UwsApp;
}

interface UwsLibrary {
  App(): UwsApp;
  us_socket_local_port(socket: unknown): number;
  LIBUS_LISTEN_EXCLUSIVE_PORT: number;
}

/** Why the library could not be loaded, as a sentence for the operator. */
export class UwsMissing extends Error {
  override readonly name = 'UwsMissing';
}

/** Upstream's package when somebody installed it, else the republished one for this Node. Throws UwsMissing. */
function loadLibrary(): UwsLibrary {
  // The library reads its header bound from the environment when it is loaded, and from nowhere else.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(limits.headerBytesMax);
  const require = createRequire(import.meta.url);
  const major = process.versions.node.split('.')[0];
  const names = ['uWebSockets.js', `@uwsjs/${process.platform}-${process.arch}-${major}`];
  const reasons: string[] = [];
  for (const name of names) {
    try {
      return require(name) as UwsLibrary;
    } catch (error) {
      reasons.push(
        `${name}: ${error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error)}`,
      );
    }
  }
  throw new UwsMissing(`uWebSockets.js does not load on this machine (${reasons.join('; ')})`);
}

/** The door on uWebSockets.js. Throws UwsMissing where the library does not load, AppError where the address is taken. */
export async function startUwsServer(options: ServerOptions): Promise<HttpServer> {
  const library = loadLibrary();
  const app = library.App();
  app.any('/*', (response, request) => options.handle(new UwsExchange(response, request, options.bounds)));
  const socket = await new Promise<unknown>((resolve) => {
    app.listen(options.host, options.port, library.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
  if (!socket) {
    app.close();
    throw cannotListen(options);
  }
  let open = true;
  return {
    kind: 'uws',
    port: library.us_socket_local_port(socket),
    close: async () => {
      if (open) app.close();
      open = false;
    },
  };
}

/** Headers of which only the first counts when a client repeats them. */
const single = new Set([
  'authorization',
  'content-length',
  'content-type',
  'expect',
  'host',
  'if-none-match',
  'range',
]);

/** Well below the 10 s of the library, whose clock ticks every 4 s. */
const keepAwakeMs = 3_000;

/**
 * The exchange of which the library may be handling bytes. It has one buffer for what is to be sent, and lends it to the
 * connection whose handler runs: what is written to another one meanwhile goes out in one system call for each header,
 * which took 150 us for a refusal.
 */
let handled: UwsExchange | null = null;

function handles(exchange: UwsExchange): void {
  if (handled === null) setImmediate(() => (handled = null));
  handled = exchange;
}

class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly body: BodyQueue;
  readonly #headers = new Map<string, string>();
  readonly #bounds: ServerBounds;
  readonly #goneListeners: (() => void)[] = [];
  /** Null when the response is dead: aborted or ended. */
  #response: UwsResponse | null;
  #gone = false;
  /** Runs while a connection has to be kept; see `#keepAwake`. */
  #awake: NodeJS.Timeout | null = null;
  /** Ends the wait of a writer; null when none waits. */
  #settleWrite: ((offset: number | null) => void) | null = null;

  constructor(response: UwsResponse, request: UwsRequest, bounds: ServerBounds) {
    handles(this);
    this.#response = response;
    this.#bounds = bounds;
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
    this.query = request.getQuery() ?? '';
    request.forEach((name, value) => {
      this.#addHeader(name, value);
    });
    this.body = new BodyQueue(this.#declaredBytes(), {
      pause: () => this.#response?.pause(),
      resume: () => this.#response?.resume(),
      wanted: () => {}, // uWebSockets.js has sent `100 Continue` before it called us
    });
    response.onAborted(() => this.#leave());
    response.onData((chunk, isLast) => {
      handles(this);
      if (this.body.discarding) this.body.paceDiscard(chunk.byteLength);
      else this.body.push(chunkBuffers.copyOf(chunk));
      if (!isLast) return;
      if (this.body.paused && !this.body.discarding) this.#keepAwake();
      this.body.finish();
    });
  }

  /**
   * The library gives up a connection on which nothing happens for 10 s. It stops that clock when the last byte of a
   * body is there, but `resume` starts it again: until the reply, every further `resume` puts it back.
   */
  #keepAwake(): void {
    this.#awake = setInterval(() => this.#response?.resume(), keepAwakeMs);
  }

  #sleep(): void {
    if (this.#awake !== null) clearInterval(this.#awake);
    this.#awake = null;
  }

  get clientAddress(): string {
    return this.#response ? Buffer.from(this.#response.getRemoteAddressAsText()).toString() : '';
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  onGone(listener: () => void): void {
    if (this.#gone) listener();
    else this.#goneListeners.push(listener);
  }

  async reply(reply: Reply): Promise<boolean> {
    if (handled !== null && handled !== this) await new Promise(setImmediate);
    this.#sleep();
    const response = this.#response;
    if (!response) return false;
    const { body } = reply;
    if (reply.headersOnly) {
      this.#endHeadersOnly(response, reply);
      return true;
    }
    if (lingers(this.body) && !isStreamed(body)) return this.#endLingering(response, reply, wholeBody(body));
    this.body.discard();
    if (isStreamed(body))
      return body.size > 0 ? this.#stream(response, reply, body) : this.#endWhole(response, reply, none);
    if (body.byteLength >= limits.bufferedReplyBytesMax) return this.#stream(response, reply, inPieces(body));
    return this.#endWhole(response, reply, body instanceof Rendered ? gathered(body) : body);
  }

  /** `endWithoutBody(length)` would leave the response open, so the length that GET has is a plain header. */
  #endHeadersOnly(response: UwsResponse, reply: Reply): void {
    this.body.discard();
    this.#response = null;
    response.cork(() => {
      writeHead(response, reply, reply.close === true);
      if (reply.status !== 304) response.writeHeader('content-length', String(bodySize(reply.body)));
      response.endWithoutBody();
    });
  }

  #endWhole(response: UwsResponse, reply: Reply, body: Uint8Array): boolean {
    this.#response = null;
    response.cork(() => {
      writeHead(response, reply, false);
      response.end(body, reply.close === true);
    });
    return true;
  }

  /**
   * Sends the whole reply, throws away what the client still sends, then breaks the connection. Ending the response
   * would break it at once, and no other call sends a body of known length without ending; but headers go out as they
   * are, so the last one carries the blank line and the body with it. The library ends it with a line break, which
   * clients skip between two messages.
   */
  async #endLingering(response: UwsResponse, reply: Reply, body: Uint8Array): Promise<boolean> {
    response.cork(() => {
      writeHead(response, reply, true);
      const length = Buffer.from(`${body.byteLength}\r\n\r\n`);
      response.writeHeader('content-length', Buffer.concat([length, body]));
    });
    await this.#linger();
    // What was written while bytes were read goes out when all of them were handled; breaking off before loses it.
    await new Promise(setImmediate);
    this.#abandon();
    return true;
  }

  #linger(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, this.#bounds.lingerMsMax);
      this.body.discard(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async #stream(response: UwsResponse, reply: Reply, body: StreamedBody): Promise<boolean> {
    response.cork(() => writeHead(response, reply, reply.close === true));
    try {
      for await (const chunk of body.open()) {
        const sent = await this.#send(chunk, body.size);
        if (sent === 'gone') return false;
        if (sent === 'done') {
          this.#response = null;
          return true;
        }
      }
      assert(this.#response === null, 'a streamed body yields as many bytes as it said');
      return false;
    } catch (error) {
      this.#abandon();
      throw error;
    }
  }

  /** Hands one chunk to the socket and waits until it takes more. */
  async #send(chunk: Uint8Array, size: number): Promise<'more' | 'done' | 'gone'> {
    let rest = chunk;
    while (rest.byteLength > 0) {
      const response = this.#response;
      if (!response) return 'gone';
      const before = response.getWriteOffset();
      let ok = true;
      let done = false;
      response.cork(() => {
        [ok, done] = response.tryEnd(rest, size);
      });
      if (done) return 'done';
      if (ok) return 'more';
      const offset = await this.#writable(response);
      if (offset === null) return 'gone';
      rest = rest.subarray(offset - before);
    }
    return 'more';
  }

  /** The write offset when the socket takes more; null when the client is gone or does not read for too long. */
  #writable(response: UwsResponse): Promise<number | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#abandon(), this.#bounds.replyIdleMsMax);
      this.#settleWrite = (offset) => {
        clearTimeout(timer);
        this.#settleWrite = null;
        resolve(offset);
      };
      response.onWritable((offset) => {
        this.#settleWrite?.(offset);
        return true;
      });
    });
  }

  /** Breaks the connection; its abort tells everybody who waits. */
  #abandon(): void {
    this.#response?.close();
    this.#leave();
  }

  #leave(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#response = null;
    this.#sleep();
    this.body.fail();
    this.#settleWrite?.(null);
    for (const listener of this.#goneListeners) listener();
  }

  #addHeader(name: string, value: string): void {
    const before = this.#headers.get(name);
    if (before === undefined) this.#headers.set(name, value);
    else if (!single.has(name)) this.#headers.set(name, `${before}, ${value}`);
  }

  #declaredBytes(): number | null {
    if (this.#headers.has('transfer-encoding')) return null;
    return Number(this.#headers.get('content-length') ?? 0);
  }
}

const none = new Uint8Array(0);

/** The library has copied or sent a body when `end` returns, so that one buffer serves all short replies in turn. */
const gathering = Buffer.allocUnsafeSlow(limits.bufferedReplyBytesMax);

function gathered(body: Rendered<unknown>): Uint8Array {
  body.copyTo(gathering);
  return gathering.subarray(0, body.byteLength);
}

/** `close` says that the connection ends, for replies of which the library does not say so itself. */
function writeHead(response: UwsResponse, reply: Reply, close: boolean): void {
  response.writeStatus(`${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`);
  const { headers } = reply;
  for (const name of Object.keys(headers)) response.writeHeader(name, headers[name]!);
  for (const cookie of reply.cookies ?? []) response.writeHeader('set-cookie', cookie);
  if (close) response.writeHeader('connection', 'close');
}
