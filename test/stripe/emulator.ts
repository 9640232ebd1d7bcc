import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { account, apiVersion, eventOf } from './account.ts';
import type { Handlers } from './calls.ts';
import { catalogue } from './catalogue.ts';
import { customers } from './customers.ts';
import { type FaultKind, Faults } from './faults.ts';
import { parseForm } from './form.ts';
import { invoices } from './invoices.ts';
import { meteredBilling } from './metered-billing.ts';
import { type Operation, operationOf } from './operations.ts';
import { page } from './pages.ts';
import { checkedParameters, type Parameters } from './parameters.ts';
import { catchUp, nextDue } from './passing-time.ts';
import { paymentMethods } from './payment-methods.ts';
import { presented } from './presented.ts';
import { Refusal } from './refusal.ts';
import { schedules } from './schedules.ts';
import { subscriptions } from './subscriptions.ts';
import { type Receiver, Webhooks } from './webhooks.ts';
import { daySeconds, type Happening, type Thing, World } from './world.ts';

/** One request that was worked on, for tests that want to know what was asked. */
export interface Asked {
  readonly operation: string;
  readonly ids: readonly string[];
  readonly parameters: Parameters;
  readonly key: string | null;
  readonly status: number;
  /** Whether the answer is the one that an earlier request with this key got. */
  readonly replayed: boolean;
}

export interface EmulatorOptions {
  readonly secretKey?: string;
  /** Seconds since the Unix epoch at which it starts; now when absent. */
  readonly start?: number;
  /** Whether time stands still unless it is moved. */
  readonly frozen?: boolean;
  readonly port?: number;
}

interface Result {
  readonly status: number;
  readonly body: unknown;
}

interface Remembered extends Result {
  readonly at: number;
  readonly request: string;
}

const bodyBytesMax = 1_000_000;

/** A Stripe account on this machine: what is asked of it is checked as Stripe checks it, and it keeps what was done. */
export class StripeEmulator {
  readonly secretKey: string;
  readonly world: World;
  readonly faults = new Faults();
  readonly webhooks: Webhooks;
  /** Every request since the start. */
  readonly asked: Asked[] = [];
  /** Requests that Stripe would not have understood: a server that is right makes none. */
  readonly misunderstood: string[] = [];
  readonly #handlers: Handlers;
  readonly #remembered = new Map<string, Remembered>();
  readonly #frozen: boolean;
  readonly #server: Server;
  #startedAt = Date.now();
  #base: number;

