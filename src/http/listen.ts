import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { HttpServer, ServerBounds, ServerOptions } from './exchange.ts';
import type { RequestHandler } from './request-handler.ts';
import { startNodeServer } from './server-node.ts';
import { startUwsServer } from './server-uws.ts';
import { UwsUnavailableError } from './uws-library.ts';

export type ServerKind = 'auto' | 'uws' | 'node';

/**
 * Starts the server that `kind` names. `auto` prefers uWebSockets.js; if it does not load, logs the reason
 * and uses `node:http`.
 */
async function startServer(kind: ServerKind, options: ServerOptions, logger: Logger): Promise<HttpServer> {
  if (kind === 'node') return startNodeServer(options);
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

export interface HttpListenerOptions {
  readonly requestHandler: RequestHandler;
  readonly kind: ServerKind;
  readonly host: string;
  /** 0 lets the operating system choose. */
  readonly port: number;
  readonly bounds: ServerBounds;
  readonly logger: Logger;
}

export interface HttpListener {
  readonly kind: 'uws' | 'node';
  readonly port: number;
  readonly runningRequests: number;
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
  host,
  port,
  bounds,
  logger,
}: HttpListenerOptions): Promise<HttpListener> {
  const server = await startServer(kind, { host, port, bounds, handle: requestHandler.handle }, logger);
  return {
    kind: server.kind,
    port: server.port,
    get runningRequests() {
      return requestHandler.runningRequests;
    },
    close: async (graceMs) => {
      await requestHandler.drain(graceMs);
      await server.close();
    },
  };
}
