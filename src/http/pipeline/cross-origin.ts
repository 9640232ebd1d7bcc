import type { Exchange, Reply } from '../exchange.ts';
import type { PreflightRoute, Route } from '../routes/route.ts';
import type { RequestContext } from './request-context.ts';

/** Cross-origin resource sharing (CORS): which pages of other sites may read replies. */

/** Time for which browsers remember an allowed preflight request. */
const preflightCacheSeconds = 600;
/** Headers of replies that pages may read in addition to those that browsers always show. */
const exposedHeaders = [
  'x-request-id, retry-after, retry-after-ms, x-should-retry, x-quarry-limit, x-quarry-model, x-quarry-warnings',
  'traceresponse, content-disposition, content-range, accept-ranges, etag',
].join(', ');

/**
 * Whether pages of other sites can call the route at all: operations that take an API key, and the URLs of files. Never
 * the routes that take a session, the administration and the pages of this server.
 */
export function isCrossOriginRoute({ kind, access }: Route | PreflightRoute): boolean {
  if (kind === 'file' || kind === 'image') return true;
  return kind !== 'page' && (access === 'read' || access === 'write');
}

/** Returns the method of the request that a browser asks about; null if this is not a preflight request. */
export function preflightMethod(exchange: Exchange): string | null {
  if (exchange.method !== 'OPTIONS' || exchange.header('origin') === undefined) return null;
  return exchange.header('access-control-request-method') ?? null;
}

export function preflightReply(origin: string, requestedHeaders: string | undefined): Reply {
  // The names are those of the request: clients send headers that the server does not know, such as their version.
  const names = requestedHeaders ?? '';
  return {
    status: 200,
    headers: {
      ...allowOrigin(origin),
      'access-control-allow-methods': 'GET, HEAD, POST, PUT',
      ...(/^[\w\-, ]+$/.test(names) ? { 'access-control-allow-headers': names } : {}),
      'access-control-max-age': String(preflightCacheSeconds),
    },
    body: new Uint8Array(0),
  };
}

/** Whether the reply depends on the origin of the page. Other replies are not cached, and need no header. */
export function dependsOnOrigin({ exchange, route }: RequestContext): boolean {
  if (route === null || route.kind === 'preflight' || !isCrossOriginRoute(route)) return false;
  return route.kind === 'file' || route.kind === 'image' || exchange.header('origin') !== undefined;
}

/**
 * Returns the headers that let the page that sent the request read its reply; none if the page may not. The list of the
 * key decides. A reply to a request without a valid key is readable: it is an error, which tells a page why its key is
 * rejected, or a file, whose URL is the permission. Asking whether any key of the server allows the origin would
 * reveal to anyone which sites use it.
 */
export function crossOriginHeaders({ exchange, principal }: RequestContext): Reply['headers'] {
  const origin = exchange.header('origin');
  if (origin === undefined || (principal !== null && !isOriginOf(principal, origin))) return varyByOrigin;
  return { ...allowOrigin(origin), 'access-control-expose-headers': exposedHeaders };
}

function isOriginOf(principal: NonNullable<RequestContext['principal']>, origin: string): boolean {
  return principal.kind === 'organization' && principal.allowedOrigins?.includes(origin) === true;
}

/** For caches: the reply to a page of one origin is not the reply to another. */
const varyByOrigin = { vary: 'origin' };

function allowOrigin(origin: string) {
  return { 'access-control-allow-origin': origin, ...varyByOrigin };
}
