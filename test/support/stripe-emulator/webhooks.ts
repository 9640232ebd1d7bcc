import { createHmac } from 'node:crypto';

/** Delivery of one event. */
export type DeliveryMode = 'sent' | 'lost' | 'twice' | 'held';

export interface WebhookDelivery {
  readonly type: string;
  readonly id: string;
  /** HTTP status of the receiver; 0 if it did not reply. */
  readonly status: number;
}

export interface WebhookReceiver {
  readonly url: string;
  readonly secret: string;
}

interface WebhookMessage {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

const msMax = 10_000;

/** Delivers signed events in order; tests can drop, repeat or delay them. */
export class WebhookSender {
  readonly #now: () => number;
  readonly #registeredReceivers: (type: string) => readonly WebhookReceiver[];
  #receiver: WebhookReceiver | null = null;
  #deliveryModeOf: (type: string) => DeliveryMode = () => 'sent';
  #heldMessages: WebhookMessage[] = [];
  #queue: Promise<void> = Promise.resolve();
  /** All deliveries, in order. */
  readonly deliveries: WebhookDelivery[] = [];

  /** `registered` returns the endpoints of the account that subscribe to an event type. */
  constructor(now: () => number, registered: (type: string) => readonly WebhookReceiver[]) {
    this.#now = now;
    this.#registeredReceivers = registered;
  }

  /** Adds a receiver that is not an endpoint of the account. */
  deliverTo(url: string, secret: string): void {
    this.#receiver = { url, secret };
  }

  /** Selects the delivery mode of each event type. */
  set deliveryMode(deliveryModeOf: (type: string) => DeliveryMode) {
    this.#deliveryModeOf = deliveryModeOf;
  }

  enqueue(message: WebhookMessage): void {
    switch (this.#deliveryModeOf(message.type)) {
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
      case 'lost':
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

  #send(message: WebhookMessage): void {
    const receivers = [
      ...this.#registeredReceivers(message.type),
      ...(this.#receiver === null ? [] : [this.#receiver]),
    ];
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

async function deliver({ url, secret }: WebhookReceiver, body: string, seconds: number): Promise<number> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': signatureHeader(body, secret, seconds),
      },
      body,
      signal: AbortSignal.timeout(msMax),
    });
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}
