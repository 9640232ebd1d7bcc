import { AppError } from '../../core/app-error.ts';
import { unreachable } from '../../core/assert.ts';
import type { RouteMatch } from '../router.ts';
import { AccountRouteHandler } from './account-route-handler.ts';
import { preflightMethod } from './cross-origin.ts';
import { JsonRouteHandler } from './json-route-handler.ts';
import { McpRouteHandler } from './mcp-route-handler.ts';
import { PageRouteHandler } from './page-route-handler.ts';
import { PreflightRouteHandler } from './preflight-route-handler.ts';
import type { RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';
import { TokenRouteHandler } from './token-route-handler.ts';
import { UploadRouteHandler } from './upload-route-handler.ts';

/** Errors: as `Router.find`. */
export function findRoute(context: RequestContext): void {
  const { exchange, components, listener } = context;
  const router = components.routers[listener];
  const requestedMethod = preflightMethod(exchange);
  if (requestedMethod !== null) {
    const { route } = router.find(requestedMethod, exchange.path);
    context.handler = new PreflightRouteHandler(context, route);
    return;
  }
  context.handler = createHandler(context, router.find(exchange.method, exchange.path));
}

function createHandler(context: RequestContext, { route, params }: RouteMatch): RouteHandler {
  switch (route.kind) {
    case 'json':
      return new JsonRouteHandler(context, route, params);
    case 'account':
      return new AccountRouteHandler(context, route, params);
    case 'put':
    case 'multipart':
      return new UploadRouteHandler(context, route, params);
    case 'file':
    case 'image':
      return new TokenRouteHandler(context, route);
    case 'mcp':
      return new McpRouteHandler(context, route);
    case 'page':
      return new PageRouteHandler(context, route, params);
    default:
      return unreachable(route);
  }
}

/** `100-continue` is the only expectation that exists (RFC 9110 section 10.1.1); both servers handle it. */
export function checkExpectation({ exchange }: RequestContext): void {
  const expectation = exchange.header('expect');
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw new AppError('expectation_failed', 'Unsupported Expect header. Only "100-continue" is supported.');
  }
}
