import { createHmac } from 'node:crypto';

/** What becomes of one event on its way. */
export type Delivery = 'sent' | 'lost' | 'twice' | 'held';

export interface Sent {
  readonly type: string;
  readonly id: string;
  /** The status that the receiver answered, 0 when it did not. */
  readonly status: number;
}

export interface Receiver {
  readonly url: string;
  readonly secret: string;
}

interface Letter {
  readonly id: string;
  readonly type: string;
  readonly body: string;
}

const msMax = 10_000;

/** Brings what happened to those who want to know, one after the other, signed; on request badly. */
export class Webhooks {
  readonly #now: () => number;
  readonly #registered: (type: string) => readonly Receiver[];
  #receiver: Receiver | null = null;
  #way: (type: string) => Delivery = () => 'sent';
  #held: Letter[] = [];
  #queue: Promise<void> = Promise.resolve();
  /** Everything that was sent, in order. */
  readonly sent: Sent[] = [];

  /** `registered`: the endpoints of the account that want events of a type. */
  constructor(now: () => number, registered: (type: string) => readonly Receiver[]) {
    this.#now = now;
    this.#registered = registered;
  }

  /** Also there, without an endpoint of the account. */
  deliverTo(url: string, secret: string): void {
    this.#receiver = { url, secret };
  }

  /** Decides for each event what becomes of it. */
  set way(way: (type: string) => Delivery) {
    this.#way = way;
  }

  post(letter: Letter): void {
    switch (this.#way(letter.type)) {
      case 'sent':
        this.#send(letter);
        return;
      case 'twice':
        this.#send(letter);
        this.#send(letter);
        return;
      case 'held':
        this.#held.push(letter);
        return;
      case 'lost':
        return;
    }
  }

  /** Sends what was held, in another order if wished. */
  release(order: (letters: readonly Letter[]) => readonly Letter[] = (letters) => letters): void {
    const letters = order(this.#held);
    this.#held = [];
    for (const letter of letters) this.#send(letter);
  }

  /** Everything that was to be sent has arrived or failed. */
  async arrived(): Promise<void> {
    let queue: Promise<void>;
    do {
      queue = this.#queue;
      await queue;
    } while (queue !== this.#queue);
  }

  #send(letter: Letter): void {
    const receivers = [
      ...this.#registered(letter.type),
      ...(this.#receiver === null ? [] : [this.#receiver]),
    ];
    this.#queue = this.#queue.then(async () => {
      for (const receiver of receivers) {
        const status = await delivered(receiver, letter.body, this.#now());
        this.sent.push({ id: letter.id, type: letter.type, status });
      }
    });
  }
}

/** The header that proves where a body comes from. */
export function signature(body: string, secret: string, seconds: number): string {
  const signed = createHmac('sha256', secret).update(`${seconds}.${body}`).digest('hex');
  return `t=${seconds},v1=${signed}`;
}

async function delivered({ url, secret }: Receiver, body: string, seconds: number): Promise<number> {
  try {
    const answer = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json; charset=utf-8',
        'stripe-signature': signature(body, secret, seconds),
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
