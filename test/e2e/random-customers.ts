import type { TestRandom } from '../storage/test-random.ts';
import type { FaultKind } from '../support/stripe-emulator/faults.ts';
import type { DeliveryMode } from '../support/stripe-emulator/webhooks.ts';
import type { Test } from '../support/tap.ts';
import {
  administratorStatus,
  type BillingFixture,
  limitsByTier,
  type OrganizationOwner,
  type PlanTier,
} from './billing-fixture.ts';
import { BillingModel, type ModelMetric, startOfNextMonth } from './billing-model.ts';

/**
 * Customers that subscribe, change plans and pay late at random, while Stripe fails, events are lost and the
 * administrator changes limits and tiers: amounts and limits must stay correct.
 */

interface SimulatedCustomer {
  readonly owner: OrganizationOwner;
  readonly model: BillingModel;
  /** URL of the page on which the pending invoice is paid. */
  invoicePageUrl: string;
  /** Overrides set by the administrator, by the names of `overrides`. */
  readonly overrides: Map<string, number>;
  /** Tier granted by the administrator; no tier up to it can be bought. */
  grantedTier: Tier;
}

type Action = (customer: SimulatedCustomer) => Promise<void>;

const tiers = ['free', 'starter', 'teams', 'enterprise'] as const;
type Tier = (typeof tiers)[number];

const customersMax = 3;
const hour = 3_600;
const faultKinds: readonly FaultKind[] = [
  ...(['error-before', 'error-after', 'error-remembered', 'lost-before', 'lost-after', 'too-many'] as const),
];
const deliveries: readonly DeliveryMode[] = ['sent', 'sent', 'sent', 'sent', 'lost', 'twice', 'held'];
const codeAmounts = [1, 499, 1_500, 12_345] as const;
const tokens = [
  ...(['tok_visa', 'tok_visa', 'tok_threeDSecure2Required', 'tok_threeDSecure2Required'] as const),
  'tok_chargeCustomerFail',
] as const;
/** Override fields, and the names of the limits in `status`. */
const overrides = {
  override_bpm_fast: 'bpm_fast',
  override_bpm_slow: 'bpm_slow',
  override_rpm: 'rpm',
  override_max_documents: 'max_documents',
} as const;

export class RandomCustomers {
  readonly #test: Test;
  readonly #random: TestRandom;
  readonly #fixture: BillingFixture;
  readonly #customers: SimulatedCustomer[] = [];
  readonly #log: string[] = [];
  #codeCount = 0;
  /** Number of times that each action occurred. */
  readonly actionCounts: Record<string, number> = {};

  constructor(t: Test, random: TestRandom, fixture: BillingFixture) {
    this.#test = t;
    this.#random = random;
    this.#fixture = fixture;
  }

