import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { accountHandlers, apiVersion, toStripeEvent } from './account.ts';
import { catalogHandlers } from './catalog.ts';
import { customerHandlers } from './customers.ts';
import { nextDueAt, runDueEvents } from './due-events.ts';
import { FaultInjector, type FaultKind } from './faults.ts';
import { parseForm } from './form.ts';
import { hostedPage } from './hosted-pages.ts';
import { invoiceHandlers } from './invoices.ts';
import { meteredBillingHandlers } from './metered-billing.ts';
import { findOperation, type StripeOperation } from './operations.ts';
import { parseParameters, type StripeParameters } from './parameters.ts';
import { paymentMethodHandlers } from './payment-methods.ts';
import { present } from './present.ts';
import { scheduleHandlers } from './schedules.ts';
import { StripeApiError } from './stripe-error.ts';
import type { Handlers } from './stripe-request.ts';
import { daySeconds, type StripeEvent, type StripeObject, StripeState } from './stripe-state.ts';
import { subscriptionHandlers } from './subscriptions.ts';
import { type WebhookEndpoint, WebhookSender } from './webhooks.ts';

/** Handled request, recorded for assertions. */
export interface HandledRequest {
  readonly operation: string;
  readonly ids: readonly string[];
  readonly parameters: StripeParameters;
  readonly key: string | null;
  readonly status: number;
  /** Whether the reply is the stored reply of an earlier request with the same idempotency key. */
  readonly isReplayed: boolean;
}

export interface StripeEmulatorOptions {
  readonly secretKey?: string;
  /** Start time in seconds since the Unix epoch; the current time if absent. */
  readonly startSeconds?: number;
  /** Whether the clock stands still except for `moveTo`. */
  readonly isFrozen?: boolean;
  readonly port?: number;
}

interface Result {
  readonly status: number;
  readonly body: unknown;
}

interface IdempotentReply extends Result {
  readonly at: number;
  readonly request: string;
}

const bodyBytesMax = 1_000_000;

/** In-process Stripe account: validates requests as strictly as Stripe and keeps their effects in memory. */
export class StripeEmulator {
  readonly secretKey: string;
  readonly state: StripeState;
  readonly faults = new FaultInjector();
  readonly webhooks: WebhookSender;
  /** Every request since the start. */
  readonly requests: HandledRequest[] = [];
  /** Requests that Stripe would reject as malformed; a correct server sends none. */
  readonly invalidRequests: string[] = [];
  readonly #handlers: Handlers;
  readonly #idempotentReplies = new Map<string, IdempotentReply>();
  readonly #isFrozen: boolean;
  readonly #server: Server;
  #startedAtMs = Date.now();
  #baseSeconds: number;

