import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import { Rendered } from '../services/rendered.ts';
import type { BodyQueue } from './body-queue.ts';

/**
 * One request and its reply, as the corridor sees them. Both servers (`server-uws.ts`, `server-node.ts`) implement
 * exactly this and pass one contract suite; nothing above this file knows which of them is running.
 */
export interface Exchange {
  /** Upper case. */
  readonly method: string;
  /** As sent: percent-encoded, without the query. */
  readonly path: string;
  /** As sent, without the question mark; empty when there is none. */
  readonly query: string;
  /** Address of the other end of the socket; may be empty when the client is gone. */
  readonly clientAddress: string;
  /** A header by its lower-case name. Several of one name are joined with ", "; else the first counts. */
  header(name: string): string | undefined;
  /**
   * The body as it arrives. Nothing is read ahead beyond a fixed bound until `body.take` is called; the first call
   * also answers `Expect: 100-continue` where the server has not done so itself.
   */
  readonly body: BodyQueue;
  /** Calls `listener` once when the client goes away before the reply is complete; at once when it already has. */
  onGone(listener: () => void): void;
  /**
   * Sends the reply; called at most once. Resolves when every byte is handed to the system or the client is gone
   * (false). A body that is still arriving is discarded; one too long to wait for ends the connection. Rejects when
   * the source of a streamed body fails; the connection is then broken, so that no client takes the part for the whole.
   */
  reply(reply: Reply): Promise<boolean>;
}

export interface Reply {
  readonly status: number;
  /** Lower-case names; `content-length` and `connection` belong to the server. */
  readonly headers: Readonly<Record<string, string>>;
  /** Values of `set-cookie`, the only header that is sent more than once. */
  readonly cookies?: readonly string[];
  readonly body: Uint8Array | Rendered<unknown> | StreamedBody;
  /** The server leaves the body out and sends only its length (HEAD, 304). */
  readonly headersOnly?: boolean;
  /** End the connection after this reply. */
  readonly close?: boolean;
}

/** A body that is produced while it is sent; `open` is called at most once, and not for a reply of headers only. */
export interface StreamedBody {
  readonly size: number;
  /** Yields exactly `size` bytes. The iterator is returned early when the client goes away. */
  readonly open: () => AsyncIterable<Uint8Array>;
}

/** Bounds that a server keeps by itself, below the corridor. */
export interface ServerBounds {
  /** Milliseconds in which a request line and its headers must be complete (`uWebSockets.js` fixes its own 10 s). */
  readonly headerMsMax: number;
  /** Milliseconds without progress after which a client that does not read its reply is cut off. */
  readonly replyIdleMsMax: number;
  /** Milliseconds in which the rest of a refused body is still discarded, so that the client can read the refusal. */
  readonly lingerMsMax: number;
}

export interface ServerOptions {
  readonly host: string;
  /** 0 lets the system choose. */
  readonly port: number;
  readonly bounds: ServerBounds;
  /** Owns each exchange; never throws. */
  readonly handle: (exchange: Exchange) => void;
}

export interface HttpServer {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  /** Stops listening and cuts every connection; call it when the exchanges are over. Harmless twice. */
  close(): Promise<void>;
}

/** The address cannot be had; a sentence for the operator. */
export function cannotListen({ host, port }: ServerOptions, cause?: unknown): AppError {
  return new AppError(
    'unavailable',
    `Cannot listen on port ${port} of ${host} (QUARRY_PORT, QUARRY_HOST): another program listens there, the address is not one of this machine, or the port needs more rights.`,
    cause === undefined ? {} : { cause },
  );
}

/** The client went away; nobody is left to answer. Not a fault. */
export class ClientGone extends Error {
  override readonly name = 'ClientGone';
  constructor() {
    super('the client went away');
  }
}

export function isStreamed(body: Reply['body']): body is StreamedBody {
  return !('byteLength' in body);
}

/** A body in memory as one run of bytes. */
export function wholeBody(body: Uint8Array | Rendered<unknown>): Uint8Array {
  return body instanceof Rendered ? body.bytes() : body;
}

/** Bytes that `content-length` says. */
export function bodySize(body: Reply['body']): number {
  return isStreamed(body) ? body.size : body.byteLength;
}

/** A long body in memory, in pieces, so that a slow client shows progress. */
export function inPieces(body: Uint8Array | Rendered<unknown>): StreamedBody {
  if (body instanceof Rendered)
    return {
      size: body.byteLength,
      open: async function* () {
        yield* inTurns(body.runs(limits.fileChunkBytes));
      },
    };
  return {
    size: body.byteLength,
    open: async function* () {
      yield* inTurns(piecesOf(body));
    },
  };
}

function* piecesOf(body: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < body.byteLength; at += limits.fileChunkBytes)
    yield body.subarray(at, at + limits.fileChunkBytes);
}

/** Pieces that are handed to the system in one turn of the event loop, about a millisecond. */
const piecesPerTurn = 4;

/** A client that reads as fast as the server writes leaves the event loop to others all the same. */
async function* inTurns(pieces: Iterable<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
  let sent = 0;
  for (const piece of pieces) {
    if (sent > 0 && sent % piecesPerTurn === 0) await new Promise(setImmediate);
    yield piece;
    sent += 1;
  }
}
