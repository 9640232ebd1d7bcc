import { rateLimitAddress } from '../admission/address-key.ts';
import { type BodyLimits, bodyKindFor, bodyLimitsFor } from '../admission/body-limits.ts';
import { ConcurrencyLimiter, tooManyRequestsError } from '../admission/concurrency-limiter.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import { UploadLimiter, type UploadPermit } from '../admission/upload-limiter.ts';
import { authorize, type OperationName, requiredAccessOf } from '../auth/authorize.ts';
import { type Credentials, rejectCrossSite } from '../auth/credentials.ts';
import { AppError, invalidFieldError, type NonMember } from '../core/app-error.ts';
import { AssertionError, assert, unreachable } from '../core/assert.ts';
import type { EventLoopScheduler, YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { Clock } from '../core/clock.ts';
import { describedError } from '../core/described-error.ts';
import type { Random } from '../core/ids.ts';
import { IndexedSet, type IndexedSetItem } from '../core/indexed-set.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { Metrics } from '../core/metrics.ts';
import { canHaveLargeBody } from '../requests/prepare-request.ts';
import { type Cleaner, createCleaner } from '../schemas/cleaner.ts';
import type { OrganizationPrincipal, Principal } from '../schemas/principal.ts';
import { compileValidator, type Validator } from '../schemas/validate.ts';
import type { ServiceCall } from '../services/call.ts';
import { RenderedJson } from '../services/rendered-json.ts';
import { toClientInfo, toReply } from './account-exchange.ts';
import type { AccountRoute, AccountServices } from './account-route.ts';
import type { Dashboard } from './dashboard.ts';
import { Deadline } from './deadline.ts';
import { acceptsHtml, errorPage } from './error-page.ts';
import { bodySize, ClientDisconnectedError, type Exchange, type Reply } from './exchange.ts';
import { fileReply, imageReply } from './file-reply.ts';
import type { LargeBodyReader } from './large-body-reader.ts';
import { isLocalRequest, type OriginSettings, resolveBaseUrl, resolveClientAddress } from './origin.ts';
import { Pages, type Readiness } from './pages.ts';
import { type BodyReservation, BoundedBody, checkDeclaredBody } from './read-body.ts';
import { clientDisconnectedStatus, errorReply, internalErrorReply, jsonReply } from './replies.ts';
import { type BodyReadRequest, estimateMemoryBytes, RequestBodyReader } from './request-body-reader.ts';
import { RequestMetrics } from './request-metrics.ts';
import { apiOperationPath } from './route-description.ts';
import { type RouteMatch, Router } from './router.ts';
import {
  type CheckBounds,
  type JsonRoute,
  type PageRoute,
  type Route,
  type TokenRoute,
  toOrganizationCall,
  type UploadRoute,
} from './routes.ts';
import type { ServiceReply, Services } from './services.ts';
import { readMultipartUpload, readPutUpload } from './uploads.ts';

/** Authenticates requests; implemented in `auth/authenticate`. */
export interface RequestAuthenticator {
  /**
   * Returns null for an operation that needs no credential. Errors: 401, 403, 404; 503 if administration is
   * disabled.
   */
  authenticate(credentials: Credentials, operation: OperationName): Principal | null;
}

/** Hooks of the request pipeline, for admission control and usage accounting. Each is optional. */
export interface RequestHooks {
  /**
   * Runs before the body is read: a full queue or an exhausted disk or memory reserve refuses here, so that
   * no body is uploaded in vain.
   */
  readonly admit?: (principal: Principal | null, operation: OperationName) => void;
  /** Runs after validation and authorization, before the service. */
  readonly beforeServe?: (call: ServiceCall, operation: OperationName, request: unknown) => Promise<void>;
  /**
   * Runs before the reply to a denied request that carried a credential: 401, 403, or the refusal of a person
   * who is no member of the organization.
   */
  readonly onDenied?: (event: DeniedAccess) => void;
  /** Runs after the reply. */
  readonly onCompleted?: (call: CompletedCall) => void;
}

export interface DeniedAccess {
  /** Null for an invalid credential. */
  readonly principal: Principal | null;
  /** Set when a person named an organization that they do not belong to. */
  readonly nonMember: NonMember | null;
  readonly operation: OperationName;
  /** Operation name as API clients know it. */
  readonly name: string;
  /** Address of the client. */
  readonly address: string;
}

export interface CompletedCall {
  readonly principal: Principal | null;
  readonly operation: string;
  /** 499 when the client disconnected before the reply. */
  readonly status: number;
  readonly milliseconds: number;
  readonly replyBytes: number;
}

export interface RequestHandlerSettings extends OriginSettings {
  /** Maximum bytes of a JSON body. */
  readonly jsonBytesMax: number;
  /** Maximum bytes of all JSON bodies in memory. */
  readonly jsonBytesHeldMax: number;
  /** Maximum bytes of an uploaded file, including its form. */
  readonly uploadBytesMax: number;
  /** Maximum number of uploads in progress; each holds an open file and a queue in memory. */
  readonly uploadsRunningMax: number;
  /** Maximum number of concurrent requests; a small reserve is kept beyond it. */
  readonly requestsRunningMax: number;
  /** Webhook calls per minute and address. They are read before their sender is authenticated. */
  readonly webhooksPerMinuteMax: number;
  /** Milliseconds without a byte after which reading a body fails. */
  readonly bodyIdleMsMax: number;
  /** Milliseconds for a call; for an upload, counted from its last byte. */
  readonly requestMsMax: number;
  /** Redirect target of `/`. */
  readonly home: string;
}

export interface RequestHandlerOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly authenticator: RequestAuthenticator;
  readonly hooks?: RequestHooks;
  /** Metadata limit of an organization, in bytes. */
  readonly metadataBytesMax: (principal: OrganizationPrincipal) => number;
  /** Maximum charged bytes of one model call of an organization. */
  readonly modelBytesMax: (principal: OrganizationPrincipal) => number;
  /** Returns null when the server is ready, else the reason as a sentence. */
  readonly notReadyReason: () => string | null;
  readonly readiness: () => Readiness;
  readonly dashboard: Dashboard;
  readonly metrics: Metrics;
  readonly settings: RequestHandlerSettings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly scheduler: Pick<EventLoopScheduler, 'createYield'>;
  /** Scheduler for large bodies while they arrive. */
  readonly bodyScheduler: Pick<EventLoopScheduler, 'createYield'>;
  readonly largeBodies: Pick<LargeBodyReader, 'prepare'>;
  readonly random: Random;
  /** API version. */
  readonly version: string;
  /** Enabled by tests: a reply that does not match its documented schema becomes a failure. */
  readonly validateReplies?: boolean;
}