  private constructor(options: StripeEmulatorOptions) {
    this.secretKey = options.secretKey ?? 'sk_test_emulated';
    this.#isFrozen = options.isFrozen ?? false;
    this.#baseSeconds = options.startSeconds ?? Math.floor(Date.now() / 1_000);
    this.state = new StripeState(() => this.#currentSeconds());
    this.webhooks = new WebhookSender(
      () => this.#currentSeconds(),
      (type) => webhookReceiversOf(this.state, type),
    );
    const show = (event: StripeEvent) => this.#toEvent(event);
    this.#handlers = {
      ...customerHandlers,
      ...paymentMethodHandlers,
      ...catalogHandlers,
      ...meteredBillingHandlers,
      ...invoiceHandlers,
      ...subscriptionHandlers,
      ...scheduleHandlers,
      ...accountHandlers(show, (_, seconds) => this.moveTo(seconds)),
    };
    this.state.onEvent = (event) =>
      this.webhooks.enqueue(event.id, event.type, () => JSON.stringify(this.#toEvent(event), null, 2));
    this.#server = createServer((request, response) => {
      this.#handleRequest(request, response).catch((error: unknown) => {
        const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.invalidRequests.push(`fault of the emulator: ${message}`);
        sendJson(response, { status: 500, body: { error: { type: 'api_error', message } } });
      });
    });
  }

  /** Listens on the loopback interface. */
  static async start(options: StripeEmulatorOptions = {}): Promise<StripeEmulator> {
    const emulator = new StripeEmulator(options);
    await new Promise<void>((resolve) => emulator.#server.listen(options.port ?? 0, '127.0.0.1', resolve));
    emulator.state.pagesUrl = emulator.url;
    return emulator;
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise<void>((resolve) => this.#server.close(() => resolve()));
  }

  /** Address without a trailing slash. */
  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get now(): number {
    return this.#currentSeconds();
  }

  /** Milliseconds by which the emulator's clock is ahead of the machine's clock. */
  get clockOffsetMs(): number {
    return this.#baseSeconds * 1_000 - this.#startedAtMs;
  }

  /** Advances the clock; every event that falls due on the way runs at its own time. */
  moveTo(seconds: number): void {
    if (seconds < this.#currentSeconds()) throw new StripeApiError('Time only moves forwards.');
    this.#baseSeconds = seconds;
    this.#startedAtMs = Date.now();
    runDueEvents(this.state);
  }

  /** Time of the next due event in seconds; infinity if none is due. */
  get nextDue(): number {
    return nextDueAt(this.state);
  }

  #currentSeconds(): number {
    return this.#baseSeconds + (this.#isFrozen ? 0 : Math.floor((Date.now() - this.#startedAtMs) / 1_000));
  }

  #toEvent(event: StripeEvent): StripeObject {
    return toStripeEvent(event, present(this.state, event.object));
  }

  async #handleRequest(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await readBody(request);
    const address = new URL(request.url ?? '/', this.url);
    const method = request.method ?? 'GET';
    runDueEvents(this.state);
    const hostedPageReply = hostedPage(this.state, method, address.pathname, new URLSearchParams(body));
    if (hostedPageReply !== null) {
      const { status, html, location } = hostedPageReply;
      response.writeHead(status, {
        'content-type': 'text/html',
        ...(location === undefined ? {} : { location }),
      });
      response.end(html);
      return;
    }
    const refused = this.#checkCredentials(request);
    const found = findOperation(method, address.pathname);
    if (refused !== null || found === null) {
      const message = `Unrecognized request URL (${method}: ${address.pathname}).`;
      const rejection = refused ?? new StripeApiError(message, { status: 404 });
      this.invalidRequests.push(rejection.message);
      sendJson(response, { status: rejection.status, body: rejection.body });
      return;
    }
    const fault = this.faults.takeFault(found.operation.name, `${address.pathname} ${body}`);
    if (fault === 'lost-before') return void request.socket.destroy();
    if (fault === 'no-reply-before') return;
    if (fault === 'error-before') return sendJson(response, serverErrorReply);
    if (fault === 'too-many') return sendJson(response, rateLimitReply);
    if (fault === 'forbidden') return sendJson(response, forbiddenReply);
    const form = parseForm(`${address.search.slice(1)}&${body}`);
    const key = request.headers['idempotency-key'];
    const remember = fault === 'error-remembered';
    const result = this.#runIdempotent(found, form, typeof key === 'string' ? key : null, {
      method,
      remember,
    });
    if (fault === 'late-after') return this.faults.holdReply(() => sendJson(response, result));
    sendFaultyReply(fault, result, request, response);
  }

  /** Checks the API key and the API version. */
  #checkCredentials(request: IncomingMessage): StripeApiError | null {
    const known = [
      `Bearer ${this.secretKey}`,
      `Basic ${Buffer.from(`${this.secretKey}:`).toString('base64')}`,
    ];
    if (!known.includes(request.headers.authorization ?? ''))
      return new StripeApiError('Invalid API Key provided.', { status: 401 });
    const version = request.headers['stripe-version'] ?? apiVersion;
    if (version !== apiVersion) return new StripeApiError(`Invalid Stripe API version: ${version}`);
    return null;
  }

  /** Runs the operation, or returns the stored reply of the same idempotency key. */
  #runIdempotent(
    { operation, ids }: { operation: StripeOperation; ids: readonly string[] },
    form: ReturnType<typeof parseForm>,
    key: string | null,
    { method, remember }: { readonly method: string; readonly remember: boolean },
  ): Result {
    const request = JSON.stringify([operation.name, ids, form]);
    const known = key === null || method !== 'POST' ? undefined : this.#idempotentReplies.get(key);
    let parameters: StripeParameters = {};
    const idempotentReply = (result: Result, replayed: boolean): Result => {
      this.requests.push({
        operation: operation.name,
        ids,
        parameters,
        key,
        status: result.status,
        isReplayed: replayed,
      });
      return result;
    };
    if (known !== undefined && known.at + daySeconds > this.state.now) {
      if (known.request === request) return idempotentReply(known, true);
      return idempotentReply(keyReuseReply(key!), false);
    }
    try {
      parameters = parseParameters(operation, form);
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error;
      this.invalidRequests.push(`${operation.name}: ${error.message}`);
      return idempotentReply({ status: error.status, body: error.body }, false);
    }
    const result = this.#runOperation(operation, ids, parameters);
    if (key !== null && method === 'POST') {
      const storedResult = remember ? serverErrorReply : result;
      this.#idempotentReplies.set(key, { ...storedResult, at: this.state.now, request });
    }
    return idempotentReply(remember ? serverErrorReply : result, false);
  }

  #runOperation(operation: StripeOperation, ids: readonly string[], parameters: StripeParameters): Result {
    const handler = this.#handlers[operation.name];
    if (handler === undefined) throw new Error(`the emulator cannot do ${operation.name}`);
    try {
      const answer = handler({ state: this.state, ids, parameters });
      return { status: 200, body: present(this.state, answer, parameters.expand) };
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error;
      return { status: error.status, body: error.body };
    }
  }
}

