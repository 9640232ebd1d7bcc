import { randomBytes } from 'node:crypto';
import { missingObjectError } from './stripe-error.ts';

/** Stored object in Stripe's reply format; references to other objects are ids. */
export interface StripeObject {
  readonly id: string;
  readonly object: string;
  // biome-ignore lint/suspicious/noExplicitAny: fields of some thirty kinds; `presented` checks each against the SDK's types
  [field: string]: any;
}

/** Outcome of charging a card. */
export type CardBehavior = 'pays' | 'declines' | 'authenticates-once' | 'authenticates-always';

/** Event as sent to webhooks and listed by the API. */
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

/** Copy of plain data. `structuredClone` takes several times as long. */
function cloneData<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return value.map(cloneData) as T;
  const copy: Record<string, unknown> = {};
  for (const [name, one] of Object.entries(value)) copy[name] = cloneData(one);
  return copy as T;
}

/** Objects and clock of one Stripe account. */
export class StripeState {
  readonly #objects = new Map<string, StripeObject>();
  /** The same objects by kind and id. */
  readonly #objectsByKind = new Map<string, Map<string, StripeObject>>();
  readonly #clock: () => number;
  /** Set while due events of the past run, each at its own time. */
  #timeOverride: number | null = null;
  #sequence = 0;
  readonly events: StripeEvent[] = [];
  readonly cards = new Map<string, CardBehavior>();
  /** Ids of invoices whose payment resumes a subscription. */
  readonly resumeInvoices = new Set<string>();
  /** Called for every event. */
  onEvent: (event: StripeEvent) => void = () => {};
  /** Base address of the hosted pages: `http://127.0.0.1:1234`. */
  pagesUrl = '';

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Seconds since the Unix epoch. */
  get now(): number {
    return this.#timeOverride ?? this.#clock();
  }

  /** Runs `work` with the clock set to `seconds`. */
  runAt(seconds: number, work: () => void): void {
    const before = this.#timeOverride;
    this.#timeOverride = seconds;
    try {
      work();
    } finally {
      this.#timeOverride = before;
    }
  }

  /** Returns a new id: ascending in order of creation, unique across emulators. */
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
    const ofKind = this.#objectsByKind.get(added.object) ?? new Map<string, StripeObject>();
    this.#objectsByKind.set(added.object, ofKind.set(added.id, added));
    return added;
  }

  find(id: string): StripeObject | null {
    return this.#objects.get(id) ?? null;
  }

  /** Errors: 404 if no object of this kind has the id. */
  get(object: string, id: string): StripeObject {
    const found = this.#objects.get(id);
    if (found === undefined || found.object !== object) throw missingObjectError(object, id);
    return found;
  }

  /** Objects of a kind, oldest first. */
  listObjects(object: string): StripeObject[] {
    return [...this.objectsOf(object)];
  }

  /** As `listObjects`, without a copy: a loop that adds or removes objects of the kind would see the change. */
  objectsOf(object: string): Iterable<StripeObject> {
    return this.#objectsByKind.get(object)?.values() ?? [];
  }

  remove(id: string): void {
    this.#objectsByKind.get(this.#objects.get(id)?.object ?? '')?.delete(id);
    this.#objects.delete(id);
  }

  recordEvent(
    type: string,
    stripeObject: StripeObject,
    previous: Record<string, unknown> | null = null,
  ): void {
    const object = cloneData(stripeObject);
    const event = { id: this.nextId('evt'), type, created: this.now, object, previous };
    this.events.push(event);
    this.onEvent(event);
  }
}
