import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import type { Test } from './tap.ts';

/**
 * Action of the proxy on the next request of a client that is connected already: `lose request` and `lose reply` end the
 * connection before the server gets the request, or after it has replied.
 */
type Fault = 'none' | 'lose request' | 'lose reply';

/** Proxy in front of PostgreSQL that loses connections at chosen moments. */
export class PostgresProxy {
  readonly #server: Server;
  readonly #target: URL;
  readonly #sockets = new Set<Socket>();
  #fault: Fault = 'none';
  /** Whether new connections are refused. */
  isDown = false;

  static async start(t: Test, target: string): Promise<PostgresProxy> {
    const proxy = new PostgresProxy(target);
    proxy.#server.listen(0, '127.0.0.1');
    await once(proxy.#server, 'listening');
    t.teardown(() => {
      proxy.disconnect();
      proxy.#server.close();
    });
    return proxy;
  }

  private constructor(target: string) {
    this.#target = new URL(target);
    this.#server = createServer((client) => this.#accept(client));
  }

  /** URL of the database through the proxy. */
  get url(): string {
    const url = new URL(this.#target);
    url.port = String((this.#server.address() as AddressInfo).port);
    return url.href;
  }

  /** The next request meets the fault. */
  failNext(fault: Fault): void {
    this.#fault = fault;
  }

  /** Ends all connections. */
  disconnect(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(client: Socket): void {
    if (this.isDown) {
      client.destroy();
      return;
    }
    const server = connect(Number(this.#target.port), this.#target.hostname);
    for (const socket of [client, server]) {
      this.#sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        client.destroy();
        server.destroy();
      });
    }
    client.on('data', (request) => {
      if (this.#takeFault('lose request')) client.destroy();
      else server.write(request);
    });
    server.on('data', (reply) => {
      if (this.#takeFault('lose reply')) client.destroy();
      else client.write(reply);
    });
  }

  #takeFault(fault: Fault): boolean {
    if (this.#fault !== fault) return false;
    this.#fault = 'none';
    return true;
  }
}