const serverErrorReply: Result = {
  status: 500,
  body: { error: { type: 'api_error', message: 'An unknown error occurred' } },
};
const forbiddenReply: Result = {
  status: 403,
  body: { error: { type: 'invalid_request_error', message: 'The provided key may not do this.' } },
};

const rateLimitReply: Result = {
  status: 429,
  body: {
    error: {
      type: 'invalid_request_error',
      code: 'rate_limit',
      message: 'Too many requests hit the API too quickly.',
    },
  },
};

function keyReuseReply(key: string): Result {
  const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`;
  return { status: 400, body: { error: { type: 'idempotency_error', message } } };
}

function webhookReceiversOf(state: StripeState, type: string): WebhookEndpoint[] {
  const acceptsEvent = ({ status, enabled_events: enabledEvents }: StripeObject) =>
    status === 'enabled' && (enabledEvents.includes('*') || enabledEvents.includes(type));
  return state
    .listObjects('webhook_endpoint')
    .filter(acceptsEvent)
    .map(({ url, secret }) => ({ url, secret }));
}

/** Sends the reply, or applies a fault that affects replies. */
function sendFaultyReply(
  fault: FaultKind | null,
  result: Result,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (fault) {
    case 'lost-after':
      request.socket.destroy();
      return;
    case 'no-reply-after':
      return;
    case 'error-after':
      sendJson(response, serverErrorReply);
      return;
    default:
      sendJson(response, result);
  }
}

function sendJson(response: ServerResponse, { status, body }: Result): void {
  response.statusCode = status;
  response.setHeader('content-type', 'application/json');
  response.setHeader('request-id', `req_${randomUUID()}`);
  // Without `writeHead`, Node.js adds the length and sends the reply with one write instead of in chunks.
  response.end(JSON.stringify(body));
}

async function readBody(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > bodyBytesMax) throw new Error('the request is too large');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString();
}
