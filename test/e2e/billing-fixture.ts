import Stripe from 'stripe';
import { StripeEmulator } from '../support/stripe-emulator/emulator.ts';
import { subscribedEvents } from '../support/stripe-emulator/subscribed-events.ts';
import { createTierCatalog } from '../support/stripe-emulator/tier-catalog.ts';
import type { Test } from '../support/tap.ts';
import { createMailFolder, type HttpReply, TestUser } from './people.ts';
import { adminKey, type ServerVariables, TestServer } from './server.ts';

/** A server with billing, the emulated Stripe account it uses, and one clock for both. */

export const seconds = (date: string): number => Date.parse(date) / 1_000;
/** Age in seconds after which an idle session may have expired. */
const sessionSeconds = 6 * 86_400;
const webhookSecret = 'whsec_of_the_tests';

/** Price of a month of each tier, in cents. */
export const monthlyPriceCents = { free: 0, starter: 5_000, teams: 20_000 } as const;
export type PlanTier = keyof typeof monthlyPriceCents;

export class BillingFixture {
  readonly emulator: StripeEmulator;
  readonly server: TestServer;
  /** Stripe client for manual actions of the account owner. */
  readonly stripe: Stripe;
  readonly #mails: () => string[];
  #ownerCount = 0;
  readonly #owners: OrganizationOwner[] = [];
  /** Number of Stripe events already processed by `waitUntilSynced`. */
  #processedEvents = 0;

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

