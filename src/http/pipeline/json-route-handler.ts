import { assert } from '../../core/assert.ts';
import { mergeParams } from '../../requests/path-fields.ts';
import type { ServiceCall, ServiceReply } from '../../services/call.ts';
import type { EventStream } from '../../services/event-stream.ts';
import type { Reply } from '../exchange.ts';
import type { BodyReservation } from '../read-body.ts';
import { jsonReply } from '../replies.ts';
import { estimateMemoryBytes } from '../request-body-reader.ts';
import type { JsonRoute } from '../routes/route.ts';
import {
  bodyLimitsOf,
  canHaveLargeBody,
  convertIntegers,
  isLargeBody,
  mergeQueryFields,
  metadataBytesMaxOf,
} from './body-fields.ts';
import { asksForEventStream, eventStreamReply, isStillAllowed } from './event-stream.ts';
import { createServiceCall, ownerOf, type RequestContext } from './request-context.ts';
import type { RouteHandler } from './route-handler.ts';

/** Handles an operation with a JSON body and a JSON reply. */
export class JsonRouteHandler implements RouteHandler {
  readonly route: JsonRoute;
  readonly msMax: number;
  readonly #context: RequestContext;
  readonly #params: Readonly<Record<string, string>>;
  #reservation: BodyReservation | null = null;
  #request: unknown = null;
  /** Whether a worker has validated the request. */
  #isPrepared = false;
  #call: ServiceCall | null = null;
  #reply: ServiceReply<unknown> | null = null;
  #stream: EventStream | null = null;

  constructor(context: RequestContext, route: JsonRoute, params: Readonly<Record<string, string>>) {
    this.route = route;
    this.msMax = context.components.options.settings.requestMsMax;
    this.#context = context;
    this.#params = params;
  }

  async readBody(): Promise<void> {
    if (this.route.method === 'GET') this.#request = this.#readQuery();
    else await this.#readJsonBody();
    this.#request = mergeParams(this.#request, this.#params);
  }

  /** Clients of event streams send the position in a header when they reconnect. */
  #readQuery(): unknown {
    const { exchange } = this.#context;
    const request = mergeQueryFields({}, this.route.queryFields, exchange);
    const lastEventId = this.route.openStream === null ? undefined : exchange.header('last-event-id');
    const after = lastEventId === undefined || lastEventId === '' ? {} : { after: lastEventId };
    return { ...convertIntegers(this.route.request, request as Record<string, unknown>), ...after };
  }

  async #readJsonBody(): Promise<void> {
    const { exchange, components, yieldToEventLoop } = this.#context;
    const reservation = components.bodies.reserve(ownerOf(this.#context));
    this.#reservation = reservation;
    const { queryFields } = this.route;
    if (isLargeBody(exchange) && canHaveLargeBody(this.route)) {
      const prepared = await this.#prepareOnWorker(reservation);
      this.#request = mergeQueryFields(prepared, queryFields, exchange);
      this.#isPrepared = true;
      return;
    }
    const limits = bodyLimitsOf(this.#context, this.route);
    const body = await components.bodies.readJson(reservation, { exchange, limits, yieldToEventLoop });
    this.#request = mergeQueryFields(body, queryFields, exchange);
  }

  /** Parses and validates on a worker thread, because a large body would block the main thread. */
  async #prepareOnWorker(reservation: BodyReservation): Promise<unknown> {
    const { exchange, components, principal, deadline } = this.#context;
    const { options, bodies } = components;
    assert(principal, 'an operation with a large body has a caller');
    const { operation, request: schema } = this.route;
    const limits = bodyLimitsOf(this.#context, this.route);
    const owner = ownerOf(this.#context);
    const yieldToEventLoop = options.bodyScheduler.createYield(owner);
    const parts = await bodies.readParts(reservation, { exchange, limits, yieldToEventLoop });
    const { request, memoryBytes } = await options.largeBodies.prepare({
      operation,
      schema,
      parts,
      owner,
      params: this.#params,
      cancellation: deadline,
      metadataBytesMax: metadataBytesMaxOf(this.#context),
    });
    reservation.shrinkTo(memoryBytes);
    return request;
  }

  validate(): void {
    if (!this.#isPrepared) this.#request = this.#validateShape(this.#request);
    this.#call = createServiceCall(this.#context);
    // A function, because most operations have no metadata and do not need the limit.
    this.route.check(this.#request, { metadataBytesMax: () => metadataBytesMaxOf(this.#context) });
  }

  /** Drops unknown fields, and releases their memory before the request waits. */
  #validateShape(request: unknown): unknown {
    const { schemas } = this.#context.components;
    const valid = schemas.validateRequest(this.route, request);
    const cleaned = schemas.clean(this.route, valid);
    if (cleaned !== valid) this.#reservation?.shrinkTo(estimateMemoryBytes(cleaned));
    return cleaned;
  }

  async callService(): Promise<void> {
    assert(this.#call, 'validate has created the call');
    const { services } = this.#context.components.options;
    if (this.route.openStream !== null && asksForEventStream(this.#context, this.#request)) {
      this.#stream = await this.route.openStream(services, this.#call, this.#request, () =>
        isStillAllowed(this.#context),
      );
      return;
    }
    this.#reply = await this.route.serve(services, this.#call, this.#request);
  }

  renderReply(): Reply {
    if (this.#stream !== null) return eventStreamReply(this.#context, this.#stream);
    assert(this.#reply, 'callService has set the reply');
    this.#context.components.schemas.checkReply(this.route, this.#reply);
    return jsonReply(this.#reply.status, this.#reply.body, this.#context.serviceHeaders ?? {});
  }

  release(): void {
    this.#reservation?.release();
  }
}
