import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { CertificateMonitor } from './certificate-monitor.ts';
import type { HttpServer, ServerBounds, ServerOptions } from './exchange.ts';
import type { ListenAddress } from './listen-error.ts';
import type { RequestHandler } from './request-handler.ts';
import { startNodeServer } from './server-node.ts';
import { startUwsServer } from './server-uws.ts';
import { UwsUnavailableError } from './uws-library.ts';

export type ServerKind = 'auto' | 'uws' | 'node';

/**
 * Starts the server that `kind` names. `auto` prefers uWebSockets.js; if it does not load, logs the reason
 * and uses `node:http`, which also serves an inherited socket: uWebSockets.js cannot use one.
 */
async function startServer(kind: ServerKind, options: ServerOptions, logger: Logger): Promise<HttpServer> {
  const isInherited = (options.descriptor ?? null) !== null;
  if (kind === 'node' || isInherited) return startNodeServer(options);
  try {
    return await startUwsServer(options);
  } catch (error) {
    if (kind === 'uws' || !(error instanceof UwsUnavailableError)) throw error;
    logger.info({ reason: error.message }, 'serving with node:http');
    return startNodeServer(options);
  }
}

/** Production bounds; tests use shorter ones. */
export const defaultBounds: ServerBounds = limits;

export interface HttpListenerOptions extends ListenAddress {
  readonly requestHandler: RequestHandler;
  readonly kind: ServerKind;
  readonly bounds: ServerBounds;
  /** Serves HTTPS with its certificate; null serves HTTP. */
  readonly certificates: CertificateMonitor | null;
  readonly logger: Logger;
}

export interface HttpListener {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  readonly runningRequests: number;
  /**
   * Declares that another process continues with the listening socket. `close` then answers no request with 503: it
   * accepts no more connections and ends each one with its next reply.
   */
  shareSocket(): void;
  /**
   * Answers new requests with 503 while running ones finish, for at most `graceMs` milliseconds; then stops
   * listening and ends every connection. Idempotent.
   */
  close(graceMs: number): Promise<void>;
}

/** Starts listening. Errors: `unavailable` when the address cannot be bound. */
export async function startHttpListener({
  requestHandler,
  kind,
  certificates,
  logger,
  ...addressAndBounds
}: HttpListenerOptions): Promise<HttpListener> {
  const certificate = certificates?.current ?? null;
  const handle = requestHandler.handleOn(addressAndBounds.name);
  const options = { ...addressAndBounds, certificate, handle };
  const server = await startServer(kind, options, logger);
  let isShared = (addressAndBounds.descriptor ?? null) !== null;
  certificates?.start((replacement) => server.replaceCertificate(replacement));
  return {
    kind: server.kind,
    port: server.port,
    get runningRequests() {
      return requestHandler.runningRequests;
    },
    shareSocket: () => {
      isShared = true;
    },
    close: async (graceMs) => {
      if (isShared) await finishConnections(server, requestHandler, graceMs);
      await requestHandler.drain(graceMs);
      await certificates?.close();
      await server.close();
    },
  };
}

const pollMs = 10;
/** A connection without a request for this long is idle, and is closed. */
const idleMs = 1_000;

/** Resolves when all connections have ended or are idle, at the latest after `msMax`. */
async function finishConnections(
  server: HttpServer,
  requestHandler: RequestHandler,
  msMax: number,
): Promise<void> {
  server.stopListening();
  requestHandler.endConnections();
  let quietMs = 0;
  for (let waitedMs = 0; waitedMs < msMax && quietMs < idleMs; waitedMs += pollMs) {
    if ((await server.countConnections()) === 0) return;
    const before = requestHandler.requestCount;
    await new Promise((resolve) => setTimeout(resolve, pollMs));
    const isQuiet = requestHandler.runningRequests === 0 && requestHandler.requestCount === before;
    quietMs = isQuiet ? quietMs + pollMs : 0;
  }
}
