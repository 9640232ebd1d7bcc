import Stripe from 'stripe';
import type { Test } from 'tap';
import { StripeEmulator } from '../stripe/emulator.ts';
import { type Answer, outbox, Person } from './people.ts';
import { adminKey, TestServer, type Variables } from './server.ts';

/** A server that takes payments, the Stripe account it uses, and one time for both. */

export const seconds = (date: string): number => Date.parse(date) / 1_000;
/** After that a session of somebody who did nothing may be over. */
const sessionSeconds = 6 * 86_400;
const webhookSecret = 'whsec_of_the_tests';

/** What a month of a tier costs, in cents, and a million tokens. */
export const monthly = { free: 0, starter: 5_000, teams: 20_000 } as const;
export type PlanTier = keyof typeof monthly;

export class BillingWorld {
  readonly emulator: StripeEmulator;
  readonly server: TestServer;
  /** For what the owner of the Stripe account does by hand. */
  readonly stripe: Stripe;
  readonly #mails: () => string[];
  #people = 0;
  readonly #owners: Owner[] = [];
  /** How much of what happened at Stripe has been looked at. */
  #looked = 0;

  private constructor(parts: {
    emulator: StripeEmulator;
    server: TestServer;
    stripe: Stripe;
    mails: () => string[];
  }) {
    this.emulator = parts.emulator;
    this.server = parts.server;
    this.stripe = parts.stripe;
    this.#mails = parts.mails;
  }

  /** Everything empty but for the catalogue, at a date. */
  static async start(t: Test, date: string, variables: Variables = {}): Promise<BillingWorld> {
    const emulator = await StripeEmulator.start({ start: seconds(date), frozen: true });
    t.teardown(() => emulator.stop());
    const stripe = new Stripe(emulator.secretKey, {
      host: '127.0.0.1',
      port: Number(new URL(emulator.url).port),
      protocol: 'http',
      telemetry: false,
    });
    await setUp(stripe);
    const box = outbox(t);
    const server = await TestServer.start(
      t,
      {
        MAIL_URL: box.url,
        TRUST_PROXY: 'true',
        STRIPE_API_BASE: emulator.url,
        STRIPE_SECRET_KEY: emulator.secretKey,
        STRIPE_WEBHOOK_SECRET: webhookSecret,
        ...variables,
      },
      { aheadMs: () => emulator.aheadMs },
    );
    const world = new BillingWorld({ emulator, server, stripe, mails: box.mails });
    world.listen();
    return world;
  }

  /** Stripe's events go to where the server is now. */
  listen(): void {
    this.emulator.webhooks.deliverTo(`${this.server.url}/api/billing/webhook`, webhookSecret);
  }

