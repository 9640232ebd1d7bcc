import { rateLimitAddress } from '../../admission/address-key.ts';
import type { Credentials } from '../../auth/credentials.ts';
import { assert } from '../../core/assert.ts';
import type { YieldToEventLoop } from '../../core/async/event-loop-scheduler.ts';
import type { IndexedSetItem } from '../../core/indexed-set.ts';
import type { Principal } from '../../schemas/principal.ts';
import type { ServiceCall } from '../../services/call.ts';
import type { RecordedTrace } from '../../tracing/tracer.ts';
import { Deadline } from '../deadline.ts';
import type { Exchange, Reply } from '../exchange.ts';
import type { ListenerName } from '../listen-error.ts';
import { resolveBaseUrl, resolveClientAddress } from '../origin.ts';
import type { PreflightRoute, Route } from '../routes/route.ts';
import type { PipelineComponents } from './components.ts';
import type { RouteHandler } from './route-handler.ts';

/** One request on its way through the pipeline. Each field names the step that sets it. */
export class RequestContext implements IndexedSetItem {
  readonly components: PipelineComponents;
  readonly exchange: Exchange;
  readonly listener: ListenerName;
  readonly requestId: string;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly receivedAt: number;
  readonly deadline = new Deadline();
  /** Null if the request is not traced. */
  readonly trace: RecordedTrace | null;
  /** Set by `findRoute`. */
  handler: RouteHandler | null = null;
  /** Set by `authenticate`; null for an operation that needs no credential. */
  principal: Principal | null = null;
  /** Set by `acquireSlot`: the owner that the request is counted for. */
  slotOwner: string | null = null;
  /** Replaced by `acquireSlot`, so that owners take turns. */
  yieldToEventLoop: YieldToEventLoop;
  /** Headers that the service adds to its reply; null if it adds none. */
  serviceHeaders: Record<string, string> | null = null;
  /** Set by `renderReply`. */
  reply: Reply | null = null;
  /** Position in the set of active requests. */
  index = -1;

  constructor(components: PipelineComponents, exchange: Exchange, listener: ListenerName) {
    const { random, clock, scheduler, tracer = null } = components.options;
    this.components = components;
    this.listener = listener;
    this.exchange = exchange;
    this.requestId = random.uuid();
    this.receivedAt = clock.monotonic();
    this.trace = tracer === null ? null : tracer.startRequest(exchange.header('traceparent'));
    this.yieldToEventLoop = scheduler.createYield('');
    exchange.onDisconnect(() => this.deadline.disconnect());
  }

  /** Null before `findRoute`, and for a path without one. */
  get route(): Route | PreflightRoute | null {
    return this.handler === null ? null : this.handler.route;
  }
}

/** Returns the handler that `findRoute` has set. */
export function handlerOf({ handler }: RequestContext): RouteHandler {
  assert(handler, 'findRoute is the first step');
  return handler;
}

export function credentialsOf({ exchange, components }: RequestContext): Credentials {
  return {
    method: exchange.method,
    header: (name) => exchange.header(name),
    ownOrigin: () => resolveBaseUrl(exchange, components.options.settings),
  };
}

/** Returns the owner that a request is charged to: the organization, else the user or address. */
export function ownerOf({ exchange, principal, components }: RequestContext): string {
  switch (principal?.kind) {
    case 'organization':
      return principal.organizationId;
    case 'user':
      return `user:${principal.userId}`;
    case 'administrator':
      return 'administrator';
    case undefined:
      return `address:${rateLimitAddress(resolveClientAddress(exchange, components.options.settings))}`;
  }
}

/** Returns the call of a service. Errors: 400 for an invalid Host header. */
export function createServiceCall(context: RequestContext): ServiceCall {
  const { principal } = context;
  assert(principal, 'a call that needs a key has a caller');
  return { principal, ...createTokenCall(context) };
}

/** Same as `createServiceCall`, for a call whose token is the credential. */
export function createTokenCall(context: RequestContext): Omit<ServiceCall, 'principal'> {
  const { exchange, requestId, receivedAt, deadline, yieldToEventLoop, trace } = context;
  const { settings, clock } = context.components.options;
  return {
    now: () => clock.now(),
    requestId,
    baseUrl: resolveBaseUrl(exchange, settings),
    receivedAt,
    cancellation: deadline,
    yieldToEventLoop,
    trace,
    address: () => resolveClientAddress(exchange, settings),
    setReplyHeader: (name, value) => {
      context.serviceHeaders ??= {};
      context.serviceHeaders[name] = value;
    },
  };
}