/** Headers of every reply that does not override them. */
const defaultHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
/**
 * Over HTTPS, additionally restricts browsers to HTTPS for this host for a year. Subdomains are not covered.
 */
const secureHeaders = { ...defaultHeaders, 'strict-transport-security': 'max-age=31536000' };

/** State of one exchange in the request pipeline. */
interface RequestContext extends IndexedSetItem {
  readonly exchange: Exchange;
  readonly requestId: string;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly receivedAt: number;
  readonly deadline: Deadline;
  route: Route | null;
  principal: Principal | null;
  /** Owner that the request is counted for. */
  concurrencyOwner: string | null;
  /** Permit of an upload whose body is arriving; null for other calls. */
  uploadPermit: UploadPermit | null;
  yieldToEventLoop: YieldToEventLoop;
  /** Resolves when the exchange is completed; never rejects. */
  done: Promise<void>;
}

/**
 * The request pipeline. Every exchange of both servers passes these steps in order: authenticate, admit, read
 * body, validate, check limits, serve, reply, record. The first two precede the body, so that an unauthorized
 * caller uploads nothing.
 */
export class RequestHandler {
  readonly #options: RequestHandlerOptions;
  readonly #defaultHeaders: Readonly<Record<string, string>>;
  readonly #router: Router;
  readonly #pages: Pages;
  readonly #metrics: RequestMetrics;
  readonly #bodies: RequestBodyReader;
  readonly #requestValidators = new Map<Route, Validator<unknown>>();
  readonly #replyValidators = new Map<Route, Validator<unknown>>();
  readonly #cleaners = new Map<Route, Cleaner>();
  readonly #activeRequests = new IndexedSet<RequestContext>();
  readonly #concurrency: ConcurrencyLimiter;
  readonly #idleListeners: (() => void)[] = [];
  readonly #uploads: UploadLimiter;
  readonly #webhooks: SlidingWindowLimiter;
  #isDraining = false;

