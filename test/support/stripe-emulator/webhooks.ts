import { createHmac } from 'node:crypto';
import { Agent, request } from 'node:http';

/** Delivery of one event. */
export type DeliveryMode = 'sent' | 'lost' | 'twice' | 'held';

export interface WebhookDelivery {
  readonly type: string;
  readonly id: string;
  /** HTTP status of the receiver; 0 if it did not reply. */
  readonly status: number;
}

export interface WebhookEndpoint {
  readonly url: string;
  readonly secret: string;
}

interface WebhookMessage {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

const msMax = 10_000;
const agent = new Agent({ keepAlive: true });

/** Delivers signed events in order; tests can drop, repeat or delay them. */
export class WebhookSender {
  readonly #now: () => number;
  readonly #registeredReceivers: (type: string) => readonly WebhookEndpoint[];
  #receiver: (WebhookEndpoint & { readonly types: ReadonlySet<string> }) | null = null;
  #deliveryModeOf: (type: string) => DeliveryMode = () => 'sent';
  #heldMessages: WebhookMessage[] = [];
  #queue: Promise<void> = Promise.resolve();
  /** All deliveries, in order. */
  readonly deliveries: WebhookDelivery[] = [];

  /** `registered` returns the endpoints of the account that subscribe to an event type. */
  constructor(now: () => number, registered: (type: string) => readonly WebhookEndpoint[]) {
    this.#now = now;
    this.#registeredReceivers = registered;
  }

  /** Sets a receiver of these types of events that is not an endpoint of the account. */
  deliverTo(url: string, secret: string, types: readonly string[]): void {
    this.#receiver = { url, secret, types: new Set(types) };
  }

  /** Selects the delivery mode of each event type. */
  set deliveryMode(deliveryModeOf: (type: string) => DeliveryMode) {
    this.#deliveryModeOf = deliveryModeOf;
  }

  /** `createBody` is called now, unless nothing receives events of this type. */
  enqueue(id: string, type: string, createBody: () => string): void {
    const mode = this.#deliveryModeOf(type);
    if (mode === 'lost' || this.#receiversOf(type).length === 0) return;
    const message = { id, type, body: createBody() };
    switch (mode) {
      case 'sent':
        this.#send(message);
        return;
      case 'twice':
        this.#send(message);
        this.#send(message);
        return;
      case 'held':
        this.#heldMessages.push(message);
        return;
    }
  }

  /** Sends the held events in the order given by `order`. */
  release(
    order: (messages: readonly WebhookMessage[]) => readonly WebhookMessage[] = (unordered) => unordered,
  ): void {
    const messages = order(this.#heldMessages);
    this.#heldMessages = [];
    for (const message of messages) this.#send(message);
  }

  /** Resolves when every queued event has been delivered or has failed. */
  async waitUntilDelivered(): Promise<void> {
    let queue: Promise<void>;
    do {
      queue = this.#queue;
      await queue;
    } while (queue !== this.#queue);
  }

  #receiversOf(type: string): WebhookEndpoint[] {
    const registered = this.#registeredReceivers(type);
    return this.#receiver?.types.has(type) === true ? [...registered, this.#receiver] : [...registered];
  }

  #send(message: WebhookMessage): void {
    const receivers = this.#receiversOf(message.type);
    this.#queue = this.#queue.then(async () => {
      for (const receiver of receivers) {
        const status = await deliver(receiver, message.body, this.#now());
        this.deliveries.push({ id: message.id, type: message.type, status });
      }
    });
  }
}

/** `Stripe-Signature` header that authenticates a body. */
export function signatureHeader(body: string, secret: string, seconds: number): string {
  const signed = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${signed}`;
}

/** Status of the reply; 0 without one. `fetch` takes three times the CPU time, and a plan change causes ten events. */
function deliver({ url, secret }: WebhookEndpoint, body: string, seconds: number): Promise<number> {
  const headers = {
    'content-type': 'application/json; charset=utf-8',
    'stripe-signature': signatureHeader(body, secret, seconds),
  };
  return new Promise((resolve) => {
    const sent = request(url, { method: 'POST', agent, headers, timeout: msMax }, (answer) => {
      answer.on('error', () => resolve(0));
      answer.on('end', () => resolve(answer.statusCode ?? 0));
      answer.resume();
    });
    sent.on('timeout', () => sent.destroy(new Error('the receiver did not reply in time')));
    sent.on('error', () => resolve(0));
    sent.end(body);
  });
}
