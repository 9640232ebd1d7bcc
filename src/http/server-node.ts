import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:https';
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net';
import { limits } from '../core/limits.ts';
import { BodyQueue } from './body-queue.ts';
import type { Certificate } from './certificate.ts';
import {
  bodySize,
  type Exchange,
  type ExchangeOptions,
  type HttpServer,
  isStreamedBody,
  type Reply,
  type ServerBounds,
  type ServerOptions,
  type StreamedBody,
  toBytes,
  toStreamedBody,
} from './exchange.ts';
import { shouldLinger } from './linger.ts';
import { listenError } from './listen-error.ts';

/**
 * Starts the HTTP server on `node:http`, for platforms where uWebSockets.js does not load. Errors: AppError
 * when the address cannot be bound.
 */
export async function startNodeServer(options: ServerOptions): Promise<HttpServer> {
  const { bounds, certificate } = options;
  const serverOptions = {
    maxHeaderSize: limits.headerBytesMax,
    headersTimeout: options.bounds.headerMsMax,
    requestTimeout: 0, // the request pipeline bounds bodies, per operation
    connectionsCheckingInterval: Math.max(50, Math.floor(options.bounds.headerMsMax / 4)),
    keepAliveTimeout: limits.keepAliveMsMax,
    noDelay: true,
  };
  const tlsServer =
    certificate === null
      ? null
      : createTlsServer({
          ...serverOptions,
          handshakeTimeout: bounds.headerMsMax,
          ...secureContextOf(certificate),
        });
  const server = tlsServer ?? createServer(serverOptions);
  const exchangeOptions = { bounds, isSecure: certificate !== null };
  const onRequest = limitPipelining((request, response, expectsContinue) =>
    options.handle(new NodeExchange({ request, response, expectsContinue }, exchangeOptions)),
  );
  server.on('request', (request, response) => onRequest(request, response, false));
  server.on('checkContinue', (request, response) => onRequest(request, response, true));
  server.on('checkExpectation', (request, response) => onRequest(request, response, false));
  server.on('clientError', answerClientError);
  await listen(server, options);
  let closing: Promise<void> | null = null;
  return {
    kind: 'node',
    port: (server.address() as AddressInfo).port,
    replaceCertificate: (replacement) => tlsServer?.setSecureContext(secureContextOf(replacement)),
    // `close` of an HTTP server would also end idle connections.
    stopListening: () => void NetServer.prototype.close.call(server),
    countConnections: () => countConnections(server),
    close: () => {
      closing ??= closeServer(server);
      return closing;
    },
  };
}

/** Connections that wait while no process accepts them, during a restart; Linux uses at most `somaxconn`. */
const connectionBacklog = 4_096;

function secureContextOf({ certificatePem, keyPem }: Certificate) {
  return { cert: certificatePem, key: keyPem, minVersion: 'TLSv1.2' } as const;
}

function listen(server: Server | TlsServer, options: ServerOptions): Promise<void> {
  const { host, port, descriptor = null } = options;
  return new Promise((resolve, reject) => {
    const onError = (cause: NodeJS.ErrnoException) => reject(listenError(options, cause));
    server.once('error', onError);
    const onListening = () => {
      server.off('error', onError);
      resolve();
    };
    if (descriptor === null) server.listen({ host, port }, onListening);
    else server.listen({ fd: descriptor }, connectionBacklog, onListening);
  });
}

function countConnections(server: Server | TlsServer): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)));
  });
}

function closeServer(server: Server | TlsServer): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

type OnRequest = (request: IncomingMessage, response: ServerResponse, expectsContinue: boolean) => void;

/**
 * Bounds pipelining: Node runs the pipelined requests of one socket concurrently, so a connection beyond the
 * bound is closed.
 */
function limitPipelining(next: OnRequest): OnRequest {
  const running = new WeakMap<Socket, number>();
  return (request, response, expectsContinue) => {
    const { socket } = request;
    const count = (running.get(socket) ?? 0) + 1;
    if (count > limits.pipelinedRequestsMax) {
      socket.destroy();
      return;
    }
    running.set(socket, count);
    response.once('close', () => running.set(socket, (running.get(socket) ?? 1) - 1));
    next(request, response, expectsContinue);
  };
}

/**
 * Answers invalid HTTP, and headers too long or too slow, without the request pipeline, like uWebSockets.js.
 */
function answerClientError(error: NodeJS.ErrnoException, socket: import('node:stream').Duplex): void {
  // A failed TLS handshake has no connection on which an answer could be sent.
  const isTlsError = /^ERR_(SSL|TLS)/.test(error.code ?? '');
  if (error.code === 'ECONNRESET' || isTlsError || !socket.writable) {
    socket.destroy();
    return;
  }
  const status =
    error.code === 'HPE_HEADER_OVERFLOW'
      ? '431 Request Header Fields Too Large'
      : error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
        ? '408 Request Timeout'
        : '400 Bad Request';
  const detail = JSON.stringify({ detail: `Malformed request: ${status.slice(4)}.` });
  socket.end(
    `HTTP/1.1 ${status}\r\nconnection: close\r\ncache-control: no-store\r\ncontent-type: application/json\r\n` +
      `content-length: ${Buffer.byteLength(detail)}\r\n\r\n${detail}`,
  );
}

interface NodeMessages {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the client waits for `100 Continue` and the server must send it. */
  readonly expectsContinue: boolean;
}

class NodeExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly clientAddress: string;
  readonly isSecure: boolean;
  readonly body: BodyQueue;
  readonly #request: IncomingMessage;
  readonly #response: ServerResponse;
  readonly #bounds: ServerBounds;
  readonly #disconnectListeners: (() => void)[] = [];
  #awaitsContinue: boolean;
  #isDisconnected = false;
  /** Resolves the wait of a pending write; null when none is pending. */
  #settleWrite: ((arrived: boolean) => void) | null = null;

  constructor({ request, response, expectsContinue }: NodeMessages, { bounds, isSecure }: ExchangeOptions) {
    this.#request = request;
    this.#response = response;
    this.#bounds = bounds;
    this.isSecure = isSecure;
    this.#awaitsContinue = expectsContinue;
    const url = request.url ?? '/';
    const queryIndex = url.indexOf('?');
    this.method = request.method ?? 'GET';
    this.path = queryIndex < 0 ? url : url.slice(0, queryIndex);
    this.query = queryIndex < 0 ? '' : url.slice(queryIndex + 1);
    this.clientAddress = request.socket.remoteAddress ?? '';
    this.body = new BodyQueue(declaredBytesOf(request), {
      pause: () => request.pause(),
      resume: () => request.resume(),
      onFirstRead: () => this.#sendContinue(),
    });
    request.on('data', (chunk: Buffer) => this.body.push(chunk));
    request.on('end', () => this.body.finish());
    request.on('error', () => this.#disconnect());
    response.on('close', () => {
      if (!response.writableFinished) this.#disconnect();
    });
    response.on('error', () => this.#disconnect());
  }

  header(name: string): string | undefined {
    const value = this.#request.headers[name];
    return Array.isArray(value) ? value.join(', ') : value;
  }

  onDisconnect(listener: () => void): void {
    if (this.#isDisconnected) listener();
    else this.#disconnectListeners.push(listener);
  }

  async reply(reply: Reply): Promise<boolean> {
    if (this.#isDisconnected) return false;
    const isLingering = !this.#awaitsContinue && shouldLinger(this.body);
    const close = reply.close === true || isLingering || (this.#awaitsContinue && !this.body.isFinished);
    const size = bodySize(reply.body);
    this.#response.writeHead(reply.status, {
      ...reply.headers,
      ...(reply.cookies?.length ? { 'set-cookie': [...reply.cookies] } : {}),
      ...(size === null ? {} : { 'content-length': String(size) }),
      ...(close ? { connection: 'close' } : {}),
    });
    if (!isLingering) this.body.discard();
    if (reply.headersOnly) return this.#finish(noBytes);
    const { body } = reply;
    const bufferedBody =
      !isStreamedBody(body) && body.byteLength < limits.bufferedReplyBytesMax ? toBytes(body) : null;
    if (bufferedBody !== null && !isLingering) return this.#finish(bufferedBody);
    if (!(await this.#sendBody(bufferedBody ?? (isStreamedBody(body) ? body : toStreamedBody(body)))))
      return false;
    if (isLingering) await this.body.linger(this.#bounds.lingerMsMax);
    return this.#finish(noBytes);
  }

  /** Returns false when the client has disconnected. */
  async #sendBody(body: Uint8Array | StreamedBody): Promise<boolean> {
    if (!isStreamedBody(body)) return this.#write(body);
    try {
      for await (const chunk of body.open()) {
        if (!(await this.#write(chunk))) return false;
      }
      return true;
    } catch (error) {
      this.#response.destroy();
      throw error;
    }
  }

  async #write(chunk: Uint8Array): Promise<boolean> {
    if (this.#isDisconnected) return false;
    if (chunk.byteLength === 0 || this.#response.write(chunk)) return true;
    return this.#waitForEvent('drain');
  }

  #finish(rest: Uint8Array): Promise<boolean> {
    if (this.#isDisconnected) return Promise.resolve(false);
    this.#response.end(rest);
    return this.#response.writableFinished ? Promise.resolve(true) : this.#waitForEvent('finish');
  }

  /**
   * Resolves to true on the event; to false when the client disconnects or stops reading for
   * `replyIdleMsMax`.
   */
  #waitForEvent(event: 'drain' | 'finish'): Promise<boolean> {
    return new Promise((resolve) => {
      const { socket } = this.#request;
      const timer = setTimeout(() => this.#response.destroy(), this.#bounds.replyIdleMsMax);
      const settle = (arrived: boolean) => {
        clearTimeout(timer);
        this.#settleWrite = null;
        this.#response.off(event, onEvent);
        socket.off('close', onClose);
        resolve(arrived);
      };
      const onEvent = () => settle(true);
      // The response of a pipelined request gets no event if the connection ends before its turn.
      const onClose = () => settle(false);
      this.#response.once(event, onEvent);
      socket.once('close', onClose);
      this.#settleWrite = settle;
      if (socket.destroyed) settle(false);
    });
  }

  #sendContinue(): void {
    if (!this.#awaitsContinue) return;
    this.#awaitsContinue = false;
    this.#response.writeContinue();
  }

  #disconnect(): void {
    if (this.#isDisconnected) return;
    this.#isDisconnected = true;
    this.body.fail();
    this.#settleWrite?.(false);
    for (const listener of this.#disconnectListeners) listener();
  }
}

const noBytes = new Uint8Array(0);

function declaredBytesOf(request: IncomingMessage): number | null {
  if (request.headers['transfer-encoding'] !== undefined) return null;
  return Number(request.headers['content-length'] ?? 0);
}
