import type { Settings } from '../config/schema.ts';
import type { InheritedSocket } from '../config/settings.ts';
import { AppError } from '../core/app-error.ts';
import type { Logger } from '../core/logger.ts';
import type { CertificateMonitor } from '../http/certificate-monitor.ts';
import { defaultBounds, type HttpListener, startHttpListener } from '../http/listen.ts';
import type { RequestHandler } from '../http/request-handler.ts';
import type { ResourceStack } from './resource-stack.ts';

interface ListenerDependencies {
  readonly requestHandler: RequestHandler;
  readonly certificates: CertificateMonitor | null;
  /** Used instead of the public address in the settings. */
  readonly inheritedSocket: InheritedSocket | null;
  readonly logger: Logger;
}

/**
 * Listens on the public address, and on the address of metrics and probes if that is set, which stays open until all
 * requests have ended. Errors: `unavailable` when an address cannot be bound.
 */
export async function openListeners(
  { host, port, http: kind, drainSeconds, metricsListen }: Settings,
  resources: ResourceStack,
  { requestHandler, certificates, inheritedSocket, logger }: ListenerDependencies,
): Promise<HttpListener> {
  const bounds = defaultBounds;
  if (metricsListen !== null) {
    const address = parseListenAddress(metricsListen);
    const metrics = await startHttpListener({
      requestHandler,
      kind,
      bounds,
      logger,
      host: address.host,
      port: address.port,
      name: 'metrics',
      certificates: null,
    });
    resources.add(() => metrics.close(0));
  }
  const listening = await startHttpListener({
    requestHandler,
    kind,
    bounds,
    logger,
    host,
    port,
    name: 'public',
    certificates,
    descriptor: inheritedSocket?.descriptor ?? null,
  });
  resources.add(() => listening.close(drainSeconds * 1_000));
  return listening;
}

/** Errors: `invalid` if the HTTP server in the settings cannot use an inherited socket. */
export function checkInheritedSocket({ http }: Settings, inheritedSocket: InheritedSocket | null): void {
  if (inheritedSocket === null || http !== 'uws') return;
  throw new AppError(
    'invalid',
    'uWebSockets.js cannot use the socket of another process. Set QUARRY_HTTP to auto or node.',
  );
}

/** Splits `host:port`; an IPv6 address is in brackets. */
function parseListenAddress(text: string): { host: string; port: number } {
  const colon = text.lastIndexOf(':');
  return { host: text.slice(0, colon).replace(/^\[(.*)\]$/, '$1'), port: Number(text.slice(colon + 1)) };
}
