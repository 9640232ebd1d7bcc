import { ConcurrencyLimiter } from '../admission/concurrency-limiter.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import { UploadLimiter } from '../admission/upload-limiter.ts';
import type { RecordedTrace } from '../tracing/tracer.ts';
import { bodySize, type Exchange, type Reply } from './exchange.ts';
import type { ListenerName } from './listen-error.ts';
import { McpLoader } from './mcp.ts';
import { Pages } from './pages.ts';
import { ActiveRequests } from './pipeline/active-requests.ts';
import type { PipelineComponents } from './pipeline/components.ts';
import { crossOriginHeaders, dependsOnOrigin } from './pipeline/cross-origin.ts';
import { logFailure, logLateFailure, toErrorReply } from './pipeline/error-replies.ts';
import { RequestContext } from './pipeline/request-context.ts';
import { runSteps } from './pipeline/steps.ts';
import { clientDisconnectedStatus } from './replies.ts';
import { RequestBodyReader } from './request-body-reader.ts';
import type { RequestHandlerOptions } from './request-handler-options.ts';
import { RequestMetrics } from './request-metrics.ts';
import { RouteSchemas } from './route-schemas.ts';
import { Router } from './router.ts';
import type { Route } from './routes/route.ts';

/** Headers of every reply that does not override them. */
const defaultHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
/**
 * Over HTTPS, additionally restricts browsers to HTTPS for this host for a year. Subdomains are not covered.
 */
const secureHeaders = { ...defaultHeaders, 'strict-transport-security': 'max-age=31536000' };

/** Runs the request pipeline for each exchange of the server, sends the reply and records it. */
export class RequestHandler {
  readonly #components: PipelineComponents;
  readonly #defaultHeaders: Readonly<Record<string, string>>;
  readonly #metrics: RequestMetrics;

  constructor(options: RequestHandlerOptions) {
    const isSecure = options.settings.baseUrl?.startsWith('https:') === true;
    this.#defaultHeaders = isSecure ? secureHeaders : defaultHeaders;
    this.#components = createComponents(options);
    const { activeRequests, bodies } = this.#components;
    this.#metrics = new RequestMetrics(options.metrics, {
      running: () => activeRequests.size,
      bodyBytes: () => bodies.reservedBytes,
    });
  }

  /** Returns a function that takes ownership of an exchange of that address; it never throws. */
  handleOn(listener: ListenerName): (exchange: Exchange) => void {
    return (exchange) => {
      const context = new RequestContext(this.#components, exchange, listener);
      this.#components.activeRequests.add(context);
      void this.#process(context);
    };
  }

  get runningRequests(): number {
    return this.#components.activeRequests.size;
  }

  /** Number of requests since the start. */
  get requestCount(): number {
    return this.#components.activeRequests.count;
  }

  /** From now on, each connection ends with its next reply. */
  endConnections(): void {
    this.#components.activeRequests.endsConnections = true;
  }

  /**
   * Rejects new requests with 503 and waits for running ones. Requests still running after `graceMs` are
   * aborted with 503 and have one second to send it. Afterwards the server may be closed. Idempotent.
   */
  drain(graceMs: number): Promise<void> {
    return this.#components.activeRequests.drain(graceMs);
  }

  /** Never rejects: every failure becomes a reply, or a log line when no reply can be sent. */
  async #process(context: RequestContext): Promise<void> {
    const { activeRequests, concurrency } = this.#components;
    try {
      const reply = await createReply(context);
      context.deadline.complete();
      const isSent = reply !== null && (await this.#send(context, reply));
      this.#recordCompletion(context, isSent ? reply : null);
    } catch (error) {
      logFailure(context, error, 'request failed');
    }
    if (context.slotOwner !== null) concurrency.release(context.slotOwner);
    activeRequests.delete(context);
  }

  /** Returns whether the whole reply was sent. */
  async #send(context: RequestContext, reply: Reply): Promise<boolean> {
    const { exchange, requestId } = context;
    const headersOnly = exchange.method === 'HEAD' || reply.headersOnly === true;
    const { isDraining, endsConnections } = this.#components.activeRequests;
    const close = isDraining || endsConnections || reply.close === true;
    const defaults = exchange.isSecure ? secureHeaders : this.#defaultHeaders;
    const headers: Record<string, string> = Object.assign({}, defaults, reply.headers);
    if (dependsOnOrigin(context)) Object.assign(headers, crossOriginHeaders(context));
    headers['x-request-id'] = requestId;
    if (context.trace !== null) headers.traceresponse = context.trace.responseHeader;
    const { status, body, cookies = [] } = reply;
    try {
      return await exchange.reply({ status, headers, cookies, body, headersOnly, close });
    } catch (error) {
      logFailure(context, error, 'reply aborted');
      return false;
    }
  }

  #recordCompletion(context: RequestContext, sent: Reply | null): void {
    const { requestId, receivedAt, route } = context;
    const { logger, clock } = this.#components.options;
    const status = sent?.status ?? clientDisconnectedStatus;
    const replyBytes = sent ? (bodySize(sent.body) ?? 0) : 0;
    const operation = route?.operation ?? 'none';
    const ms = clock.monotonic() - receivedAt;
    this.#metrics.count({ operation, status, seconds: ms / 1_000, replyBytes });
    if (context.trace !== null) endTrace(context.trace, context, status);
    logger.debug({ requestId, operation, status, ms, replyBytes }, 'request');
  }
}

