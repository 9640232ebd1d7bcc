import { authorise, type Operation } from '../access/authorise.ts';
import { type Credentials, refuseOtherSites } from '../access/credentials.ts';
import { ConcurrencyLimiter, tooManyRequests } from '../admission/concurrency-limiter.ts';
import { AppError, invalidField } from '../base/app-error.ts';
import { AssertionFailure, assert, unreachable } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { EventLoopScheduler, YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { type Listed, Roster } from '../base/roster.ts';
import type { OrganisationPrincipal, Principal } from '../schemas/principal.ts';
import { compileValidator, type Validate } from '../schemas/validate.ts';
import type { Call } from '../services/call.ts';
import { Rendered } from '../services/rendered.ts';
import { outcomeReply, visitorOf } from './account-exchange.ts';
import type { AccountRoute, AccountServices } from './account-route.ts';
import type { Dashboard } from './dashboard.ts';
import { Deadline } from './deadline.ts';
import { DoorMetrics } from './door-metrics.ts';
import { bodySize, ClientGone, type Exchange, type Reply } from './exchange.ts';
import { fileReply, imageReply } from './file-reply.ts';
import { parseJson } from './json-body.ts';
import { baseUrlOf, clientAddressOf, isLocal, type OriginSettings } from './origin.ts';
import { Pages, type Readiness } from './pages.ts';
import { BodyBudget, BoundedBody, checkDeclaredBody, WholeBody } from './read-body.ts';
import { refusalPage, wantsPage } from './refusal-page.ts';
import { clientGoneStatus, failureReply, jsonReply, refusalReply } from './replies.ts';
import { type Match, Router } from './router.ts';
import {
  type CheckBounds,
  type JsonRoute,
  organisationCall,
  type PageRoute,
  type Route,
  type TokenRoute,
  type UploadRoute,
} from './routes.ts';
import type { Answer, Services } from './services.ts';
import { multipartUpload, putUpload } from './uploads.ts';

/** Who is calling; `access/authenticate` is one. */
export interface Identifies {
  /** Null for an operation that asks nobody. Errors: 401, 403, 404; 503 for administration that is off. */
  authenticate(credentials: Credentials, operation: Operation): Principal | null;
}

/** Hooks of the corridor, for whoever guards load and counts use. Each may be absent. */
export interface Guards {
  /** Before the body is read: a full queue or a reached reserve refuses here, and nothing is uploaded for nothing. */
  readonly admit?: (principal: Principal | null, operation: Operation) => void;
  /** After the request is known and allowed, before it is served. */
  readonly limit?: (call: Call, operation: Operation, request: unknown) => Promise<void>;
  /** Before the reply that somebody who showed a credential was not let in (401) or not allowed (403). */
  readonly refused?: (fact: RefusalFact) => void;
  /** After the reply. */
  readonly count?: (fact: CallFact) => void;
}

export interface RefusalFact {
  /** Null for a credential that opens nothing. */
  readonly principal: Principal | null;
  readonly operation: Operation;
  /** Of the client. */
  readonly address: string;
}

export interface CallFact {
  readonly principal: Principal | null;
  readonly operation: string;
  /** 499 when the client left before the reply. */
  readonly status: number;
  readonly milliseconds: number;
  readonly replyBytes: number;
}

export interface DoorSettings extends OriginSettings {
  /** Largest JSON body, in bytes. */
  readonly jsonBytesMax: number;
  /** Bytes of all JSON bodies in memory at one time. */
  readonly jsonBytesHeldMax: number;
  /** Largest uploaded file with its form, in bytes. */
  readonly uploadBytesMax: number;
  /** Uploads whose bytes are arriving at one time; each has an open file and a queue in memory. */
  readonly uploadsRunningMax: number;
  /** Milliseconds without a byte after which a body is given up. */
  readonly bodyIdleMsMax: number;
  /** Milliseconds for a call; an upload has them after its last byte. */
  readonly requestMsMax: number;
  /** Where `/` leads. */
  readonly home: string;
}

export interface DoorOptions {
  readonly routes: readonly Route[];
  readonly services: Services;
  readonly accounts: AccountServices;
  readonly identity: Identifies;
  readonly guards?: Guards;
  /** Metadata limit of an organisation, in bytes. */
  readonly metadataBytesMax: (principal: OrganisationPrincipal) => number;
  /** Null when the server can serve; else a sentence that says why not yet. */
  readonly notReady: () => string | null;
  readonly readiness: () => Readiness;
  readonly dashboard: Dashboard;
  readonly metrics: Metrics;
  readonly settings: DoorSettings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly scheduler: Pick<EventLoopScheduler, 'begin'>;
  readonly chance: Chance;
  /** Version of the API. */
  readonly version: string;
  /** Tests turn this on: a reply that does not have its documented shape becomes a failure. */
  readonly checkReplies?: boolean;
}

/** Of every reply that does not say otherwise. */
const usualHeaders = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
/** Over https also this one: browsers use no other scheme for the host for a year. It says nothing of subdomains. */
const secureHeaders = { ...usualHeaders, 'strict-transport-security': 'max-age=31536000' };

/** What is known of one exchange on its way through the corridor. */
interface Visit extends Listed {
  readonly exchange: Exchange;
  readonly requestId: string;
  /** Milliseconds of `Clock.monotonic()`. */
  readonly receivedAt: number;
  readonly deadline: Deadline;
  route: Route | null;
  principal: Principal | null;
  /** The organisation that it counts for. */
  countedFor: string | null;
  yieldToEventLoop: YieldToEventLoop;
  /** The end of the walk; never rejects. */
  walked: Promise<void>;
}

/**
 * The corridor: every exchange of both servers walks it, in this order: identify, admit, read body, validate,
 * authorise and limit, serve, reply, count. The first two come before the body is read, so that whoever may not call
 * an operation uploads nothing.
 */
export class Door {
  readonly #options: DoorOptions;
  readonly #usualHeaders: Readonly<Record<string, string>>;
  readonly #router: Router;
  readonly #pages: Pages;
  readonly #metrics: DoorMetrics;
  readonly #budget: BodyBudget;
  readonly #requests = new Map<Route, Validate<unknown>>();
  readonly #replies = new Map<Route, Validate<unknown>>();
  readonly #visits = new Roster<Visit>();
  readonly #concurrency = new ConcurrencyLimiter(limits.requestsRunningMax);
  readonly #idle: (() => void)[] = [];
  #uploadsRunning = 0;
  #draining = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    const isSecure = options.settings.baseUrl?.startsWith('https:') === true;
    this.#usualHeaders = isSecure ? secureHeaders : usualHeaders;
    this.#router = new Router(options.routes);
    this.#budget = new BodyBudget(options.settings.jsonBytesHeldMax);
    this.#pages = new Pages({ ...options, home: options.settings.home });
    this.#metrics = new DoorMetrics(options.metrics, {
      running: () => this.#visits.size,
      bodyBytes: () => this.#budget.bytes,
    });
    for (const route of options.routes) {
      if (route.kind !== 'json' && route.kind !== 'account') continue;
      const isQuery = route.kind === 'account' && route.from === 'query';
      this.#requests.set(route, compileValidator(route.request, [isQuery ? 'query' : 'body']));
      if (options.checkReplies) this.#replies.set(route, compileValidator(route.reply, ['reply']));
    }
  }

  /** Owns an exchange from here on; never throws. */
  readonly handle = (exchange: Exchange): void => {
    const deadline = new Deadline();
    const visit: Visit = {
      exchange,
      requestId: this.#options.chance.uuid(),
      receivedAt: this.#options.clock.monotonic(),
      deadline,
      route: null,
      principal: null,
      countedFor: null,
      yieldToEventLoop: this.#options.scheduler.begin(''),
      walked: Promise.resolve(),
      place: -1,
    };
    exchange.onGone(() => deadline.leave());
    this.#visits.add(visit);
    visit.walked = this.#walk(visit);
  };

  /**
   * Refuses new requests with 503 and waits for those that run. Those that still run after `graceMs` get 503 too and
   * have a second to be told. The server may be closed then. Harmless twice.
   */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    if (await this.#becomesIdle(graceMs)) return;
    for (const visit of this.#visits) visit.deadline.cut(stopping());
    await this.#becomesIdle(1_000);
  }

  #becomesIdle(msMax: number): Promise<boolean> {
    if (this.#visits.size === 0) return Promise.resolve(true);
    return new Promise((resolve) => {
      const timer = setTimeout(() => resolve(false), msMax);
      this.#idle.push(() => {
        clearTimeout(timer);
        resolve(true);
      });
    });
  }

  /** Never rejects: whatever goes wrong becomes a reply, or a line in the log when none can be sent. */
  async #walk(visit: Visit): Promise<void> {
    try {
      const reply = await this.#replyTo(visit);
      visit.deadline.met();
      const sent = reply !== null && (await this.#send(visit, reply));
      this.#count(visit, sent ? reply : null);
    } catch (error) {
      this.#logFailure(visit, error);
    }
    this.#visits.delete(visit);
    if (visit.countedFor !== null) this.#concurrency.release(visit.countedFor);
    if (this.#visits.size === 0) for (const idle of this.#idle.splice(0)) idle();
  }

  /** Null when nobody is left to answer. */
  async #replyTo(visit: Visit): Promise<Reply | null> {
    const served = this.#serve(visit);
    try {
      return await visit.deadline.within(served);
    } catch (error) {
      if (visit.deadline.gone) served.catch((late) => this.#logLate(visit, late));
      if (error instanceof ClientGone) return null;
      if (error instanceof AppError) return this.#refusal(visit, error);
      this.#logFailure(visit, error);
      return failureReply(visit.requestId);
    }
  }

  /** The call was given up already; only what is neither a refusal nor the giving up itself is news. */
  #logLate(visit: Visit, error: unknown): void {
    const expected = error instanceof AppError || error instanceof ClientGone;
    if (!expected && error !== visit.deadline.reason) this.#logFailure(visit, error);
  }

  async #send({ exchange, requestId, route }: Visit, reply: Reply): Promise<boolean> {
    const headersOnly = exchange.method === 'HEAD' || reply.headersOnly === true;
    const close = this.#draining || reply.close === true;
    const headers: Record<string, string> = Object.assign({}, this.#usualHeaders, reply.headers);
    headers['x-request-id'] = requestId;
    const { status, body } = reply;
    try {
      return await exchange.reply({ status, headers, body, headersOnly, close });
    } catch (error) {
      const operation = route?.operation ?? 'none';
      this.#options.logger.error({ requestId, operation, error: describe(error, false) }, 'reply broken off');
      return false;
    }
  }

  async #serve(visit: Visit): Promise<Reply> {
    const { exchange } = visit;
    const match = this.#router.find(exchange.method, exchange.path);
    visit.route = match.route;
    refuseExpectation(exchange);
    if (match.route.kind === 'page') return this.#servePage(visit, match.route, match);
    this.#refuseWhenBusy();
    this.#admit(visit, match.route.operation);
    switch (match.route.kind) {
      case 'json':
        return await this.#serveJson(visit, match.route);
      case 'account':
        return await this.#serveAccount(visit, match.route, match);
      case 'put':
      case 'multipart':
        return await this.#serveUpload(visit, match.route, match);
      case 'file':
      case 'image':
        return await this.#serveToken(visit, match.route);
      default:
        return unreachable(match.route);
    }
  }

  #refuseWhenBusy(): void {
    if (this.#draining) throw stopping();
    const reason = this.#options.notReady();
    if (reason !== null) throw new AppError('unavailable', reason, { retryAfterMs: 2_000 });
    if (this.#concurrency.isFull(this.#visits.size - 1)) throw tooManyRequests();
  }

  /** Steps 1 and 2: who is it, and may they call this? Both before the body. */
  #admit(visit: Visit, operation: Operation): void {
    visit.principal = this.#options.identity.authenticate(this.#credentialsOf(visit.exchange), operation);
    const refusal = authorise(visit.principal, operation);
    if (refusal) throw refusal;
    this.#enter(visit);
    this.#options.guards?.admit?.(visit.principal, operation);
  }

  #credentialsOf(exchange: Exchange): Credentials {
    return {
      method: exchange.method,
      header: (name) => exchange.header(name),
      ownOrigin: () => baseUrlOf(exchange, this.#options.settings),
    };
  }

  #enter(visit: Visit): void {
    if (visit.principal?.kind !== 'organisation') {
      if (this.#visits.size > limits.requestsRunningMax) throw tooManyRequests();
      return;
    }
    const { organizationId } = visit.principal;
    this.#concurrency.acquire(organizationId, this.#visits.size - 1);
    visit.countedFor = organizationId;
    visit.yieldToEventLoop = this.#options.scheduler.begin(organizationId);
  }

  async #servePage(visit: Visit, route: PageRoute, { params }: Match): Promise<Reply> {
    visit.deadline.start(this.#options.settings.requestMsMax);
    if (route.page === 'metrics' && !isLocal(visit.exchange)) this.#admit(visit, route.operation);
    const { exchange } = visit;
    return this.#pages.reply(route.page, { exchange, params, draining: this.#draining });
  }

  async #serveJson(visit: Visit, route: JsonRoute): Promise<Reply> {
    const { settings, services, guards } = this.#options;
    visit.deadline.start(settings.requestMsMax);
    const body = new WholeBody(this.#budget);
    try {
      const bytes = await body.read(new BoundedBody(visit.exchange, this.#bodyBounds(), this.#options.clock));
      // The system hands in the requests of many connections at one time.
      const turn = visit.yieldToEventLoop();
      if (turn !== null) await turn;
      const given = withQueryFields(parseJson(bytes), route.queryFields, visit.exchange);
      const request = this.#validatorOf(route)(given);
      const call = this.#callOf(visit);
      route.check(request, this.#boundsFor(call.principal));
      if (guards?.limit !== undefined) await guards.limit(call, route.operation, request);
      const answer = await route.serve(services, call, request);
      this.#checkReply(route, answer);
      return jsonReply(answer.status, answer.body);
    } finally {
      body.release();
    }
  }

  async #serveAccount(visit: Visit, route: AccountRoute, { params }: Match): Promise<Reply> {
    const { settings, accounts } = this.#options;
    const { exchange, principal } = visit;
    // A look must not use a sign-in link up.
    if (exchange.method === 'HEAD') throw notForHead();
    if (route.ownPagesOnly === true) refuseOtherSites(this.#credentialsOf(exchange));
    visit.deadline.start(settings.requestMsMax);
    const body = new WholeBody(this.#budget);
    try {
      const request = this.#validatorOf(route)({
        ...(await this.#readAccountRequest(visit, route, body)),
        ...params,
      });
      const outcome = await route.serve(
        accounts,
        { principal, visitor: visitorOf(exchange, settings) },
        request,
      );
      const success = route.successes[0] ?? 200;
      if (outcome.kind === 'json') this.#checkReply(route, { status: success, body: outcome.body });
      return outcomeReply(outcome, success, { exchange, settings });
    } finally {
      body.release();
    }
  }

  /** What of a request is not in its path; whatever is no object becomes one that its schema refuses or ignores. */
  async #readAccountRequest(
    { exchange, principal }: Visit,
    route: AccountRoute,
    body: WholeBody,
  ): Promise<object> {
    if (route.from === 'query') return Object.fromEntries(parseQuery(exchange));
    const { visitorBodyBytesMax, accountBodyBytesMax, webhookBytesMax } = limits;
    // Strangers get little room: whoever says who they are is asked before their body is read.
    const ofPerson = principal === null ? visitorBodyBytesMax : accountBodyBytesMax;
    const bounds = this.#bodyBounds(route.from === 'bytes' ? webhookBytesMax : ofPerson);
    const bytes = await body.read(new BoundedBody(exchange, bounds, this.#options.clock));
    if (route.from === 'bytes') return { body: bytes, signature: exchange.header(route.signedBy ?? '') };
    if (route.from === 'form') return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    const given = parseJson(bytes);
    if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given;
    throw invalidField(['body'], 'must be an object', 'type_error');
  }

  #validatorOf(route: JsonRoute | AccountRoute): Validate<unknown> {
    const validate = this.#requests.get(route);
    assert(validate, 'every route with a schema has it compiled');
    return validate;
  }

  /** Of a body that is read whole. */
  #bodyBounds(bytesMax = this.#options.settings.jsonBytesMax) {
    const { bodyIdleMsMax, requestMsMax } = this.#options.settings;
    return { bytesMax, idleMsMax: bodyIdleMsMax, msMax: requestMsMax };
  }

  /** Only where replies are checked. A wrong one is our fault, so it does not leave as a refusal. */
  #checkReply(route: JsonRoute | AccountRoute, answer: Answer<unknown>): void {
    const validate = this.#replies.get(route);
    if (!validate) return;
    assert(route.successes.includes(answer.status), `${route.operation} answers a documented status`);
    try {
      validate(answer.body instanceof Rendered ? answer.body.parse() : answer.body);
    } catch (error) {
      throw new AssertionFailure(`${route.operation} answers its documented shape`, { cause: error });
    }
  }

  async #serveUpload(visit: Visit, route: UploadRoute, { params }: Match): Promise<Reply> {
    const { exchange } = visit;
    const { services, guards } = this.#options;
    visit.deadline.start(limits.uploadMsMax);
    const call = organisationCall(this.#callOf(visit));
    const input = {
      exchange,
      chunks: this.#uploadedChunks(visit),
      metadataBytesMax: this.#metadataBytesMax(call.principal),
    };
    checkDeclaredBody(exchange, this.#options.settings.uploadBytesMax);
    const upload =
      route.kind === 'put' ? putUpload(params, parseQuery(exchange), input) : await multipartUpload(input);
    await guards?.limit?.(call, route.operation, upload.parameters);
    const answer = await services.uploadDocument(call, upload.parameters, upload.body);
    return jsonReply(answer.status, answer.body);
  }

  /** The body of an upload; the usual time of a call starts when it is there. */
  async *#uploadedChunks({ exchange, deadline }: Visit): AsyncGenerator<Uint8Array, void, undefined> {
    const { settings, clock } = this.#options;
    const bounds = {
      bytesMax: settings.uploadBytesMax,
      idleMsMax: settings.bodyIdleMsMax,
      msMax: limits.uploadMsMax,
      bytesPerSecondMin: limits.uploadBytesPerSecondMin,
    };
    if (this.#uploadsRunning >= settings.uploadsRunningMax) {
      const detail = 'The server is receiving as many uploads as it can; try again shortly.';
      throw new AppError('unavailable', detail, { retryAfterMs: 2_000 });
    }
    this.#uploadsRunning += 1;
    try {
      yield* new BoundedBody(exchange, bounds, clock).chunks();
    } finally {
      this.#uploadsRunning -= 1;
    }
    deadline.start(settings.requestMsMax);
  }

  async #serveToken(visit: Visit, route: TokenRoute): Promise<Reply> {
    const { services, settings } = this.#options;
    visit.deadline.start(settings.requestMsMax);
    const query = parseQuery(visit.exchange);
    const token = query.get('token');
    if (token === null || token === '') throw invalidField(['query', 'token'], 'is missing', 'missing');
    const call = this.#callBy(visit, null);
    if (route.kind === 'image') {
      const width = imageWidth(query.get('width'));
      return imageReply(await services.getPageImage(call, token, width));
    }
    return fileReply(visit.exchange, await services.getDocumentFile(call, token));
  }

  #callOf(visit: Visit): Call {
    assert(visit.principal, 'a call that needs a key has a caller');
    return this.#callBy(visit, visit.principal);
  }

  #callBy<Who>({ exchange, requestId, receivedAt, deadline, yieldToEventLoop }: Visit, principal: Who) {
    return {
      principal,
      requestId,
      baseUrl: baseUrlOf(exchange, this.#options.settings),
      receivedAt,
      caller: deadline,
      yieldToEventLoop,
      address: () => clientAddressOf(exchange, this.#options.settings),
    };
  }

  /** Most operations have no metadata and never look the limit of their organisation up. */
  #boundsFor(principal: Principal): CheckBounds {
    return { metadataBytesMax: () => this.#metadataBytesMax(principal) };
  }

  #metadataBytesMax(principal: Principal): number {
    return principal.kind === 'organisation'
      ? this.#options.metadataBytesMax(principal)
      : limits.metadataBytesMax;
  }

  #refusal(visit: Visit, error: AppError): Reply {
    const { requestId, route } = visit;
    const { privateDetails, cause } = error.options;
    if (error.status === 401 || error.status === 403) this.#tellRefused(visit);
    if (privateDetails || error.status >= 500) {
      const fields = {
        requestId,
        operation: route?.operation ?? 'none',
        code: error.code,
        ...privateDetails,
      };
      this.#options.logger.warn(
        cause === undefined ? fields : { ...fields, cause: describe(cause, isZdr(visit)) },
        'refused',
      );
    }
    const reply = refusalReply(error);
    return wantsPage(visit.exchange) ? refusalPage(error, reply) : reply;
  }

  #tellRefused({ exchange, principal, route }: Visit): void {
    const { guards, settings } = this.#options;
    const shown = exchange.header('authorization') ?? exchange.header('cookie');
    if (route === null || shown === undefined) return;
    const address = clientAddressOf(exchange, settings);
    guards?.refused?.({ principal, operation: route.operation, address });
  }

  #logFailure(visit: Visit, error: unknown): void {
    const { requestId, route } = visit;
    const fields = { requestId, operation: route?.operation ?? 'none', error: describe(error, isZdr(visit)) };
    this.#options.logger.error(fields, 'request failed');
  }

  #count(visit: Visit, sent: Reply | null): void {
    const { logger, clock, guards } = this.#options;
    const status = sent?.status ?? clientGoneStatus;
    const replyBytes = sent ? bodySize(sent.body) : 0;
    const operation = visit.route?.operation ?? 'none';
    const milliseconds = clock.monotonic() - visit.receivedAt;
    this.#metrics.count({ operation, status, seconds: milliseconds / 1_000, replyBytes });
    guards?.count?.({ principal: visit.principal, operation, status, milliseconds, replyBytes });
    logger.debug({ requestId: visit.requestId, operation, status, milliseconds, replyBytes }, 'request');
  }
}

