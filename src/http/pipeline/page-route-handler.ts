import { assert } from '../../core/assert.ts';
import type { Reply } from '../exchange.ts';
import type { PageRoute } from '../routes/route.ts';
import type { RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

/** Serves the dashboard and the pages about the server itself. */
export class PageRouteHandler implements RouteHandler {
  readonly route: PageRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  readonly #params: Readonly<Record<string, string>>;
  #reply: Reply | null = null;

  constructor(context: RequestContext, route: PageRoute, params: Readonly<Record<string, string>>) {
    this.route = route;
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
    this.#params = params;
  }

  async readBody(): Promise<void> {}

  validate(): void {}

  async callService(): Promise<void> {
    const { exchange, components } = this.#context;
    const { isDraining } = components.activeRequests;
    this.#reply = await components.pages.reply(this.route.page, {
      exchange,
      params: this.#params,
      isDraining,
    });
  }

  renderReply(): Reply {
    assert(this.#reply, 'callService has set the reply');
    return this.#reply;
  }

  release(): void {}
}