  /** Starts with an empty account that has only the catalog, at a given date. */
  static async start(t: Test, date: string, variables: ServerVariables = {}): Promise<BillingFixture> {
    const emulator = await StripeEmulator.start({ startSeconds: seconds(date), isFrozen: true });
    t.teardown(() => emulator.stop());
    const stripe = new Stripe(emulator.secretKey, {
      host: '127.0.0.1',
      port: Number(new URL(emulator.url).port),
      protocol: 'http',
      telemetry: false,
    });
    await createTierCatalog(stripe);
    const box = createMailFolder(t);
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
      { clockOffsetMs: () => emulator.clockOffsetMs },
    );
    const fixture = new BillingFixture({ emulator, server, stripe, mails: box.mails });
    fixture.listen();
    return fixture;
  }

  /** Directs Stripe's events to the current address of the server. */
  listen(): void {
    const { webhooks } = this.emulator;
    webhooks.deliverTo(`${this.server.url}/api/billing/webhook`, webhookSecret, subscribedEvents);
  }

  /** A new organization on the free tier, with its owner signed in. */
  async createOwner(): Promise<OrganizationOwner> {
    this.#ownerCount += 1;
    const known = new Set<string>();
    // Considers only unread messages, so that no old link is followed again.
    const unread = () => this.#mails().filter((mail) => !known.has(mail));
    const user = new TestUser(`owner-${this.#ownerCount}@example.com`, this.server, unread);
    // Each owner uses a different host: sign-ins per host are limited.
    user.headers = { 'x-forwarded-for': `10.1.${this.#ownerCount >> 8}.${this.#ownerCount & 255}` };
    const owner = new OrganizationOwner(this, user, () => {
      for (const mail of this.#mails()) known.add(mail);
    });
    await owner.createOrganization(`Organization ${this.#ownerCount}`);
    this.#owners.push(owner);
    return owner;
  }

  /** A user without an account. */
  createPerson(email: string): TestUser {
    return new TestUser(email, this.server, this.#mails);
  }

  /** Advances the clocks of Stripe and of the server, stopping at every event that falls due on the way. */
  async advanceTo(date: string | number): Promise<void> {
    const goal = typeof date === 'number' ? date : seconds(date);
    for (;;) {
      const stop = Math.min(goal, this.emulator.nextDue);
      this.emulator.moveTo(Math.max(stop, this.emulator.now));
      await this.server.syncClock();
      await this.waitUntilSynced();
      if (stop === goal) return;
    }
  }

  /**
   * Advances the clocks by half a minute, or by more if the server's own clock has almost caught up, so that cached
   * copies of Stripe data expire.
   */
  async advanceBriefly(secondsMin = 30): Promise<void> {
    const { now, clockOffsetMs: aheadMs } = this.emulator;
    const atServer = Math.ceil((Date.now() + aheadMs) / 1_000);
    this.emulator.moveTo(Math.max(now + secondsMin, atServer + 2));
    await this.server.syncClock();
  }

  /** Waits until all webhooks are delivered and the server has re-read every customer with new events. */
  async waitUntilSynced(): Promise<void> {
    await this.emulator.webhooks.waitUntilDelivered();
    const { events } = this.emulator.state;
    const customers = new Set(
      events.slice(this.#processedEvents).map(({ object }) => object.customer ?? object.id),
    );
    this.#processedEvents = events.length;
    for (const owner of this.#owners) if (owner.hasCustomerIn(customers)) await owner.status();
    await this.emulator.webhooks.waitUntilDelivered();
  }

  /** Restarts the server, running or not, with additional variables. */
  async restart(variables: ServerVariables = {}): Promise<void> {
    await this.server.restart(variables);
    this.listen();
  }

  /** Fails unless Stripe accepted the format of every request of the server. */
  checkNoInvalidRequests(t: Test): void {
    t.strictSame(this.emulator.invalidRequests, [], 'Stripe understood every request');
  }
}

/** The owner of an organization, as an API client. */
export class OrganizationOwner {
  readonly user: TestUser;
  readonly #fixture: BillingFixture;
  readonly #discardMails: () => void;
  #signedInAt = 0;
  organizationId = '';

  constructor(fixture: BillingFixture, user: TestUser, forgetMails: () => void) {
    this.#fixture = fixture;
    this.user = user;
    this.#discardMails = forgetMails;
  }

  async createOrganization(name: string): Promise<void> {
    await this.signIn();
    const created = await this.user.call('organizations/add-organization', { name });
    if (created.status !== 201 && created.status !== 200)
      throw new Error(`add-organization: ${created.status} ${created.text}`);
    this.organizationId = created.body.organization_id;
  }

  /** Signs in again if the session may have expired: it lasts a week. */
  async signIn(): Promise<void> {
    const { now } = this.#fixture.emulator;
    if (now - this.#signedInAt < sessionSeconds) return;
    this.#signedInAt = now;
    this.#discardMails();
    const answer = await this.user.signIn();
    if (answer.status !== 200) throw new Error(`sign-in answered ${answer.status}: ${answer.text}`);
  }

  async request(
    operation: string,
    body: object = {},
    headers: Record<string, string> = {},
  ): Promise<HttpReply> {
    await this.signIn();
    return this.user.call(`billing/${operation}`, { organization_id: this.organizationId, ...body }, headers);
  }

  /** Returns the body of a success; any other reply fails the test with its text. */
  // biome-ignore lint/suspicious/noExplicitAny: bodies of many operations, read by name
  async call(operation: string, body: object = {}): Promise<any> {
    const answer = await this.request(operation, body);
    if (answer.status !== 200) throw new Error(`${operation} answered ${answer.status}: ${answer.text}`);
    return answer.body;
  }

  // biome-ignore lint/suspicious/noExplicitAny: as above
  status(): Promise<any> {
    return this.call('status');
  }

  hasCustomerIn(customers: ReadonlySet<string>): boolean {
    return this.#customers().some((id) => customers.has(id));
  }

  /** Id of the Stripe customer; null if there is none. */
  customer(): string | null {
    return this.subscription()?.customer ?? this.#customers().at(-1) ?? null;
  }

  /** More than one if a failure of Stripe hid the first. */
  #customers(): string[] {
    const ownCustomerIds = (customer: { readonly [field: string]: unknown }) =>
      (customer.metadata as Record<string, string>).organization_id === this.organizationId;
    return this.#fixture.emulator.state
      .listObjects('customer')
      .filter(ownCustomerIds)
      .map(({ id }) => id);
  }

  /** Creates a card as the browser does with Stripe's form. */
  async createCard(token = 'tok_visa'): Promise<string> {
    const { id } = await this.#fixture.stripe.paymentMethods.create({ type: 'card', card: { token } });
    return id;
  }

  /** Subscription stored by Stripe; null if none is in effect. */
  subscription() {
    const { state: fixture } = this.#fixture.emulator;
    const ownCustomerIds = this.#customers();
    const counts = (status: string) => !['canceled', 'incomplete_expired'].includes(status);
    return (
      fixture
        .listObjects('subscription')
        .find((one) => ownCustomerIds.includes(one.customer) && counts(one.status)) ?? null
    );
  }

  /** All invoices, oldest first. */
  invoices() {
    const ownCustomerIds = this.#customers();
    return this.#fixture.emulator.state
      .listObjects('invoice')
      .filter((one) => ownCustomerIds.includes(one.customer));
  }

  /** Pays on the hosted page of an invoice, with authentication by the bank. */
  async payOnInvoicePage(url: string, card = ''): Promise<number> {
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams({ card }) });
    await this.#fixture.emulator.webhooks.waitUntilDelivered();
    return answer.status;
  }
}

/** Limits of each tier as reported by `status`. */
export const limitsByTier: Readonly<Record<string, object>> = {
  free: { bpm_fast: 500_000, bpm_slow: 5_000_000, rpm: 1_000 },
  starter: { bpm_fast: 2_500_000, bpm_slow: 20_000_000, rpm: 5_000 },
  teams: { bpm_fast: 10_000_000, bpm_slow: 100_000_000, rpm: 20_000 },
  enterprise: { bpm_fast: null, bpm_slow: null, rpm: null },
};

/** Sends a request as the administrator of the installation; returns the status. */
export async function administratorStatus(server: TestServer, path: string, body: object): Promise<number> {
  const answer = await fetch(`${server.url}/v1/admin/${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return answer.status;
}
