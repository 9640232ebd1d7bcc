import { STATUS_CODES } from 'node:http';
import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { RenderedJson } from '../services/rendered-json.ts';
import { BodyQueue } from './body-queue.ts';
import { chunkBuffers } from './chunk-buffers.ts';
import {
  bodySize,
  type Exchange,
  type ExchangeOptions,
  isStreamedBody,
  type Reply,
  type ServerBounds,
  type StreamedBody,
  toBytes,
  toStreamedBody,
} from './exchange.ts';
import { shouldLinger } from './linger.ts';
import type { UwsRequest, UwsResponse } from './uws-library.ts';

/** Headers of which only the first counts when repeated. */
const singleValueHeaders = new Set([
  'authorization',
  'content-length',
  'content-type',
  'expect',
  'host',
  'if-none-match',
  'range',
]);

/** Well below the idle timeout of the library: 10 s, checked every 4 s. */
const keepAliveIntervalMs = 3_000;

/**
 * Exchange whose bytes the library may be handling. The library has one send buffer, which belongs to the
 * connection whose handler runs: writes to another connection meanwhile cost one system call per header (150
 * us for an error reply).
 */
let activeExchange: UwsExchange | null = null;

function markActive(exchange: UwsExchange): void {
  if (activeExchange === null) setImmediate(() => (activeExchange = null));
  activeExchange = exchange;
}