  constructor(options: RequestHandlerOptions) {
    this.#options = options;
    const isSecure = options.settings.baseUrl?.startsWith('https:') === true;
    this.#defaultHeaders = isSecure ? secureHeaders : defaultHeaders;
    this.#router = new Router(options.routes);
    const { settings, clock } = options;
    this.#bodies = new RequestBodyReader({ ...settings, bytesMax: settings.jsonBytesHeldMax, clock });
    this.#uploads = new UploadLimiter(settings.uploadsRunningMax, clock);
    this.#concurrency = new ConcurrencyLimiter(settings.requestsRunningMax);
    const perMinute = [{ ms: 60_000, max: settings.webhooksPerMinuteMax }];
    this.#webhooks = new SlidingWindowLimiter('webhook calls from your address', perMinute, clock);
    this.#pages = new Pages({ ...options, home: options.settings.home });
    this.#metrics = new RequestMetrics(options.metrics, {
      running: () => this.#activeRequests.size,
      bodyBytes: () => this.#bodies.reservedBytes,
    });
    for (const route of options.routes) {
      if (route.kind !== 'json' && route.kind !== 'account') continue;
      const isQuery = route.kind === 'account' && route.inputSource === 'query';
      this.#requestValidators.set(route, compileValidator(route.request, [isQuery ? 'query' : 'body']));
      const clean = route.kind === 'json' ? createCleaner(route.request) : null;
      if (clean !== null) this.#cleaners.set(route, clean);
      if (options.validateReplies) this.#replyValidators.set(route, compileValidator(route.reply, ['reply']));
    }
  }

  /** Takes ownership of an exchange; never throws. */
  readonly handle = (exchange: Exchange): void => {
    const deadline = new Deadline();
    const context: RequestContext = {
      exchange,
      requestId: this.#options.random.uuid(),
      receivedAt: this.#options.clock.monotonic(),
      deadline,
      route: null,
      principal: null,
      concurrencyOwner: null,
      uploadPermit: null,
      yieldToEventLoop: this.#options.scheduler.createYield(''),
      done: Promise.resolve(),
      index: -1,
    };
    exchange.onDisconnect(() => deadline.disconnect());
    this.#activeRequests.add(context);
    context.done = this.#process(context);
  };

  /**
   * Refuses new requests with 503 and waits for running ones. Requests still running after `graceMs` are
   * aborted with 503 and have one second to send it. Afterwards the server may be closed. Idempotent.
   */
  async drain(graceMs: number): Promise<void> {
    this.#isDraining = true;
    if (await this.#waitUntilIdle(graceMs)) return;
    for (const context of this.#activeRequests) context.deadline.abort(shuttingDownError());
    await this.#waitUntilIdle(1_000);
  }

  #waitUntilIdle(msMax: number): Promise<boolean> {
    if (this.#activeRequests.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#idleListeners.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** Never rejects: every failure becomes a reply, or a log line when no reply can be sent. */
  async #process(context: RequestContext): Promise<void> {
    try {
      const reply = await this.#createReply(context);
      context.deadline.complete();
      const sent = reply !== null && (await this.#send(context, reply));
      this.#recordCompletion(context, sent ? reply : null);
    } catch (error) {
      this.#logFailure(context, error);
    }
    this.#activeRequests.delete(context);
    if (context.concurrencyOwner !== null) this.#concurrency.release(context.concurrencyOwner);
    if (this.#activeRequests.size === 0) for (const listener of this.#idleListeners.splice(0)) listener();
  }

  /** Returns null when the client has disconnected. */
  async #createReply(context: RequestContext): Promise<Reply | null> {
    const serving = this.#serve(context);
    try {
      return await context.deadline.race(serving);
    } catch (error) {
      if (context.deadline.isCanceled) serving.catch((lateError) => this.#logLateFailure(context, lateError));
      if (error instanceof ClientDisconnectedError) return null;
      if (error instanceof AppError) return this.#errorReply(context, error);
      this.#logFailure(context, error);
      // While draining, a dependency of the call may close before the call ends: let the client retry
      // elsewhere.
      return this.#isDraining
        ? this.#errorReply(context, shuttingDownError())
        : internalErrorReply(context.requestId);
    }
  }

  /** Logs a failure after the call was aborted, unless it is an AppError or the abort itself. */
  #logLateFailure(context: RequestContext, error: unknown): void {
    const expected = error instanceof AppError || error instanceof ClientDisconnectedError;
    if (!expected && error !== context.deadline.reason) this.#logFailure(context, error);
  }

  async #send(context: RequestContext, reply: Reply): Promise<boolean> {
    const { exchange, requestId, route } = context;
    const headersOnly = exchange.method === 'HEAD' || reply.headersOnly === true;
    const close = this.#isDraining || reply.close === true;
    const headers: Record<string, string> = Object.assign({}, this.#defaultHeaders, reply.headers);
    headers['x-request-id'] = requestId;
    const { status, body, cookies = [] } = reply;
    try {
      return await exchange.reply({ status, headers, cookies, body, headersOnly, close });
    } catch (error) {
      const operation = route?.operation ?? 'none';
      this.#options.logger.error(
        { requestId, operation, error: describedError(error, !isZeroRetention(context)) },
        'reply aborted',
      );
      return false;
    }
  }

  async #serve(context: RequestContext): Promise<Reply> {
    const { exchange } = context;
    const match = this.#router.find(exchange.method, exchange.path);
    context.route = match.route;
    checkExpectation(exchange);
    if (match.route.kind === 'page') return this.#servePage(context, match.route, match);
    this.#checkAvailability();
    this.#admit(context, match.route.operation);
    switch (match.route.kind) {
      case 'json':
        return await this.#serveJson(context, match.route);
      case 'account':
        return await this.#serveAccount(context, match.route, match);
      case 'put':
      case 'multipart':
        return await this.#serveUpload(context, match.route, match);
      case 'file':
      case 'image':
        return await this.#serveToken(context, match.route);
      default:
        return unreachable(match.route);
    }
  }

  #checkAvailability(): void {
    if (this.#isDraining) throw shuttingDownError();
    const reason = this.#options.notReadyReason();
    if (reason !== null) throw new AppError('unavailable', reason, { retryAfterMs: 2_000 });
    if (this.#concurrency.isFull(this.#activeRequests.size - 1)) throw tooManyRequestsError();
  }

  /**
   * Steps 1 and 2, before the body is read: authenticates and authorizes the caller, acquires a concurrency
   * slot.
   */
  #admit(context: RequestContext, operation: OperationName): void {
    this.#authorize(context, operation);
    this.#acquireSlot(context);
    this.#options.hooks?.admit?.(context.principal, operation);
  }

  /** Repeated while an upload arrives, which may take an hour, so that it ends when its key is deleted. */
  #authorize(context: RequestContext, operation: OperationName): void {
    context.principal = this.#options.authenticator.authenticate(
      this.#credentialsOf(context.exchange),
      operation,
    );
    const refusal = authorize(context.principal, operation);
    if (refusal) throw refusal;
  }

  #credentialsOf(exchange: Exchange): Credentials {
    return {
      method: exchange.method,
      header: (name) => exchange.header(name),
      ownOrigin: () => resolveBaseUrl(exchange, this.#options.settings),
    };
  }

  #acquireSlot(context: RequestContext): void {
    const owner = this.#ownerOf(context);
    this.#concurrency.acquire(owner, this.#activeRequests.size - 1);
    context.concurrencyOwner = owner;
    context.yieldToEventLoop = this.#options.scheduler.createYield(owner);
  }

  /** Returns the owner that a request is charged to: the organization, else the user or address. */
  #ownerOf({ exchange, principal }: RequestContext): string {
    switch (principal?.kind) {
      case 'organization':
        return principal.organizationId;
      case 'user':
        return `user:${principal.userId}`;
      case 'administrator':
        return 'administrator';
      case undefined:
        return `address:${rateLimitAddress(resolveClientAddress(exchange, this.#options.settings))}`;
    }
  }

  async #servePage(context: RequestContext, route: PageRoute, { params }: RouteMatch): Promise<Reply> {
    context.deadline.start(this.#options.settings.requestMsMax);
    if (route.page === 'metrics' && !isLocalRequest(context.exchange, this.#options.settings))
      this.#admit(context, route.operation);
    // Probes answer under any load; all other pages share the concurrency limit.
    else if (!probePages.has(route.page)) this.#acquireSlot(context);
    const { exchange } = context;
    return this.#pages.reply(route.page, { exchange, params, isDraining: this.#isDraining });
  }

  async #serveJson(context: RequestContext, route: JsonRoute): Promise<Reply> {
    const { settings, services, hooks } = this.#options;
    context.deadline.start(settings.requestMsMax);
    const reservation = this.#bodies.reserve(this.#ownerOf(context));
    try {
      const request = await this.#readJsonRequest(context, route, reservation);
      const call = this.#authenticatedCall(context);
      route.check(request, this.#checkBoundsFor(call.principal));
      if (hooks?.beforeServe !== undefined) await hooks.beforeServe(call, route.operation, request);
      const reply = await route.serve(services, call, request);
      this.#checkReply(route, reply);
      return jsonReply(reply.status, reply.body);
    } finally {
      reservation.release();
    }
  }

  /**
   * Reads and validates the body. Unknown fields are dropped, and their memory released, before the request
   * waits.
   */
  async #readJsonRequest(
    context: RequestContext,
    route: JsonRoute,
    reservation: BodyReservation,
  ): Promise<unknown> {
    const { exchange, yieldToEventLoop } = context;
    const bounds = this.#bodyLimits(context, bodyKindFor(route.operation, routeSideOf(route)));
    const body = { exchange, limits: bounds, yieldToEventLoop };
    if (isLargeBody(exchange) && canHaveLargeBody(route.operation)) {
      body.yieldToEventLoop = this.#options.bodyScheduler.createYield(this.#ownerOf(context));
      return this.#readLargeRequest(context, route, { held: reservation, body });
    }
    const parsed = await this.#bodies.readJson(reservation, body);
    const valid = this.#validatorOf(route)(mergeQueryFields(parsed, route.queryFields, exchange));
    const cleaned = this.#cleaners.get(route)?.(valid) ?? valid;
    if (cleaned !== valid) reservation.shrinkTo(estimateMemoryBytes(cleaned));
    return cleaned;
  }

  /** Same as `#readJsonRequest`, but parses on a worker thread. */
  async #readLargeRequest(
    context: RequestContext,
    { operation }: JsonRoute,
    { held: reservation, body }: { readonly held: BodyReservation; readonly body: BodyReadRequest },
  ): Promise<unknown> {
    const { principal, deadline } = context;
    assert(principal, 'an operation with a large body has a caller');
    const parts = await this.#bodies.readParts(reservation, body);
    const { request, memoryBytes: keptBytes } = await this.#options.largeBodies.prepare({
      ...{ operation, parts, owner: this.#ownerOf(context), cancellation: deadline },
      metadataBytesMax: this.#metadataBytesMax(principal),
    });
    reservation.shrinkTo(keptBytes);
    return request;
  }

  #bodyLimits({ principal }: RequestContext, kind: ReturnType<typeof bodyKindFor>): BodyLimits {
    const { settings, modelBytesMax } = this.#options;
    const isModel = kind === 'model' && principal?.kind === 'organization';
    return bodyLimitsFor(kind, {
      documentBytesMax: settings.jsonBytesMax,
      modelBytesMax: isModel ? modelBytesMax(principal) : limits.modelBytesMax,
    });
  }

  async #serveAccount(context: RequestContext, route: AccountRoute, { params }: RouteMatch): Promise<Reply> {
    const { settings, accounts } = this.#options;
    const { exchange, principal } = context;
    // HEAD must not consume a sign-in link.
    if (exchange.method === 'HEAD') throw headNotAllowedError();
    if (route.sameSiteOnly === true) rejectCrossSite(this.#credentialsOf(exchange));
    context.deadline.start(settings.requestMsMax);
    const reservation = this.#bodies.reserve(this.#ownerOf(context));
    try {
      const request = this.#validatorOf(route)({
        ...(await this.#readAccountRequest(context, route, reservation)),
        ...params,
      });
      const outcome = await route.serve(
        accounts,
        { principal, client: toClientInfo(exchange, settings) },
        request,
      );
      const success = route.successStatuses[0] ?? 200;
      if (outcome.kind === 'json') this.#checkReply(route, { status: success, body: outcome.body });
      return toReply(outcome, success, { exchange, settings });
    } finally {
      reservation.release();
    }
  }

  /** Returns the request fields that are not in the path. Errors: 422 if a JSON body is not an object. */
  async #readAccountRequest(
    context: RequestContext,
    route: AccountRoute,
    reservation: BodyReservation,
  ): Promise<object> {
    const { exchange } = context;
    if (route.inputSource === 'query') return Object.fromEntries(parseQuery(exchange));
    if (route.inputSource === 'bytes') this.#webhooks.consume(this.#ownerOf(context));
    const bounds = this.#bodyLimits(context, bodyKindFor(route.operation, routeSideOf(route)));
    const request = { exchange, limits: bounds, yieldToEventLoop: context.yieldToEventLoop };
    if (route.inputSource === 'json') {
      const body = await this.#bodies.readJson(reservation, request);
      if (typeof body === 'object' && body !== null && !Array.isArray(body)) return body;
      throw invalidFieldError(['body'], 'must be an object', 'type_error');
    }
    const bytes = await this.#bodies.readBytes(reservation, request);
    if (route.inputSource === 'form') return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    return { body: bytes, signature: exchange.header(route.signatureHeader ?? '') };
  }

  #validatorOf(route: JsonRoute | AccountRoute): Validator<unknown> {
    const validate = this.#requestValidators.get(route);
    assert(validate, 'every route with a schema has it compiled');
    return validate;
  }

  /**
   * Active only with `validateReplies`. A mismatch is a server bug, so it becomes a 500 and not a validation
   * error.
   */
  #checkReply(route: JsonRoute | AccountRoute, reply: ServiceReply<unknown>): void {
    const validate = this.#replyValidators.get(route);
    if (!validate) return;
    assert(route.successStatuses.includes(reply.status), `${route.operation} answers a documented status`);
    try {
      validate(reply.body instanceof RenderedJson ? reply.body.parse() : reply.body);
    } catch (error) {
      throw new AssertionError(`${route.operation} answers its documented shape`, { cause: error });
    }
  }

  async #serveUpload(context: RequestContext, route: UploadRoute, { params }: RouteMatch): Promise<Reply> {
    const { exchange } = context;
    const { services, hooks } = this.#options;
    context.deadline.start(limits.uploadMsMax);
    const call = toOrganizationCall(this.#authenticatedCall(context));
    const input = {
      exchange,
      chunks: this.#uploadedChunks(context, route.operation),
      metadataBytesMax: this.#metadataBytesMax(call.principal),
    };
    checkDeclaredBody(exchange, this.#options.settings.uploadBytesMax);
    try {
      const upload =
        route.kind === 'put'
          ? readPutUpload(params, parseQuery(exchange), input)
          : await readMultipartUpload(input);
      await hooks?.beforeServe?.(call, route.operation, upload.parameters);
      const reply = await services.uploadDocument(call, upload.parameters, upload.body);
      return jsonReply(reply.status, reply.body);
    } finally {
      // A service that refuses a form may not read its file, so the chunk generator may never finish by
      // itself.
      context.uploadPermit?.release();
    }
  }

  /** Yields the body of an upload. The deadline of an ordinary call starts when the body is complete. */
  async *#uploadedChunks(
    context: RequestContext,
    operation: OperationName,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    const { exchange, deadline } = context;
    const { settings, clock } = this.#options;
    const minimumThroughput = {
      bytesPerSecondMin: limits.uploadBytesPerSecondMin,
      windowMs: limits.uploadRateWindowMs,
      bytesMin: 0,
    };
    const permit = this.#uploads.acquire(this.#ownerOf(context), (error) => deadline.abort(error));
    context.uploadPermit = permit;
    exchange.body.lengthen();
    try {
      const bounds = { bytesMax: settings.uploadBytesMax, idleMsMax: settings.bodyIdleMsMax };
      const body = new BoundedBody(
        exchange,
        { ...bounds, msMax: limits.uploadMsMax, minimumThroughput },
        clock,
      );
      let checkedAt = clock.monotonic();
      for await (const chunk of body.chunks()) {
        permit.touch();
        if (clock.monotonic() - checkedAt >= limits.uploadRecheckMs) {
          this.#authorize(context, operation);
          checkedAt = clock.monotonic();
        }
        yield chunk;
      }
      this.#authorize(context, operation);
    } finally {
      permit.release();
    }
    deadline.start(settings.requestMsMax);
  }

  async #serveToken(context: RequestContext, route: TokenRoute): Promise<Reply> {
    const { services, settings } = this.#options;
    context.deadline.start(settings.requestMsMax);
    const query = parseQuery(context.exchange);
    const token = query.get('token');
    if (token === null || token === '') throw invalidFieldError(['query', 'token'], 'is missing', 'missing');
    const call = this.#createCall(context, null);
    if (route.kind === 'image') {
      const width = parseImageWidth(query.get('width'));
      return imageReply(await services.getPageImage(call, token, width));
    }
    return fileReply(context.exchange, await services.getDocumentFile(call, token));
  }

  #authenticatedCall(context: RequestContext): ServiceCall {
    assert(context.principal, 'a call that needs a key has a caller');
    return this.#createCall(context, context.principal);
  }

  #createCall<P>(
    { exchange, requestId, receivedAt, deadline, yieldToEventLoop }: RequestContext,
    principal: P,
  ) {
    return {
      principal,
      requestId,
      baseUrl: resolveBaseUrl(exchange, this.#options.settings),
      receivedAt,
      cancellation: deadline,
      yieldToEventLoop,
      address: () => resolveClientAddress(exchange, this.#options.settings),
    };
  }

  /** The limit is a function because most operations have no metadata and never look it up. */
  #checkBoundsFor(principal: Principal): CheckBounds {
    return { metadataBytesMax: () => this.#metadataBytesMax(principal) };
  }

  #metadataBytesMax(principal: Principal): number {
    return principal.kind === 'organization'
      ? this.#options.metadataBytesMax(principal)
      : limits.metadataBytesMax;
  }

  #errorReply(context: RequestContext, error: AppError): Reply {
    const { requestId, route } = context;
    const { privateDetails, cause } = error.options;
    const { nonMember = null } = error.options;
    if (error.status === 401 || error.status === 403 || nonMember !== null)
      this.#reportDenied(context, nonMember);
    if (privateDetails || error.status >= 500) {
      const fields = {
        requestId,
        operation: route?.operation ?? 'none',
        code: error.code,
        ...privateDetails,
      };
      this.#options.logger.warn(
        cause === undefined ? fields : { ...fields, cause: describedError(cause, !isZeroRetention(context)) },
        'request rejected',
      );
    }
    const reply = errorReply(error);
    return acceptsHtml(context.exchange) ? errorPage(error, reply) : reply;
  }

  #reportDenied({ exchange, principal, route }: RequestContext, nonMember: NonMember | null): void {
    const { hooks, settings } = this.#options;
    const credential = exchange.header('authorization') ?? exchange.header('cookie');
    if (route === null || credential === undefined) return;
    const address = resolveClientAddress(exchange, settings);
    hooks?.onDenied?.({
      ...{ principal, nonMember, operation: route.operation, address },
      name: apiOperationPath(route.path),
    });
  }

  #logFailure(context: RequestContext, error: unknown): void {
    const { requestId, route } = context;
    const fields = {
      requestId,
      operation: route?.operation ?? 'none',
      error: describedError(error, !isZeroRetention(context)),
    };
    this.#options.logger.error(fields, 'request failed');
  }

  #recordCompletion(context: RequestContext, sent: Reply | null): void {
    const { logger, clock, hooks } = this.#options;
    const status = sent?.status ?? clientDisconnectedStatus;
    const replyBytes = sent ? bodySize(sent.body) : 0;
    const operation = context.route?.operation ?? 'none';
    const milliseconds = clock.monotonic() - context.receivedAt;
    this.#metrics.count({ operation, status, seconds: milliseconds / 1_000, replyBytes });
    hooks?.onCompleted?.({ principal: context.principal, operation, status, milliseconds, replyBytes });
    logger.debug({ requestId: context.requestId, operation, status, milliseconds, replyBytes }, 'request');
  }
}

