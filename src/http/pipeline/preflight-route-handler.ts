import { AppError } from '../../core/app-error.ts';
import { assert } from '../../core/assert.ts';
import type { Reply } from '../exchange.ts';
import type { PreflightRoute, Route } from '../routes/route.ts';
import { isCrossOriginRoute, preflightReply } from './cross-origin.ts';
import type { RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

/**
 * Answers the check that a browser sends before a request of a page of another site. It has no credential, so each origin
 * is allowed; the key of the request that follows decides whether the page can read the reply.
 */
export class PreflightRouteHandler implements RouteHandler {
  readonly route: PreflightRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  readonly #target: Route;
  #reply: Reply | null = null;

  /** `target`: the route of the request that would follow. */
  constructor(context: RequestContext, target: Route) {
    const { method, path, isVersioned, tag } = target;
    this.route = {
      kind: 'preflight',
      operation: 'preflight',
      access: 'none',
      method,
      path,
      isVersioned,
      tag,
      summary: 'Check a request of another site',
      description: '',
      errorResponses: {},
    };
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
    this.#target = target;
  }

  async readBody(): Promise<void> {}

  validate(): void {
    if (isCrossOriginRoute(this.#target)) return;
    throw new AppError('forbidden', 'Pages of other sites cannot call this operation.');
  }

  async callService(): Promise<void> {
    const { exchange } = this.#context;
    const origin = exchange.header('origin');
    assert(origin, 'a preflight request has an origin');
    this.#reply = preflightReply(origin, exchange.header('access-control-request-headers'));
  }

  renderReply(): Reply {
    assert(this.#reply, 'callService has set the reply');
    return this.#reply;
  }

  release(): void {}
}
