import { authorise, type Operation, operationNeeds } from '../access/authorise.ts';
import { type Credentials, refuseOtherSites } from '../access/credentials.ts';
import { addressKey } from '../admission/address-key.ts';
import { type BodyLimits, bodyKindOf, bodyLimitsOf } from '../admission/body-limits.ts';
import { ConcurrencyLimiter, tooManyRequests } from '../admission/concurrency-limiter.ts';
import { RateWindow } from '../admission/rate-window.ts';
import { UploadLimiter, type UploadPermit } from '../admission/upload-limiter.ts';
import { AppError, invalidField, type Stranger } from '../base/app-error.ts';
import { AssertionFailure, assert, unreachable } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import { describedError } from '../base/described-error.ts';
import type { EventLoopScheduler, YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import type { Metrics } from '../base/metrics.ts';
import { type Listed, Roster } from '../base/roster.ts';
import { mayBeLarge } from '../requests/prepare-request.ts';
import { type Clean, cleanerOf } from '../schemas/clean.ts';
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
import type { LargeBodies } from './large-bodies.ts';
import { baseUrlOf, clientAddressOf, isLocal, type OriginSettings } from './origin.ts';
import { Pages, type Readiness } from './pages.ts';
import { BoundedBody, checkDeclaredBody, type HeldBody } from './read-body.ts';
import { refusalPage, wantsPage } from './refusal-page.ts';
import { clientGoneStatus, failureReply, jsonReply, refusalReply } from './replies.ts';
import { type BodyRequest, costOf, RequestBodies } from './request-bodies.ts';
import { apiName } from './route-words.ts';
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
  /** A person who named an organization that is not theirs. */
  readonly stranger: Stranger | null;
  readonly operation: Operation;
  /** The operation as clients of the API call it. */
  readonly name: string;
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
  /** Requests that run at one time; a small reserve is kept beyond them. */
  readonly requestsRunningMax: number;
  /** Calls of one address that announce something: they are read before anybody knows who sends them. */
  readonly webhooksPerMinuteMax: number;
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
  /** Charged bytes of one model call of an organization. */
  readonly modelBytesMax: (principal: OrganisationPrincipal) => number;
  /** Null when the server can serve; else a sentence that says why not yet. */
  readonly notReady: () => string | null;
  readonly readiness: () => Readiness;
  readonly dashboard: Dashboard;
  readonly metrics: Metrics;
  readonly settings: DoorSettings;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly scheduler: Pick<EventLoopScheduler, 'begin'>;
  /** Of large bodies while they arrive. */
  readonly bodyScheduler: Pick<EventLoopScheduler, 'begin'>;
  readonly largeBodies: Pick<LargeBodies, 'prepare'>;
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
  /** The owner that it counts for. */
  countedFor: string | null;
  /** Of the upload whose body arrives; null for other calls. */
  uploadPermit: UploadPermit | null;
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
  readonly #bodies: RequestBodies;
  readonly #requests = new Map<Route, Validate<unknown>>();
  readonly #replies = new Map<Route, Validate<unknown>>();
  readonly #cleaners = new Map<Route, Clean>();
  readonly #visits = new Roster<Visit>();
  readonly #concurrency: ConcurrencyLimiter;
  readonly #idle: (() => void)[] = [];
  readonly #uploads: UploadLimiter;
  readonly #webhooks: RateWindow;
  #draining = false;

  constructor(options: DoorOptions) {
    this.#options = options;
    const isSecure = options.settings.baseUrl?.startsWith('https:') === true;
    this.#usualHeaders = isSecure ? secureHeaders : usualHeaders;
    this.#router = new Router(options.routes);
    const { settings, clock } = options;
    this.#bodies = new RequestBodies({ ...settings, bytesHeldMax: settings.jsonBytesHeldMax, clock });
    this.#uploads = new UploadLimiter(settings.uploadsRunningMax, clock);
    this.#concurrency = new ConcurrencyLimiter(settings.requestsRunningMax);
    const perMinute = [{ ms: 60_000, max: settings.webhooksPerMinuteMax }];
    this.#webhooks = new RateWindow('webhook calls from your address', perMinute, clock);
    this.#pages = new Pages({ ...options, home: options.settings.home });
    this.#metrics = new DoorMetrics(options.metrics, {
      running: () => this.#visits.size,
      bodyBytes: () => this.#bodies.bytes,
    });
    for (const route of options.routes) {
      if (route.kind !== 'json' && route.kind !== 'account') continue;
      const isQuery = route.kind === 'account' && route.from === 'query';
      this.#requests.set(route, compileValidator(route.request, [isQuery ? 'query' : 'body']));
      const clean = route.kind === 'json' ? cleanerOf(route.request) : null;
      if (clean !== null) this.#cleaners.set(route, clean);
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
      uploadPermit: null,
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
      // What a call needs may end before the call does: then the client is to try again, at the next server.
      return this.#draining ? this.#refusal(visit, stopping()) : failureReply(visit.requestId);
    }
  }

  /** The call was given up already; only what is neither a refusal nor the giving up itself is news. */
  #logLate(visit: Visit, error: unknown): void {
    const expected = error instanceof AppError || error instanceof ClientGone;
    if (!expected && error !== visit.deadline.reason) this.#logFailure(visit, error);
  }

  async #send(visit: Visit, reply: Reply): Promise<boolean> {
    const { exchange, requestId, route } = visit;
    const headersOnly = exchange.method === 'HEAD' || reply.headersOnly === true;
    const close = this.#draining || reply.close === true;
    const headers: Record<string, string> = Object.assign({}, this.#usualHeaders, reply.headers);
    headers['x-request-id'] = requestId;
    const { status, body, cookies = [] } = reply;
    try {
      return await exchange.reply({ status, headers, cookies, body, headersOnly, close });
    } catch (error) {
      const operation = route?.operation ?? 'none';
      this.#options.logger.error(
        { requestId, operation, error: describedError(error, !isZdr(visit)) },
        'reply broken off',
      );
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
    this.#authorise(visit, operation);
    this.#enter(visit);
    this.#options.guards?.admit?.(visit.principal, operation);
  }

  /** Also while an upload arrives, which may take an hour: it ends when its key is deleted. */
  #authorise(visit: Visit, operation: Operation): void {
    visit.principal = this.#options.identity.authenticate(this.#credentialsOf(visit.exchange), operation);
    const refusal = authorise(visit.principal, operation);
    if (refusal) throw refusal;
  }

  #credentialsOf(exchange: Exchange): Credentials {
    return {
      method: exchange.method,
      header: (name) => exchange.header(name),
      ownOrigin: () => baseUrlOf(exchange, this.#options.settings),
    };
  }

  #enter(visit: Visit): void {
    const owner = this.#ownerOf(visit);
    this.#concurrency.acquire(owner, this.#visits.size - 1);
    visit.countedFor = owner;
    visit.yieldToEventLoop = this.#options.scheduler.begin(owner);
  }

  /** Who answers for what a request takes: shares are per organization, else per person or address. */
  #ownerOf({ exchange, principal }: Visit): string {
    switch (principal?.kind) {
      case 'organisation':
        return principal.organizationId;
      case 'person':
        return `person:${principal.userId}`;
      case 'administrator':
        return 'administrator';
      case undefined:
        return `address:${addressKey(clientAddressOf(exchange, this.#options.settings))}`;
    }
  }

  async #servePage(visit: Visit, route: PageRoute, { params }: Match): Promise<Reply> {
    visit.deadline.start(this.#options.settings.requestMsMax);
    if (route.page === 'metrics' && !isLocal(visit.exchange, this.#options.settings))
      this.#admit(visit, route.operation);
    // Probes answer under any load; everything else shares the limit of requests.
    else if (!probes.has(route.page)) this.#enter(visit);
    const { exchange } = visit;
    return this.#pages.reply(route.page, { exchange, params, draining: this.#draining });
  }

  async #serveJson(visit: Visit, route: JsonRoute): Promise<Reply> {
    const { settings, services, guards } = this.#options;
    visit.deadline.start(settings.requestMsMax);
    const held = this.#bodies.hold(this.#ownerOf(visit));
    try {
      const request = await this.#readJsonRequest(visit, route, held);
      const call = this.#callOf(visit);
      route.check(request, this.#boundsFor(call.principal));
      if (guards?.limit !== undefined) await guards.limit(call, route.operation, request);
      const answer = await route.serve(services, call, request);
      this.#checkReply(route, answer);
      return jsonReply(answer.status, answer.body);
    } finally {
      held.release();
    }
  }

  /** Its known fields only: what an operation does not know is dropped before the request waits for anything. */
  async #readJsonRequest(visit: Visit, route: JsonRoute, held: HeldBody): Promise<unknown> {
    const { exchange, yieldToEventLoop } = visit;
    const bounds = this.#bodyLimits(visit, bodyKindOf(route.operation, sideOf(route)));
    const body = { exchange, limits: bounds, yieldToEventLoop };
    if (isLarge(exchange) && mayBeLarge(route.operation)) {
      body.yieldToEventLoop = this.#options.bodyScheduler.begin(this.#ownerOf(visit));
      return this.#readLargeRequest(visit, route, { held, body });
    }
    const read = await this.#bodies.readJson(held, body);
    const valid = this.#validatorOf(route)(withQueryFields(read, route.queryFields, exchange));
    const cleaned = this.#cleaners.get(route)?.(valid) ?? valid;
    if (cleaned !== valid) held.keep(costOf(cleaned));
    return cleaned;
  }

  /** The same on another thread. */
  async #readLargeRequest(
    visit: Visit,
    { operation }: JsonRoute,
    { held, body }: { readonly held: HeldBody; readonly body: BodyRequest },
  ): Promise<unknown> {
    const { principal, deadline } = visit;
    assert(principal, 'an operation with a large body has a caller');
    const parts = await this.#bodies.readParts(held, body);
    const { request, keptBytes } = await this.#options.largeBodies.prepare({
      ...{ operation, parts, owner: this.#ownerOf(visit), caller: deadline },
      metadataBytesMax: this.#metadataBytesMax(principal),
    });
    held.keep(keptBytes);
    return request;
  }

  #bodyLimits({ principal }: Visit, kind: ReturnType<typeof bodyKindOf>): BodyLimits {
    const { settings, modelBytesMax } = this.#options;
    const isModel = kind === 'model' && principal?.kind === 'organisation';
    return bodyLimitsOf(kind, {
      documentBytesMax: settings.jsonBytesMax,
      modelBytesMax: isModel ? modelBytesMax(principal) : limits.modelBytesMax,
    });
  }

  async #serveAccount(visit: Visit, route: AccountRoute, { params }: Match): Promise<Reply> {
    const { settings, accounts } = this.#options;
    const { exchange, principal } = visit;
    // A look must not use a sign-in link up.
    if (exchange.method === 'HEAD') throw notForHead();
    if (route.ownPagesOnly === true) refuseOtherSites(this.#credentialsOf(exchange));
    visit.deadline.start(settings.requestMsMax);
    const held = this.#bodies.hold(this.#ownerOf(visit));
    try {
      const request = this.#validatorOf(route)({
        ...(await this.#readAccountRequest(visit, route, held)),
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
      held.release();
    }
  }

  /** What of a request is not in its path; whatever is no object becomes one that its schema refuses or ignores. */
  async #readAccountRequest(visit: Visit, route: AccountRoute, held: HeldBody): Promise<object> {
    const { exchange } = visit;
    if (route.from === 'query') return Object.fromEntries(parseQuery(exchange));
    if (route.from === 'bytes') this.#webhooks.take(this.#ownerOf(visit));
    const bounds = this.#bodyLimits(visit, bodyKindOf(route.operation, sideOf(route)));
    const request = { exchange, limits: bounds, yieldToEventLoop: visit.yieldToEventLoop };
    if (route.from === 'json') {
      const given = await this.#bodies.readJson(held, request);
      if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given;
      throw invalidField(['body'], 'must be an object', 'type_error');
    }
    const bytes = await this.#bodies.readBytes(held, request);
    if (route.from === 'form') return Object.fromEntries(new URLSearchParams(bytes.toString('utf8')));
    return { body: bytes, signature: exchange.header(route.signedBy ?? '') };
  }

  #validatorOf(route: JsonRoute | AccountRoute): Validate<unknown> {
    const validate = this.#requests.get(route);
    assert(validate, 'every route with a schema has it compiled');
    return validate;
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
      chunks: this.#uploadedChunks(visit, route.operation),
      metadataBytesMax: this.#metadataBytesMax(call.principal),
    };
    checkDeclaredBody(exchange, this.#options.settings.uploadBytesMax);
    try {
      const upload =
        route.kind === 'put' ? putUpload(params, parseQuery(exchange), input) : await multipartUpload(input);
      await guards?.limit?.(call, route.operation, upload.parameters);
      const answer = await services.uploadDocument(call, upload.parameters, upload.body);
      return jsonReply(answer.status, answer.body);
    } finally {
      // A service that refuses a form reads no file of it, so the generator of the chunks may never end by itself.
      visit.uploadPermit?.release();
    }
  }

  /** The body of an upload; the usual time of a call starts when it is there. */
  async *#uploadedChunks(visit: Visit, operation: Operation): AsyncGenerator<Uint8Array, void, undefined> {
    const { exchange, deadline } = visit;
    const { settings, clock } = this.#options;
    const pace = {
      bytesPerSecondMin: limits.uploadBytesPerSecondMin,
      windowMs: limits.uploadPaceMs,
      bytesMin: 0,
    };
    const permit = this.#uploads.acquire(this.#ownerOf(visit), (error) => deadline.cut(error));
    visit.uploadPermit = permit;
    exchange.body.lengthen();
    try {
      const bounds = { bytesMax: settings.uploadBytesMax, idleMsMax: settings.bodyIdleMsMax };
      const body = new BoundedBody(exchange, { ...bounds, msMax: limits.uploadMsMax, pace }, clock);
      let checkedAt = clock.monotonic();
      for await (const chunk of body.chunks()) {
        permit.touch();
        if (clock.monotonic() - checkedAt >= limits.uploadRecheckMs) {
          this.#authorise(visit, operation);
          checkedAt = clock.monotonic();
        }
        yield chunk;
      }
      this.#authorise(visit, operation);
    } finally {
      permit.release();
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
    const { stranger = null } = error.options;
    if (error.status === 401 || error.status === 403 || stranger !== null) this.#tellRefused(visit, stranger);
    if (privateDetails || error.status >= 500) {
      const fields = {
        requestId,
        operation: route?.operation ?? 'none',
        code: error.code,
        ...privateDetails,
      };
      this.#options.logger.warn(
        cause === undefined ? fields : { ...fields, cause: describedError(cause, !isZdr(visit)) },
        'refused',
      );
    }
    const reply = refusalReply(error);
    return wantsPage(visit.exchange) ? refusalPage(error, reply) : reply;
  }

  #tellRefused({ exchange, principal, route }: Visit, stranger: Stranger | null): void {
    const { guards, settings } = this.#options;
    const shown = exchange.header('authorization') ?? exchange.header('cookie');
    if (route === null || shown === undefined) return;
    const address = clientAddressOf(exchange, settings);
    guards?.refused?.({
      ...{ principal, stranger, operation: route.operation, address },
      name: apiName(route.path),
    });
  }

  #logFailure(visit: Visit, error: unknown): void {
    const { requestId, route } = visit;
    const fields = {
      requestId,
      operation: route?.operation ?? 'none',
      error: describedError(error, !isZdr(visit)),
    };
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

/** Whether parsing it would hold the main thread; a body that does not say its length may. */
function isLarge({ body: { declaredBytes } }: Exchange): boolean {
  return declaredBytes === null || declaredBytes >= limits.largeBodyBytesMin;
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

/** Pages that answer whatever the load is. */
const probes: ReadonlySet<PageRoute['page']> = new Set(['healthz', 'readyz', 'metrics']);

function sideOf(route: JsonRoute | AccountRoute): 'retrieval' | 'account' | 'webhook' {
  if (route.kind === 'account') return route.from === 'bytes' ? 'webhook' : 'account';
  return operationNeeds[route.operation] === 'administrator' ? 'account' : 'retrieval';
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

/** Whose file an address of a file or an image leads to is not known here, so it counts as one under zero data retention. */
function isZdr({ principal, route }: Visit): boolean {
  if (principal?.kind === 'organisation') return principal.zdr;
  return route?.kind === 'file' || route?.kind === 'image';
}
