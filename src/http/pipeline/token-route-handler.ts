import { invalidFieldError } from '../../core/app-error.ts';
import { assert } from '../../core/assert.ts';
import type { Reply } from '../exchange.ts';
import { fileReply, imageReply } from '../file-reply.ts';
import type { TokenRoute } from '../routes/route.ts';
import type { TokenCall } from '../services.ts';
import { parseQuery } from './body-fields.ts';
import { createTokenCall, type RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

const imageWidthMax = 2_000;

interface TokenRequest {
  readonly call: TokenCall;
  readonly token: string;
  /** Pixels; null: full size. */
  readonly width: number | null;
}

/** Serves a file or page image whose URL contains a token. */
export class TokenRouteHandler implements RouteHandler {
  readonly route: TokenRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  #request: TokenRequest | null = null;
  #reply: Reply | null = null;

  constructor(context: RequestContext, route: TokenRoute) {
    this.route = route;
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
  }

  async readBody(): Promise<void> {}

  validate(): void {
    const query = parseQuery(this.#context.exchange);
    const token = query.get('token');
    if (token === null || token === '') throw invalidFieldError(['query', 'token'], 'is missing', 'missing');
    const call = createTokenCall(this.#context);
    const width = this.route.kind === 'image' ? parseImageWidth(query.get('width')) : null;
    this.#request = { call, token, width };
  }

  async callService(): Promise<void> {
    assert(this.#request, 'validate has set the request');
    const { exchange, components } = this.#context;
    const { services } = components.options;
    const { call, token, width } = this.#request;
    this.#reply =
      this.route.kind === 'image'
        ? imageReply(await services.files.getPageImage(call, token, width))
        : fileReply(exchange, await services.files.getDocumentFile(call, token));
  }

  renderReply(): Reply {
    assert(this.#reply, 'callService has set the reply');
    return this.#reply;
  }

  release(): void {}
}

function parseImageWidth(text: string | null): number | null {
  if (text === null) return null;
  const width = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (width < 1 || width > imageWidthMax)
    throw invalidFieldError(['query', 'width'], `is not an integer from 1 to ${imageWidthMax}`);
  return width;
}