/** Whether parsing the body would block the main thread; assumed for a body of unknown length. */
function isLargeBody({ body: { declaredBytes } }: Exchange): boolean {
  return declaredBytes === null || declaredBytes >= limits.largeBodyBytesMin;
}

function headNotAllowedError(): AppError {
  return new AppError('method_not_allowed', 'Method HEAD is not allowed. Use GET.', {
    headers: { allow: 'GET' },
  });
}

function shuttingDownError(): AppError {
  return new AppError('unavailable', 'The server is shutting down. Retry shortly.', { retryAfterMs: 1_000 });
}

/** `100-continue` is the only expectation that exists (RFC 9110 section 10.1.1); both servers handle it. */
function checkExpectation(exchange: Exchange): void {
  const expectation = exchange.header('expect');
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw new AppError('expectation_failed', 'Unsupported Expect header. Only "100-continue" is supported.');
  }
}

function parseQuery(exchange: Exchange): URLSearchParams {
  try {
    decodeURIComponent(exchange.query);
  } catch {
    throw invalidFieldError(['query'], 'is not percent-encoded UTF-8'); // the only reason that decodeURIComponent throws
  }
  return new URLSearchParams(exchange.query);
}

/** Pages served under any load. */
const probePages: ReadonlySet<PageRoute['page']> = new Set(['healthz', 'readyz', 'metrics']);

function routeSideOf(route: JsonRoute | AccountRoute): 'retrieval' | 'account' | 'webhook' {
  if (route.kind === 'account') return route.inputSource === 'bytes' ? 'webhook' : 'account';
  return requiredAccessOf[route.operation] === 'administrator' ? 'account' : 'retrieval';
}

const imageWidthMax = 2_000;

function parseImageWidth(text: string | null): number | null {
  if (text === null) return null;
  const width = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (width < 1 || width > imageWidthMax)
    throw invalidFieldError(['query', 'width'], `is not an integer from 1 to ${imageWidthMax}`);
  return width;
}

/** Merges the fields of the query string into the request; they override the body. */
function mergeQueryFields(request: unknown, names: readonly string[], exchange: Exchange): unknown {
  if (names.length === 0 || exchange.query === '') return request;
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  const query = parseQuery(exchange);
  const queryFields = names.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...request, ...Object.fromEntries(queryFields) };
}

/**
 * Whether error details must stay out of the log. The owner of a file or image URL is unknown here, so zero
 * data retention is assumed.
 */
function isZeroRetention({ principal, route }: RequestContext): boolean {
  if (principal?.kind === 'organization') return principal.zdr;
  return route?.kind === 'file' || route?.kind === 'image';
}