function notForHead(): AppError {
  return new AppError('method_not_allowed', 'This address takes GET, not HEAD.', {
    headers: { allow: 'GET' },
  });
}

function stopping(): AppError {
  return new AppError('unavailable', 'The server is stopping; try again shortly.', { retryAfterMs: 1_000 });
}

/** The only expectation there is (RFC 9110 section 10.1.1); the servers themselves meet it. */
function refuseExpectation(exchange: Exchange): void {
  const expectation = exchange.header('expect');
  if (expectation !== undefined && expectation.toLowerCase() !== '100-continue') {
    throw new AppError('expectation_failed', 'The only expectation that can be met is "100-continue".');
  }
}

function parseQuery(exchange: Exchange): URLSearchParams {
  try {
    decodeURIComponent(exchange.query);
  } catch {
    throw invalidField(['query'], 'is not percent-encoded UTF-8'); // all that decodeURIComponent ever throws for
  }
  return new URLSearchParams(exchange.query);
}

const imageWidthMax = 2_000;

function imageWidth(text: string | null): number | null {
  if (text === null) return null;
  const width = /^\d{1,6}$/.test(text) ? Number(text) : 0;
  if (width < 1 || width > imageWidthMax)
    throw invalidField(['query', 'width'], `is not a whole number from 1 to ${imageWidthMax}`);
  return width;
}

/** The request with the fields that its query string gives; those beat the body. */
function withQueryFields(request: unknown, names: readonly string[], exchange: Exchange): unknown {
  if (names.length === 0 || exchange.query === '') return request;
  if (typeof request !== 'object' || request === null || Array.isArray(request)) return request;
  const query = parseQuery(exchange);
  const given = names.flatMap((name) => {
    const value = query.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return { ...request, ...Object.fromEntries(given) };
}

function isZdr({ principal }: Visit): boolean {
  return principal?.kind === 'organisation' && principal.zdr;
}

/** For the log. Messages can quote what a caller sent; with zero data retention only the place in the code stays. */
function describe(error: unknown, zdr: boolean): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { name: typeof error };
  const places = error.stack?.split('\n').filter((line) => /^\s+at /.test(line)) ?? [];
  const message = zdr ? {} : { message: error.message };
  return { name: error.name, ...message, stack: places.map((line) => line.trim()) };
}
