import { bodyLimitsFor } from '../../admission/body-limits.ts';
import { AppError, invalidFieldError } from '../../core/app-error.ts';
import { assert } from '../../core/assert.ts';
import type { McpReply } from '../../mcp/mcp-server.ts';
import type { Reply } from '../exchange.ts';
import type { BodyReservation } from '../read-body.ts';
import type { McpRoute } from '../routes/route.ts';
import { RouteOperations } from './mcp-operations.ts';
import { ownerOf, type RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

const protocolHeaders = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** Handles a message of the Model Context Protocol. */
export class McpRouteHandler implements RouteHandler {
  readonly route: McpRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  #reservation: BodyReservation | null = null;
  #message: unknown = null;
  #reply: McpReply | null = null;

  constructor(context: RequestContext, route: McpRoute) {
    this.route = route;
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
  }

  async readBody(): Promise<void> {
    const { exchange, components, yieldToEventLoop } = this.#context;
    this.#reservation = components.bodies.reserve(ownerOf(this.#context));
    const { jsonBytesMax: documentBytesMax } = components.options.settings;
    const limits = bodyLimitsFor('mcp', { documentBytesMax, modelBytesMax: 0 });
    this.#message = await components.bodies.readJson(this.#reservation, {
      exchange,
      limits,
      yieldToEventLoop,
    });
  }

  validate(): void {
    const message = this.#message;
    if (Array.isArray(message))
      throw new AppError('bad_request', 'Batches are not supported. Send each message in its own request.');
    if (typeof message !== 'object' || message === null)
      throw invalidFieldError(['body'], 'must be a JSON-RPC message', 'type_error');
    if ('method' in message && message.method === 'subscriptions/listen')
      throw new AppError(
        'bad_request',
        'subscriptions/listen is not supported: the lists of tools and resources do not change.',
      );
  }

  async callService(): Promise<void> {
    const { exchange, components, deadline } = this.#context;
    const headers = protocolHeaders.flatMap((name) => {
      const value = exchange.header(name);
      return value === undefined ? [] : [[name, value] as const];
    });
    const mcp = await components.mcp.load();
    this.#reply = await mcp.handle({
      message: this.#message as object,
      headers: Object.fromEntries(headers),
      api: new RouteOperations(this.#context),
      signal: deadline.signal,
    });
  }

  renderReply(): Reply {
    assert(this.#reply, 'callService has set the reply');
    const { status, contentType, body } = this.#reply;
    return { status, headers: contentType === null ? {} : { 'content-type': contentType }, body };
  }

  release(): void {
    this.#reservation?.release();
  }
}