  /** A new organisation on the tier free, and its owner, signed in. */
  async owner(): Promise<Owner> {
    this.#people += 1;
    const known = new Set<string>();
    // Only letters that it has not read yet, so that no old link is followed again.
    const unread = () => this.#mails().filter((mail) => !known.has(mail));
    const person = new Person(`owner-${this.#people}@example.com`, this.server, unread);
    // Each at a host of their own: many who sign in from one are stopped.
    person.headers = { 'x-forwarded-for': `10.1.${this.#people >> 8}.${this.#people & 255}` };
    const owner = new Owner(this, person, () => {
      for (const mail of this.#mails()) known.add(mail);
    });
    await owner.begin(`Organisation ${this.#people}`);
    this.#owners.push(owner);
    return owner;
  }

  /** Somebody who has never been here. */
  newcomer(email: string): Person {
    return new Person(email, this.server, this.#mails);
  }

  /** Moves the time of Stripe and of the server, stopping wherever something happens on the way. */
  async travel(date: string | number): Promise<void> {
    const goal = typeof date === 'number' ? date : seconds(date);
    for (;;) {
      const stop = Math.min(goal, this.emulator.nextDue);
      this.emulator.moveTo(Math.max(stop, this.emulator.now));
      await this.server.tellTime();
      await this.settled();
      if (stop === goal) return;
    }
  }

  /**
   * Half a minute later, or more where the clock of the server, which goes on by itself, is nearly there already: what was
   * read a moment ago is read again.
   */
  async moment(secondsMin = 30): Promise<void> {
    const { now, aheadMs } = this.emulator;
    const atServer = Math.ceil((Date.now() + aheadMs) / 1_000);
    this.emulator.moveTo(Math.max(now + secondsMin, atServer + 2));
    await this.server.tellTime();
  }

  /** Everything that Stripe told has arrived, and the server has read those to whom something happened. */
  async settled(): Promise<void> {
    await this.emulator.webhooks.arrived();
    const { happenings } = this.emulator.world;
    const customers = new Set(
      happenings.slice(this.#looked).map(({ object }) => object.customer ?? object.id),
    );
    this.#looked = happenings.length;
    for (const owner of this.#owners) if (owner.isOneOf(customers)) await owner.status();
    await this.emulator.webhooks.arrived();
  }

  /** Starts the server again, after its end or instead of it, with further variables. */
  async restart(variables: Variables = {}): Promise<void> {
    await this.server.restart(variables);
    this.listen();
  }

  /** Fails unless every request of the server was one that Stripe understands. */
  checkUnderstood(t: Test): void {
    t.strictSame(this.emulator.misunderstood, [], 'Stripe understood every request');
  }
}

/** The owner of one organisation, as a program. */
export class Owner {
  readonly person: Person;
  readonly #world: BillingWorld;
  readonly #forgetMails: () => void;
  #signedInAt = 0;
  organizationId = '';

  constructor(world: BillingWorld, person: Person, forgetMails: () => void) {
    this.#world = world;
    this.person = person;
    this.#forgetMails = forgetMails;
  }

  async begin(name: string): Promise<void> {
    await this.signIn();
    const made = await this.person.call('organizations/add-organization', { name });
    if (made.status !== 201 && made.status !== 200)
      throw new Error(`add-organization: ${made.status} ${made.text}`);
    this.organizationId = made.body.organization_id;
  }

  /** Again, where the session may have ended: it lasts a week. */
  async signIn(): Promise<void> {
    const { now } = this.#world.emulator;
    if (now - this.#signedInAt < sessionSeconds) return;
    this.#signedInAt = now;
    this.#forgetMails();
    const answer = await this.person.signIn();
    if (answer.status !== 200) throw new Error(`sign-in answered ${answer.status}: ${answer.text}`);
  }

  async ask(operation: string, body: object = {}, headers: Record<string, string> = {}): Promise<Answer> {
    await this.signIn();
    return this.person.call(
      `billing/${operation}`,
      { organization_id: this.organizationId, ...body },
      headers,
    );
  }

  /** The body of a success; anything else fails the test with what the server said. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many operations, read by name
  async call(operation: string, body: object = {}): Promise<any> {
    const answer = await this.ask(operation, body);
    if (answer.status !== 200) throw new Error(`${operation} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  status(): Promise<any> {
    return this.call('status');
  }

  isOneOf(customers: ReadonlySet<string>): boolean {
    return this.#customers().some((id) => customers.has(id));
  }

  /** The customer at Stripe; null while there is none. */
  customer(): string | null {
    return this.subscription()?.customer ?? this.#customers().at(-1) ?? null;
  }

  /** More than one where a failure of Stripe hid the first. */
  #customers(): string[] {
    const mine = (customer: { readonly [field: string]: unknown }) =>
      (customer.metadata as Record<string, string>).organization_id === this.organizationId;
    return this.#world.emulator.world
      .all('customer')
      .filter(mine)
      .map(({ id }) => id);
  }

  /** A card as the browser makes one of what is typed into Stripe's form. */
  async card(token = 'tok_visa'): Promise<string> {
    const { id } = await this.#world.stripe.paymentMethods.create({ type: 'card', card: { token } });
    return id;
  }

  /** What Stripe holds of the subscription; null when there is none that counts. */
  subscription() {
    const { world } = this.#world.emulator;
    const mine = this.#customers();
    const counts = (status: string) => !['canceled', 'incomplete_expired'].includes(status);
    return world.all('subscription').find((one) => mine.includes(one.customer) && counts(one.status)) ?? null;
  }

  /** Everything ever invoiced, oldest first. */
  invoices() {
    const mine = this.#customers();
    return this.#world.emulator.world.all('invoice').filter((one) => mine.includes(one.customer));
  }

  /** Opens the page of an invoice and does there what the bank asks for. */
  async payOnPage(url: string, card = ''): Promise<number> {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ card }) });
    await this.#world.emulator.webhooks.arrived();
    return answer.status;
  }
}

/** The limits that a tier has, as `status` shows them. */
export const limitsOf: Readonly<Record<string, object>> = {
  free: { bpm_fast: 500_000, bpm_slow: 5_000_000, rpm: 1_000 },
  starter: { bpm_fast: 2_500_000, bpm_slow: 20_000_000, rpm: 5_000 },
  teams: { bpm_fast: 10_000_000, bpm_slow: 100_000_000, rpm: 20_000 },
  enterprise: { bpm_fast: null, bpm_slow: null, rpm: null },
};

/** What the administrator of the installation asks for. */
export async function asAdministrator(server: TestServer, path: string, body: object): Promise<number> {
  const answer = await fetch(`${server.url}/v1/admin/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.status;
}

/** The catalogue that the server looks for when nothing is configured. */
async function setUp(stripe: Stripe): Promise<void> {
  for (const tier of ['starter', 'teams'] as const) {
    const product = await stripe.products.create({ name: `Quarry ${tier}` });
    await stripe.prices.create({
      currency: 'usd',
      product: product.id,
      unit_amount: monthly[tier],
      lookup_key: `quarry_${tier}_monthly`,
      recurring: { interval: 'month' },
    });
  }
  for (const [metric, each] of [
    ['embed', '0.000005'],
    ['rerank', '0.0000025'],
  ] as const) {
    const name = `quarry_${metric}_tokens`;
    const meter = await stripe.billing.meters.create({
      display_name: name,
      event_name: name,
      default_aggregation: { formula: 'sum' },
    });
    const product = await stripe.products.create({ name });
    await stripe.prices.create({
      currency: 'usd',
      product: product.id,
      unit_amount_decimal: Stripe.Decimal.from(each),
      lookup_key: name,
      recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
    });
  }
}