  /** Runs actions until `steps` are done or the time is up. */
  async run(steps: number, msMax = Number.POSITIVE_INFINITY): Promise<void> {
    const { emulator } = this.#fixture;
    emulator.webhooks.deliveryMode = () => this.#pickRandom(deliveries);
    while (this.#customers.length < customersMax)
      this.#customers.push({
        owner: await this.#fixture.createOwner(),
        model: new BillingModel(),
        invoicePageUrl: '',
        overrides: new Map(),
        grantedTier: 'free',
      });
    const deadline = performance.now() + msMax;
    for (let step = 0; step < steps && performance.now() < deadline && this.#test.passing(); step += 1) {
      await this.#runStep();
      await this.#check();
    }
  }

  async #runStep(): Promise<void> {
    if (this.#random.below(4) === 0) return this.#advanceRandomly();
    const customer = this.#pickRandom(this.#customers);
    await this.#pickRandom(this.#possibleActions(customer))(customer);
    await this.#fixture.advanceBriefly();
    const { webhooks } = this.#fixture.emulator;
    if (this.#random.below(3) === 0) webhooks.release((heldEvents) => [...heldEvents].reverse());
  }

  /** Actions possible for this customer now, sensible or not. */
  #possibleActions({ model, grantedTier: granted }: SimulatedCustomer): Action[] {
    const actions: Action[] = [
      this.#redeemCode,
      this.#reportUsage,
      this.#reportUsage,
      this.#tryForbidden,
      this.#changeAsAdministrator,
    ];
    if (granted === 'enterprise') return [...actions, this.#grantTier, this.#grantTier];
    if (model.pendingPayment !== null) return [...actions, this.#payOnPage, this.#payOnPage];
    if (model.pausedTier !== null) return [...actions, this.#resume, this.#resume];
    if (model.tier === 'free') return [...actions, this.#subscribe, this.#subscribe, this.#subscribe];
    actions.push(this.#downgrade, this.#downgrade, this.#cancelDowngrade);
    if (model.tier === 'starter') actions.push(this.#upgrade, this.#upgrade);
    if (model.plannedTier === null) actions.push(this.#pause);
    return actions;
  }

  #pickRandom<T>(all: readonly T[]): T {
    return all[this.#random.below(all.length)]!;
  }

  #recordAction(what: string, more = ''): void {
    this.actionCounts[what] = (this.actionCounts[what] ?? 0) + 1;
    this.#log.push(`${new Date(this.#fixture.emulator.now * 1_000).toISOString()} ${what} ${more}`);
  }

  /**
   * Sends a request, possibly while Stripe fails, and retries up to four times after a 5xx. If the first attempt took
   * effect before its reply was lost, the retry may be refused; the amounts show the outcome.
   */
  async #request(
    customer: SimulatedCustomer,
    operation: string,
    body: object,
  ): Promise<{ status: number; body: Record<string, unknown> }> {
    const { faults } = this.#fixture.emulator;
    if (this.#random.below(3) === 0) {
      const kind = this.#pickRandom(faultKinds);
      // The fault hits one of the request's Stripe calls at random.
      for (let before = this.#random.below(6); before > 0; before -= 1) faults.add({ kind: 'none' });
      faults.add({ kind, times: 1 + this.#random.below(4) });
      this.#recordAction(`fault ${kind}`);
    }
    const key = { 'idempotency-key': `${this.#random.below(2 ** 31)}` };
    let answer = await customer.owner.request(operation, body, this.#random.below(2) === 0 ? key : {});
    faults.clear();
    for (let tries = 0; tries < 4 && answer.status >= 500; tries += 1) {
      this.#recordAction('again', `${operation} after ${answer.status}`);
      answer = await customer.owner.request(operation, body);
    }
    this.#recordAction(
      operation,
      `${JSON.stringify(body)} ${answer.status} ${answer.status === 200 ? '' : answer.text}`,
    );
    return answer;
  }

  readonly #subscribe = (customer: SimulatedCustomer) =>
    this.#pay(customer, this.#pickRandom(['starter', 'teams'] as const));
  readonly #upgrade = (customer: SimulatedCustomer) => this.#pay(customer, 'teams');

  async #pay(customer: SimulatedCustomer, tier: PlanTier): Promise<void> {
    const { owner, model } = customer;
    const { emulator } = this.#fixture;
    const now = emulator.now;
    const token = this.#pickRandom(tokens);
    const body = { tier, payment_method_id: await owner.createCard(token) };
    const answer = await this.#request(customer, 'subscribe', body);
    if (isAlreadyGranted(customer, tier)) return void this.#test.equal(answer.status, 409, `${tier} applies`);
    if (answer.status === 402) {
      this.#test.equal(token, 'tok_chargeCustomerFail', `${token} is not declined`);
      return;
    }
    const waits = token === 'tok_threeDSecure2Required';
    if (answer.status === 409) {
      const isTooLate = waits && model.plannedTier !== null && model.outlivesMonth(now);
      this.#test.ok(isTooLate, `subscribe: 409 ${answer.body.detail}`);
      return;
    }
    const was = model.tier;
    if (was === 'free') model.start(tier, now, waits);
    else model.upgrade(tier, now, waits);
    if (token === 'tok_chargeCustomerFail')
      this.#test.equal(model.amountDue + model.bills.at(-1)!.due, 0, 'nothing was due');
    if (model.pendingPayment === null) this.#makeCardsPay(customer);
    else customer.invoicePageUrl = String(answer.body.hosted_invoice_url);
  }

  /** Makes the customer's cards succeed from now on, so that renewals are paid. */
  #makeCardsPay({ owner }: SimulatedCustomer): void {
    const { state: fixture } = this.#fixture.emulator;
    const customerId = fixture
      .listObjects('customer')
      .find((one) => one.metadata.organization_id === owner.organizationId);
    for (const card of fixture.listObjects('payment_method'))
      if (card.customer === customerId?.id) fixture.cards.set(card.id, 'pays');
  }

  readonly #payOnPage = async (customer: SimulatedCustomer): Promise<void> => {
    this.#recordAction('paid on the page');
    this.#test.equal(await customer.owner.payOnInvoicePage(customer.invoicePageUrl), 200);
    const { model } = customer;
    const { now } = this.#fixture.emulator;
    const isOfLastMonth = startOfNextMonth(model.pendingPayment!.createdAt) <= now;
    model.pay(now);
    // A payment that starts a subscription in an ended month also bills the current one; that invoice is a draft
    // for an hour.
    if (isOfLastMonth) await this.#advanceTo(now + 2 * hour);
  };

  readonly #downgrade = async (customer: SimulatedCustomer): Promise<void> => {
    const { model } = customer;
    const tier = this.#pickRandom(['free', 'starter'] as const);
    const isLower = tier === 'free' || model.tier === 'teams';
    const answer = await this.#request(customer, 'downgrade', { tier });
    this.#test.equal(answer.status, isLower ? 200 : 400);
    if (isLower) model.planDowngrade(tier);
  };

  readonly #cancelDowngrade = async (customer: SimulatedCustomer): Promise<void> => {
    const isPlanned = customer.model.plannedTier !== null;
    const answer = await this.#request(customer, 'cancel-downgrade', {});
    this.#test.ok(answer.status === 200 || answer.status === 400, `cancel-downgrade: ${answer.status}`);
    if (isPlanned) customer.model.cancelDowngrade();
  };

  readonly #pause = async (customer: SimulatedCustomer): Promise<void> => {
    const { status } = await this.#request(customer, 'pause', {});
    this.#test.equal(status, 200);
    customer.model.pause(this.#fixture.emulator.now);
  };

  readonly #resume = async (customer: SimulatedCustomer): Promise<void> => {
    const { status } = await this.#request(customer, 'subscribe', { tier: customer.model.pausedTier });
    if (isAlreadyGranted(customer, customer.model.pausedTier!)) return void this.#test.equal(status, 409);
    this.#test.ok(status === 200 || status === 400, `resume: ${status}`);
    customer.model.resume(this.#fixture.emulator.now);
  };

  readonly #redeemCode = async (customer: SimulatedCustomer): Promise<void> => {
    const amount = this.#pickRandom(codeAmounts);
    this.#codeCount += 1;
    const code = `CODE${this.#codeCount}`;
    const coupon = await this.#fixture.stripe.coupons.create({
      duration: 'once',
      amount_off: amount,
      currency: 'usd',
    });
    await this.#fixture.stripe.promotionCodes.create({
      code,
      promotion: { type: 'coupon', coupon: coupon.id },
    });
    const { status } = await this.#request(customer, 'redeem-code', { code });
    if (status === 429) return;
    this.#test.ok(status === 200 || status === 400, `redeem-code: ${status}`);
    customer.model.redeem(amount);
  };

  /** Usage is reported to Stripe every minute during a subscription; here immediately. */
  readonly #reportUsage = async (customer: SimulatedCustomer): Promise<void> => {
    const customerId = customer.owner.customer();
    if (customerId === null || customer.model.tier === 'free') return;
    const metric: ModelMetric = this.#pickRandom(['embed', 'rerank'] as const);
    const tokens = this.#random.below(3_000_000_000);
    const event_name = `quarry_${metric}_tokens`;
    const payload = { stripe_customer_id: customerId, value: String(tokens) };
    await this.#fixture.stripe.billing.meterEvents.create({ event_name, payload });
    this.#recordAction('use', `${metric} ${tokens}`);
    customer.model.recordUsage(metric, tokens);
  };

  readonly #changeAsAdministrator = (customer: SimulatedCustomer): Promise<void> =>
    this.#random.below(3) === 0 ? this.#grantTier(customer) : this.#override(customer);

  /** The administrator overrides a limit of the tier, or removes the override with 0. */
  async #override(customer: SimulatedCustomer): Promise<void> {
    const [name, limit] = this.#pickRandom(Object.entries(overrides));
    const value = this.#pickRandom([0, 1 + this.#random.below(1_000_000_000)]);
    if (value === 0) customer.overrides.delete(limit);
    else customer.overrides.set(limit, value);
    await this.#changeOrganization(customer, { [name]: value });
  }

  /** The administrator grants a tier, or revokes the granted one. */
  readonly #grantTier = async (customer: SimulatedCustomer): Promise<void> => {
    customer.grantedTier = customer.grantedTier === 'free' ? this.#pickRandom(tiers) : 'free';
    await this.#changeOrganization(customer, { subscription_tier: customer.grantedTier });
  };

  async #changeOrganization(
    { owner: { organizationId } }: SimulatedCustomer,
    changes: object,
  ): Promise<void> {
    const body = { organization_id: organizationId, ...changes };
    this.#recordAction('administrator', JSON.stringify(changes));
    this.#test.equal(await administratorStatus(this.#fixture.server, 'update-organization', body), 200);
  }

  /** Requests that are not possible are refused and change nothing. */
  readonly #tryForbidden = async (customer: SimulatedCustomer): Promise<void> => {
    const { model } = customer;
    const [operation, body] = this.#pickRandom<[string, object]>([
      ['subscribe', { tier: 'enterprise' }],
      ['downgrade', { tier: 'enterprise' }],
      ['redeem-code', { code: 'NO SUCH CODE' }],
      ['remove-payment-method', { payment_method_id: 'pm_none' }],
      ...(model.isSubscribed
        ? []
        : ([
            ['pause', {}],
            ['downgrade', { tier: 'free' }],
          ] as [string, object][])),
    ]);
    const { status } = await customer.owner.request(operation, body);
    this.#recordAction('refused', `${operation} ${status}`);
    this.#test.ok(status >= 400 && status < 500, `${operation} ${JSON.stringify(body)}: ${status}`);
  };

  /** Advances to a random time outside the first hours of a month, in which invoices are drafts. */
  async #advanceRandomly(): Promise<void> {
    const { emulator } = this.#fixture;
    const from = emulator.now;
    const target = from + hour + this.#random.below(hour * this.#pickRandom([24, 24 * 20]));
    const first = startOfNextMonth(from);
    // One in five advances goes to the last day of a month, so that pending payments cross its end.
    const lastDay = first - hour - this.#random.below(22 * hour);
    if (lastDay > from && this.#random.below(5) === 0) return this.#advanceTo(lastDay);
    // Also avoids the last hour of a month, from which other actions would advance into the next one.
    await this.#advanceTo(target >= first - hour && target < first + 2 * hour ? first + 2 * hour : target);
  }

  async #advanceTo(to: number): Promise<void> {
    const from = this.#fixture.emulator.now;
    for (const { model } of this.#customers) {
      if (model.pendingPayment !== null && to >= startOfNextMonth(from))
        this.#recordAction('waits over the end of a month');
      model.advance(from, to);
    }
    await this.#fixture.advanceTo(to);
    this.#recordAction('advanced', new Date(to * 1_000).toISOString());
  }

  /** The server's reply, Stripe's state and the model must agree to the cent. */
  async #check(): Promise<void> {
    for (const customer of this.#customers) {
      const { owner, model, grantedTier: granted } = customer;
      const status = await owner.status();
      const tier = isAlreadyGranted(customer, model.tier) ? granted : model.tier;
      const invoices = owner.invoices();
      const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);
      const found = {
        tier: status.subscription_tier,
        planned: status.pending_downgrade?.tier ?? null,
        waiting: status.pending_upgrade?.tier ?? null,
        credit: status.credit_balance_cents,
        collected: sum(invoices.map((invoice) => invoice.amount_paid)),
        owed: sum(invoices.filter((one) => one.status === 'open').map((one) => one.amount_remaining)),
      };
      const expected = {
        tier,
        planned: model.plannedTier,
        waiting: model.pendingPayment?.tier ?? null,
        credit: model.credit,
        collected: model.collectedCents,
        owed: model.amountDue,
      };
      this.#test.strictSame(found, expected, `the money of ${owner.user.email}`);
      const overridden = customer.overrides.size > 0;
      this.#test.match(status.rate_limits, {
        ...limitsByTier[tier],
        ...Object.fromEntries(customer.overrides),
        overridden,
      });
      if (!this.#test.passing()) {
        this.#test.comment(this.#log.slice(-40).join('\n'));
        this.#test.comment(
          JSON.stringify(
            invoices.map(({ total, amount_paid, status, billing_reason }) => ({
              total,
              amount_paid,
              status,
              billing_reason,
            })),
          ),
        );
        this.#test.comment(JSON.stringify(model.bills));
        const grants = this.#fixture.emulator.state.listObjects('billing.credit_grant');
        this.#test.comment(
          JSON.stringify(grants.filter(({ customer: customerId }) => customerId === owner.customer())),
        );
        return;
      }
    }
  }
}

/** Whether the administrator has granted this tier or a higher one. */
function isAlreadyGranted({ grantedTier: granted }: SimulatedCustomer, tier: PlanTier): boolean {
  return tiers.indexOf(tier) <= tiers.indexOf(granted);
}
