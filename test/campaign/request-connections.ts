import { connect, type Socket } from 'node:net';
import { MessageReader } from '../../bench/harness/message-reader.ts';

/** Destination of requests: an operation, called with the key of one organization. */
export interface RequestTarget {
  readonly url: string;
  readonly key: string;
  readonly operation: string;
}

interface Connection {
  readonly socket: Socket;
  /** Resolver of the request in flight. */
  resolve: ((status: number) => void) | null;
}

const replyMsMax = 120_000;

/**
 * Keep-alive connections to a server, one per request in flight. Uses plain sockets because the generator shares the
 * processors with the server under test: a request through `node:http` costs several times as much.
 */
export class RequestConnections {
  readonly #address: { readonly host: string; readonly port: number };
  readonly #requestHead: string;
  /** Ordered by idle time, longest first, so that no connection idles until the server closes it. */
  readonly #idle = new Set<Connection>();
  readonly #open = new Set<Connection>();

  constructor({ url, key, operation }: RequestTarget) {
    const { hostname, port } = new URL(url);
    this.#address = { host: hostname, port: Number(port) };
    this.#requestHead = [
      `POST /v1/${operation} HTTP/1.1`,
      `host: ${hostname}:${port}`,
      `authorization: Bearer ${key}`,
      'content-type: application/json',
      'content-length: ',
    ].join('\r\n');
  }

  /** Resolves with the status of the reply; 0 if there is none. */
  send(body: string): Promise<number> {
    return new Promise((resolve) => {
      const [idle] = this.#idle;
      const connection = idle ?? this.#connect();
      this.#idle.delete(connection);
      connection.resolve = resolve;
      connection.socket.write(`${this.#requestHead}${Buffer.byteLength(body)}\r\n\r\n${body}`);
    });
  }

  close(): void {
    for (const { socket } of this.#open) socket.destroy();
  }

  #connect(): Connection {
    const socket = connect({ ...this.#address, noDelay: true });
    const connection: Connection = { socket, resolve: null };
    const reader = new MessageReader(({ startLine }) => {
      this.#idle.add(connection);
      finishRequest(connection, Number(startLine.split(' ')[1]));
    });
    this.#open.add(connection);
    socket.setTimeout(replyMsMax, () => socket.destroy());
    // The reason is irrelevant; a `close` event follows.
    socket.on('error', () => {});
    socket.on('close', () => {
      this.#open.delete(connection);
      this.#idle.delete(connection);
      finishRequest(connection, 0);
    });
    socket.on('data', (piece) => reader.push(piece));
    return connection;
  }
}

function finishRequest(connection: Connection, status: number): void {
  const { resolve: answer } = connection;
  connection.resolve = null;
  answer?.(status);
}
