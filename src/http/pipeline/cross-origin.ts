import type { Exchange, Reply } from '../exchange.ts';
import type { PreflightRoute, Route } from '../routes/route.ts';
import { logFailure } from './error-replies.ts';
import type { RequestContext } from './request-context.ts';

/** Cross-origin resource sharing (CORS): which pages of other sites may read replies. */

/** Time for which browsers remember an allowed preflight request. */
const preflightCacheSeconds = 600;
/** Headers of replies that pages may read in addition to those that browsers always show. */
const exposedHeaders = [
  'x-request-id, retry-after, retry-after-ms, x-should-retry, x-quarry-limit, traceresponse',
  'content-disposition, content-range, accept-ranges, etag',
].join(', ');

/**
 * Whether pages of other sites can call the route at all: operations that take an API key, and the URLs of files. Never
 * the routes that take a session, the administration and the pages of this server.
 */
export function isCrossOriginRoute({ kind, access }: Route | PreflightRoute): boolean {
  if (kind === 'file' || kind === 'image') return true;
  return kind !== 'page' && (access === 'read' || access === 'write');
}

/** Returns the method of the request that a browser asks about; null if this is no preflight request. */
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
 * Returns the headers that let the page that sent the request read its reply; none if the page may not. A key decides
 * for its own requests. Without a valid key, the reply is an error or is authorized by its URL; then any key of the
 * server decides.
 */
export async function crossOriginHeaders(context: RequestContext): Promise<Reply['headers']> {
  const { exchange, principal } = context;
  const origin = exchange.header('origin');
  if (origin === undefined) return varyByOrigin;
  const isAllowed = principal === null ? await isKnownOrigin(context, origin) : isOriginOf(principal, origin);
  return isAllowed
    ? { ...allowOrigin(origin), 'access-control-expose-headers': exposedHeaders }
    : varyByOrigin;
}

function isOriginOf(principal: NonNullable<RequestContext['principal']>, origin: string): boolean {
  return principal.kind === 'organization' && principal.allowedOrigins?.includes(origin) === true;
}

/** A failure must not keep the reply from being sent. */
async function isKnownOrigin(context: RequestContext, origin: string): Promise<boolean> {
  const { notReadyReason, allowsOrigin } = context.components.options;
  try {
    return notReadyReason() === null && (await allowsOrigin(origin));
  } catch (error) {
    logFailure(context, error, 'origin not checked');
    return false;
  }
}

/** For caches: the reply to a page of one origin is not the reply to another. */
const varyByOrigin = { vary: 'origin' };

function allowOrigin(origin: string) {
  return { 'access-control-allow-origin': origin, ...varyByOrigin };
}
