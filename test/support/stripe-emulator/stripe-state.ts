import { randomBytes } from 'node:crypto';
import { missingObjectError } from './stripe-error.ts';

/** One object of Stripe's, in the form in which it is answered; what it refers to stands in it as an id. */
export interface StripeObject {
  readonly id: string;
  readonly object: string;
  // biome-ignore lint/suspicious/noExplicitAny: fields of some thirty kinds; `presented` checks each against the SDK's types
  [field: string]: any;
}

/** How a card behaves when it is charged. */
export type CardBehavior = 'pays' | 'declines' | 'authenticates-once' | 'authenticates-always';

/** One thing that happened, as it is sent to webhooks and listed. */
export interface StripeEvent {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly object: StripeObject;
  readonly previous: Record<string, unknown> | null;
}

const idBytes = 12;
export const daySeconds = 86_400;
export const hourSeconds = 3_600;

/** Everything that one Stripe account holds, and its time. */
export class StripeState {
  readonly #objects = new Map<string, StripeObject>();
  readonly #clock: () => number;
  /** Set while the past is caught up with: what is due happens at its own time. */
  #timeOverride: number | null = null;
  #sequence = 0;
  readonly events: StripeEvent[] = [];
  readonly cards = new Map<string, CardBehavior>();
  /** Invoices whose payment resumes a subscription. */
  readonly resumptions = new Set<string>();
  /** Called for everything that happens. */
  onEvent: (event: StripeEvent) => void = () => {};
  /** Where its pages are: `http://127.0.0.1:1234`. */
  pagesUrl = '';

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Seconds since the Unix epoch. */
  get now(): number {
    return this.#timeOverride ?? this.#clock();
  }

  /** Does something as if it were another time. */
  runAt(seconds: number, work: () => void): void {
    const before = this.#timeOverride;
    this.#timeOverride = seconds;
    try {
      work();
    } finally {
      this.#timeOverride = before;
    }
  }

  /** A new id: in order of making, and never the same in two emulators. */
  nextId(prefix: string): string {
    this.#sequence += 1;
    return `${prefix}_${String(this.#sequence).padStart(6, '0')}${randomBytes(idBytes).toString('hex')}`;
  }

  add(stripeObject: {
    readonly id: string;
    readonly object: string;
    readonly [field: string]: unknown;
  }): StripeObject {
    const added: StripeObject = { created: this.now, livemode: false, ...stripeObject };
    this.#objects.set(added.id, added);
    return added;
  }

  find(id: string): StripeObject | null {
    return this.#objects.get(id) ?? null;
  }

  /** 404 when there is none of that kind. */
  get(object: string, id: string): StripeObject {
    const found = this.#objects.get(id);
    if (found === undefined || found.object !== object) throw missingObjectError(object, id);
    return found;
  }

  /** Newest last. */
  listObjects(object: string): StripeObject[] {
    return [...this.#objects.values()].filter((stripeObject) => stripeObject.object === object);
  }

  remove(id: string): void {
    this.#objects.delete(id);
  }

  recordEvent(
    type: string,
    stripeObject: StripeObject,
    previous: Record<string, unknown> | null = null,
  ): void {
    const object = structuredClone(stripeObject);
    const event = { id: this.nextId('evt'), type, created: this.now, object, previous };
    this.events.push(event);
    this.onEvent(event);
  }
}