  private constructor(options: EmulatorOptions) {
    this.secretKey = options.secretKey ?? 'sk_test_emulated';
    this.#frozen = options.frozen ?? false;
    this.#base = options.start ?? Math.floor(Date.now() / 1_000);
    this.world = new World(() => this.#clock());
    this.webhooks = new Webhooks(
      () => this.#clock(),
      (type) => receiversOf(this.world, type),
    );
    const show = (happening: Happening) => this.#event(happening);
    this.#handlers = {
      ...{ ...customers, ...paymentMethods, ...catalogue, ...meteredBilling },
      ...{ ...invoices, ...subscriptions, ...schedules },
      ...account(show, (_, seconds) => this.moveTo(seconds)),
    };
    this.world.onHappening = (happening) =>
      this.webhooks.post({
        id: happening.id,
        type: happening.type,
        body: JSON.stringify(this.#event(happening), null, 2),
      });
    this.#server = createServer((request, response) => {
      this.#answer(request, response).catch((error: unknown) => {
        const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
        this.misunderstood.push(`fault of the emulator: ${message}`);
        reply(response, { status: 500, body: { error: { type: 'api_error', message } } });
      });
    });
  }

  /** Listens on the loopback interface. */
  static async start(options: EmulatorOptions = {}): Promise<StripeEmulator> {
    const emulator = new StripeEmulator(options);
    await new Promise<void>((resolve) => emulator.#server.listen(options.port ?? 0, '127.0.0.1', resolve));
    emulator.world.url = emulator.url;
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
    return this.#clock();
  }

  /** By how much its time is ahead of that of this machine. */
  get aheadMs(): number {
    return this.#base * 1_000 - this.#startedAt;
  }

  /** Lets time pass: everything that falls due on the way happens at its own time. */
  moveTo(seconds: number): void {
    if (seconds < this.#clock()) throw new Refusal('Time only moves forwards.');
    this.#base = seconds;
    this.#startedAt = Date.now();
    catchUp(this.world);
  }

  /** When the next thing is due by itself; infinitely late when nothing is. */
  get nextDue(): number {
    return nextDue(this.world);
  }

  #clock(): number {
    return this.#base + (this.#frozen ? 0 : Math.floor((Date.now() - this.#startedAt) / 1_000));
  }

  #event(happening: Happening): Thing {
    return eventOf(happening, presented(this.world, happening.object));
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await read(request);
    const address = new URL(request.url ?? '/', this.url);
    const method = request.method ?? 'GET';
    catchUp(this.world);
    const shown = page(this.world, method, address.pathname, new URLSearchParams(body));
    if (shown !== null) {
      const { status, html, location } = shown;
      response.writeHead(status, {
        'content-type': 'text/html',
        ...(location === undefined ? {} : { location }),
      });
      response.end(html);
      return;
    }
    const refused = this.#atTheDoor(request);
    const found = operationOf(method, address.pathname);
    if (refused !== null || found === null) {
      const message = `Unrecognized request URL (${method}: ${address.pathname}).`;
      const refusal = refused ?? new Refusal(message, { status: 404 });
      this.misunderstood.push(refusal.message);
      reply(response, { status: refusal.status, body: refusal.body });
      return;
    }
    const fault = this.faults.next(found.operation.name, `${address.pathname} ${body}`);
    if (fault === 'lost-before') return void request.socket.destroy();
    if (fault === 'silence-before') return;
    if (fault === 'error-before') return reply(response, broken);
    if (fault === 'too-many') return reply(response, tooMany);
    if (fault === 'forbidden') return reply(response, forbidden);
    const form = parseForm(`${address.search.slice(1)}&${body}`);
    const key = request.headers['idempotency-key'];
    const remember = fault === 'error-remembered';
    const result = this.#once(found, form, typeof key === 'string' ? key : null, { method, remember });
    if (fault === 'late-after') return this.faults.hold(() => reply(response, result));
    answerBadly(fault, result, request, response);
  }

  /** Who asks, and for which version. */
  #atTheDoor(request: IncomingMessage): Refusal | null {
    const known = [
      `Bearer ${this.secretKey}`,
      `Basic ${Buffer.from(`${this.secretKey}:`).toString('base64')}`,
    ];
    if (!known.includes(request.headers.authorization ?? ''))
      return new Refusal('Invalid API Key provided.', { status: 401 });
    const version = request.headers['stripe-version'] ?? apiVersion;
    if (version !== apiVersion) return new Refusal(`Invalid Stripe API version: ${version}`);
    return null;
  }

  /** Does it, or gives the answer that this key got before. */
  #once(
    { operation, ids }: { operation: Operation; ids: readonly string[] },
    form: ReturnType<typeof parseForm>,
    key: string | null,
    { method, remember }: { readonly method: string; readonly remember: boolean },
  ): Result {
    const request = JSON.stringify([operation.name, ids, form]);
    const known = key === null || method !== 'POST' ? undefined : this.#remembered.get(key);
    let parameters: Parameters = {};
    const noted = (result: Result, replayed: boolean): Result => {
      this.asked.push({ operation: operation.name, ids, parameters, key, status: result.status, replayed });
      return result;
    };
    if (known !== undefined && known.at + daySeconds > this.world.now) {
      if (known.request === request) return noted(known, true);
      return noted(mixedUp(key!), false);
    }
    try {
      parameters = checkedParameters(operation, form);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      this.misunderstood.push(`${operation.name}: ${error.message}`);
      return noted({ status: error.status, body: error.body }, false);
    }
    const result = this.#done(operation, ids, parameters);
    if (key !== null && method === 'POST') {
      const kept = remember ? broken : result;
      this.#remembered.set(key, { ...kept, at: this.world.now, request });
    }
    return noted(remember ? broken : result, false);
  }

  #done(operation: Operation, ids: readonly string[], parameters: Parameters): Result {
    const handler = this.#handlers[operation.name];
    if (handler === undefined) throw new Error(`the emulator cannot do ${operation.name}`);
    try {
      const answer = handler({ world: this.world, ids, parameters });
      return { status: 200, body: presented(this.world, answer, parameters.expand) };
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return { status: error.status, body: error.body };
    }
  }
}

const broken: Result = {
  status: 500,
  body: { error: { type: 'api_error', message: 'An unknown error occurred' } },
};
const forbidden: Result = {
  status: 403,
  body: { error: { type: 'invalid_request_error', message: 'The provided key may not do this.' } },
};

const tooMany: Result = {
  status: 429,
  body: {
    error: {
      type: 'invalid_request_error',
      code: 'rate_limit',
      message: 'Too many requests hit the API too quickly.',
    },
  },
};

function mixedUp(key: string): Result {
  const message = `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`;
  return { status: 400, body: { error: { type: 'idempotency_error', message } } };
}

function receiversOf(world: World, type: string): Receiver[] {
  const wants = ({ status, enabled_events: wanted }: Thing) =>
    status === 'enabled' && (wanted.includes('*') || wanted.includes(type));
  return world
    .all('webhook_endpoint')
    .filter(wants)
    .map(({ url, secret }) => ({ url, secret }));
}

/** The answer, or what a fault leaves of it. */
function answerBadly(
  fault: FaultKind | null,
  result: Result,
  request: IncomingMessage,
  response: ServerResponse,
): void {
  switch (fault) {
    case 'lost-after':
      request.socket.destroy();
      return;
    case 'silence-after':
      return;
    case 'error-after':
      reply(response, broken);
      return;
    default:
      reply(response, result);
  }
}

function reply(response: ServerResponse, { status, body }: Result): void {
  response.writeHead(status, { 'content-type': 'application/json', 'request-id': `req_${randomUUID()}` });
  response.end(JSON.stringify(body));
}

async function read(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    bytes += (part as Buffer).length;
    if (bytes > bodyBytesMax) throw new Error('the request is too large');
    parts.push(part as Buffer);
  }
  return Buffer.concat(parts).toString();
}
