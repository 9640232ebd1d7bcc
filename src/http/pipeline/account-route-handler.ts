import { invalidFieldError } from '../../core/app-error.ts';
import { assert } from '../../core/assert.ts';
import { isObject } from '../../core/is-object.ts';
import { toClientInfo, toReply } from '../account-exchange.ts';
import type { Reply } from '../exchange.ts';
import type { BodyReservation } from '../read-body.ts';
import type { AccountRoute } from '../routes/account-route.ts';
import { bodyLimitsOf, parseQuery } from './body-fields.ts';
import { ownerOf, type RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

/** Handles an operation under `/api`. */
export class AccountRouteHandler implements RouteHandler {
  readonly route: AccountRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  readonly #params: Readonly<Record<string, string>>;
  #reservation: BodyReservation | null = null;
  #request: unknown = null;
  #response: Awaited<ReturnType<AccountRoute['serve']>> | null = null;

  constructor(context: RequestContext, route: AccountRoute, params: Readonly<Record<string, string>>) {
    this.route = route;
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
    this.#params = params;
  }

  async readBody(): Promise<void> {
    this.#reservation = this.#context.components.bodies.reserve(ownerOf(this.#context));
    this.#request = { ...(await this.#readFields(this.#reservation)), ...this.#params };
  }

  /** Returns the request fields that are not in the path. Errors: 422 if a JSON body is not an object. */
  async #readFields(reservation: BodyReservation): Promise<object> {
    const { exchange, components, yieldToEventLoop } = this.#context;
    const { inputSource, signatureHeader = '' } = this.route;
    if (inputSource === 'query') return Object.fromEntries(parseQuery(exchange));
    if (inputSource === 'bytes') components.webhooks.consume(ownerOf(this.#context));
    const request = { exchange, limits: bodyLimitsOf(this.#context, this.route), yieldToEventLoop };
    if (inputSource === 'json') {
      const body = await components.bodies.readJson(reservation, request);
      if (isObject(body)) return body;
      throw invalidFieldError(['body'], 'must be an object', 'type_error');
    }
    const bytes = await components.bodies.readBytes(reservation, request);
    if (inputSource === 'form') return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    return { body: bytes, signature: exchange.header(signatureHeader) };
  }

  validate(): void {
    this.#request = this.#context.components.schemas.validateRequest(this.route, this.#request);
  }

  async callService(): Promise<void> {
    const { exchange, principal, components } = this.#context;
    const { accounts, settings } = components.options;
    const call = { principal, client: toClientInfo(exchange, settings) };
    this.#response = await this.route.serve(accounts, call, this.#request);
  }

  renderReply(): Reply {
    const { exchange, components } = this.#context;
    const response = this.#response;
    assert(response, 'callService has set the response');
    const status = this.route.successStatuses[0] ?? 200;
    if (response.kind === 'json') components.schemas.checkReply(this.route, { status, body: response.body });
    return toReply(response, status, { exchange, settings: components.options.settings });
  }

  release(): void {
    this.#reservation?.release();
  }
}
