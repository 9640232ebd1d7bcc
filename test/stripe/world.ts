import { randomBytes } from 'node:crypto';
import { missing } from './refusal.ts';

/** One object of Stripe's, in the form in which it is answered; what it refers to stands in it as an id. */
export interface Thing {
  readonly id: string;
  readonly object: string;
  // biome-ignore lint/suspicious/noExplicitAny: fields of some thirty kinds; `presented` checks each against the SDK's types
  [field: string]: any;
}

/** How a card behaves when it is charged. */
export type CardBehaviour = 'pays' | 'declines' | 'authenticates-once' | 'authenticates-always';

/** One thing that happened, as it is sent to webhooks and listed. */
export interface Happening {
  readonly id: string;
  readonly type: string;
  readonly created: number;
  readonly object: Thing;
  readonly previous: Record<string, unknown> | null;
}

const idBytes = 12;
export const daySeconds = 86_400;
export const hourSeconds = 3_600;

/** Everything that one Stripe account holds, and its time. */
export class World {
  readonly #things = new Map<string, Thing>();
  readonly #clock: () => number;
  /** Set while the past is caught up with: what is due happens at its own time. */
  #at: number | null = null;
  #sequence = 0;
  readonly happenings: Happening[] = [];
  readonly cards = new Map<string, CardBehaviour>();
  /** Invoices whose payment resumes a subscription. */
  readonly resumptions = new Set<string>();
  /** Called for everything that happens. */
  onHappening: (happening: Happening) => void = () => {};
  /** Where its pages are: `http://127.0.0.1:1234`. */
  url = '';

  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Seconds since the Unix epoch. */
  get now(): number {
    return this.#at ?? this.#clock();
  }

  /** Does something as if it were another time. */
  at(seconds: number, work: () => void): void {
    const before = this.#at;
    this.#at = seconds;
    try {
      work();
    } finally {
      this.#at = before;
    }
  }

  /** A new id: in order of making, and never the same in two emulators. */
  id(prefix: string): string {
    this.#sequence += 1;
    return `${prefix}_${String(this.#sequence).padStart(6, '0')}${randomBytes(idBytes).toString('hex')}`;
  }

  add(thing: { readonly id: string; readonly object: string; readonly [field: string]: unknown }): Thing {
    const added: Thing = { created: this.now, livemode: false, ...thing };
    this.#things.set(added.id, added);
    return added;
  }

  find(id: string): Thing | null {
    return this.#things.get(id) ?? null;
  }

  /** 404 when there is none of that kind. */
  get(object: string, id: string): Thing {
    const found = this.#things.get(id);
    if (found === undefined || found.object !== object) throw missing(object, id);
    return found;
  }

  /** Newest last. */
  all(object: string): Thing[] {
    return [...this.#things.values()].filter((thing) => thing.object === object);
  }

  remove(id: string): void {
    this.#things.delete(id);
  }

  happens(type: string, thing: Thing, previous: Record<string, unknown> | null = null): void {
    const object = structuredClone(thing);
    const happening = { id: this.id('evt'), type, created: this.now, object, previous };
    this.happenings.push(happening);
    this.onHappening(happening);
  }
}