/** One request and its reply on uWebSockets.js. */
export class UwsExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly isSecure: boolean;
  readonly body: BodyQueue;
  readonly #headers = new Map<string, string>();
  readonly #bounds: ServerBounds;
  readonly #disconnectListeners: (() => void)[] = [];
  /** Null when the response is invalid: aborted or ended. */
  #response: UwsResponse | null;
  #isDisconnected = false;
  /** Whether the library has reported the last byte of the body, or the end of an empty one. */
  #hasBodyEnded = false;
  /** Runs while the connection must be kept alive; see `#startKeepAlive`. */
  #keepAliveTimer: NodeJS.Timeout | null = null;
  /** Resolves the wait of a pending write; null when none is pending. */
  #settleWrite: ((offset: number | null) => void) | null = null;

  constructor(response: UwsResponse, request: UwsRequest, { bounds, isSecure }: ExchangeOptions) {
    markActive(this);
    this.#response = response;
    this.#bounds = bounds;
    this.isSecure = isSecure;
    this.method = request.getCaseSensitiveMethod();
    this.path = request.getUrl();
    this.query = request.getQuery() ?? '';
    request.forEach((name, value) => {
      this.#addHeader(name, value);
    });
    this.body = new BodyQueue(this.#declaredBytes(), {
      pause: () => this.#response?.pause(),
      resume: () => this.#response?.resume(),
      onFirstRead: () => {}, // uWebSockets.js has already sent `100 Continue`
    });
    response.onAborted(() => this.#disconnect());
    response.onData((chunk, isLast) => {
      markActive(this);
      if (this.body.isDiscarding) this.body.throttleDiscard(chunk.byteLength);
      else this.body.push(chunkBuffers.copy(chunk));
      if (!isLast) return;
      this.#hasBodyEnded = true;
      if (this.body.isPaused && !this.body.isDiscarding) this.#startKeepAlive();
      this.body.finish();
    });
  }

  /**
   * The library closes a connection that is idle for 10 s. It stops this timeout at the last byte of a body,
   * but `resume` restarts it; until the reply, each further `resume` resets it.
   */
  #startKeepAlive(): void {
    this.#keepAliveTimer = setInterval(() => this.#response?.resume(), keepAliveIntervalMs);
  }

  #stopKeepAlive(): void {
    if (this.#keepAliveTimer !== null) clearInterval(this.#keepAliveTimer);
    this.#keepAliveTimer = null;
  }

  get clientAddress(): string {
    return this.#response ? Buffer.from(this.#response.getRemoteAddressAsText()).toString() : '';
  }

  header(name: string): string | undefined {
    return this.#headers.get(name);
  }

  onDisconnect(listener: () => void): void {
    if (this.#isDisconnected) listener();
    else this.#disconnectListeners.push(listener);
  }

  async reply(fullReply: Reply): Promise<boolean> {
    if (activeExchange !== null && activeExchange !== this) await new Promise(setImmediate);
    const isBodyFinished = await this.#awaitBodyEnd();
    this.#stopKeepAlive();
    const response = this.#response;
    if (!response) return false;
    const reply = isBodyFinished ? fullReply : { ...fullReply, close: true };
    const { body } = reply;
    if (reply.headersOnly) {
      this.#endHeadersOnly(response, reply);
      return true;
    }
    if (shouldLinger(this.body) && !isStreamedBody(body))
      return this.#endLingering(response, reply, toBytes(body));
    this.body.discard();
    if (isStreamedBody(body))
      return body.size !== 0 ? this.#stream(response, reply, body) : this.#endWhole(response, reply, noBytes);
    if (body.byteLength >= limits.bufferedReplyBytesMax)
      return this.#stream(response, reply, toStreamedBody(body));
    if (body instanceof RenderedJson)
      body.useBytes(shortReplyBuffer, (bytes) => this.#endWhole(response, reply, bytes));
    else this.#endWhole(response, reply, body);
    return true;
  }

  /**
   * Waits for the end of a short body, and returns whether it has arrived. The library stops the idle timeout of
   * a connection at the last byte of a body, and starts it again only at a later reply: after an earlier one, an
   * idle connection would stay open forever. The end of an empty body follows in the same turn of the event loop.
   */
  async #awaitBodyEnd(): Promise<boolean> {
    if (!this.#hasBodyEnded) await new Promise(setImmediate);
    if (!this.body.isFinished && !shouldLinger(this.body)) await this.body.linger(this.#bounds.lingerMsMax);
    return this.body.isFinished;
  }

  /**
   * `endWithoutBody(length)` would leave the response open, so the length of the GET reply is sent as a plain
   * header.
   */
  #endHeadersOnly(response: UwsResponse, reply: Reply): void {
    this.body.discard();
    this.#response = null;
    response.cork(() => {
      writeHead(response, reply, reply.close === true);
      const size = bodySize(reply.body);
      if (reply.status !== 304 && size !== null) response.writeHeader('content-length', String(size));
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
   * Sends the whole reply, discards further input for a bounded time, then closes the connection. Ending the
   * response would close at once, and no other call sends a body of known length without ending it. Header
   * values are sent verbatim, so the last one carries the blank line and the body (not for speed: without it,
   * a client that sends its whole over-long body cannot read the error). The library ends it with a
   * line break, which clients skip between two messages.
   */
  async #endLingering(response: UwsResponse, reply: Reply, body: Uint8Array): Promise<boolean> {
    response.cork(() => {
      writeHead(response, reply, true);
      const length = Buffer.from(`${body.byteLength}\r\n\r\n`);
      response.writeHeader('content-length', Buffer.concat([length, body]));
    });
    await this.body.linger(this.#bounds.lingerMsMax);
    // Data written during input handling is sent after the handler; closing before that loses it.
    await new Promise(setImmediate);
    this.#closeConnection();
    return true;
  }

  async #stream(response: UwsResponse, reply: Reply, body: StreamedBody): Promise<boolean> {
    response.cork(() => writeHead(response, reply, reply.close === true));
    try {
      for await (const chunk of body.open()) {
        if (body.size === null) {
          if (!(await this.#sendPiece(chunk))) return false;
          continue;
        }
        const sent = await this.#send(chunk, body.size);
        if (sent === 'gone') return false;
        if (sent === 'done') {
          this.#response = null;
          return true;
        }
      }
      if (body.size === null) return this.#endPieces();
      assert(this.#response === null, 'a streamed body has its declared length');
      return false;
    } catch (error) {
      this.#closeConnection();
      throw error;
    }
  }

  /** Sends a piece of a body of unknown size. Returns false when the client has disconnected. */
  async #sendPiece(piece: Uint8Array): Promise<boolean> {
    const response = this.#response;
    if (!response) return false;
    let ok = true;
    response.cork(() => {
      ok = response.write(piece);
    });
    return ok || (await this.#writable(response)) !== null;
  }

  #endPieces(): boolean {
    const response = this.#response;
    if (!response) return false;
    this.#response = null;
    response.cork(() => response.end(noBytes));
    return true;
  }

  /** Writes one chunk to the socket and waits until the socket accepts more. */
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

  /**
   * Resolves to the write offset when the socket accepts more; to null when the client disconnects or stops
   * reading for `replyIdleMsMax`.
   */
  #writable(response: UwsResponse): Promise<number | null> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#closeConnection(), this.#bounds.replyIdleMsMax);
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

  /** Closes the connection and notifies all listeners. */
  #closeConnection(): void {
    this.#response?.close();
    this.#disconnect();
  }

  #disconnect(): void {
    if (this.#isDisconnected) return;
    this.#isDisconnected = true;
    this.#response = null;
    this.#stopKeepAlive();
    this.body.fail();
    this.#settleWrite?.(null);
    for (const listener of this.#disconnectListeners) listener();
  }

  #addHeader(name: string, value: string): void {
    const before = this.#headers.get(name);
    if (before === undefined) this.#headers.set(name, value);
    else if (!singleValueHeaders.has(name)) this.#headers.set(name, `${before}, ${value}`);
  }

  #declaredBytes(): number | null {
    if (this.#headers.has('transfer-encoding')) return null;
    return Number(this.#headers.get('content-length') ?? 0);
  }
}

const noBytes = new Uint8Array(0);

/**
 * The library has copied or sent the body when `end` returns, so one buffer serves all short replies: 0.2 us
 * for a reply of 1.6 kB, 0.8 us with a buffer of its own.
 */
const shortReplyBuffer = Buffer.allocUnsafeSlow(limits.bufferedReplyBytesMax);

/** `close`: write `connection: close`, for replies where the library does not do so itself. */
function writeHead(response: UwsResponse, reply: Reply, close: boolean): void {
  response.writeStatus(`${reply.status} ${STATUS_CODES[reply.status] ?? 'Unknown'}`);
  const { headers } = reply;
  for (const name of Object.keys(headers)) response.writeHeader(name, headers[name]!);
  for (const cookie of reply.cookies ?? []) response.writeHeader('set-cookie', cookie);
  if (close) response.writeHeader('connection', 'close');
}
