import { assert } from '../core/assert.ts';
import { limits } from '../core/limits.ts';
import { addon } from '../index/addon.ts';
import type { HttpServer, ServerOptions } from './exchange.ts';
import { findListenFailure, listenError } from './listen-error.ts';
import { UwsExchange } from './uws-exchange.ts';
import { loadUwsLibrary, type UwsApp } from './uws-library.ts';
import { UwsTlsApps } from './uws-tls-apps.ts';

/**
 * Starts the HTTP server on uWebSockets.js. Errors: UwsUnavailableError when the library does not load;
 * AppError when the address cannot be bound.
 */
export async function startUwsServer(options: ServerOptions): Promise<HttpServer> {
  const library = loadUwsLibrary();
  const { bounds, certificate, handle } = options;
  const exchangeOptions = { bounds, isSecure: certificate !== null };
  let connections = 0;
  const countConnection = (_: unknown, change: number): void => {
    connections += change;
  };
  const addRoutes = (app: UwsApp): UwsApp =>
    app
      .filter(countConnection)
      .any('/*', (response, request) => handle(new UwsExchange(response, request, exchangeOptions)));
  const tlsApps = certificate === null ? null : new UwsTlsApps(library, certificate, addRoutes);
  const app = tlsApps === null ? addRoutes(library.App()) : tlsApps.acceptor;
  const close = () => (tlsApps ?? app).close();
  const socket = await new Promise<unknown>((resolve) => {
    app.listen(options.host, options.port, library.LIBUS_LISTEN_EXCLUSIVE_PORT, resolve);
  });
  if (!socket) {
    close();
    const freed = new Error('the port was in use, but has been released. Start the server again');
    throw listenError(options, (await findListenFailure(options)) ?? freed);
  }
  const port = library.us_socket_local_port(socket);
  limitReceiveBuffers(port);
  let open = true;
  let listening = true;
  return {
    kind: 'uws',
    port,
    replaceCertificate: (replacement) => tlsApps?.replaceCertificate(replacement),
    stopListening: () => {
      if (open && listening) library.us_listen_socket_close(socket);
      listening = false;
    },
    countConnections: () => Promise.resolve(connections),
    close: async () => {
      if (open) close();
      open = false;
    },
  };
}

/**
 * The library reads up to 512 KiB at a time and repeats full reads, even while the request is paused: an
 * upload of 150 MB over loopback queued 70 MB and blocked the event loop for 42 ms. With this receive buffer
 * a read is never full: the same upload queues 0.5 MB and blocks for 2.5 ms, at the same speed.
 */
function limitReceiveBuffers(port: number): void {
  const sockets = addon.limitReceiveBuffers(port, limits.receiveBufferBytes);
  assert(sockets > 0, 'the listening socket is among the open files');
}
