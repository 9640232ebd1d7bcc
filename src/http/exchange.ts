import { limits } from '../core/limits.ts';
import { RenderedJson } from '../services/rendered-json.ts';
import type { BodyQueue } from './body-queue.ts';
import type { Certificate } from './certificate.ts';
import type { ListenAddress } from './listen-error.ts';

/**
 * One request and its reply, as the request pipeline sees them. Both servers (`server-uws.ts`,
 * `server-node.ts`) implement this interface and pass one contract suite; no caller depends on which of them
 * runs.
 */
export interface Exchange {
  /** Upper case. */
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  /** As sent, without the question mark; empty when there is none. */
  readonly query: string;
  /** Remote address of the socket; may be empty when the client has disconnected. */
  readonly clientAddress: string;
  /** Whether the connection uses TLS of this server. */
  readonly isSecure: boolean;
  /**
   * Returns a header by its lower-case name. Repeated headers are joined with ", ", except those of which
   * only the first counts.
   */
  header(name: string): string | undefined;
  /**
   * Body as it arrives, read ahead only up to the bound of its queue. The first `body.read` also answers
   * `Expect: 100-continue` where the server has not done so itself.
   */
  readonly body: BodyQueue;
  /**
   * Calls `listener` once when the client disconnects before the reply is complete; at once if it already
   * has.
   */
  onDisconnect(listener: () => void): void;
  /**
   * Sends the reply; called at most once. Resolves to true when every byte is handed to the system, to false
   * when the client has disconnected. A body that is still arriving is discarded; one that is too long to
   * discard ends the connection. Rejects when the source of a streamed body fails; the connection is then
   * broken, so that no client takes the partial body for the whole.
   */
  reply(reply: Reply): Promise<boolean>;
}

export interface Reply {
  readonly status: number;
  /** Lower-case names; `content-length` and `connection` belong to the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `set-cookie`, the only header that is sent more than once. */
  readonly cookies?: readonly string[];
  readonly body: Uint8Array | RenderedJson<unknown> | StreamedBody;
  /** The server omits the body and sends only its length (HEAD, 304). */
  readonly headersOnly?: boolean;
  /** Ends the connection after this reply. */
  readonly close?: boolean;
}

/** Body produced while it is sent; `open` is called at most once, and never for a headers-only reply. */
export interface StreamedBody {
  /** Null: not known before the end. */
  readonly size: number | null;
  /** Yields exactly `size` bytes. The iterator is returned early when the client disconnects. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** Bounds that the server enforces itself, below the request pipeline. */
export interface ServerBounds {
  /** Milliseconds in which a request line and its headers must be complete (`uWebSockets.js` fixes its own 10 s). */
  readonly headerMsMax: number;
  /** Milliseconds without progress after which a client that does not read its reply is disconnected. */
  readonly replyIdleMsMax: number;
  /**
   * Milliseconds for which the rest of a rejected body is still discarded, so that the client can read the
   * error.
   */
  readonly lingerMsMax: number;
}

export interface ExchangeOptions {
  readonly bounds: ServerBounds;
  readonly isSecure: boolean;
}

export interface ServerOptions extends ListenAddress {
  readonly bounds: ServerBounds;
  /** Serves HTTPS with this certificate; null serves HTTP. */
  readonly certificate: Certificate | null;
  /** Takes ownership of each exchange; never throws. */
  readonly handle: (exchange: Exchange) => void;
}

export interface HttpServer {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  /**
   * New connections get this certificate; existing ones continue. No effect on a server without one. Errors: Error if
   * the server does not accept the files.
   */
  replaceCertificate(certificate: Certificate): void;
  /** Accepts no more connections; existing ones continue. Another process may continue with the socket. */
  stopListening(): void;
  countConnections(): Promise<number>;
  /** Stops listening and cuts every connection; call it after all exchanges have ended. Idempotent. */
  close(): Promise<void>;
}

/** The client disconnected, so no reply can be delivered. Not a server fault. */
export class ClientDisconnectedError extends Error {
  override readonly name = 'ClientDisconnectedError';
  constructor() {
    super('the client disconnected');
  }
}

export function isStreamedBody(body: Reply['body']): body is StreamedBody {
  return !('byteLength' in body);
}

/** Returns an in-memory body as contiguous bytes. */
export function toBytes(body: Uint8Array | RenderedJson<unknown>): Uint8Array {
  return body instanceof RenderedJson ? body.toBytes() : body;
}

/** Value of `content-length`, in bytes; null if it is not known in advance. */
export function bodySize(body: Reply['body']): number | null {
  return isStreamedBody(body) ? body.size : body.byteLength;
}

/** Splits a long in-memory body into pieces, so that a slow client shows progress. */
export function toStreamedBody(body: Uint8Array | RenderedJson<unknown>): StreamedBody {
  if (body instanceof RenderedJson)
    return {
      size: body.byteLength,
      open: async function* () {
        yield* yieldingBetweenPieces(body.byteChunks(limits.fileChunkBytes));
      },
    };
  return {
    size: body.byteLength,
    open: async function* () {
      yield* yieldingBetweenPieces(splitBody(body));
    },
  };
}

function* splitBody(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.byteLength; at += limits.fileChunkBytes)
    yield body.subarray(at, at + limits.fileChunkBytes);
}

/** Pieces handed to the system per turn of the event loop, about one millisecond. */
const piecesPerTurn = 4;

/** Yields to the event loop even when the client reads as fast as the server writes. */
async function* yieldingBetweenPieces(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let sent = 0;
  for (const piece of pieces) {
    if (sent > 0 && sent % piecesPerTurn === 0) await new Promise(setImmediate);
    yield piece;
    sent += 1;
  }
}