/** The path is not recorded: it can contain the path of a document. */
function endTrace(
  trace: RecordedTrace,
  { exchange, requestId, route, principal }: RequestContext,
  status: number,
) {
  const operation = route?.operation ?? 'none';
  trace.end({
    name: operation,
    kind: 'server',
    attributes: {
      'http.request.method': exchange.method,
      ...(route === null ? {} : { 'http.route': route.path }),
      'http.response.status_code': status,
      'quarry.request_id': requestId,
      ...(principal?.kind === 'organization' ? { 'quarry.organization_id': principal.organizationId } : {}),
    },
    isError: status >= 500,
  });
}

/** Returns null when the client has disconnected. */
async function createReply(context: RequestContext): Promise<Reply | null> {
  const work = runSteps(context);
  try {
    return await context.deadline.race(work);
  } catch (error) {
    if (context.deadline.isCanceled) work.catch((lateError) => logLateFailure(context, lateError));
    return toErrorReply(context, error);
  }
}

/** Pages that are served on the address of metrics, if there is one. */
const metricsPages: ReadonlySet<string> = new Set(['healthz', 'readyz', 'metrics']);

/** With an address of metrics, `/healthz` is served on both addresses. */
function createRouters({ routes, settings }: RequestHandlerOptions): PipelineComponents['routers'] {
  const isMetricsPage = (route: Route) => route.kind === 'page' && metricsPages.has(route.page);
  const isMoved = (route: Route) =>
    settings.hasMetricsAddress && isMetricsPage(route) && route.operation !== 'healthz';
  return {
    public: new Router(routes.filter((route) => !isMoved(route))),
    metrics: new Router(routes.filter(isMetricsPage)),
  };
}

function createComponents(options: RequestHandlerOptions): PipelineComponents {
  const { routes, settings, clock, logger, version, validateReplies = false } = options;
  return {
    options,
    routers: createRouters(options),
    schemas: new RouteSchemas(routes, { validateReplies }),
    pages: new Pages({ ...options, home: settings.home }),
    mcp: new McpLoader({ mayWrite: settings.mcpMayWrite, version, logger }),
    bodies: new RequestBodyReader({ ...settings, bytesMax: settings.jsonBytesHeldMax, clock }),
    activeRequests: new ActiveRequests(),
    concurrency: new ConcurrencyLimiter(settings.requestsRunningMax),
    uploads: new UploadLimiter(settings.uploadsRunningMax, clock),
    webhooks: new SlidingWindowLimiter('webhook calls from your address', settings.webhookWindows, clock),
  };
}
