import { createTestRandom } from '../storage/test-random.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { BillingFixture, limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { BillingModel } from './billing-model.ts';
import type { HttpReply } from './people.ts';
import { RandomCustomers } from './random-customers.ts';

const fixture = await BillingFixture.start(t, '2027-01-11T00:00:00Z');
const { emulator } = fixture;
const random = createTestRandom();
const steps = 40;
t.setTimeout(testFileMsMax);

/** An owner at the emulated Stripe and the model of their bills, changed together. */
class ModeledOwner {
  readonly owner: OrganizationOwner;
  readonly model = new BillingModel();

  constructor(owner: OrganizationOwner) {
    this.owner = owner;
  }

  async advanceTo(date: string): Promise<void> {
    this.model.advance(emulator.now, Date.parse(date) / 1_000);
    await fixture.advanceTo(date);
  }

  async check(t: Test, step: string): Promise<void> {
    const { owner, model } = this;
    const status = await owner.status();
    t.match(status, { subscription_tier: model.tier, rate_limits: limitsByTier[model.tier] }, step);
    t.equal(status.credit_balance_cents, model.credit, `${step}: credit`);
    const collected = owner.invoices().reduce((sum, invoice) => sum + invoice.amount_paid, 0);
    t.equal(collected, model.collectedCents, `${step}: collected`);
  }

  async use(metric: 'embed' | 'rerank', tokens: number): Promise<void> {
    const payload = { stripe_customer_id: this.owner.customer()!, value: String(tokens) };
    await fixture.stripe.billing.meterEvents.create({ event_name: `quarry_${metric}_tokens`, payload });
    this.model.recordUsage(metric, tokens);
    await fixture.advanceBriefly();
  }

  async downgrade(tier: 'free' | 'starter'): Promise<void> {
    await this.owner.call('downgrade', { tier });
    this.model.planDowngrade(tier);
  }

  async redeem(code: string, cents: number): Promise<HttpReply['body']> {
    const coupon = await fixture.stripe.coupons.create({
      duration: 'once',
      amount_off: cents,
      currency: 'usd',
    });
    await fixture.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
    const reply = await this.owner.call('redeem-code', { code });
    this.model.redeem(cents);
    return reply;
  }

  /** Prints the invoices as a table for the reader of a failure. */
  print(t: Test): void {
    const dollars = (amount: number) => (amount / 100).toFixed(2).padStart(9);
    t.comment('  date        invoice        reason                   total       due      paid');
    for (const bill of this.owner.invoices()) {
      const day = new Date(bill.created * 1_000).toISOString().slice(0, 10);
      t.comment(
        `  ${day}  ${bill.number}  ${bill.billing_reason.padEnd(20)} ${dollars(bill.total)} ${dollars(bill.amount_due)} ${dollars(bill.amount_paid)}`,
      );
    }
  }
}

t.test('every plan change from free through a paid month with usage is charged to the cent', async (t) => {
  const modeled = new ModeledOwner(await fixture.createOwner());
  const { owner, model } = modeled;
  await modeled.check(t, 'free');
  const card = await owner.createCard('tok_threeDSecure2Required');
  const subscribeReply = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action', subscription_tier: 'free' });
  model.start('starter', emulator.now, true);
  await modeled.advanceTo('2027-01-11T09:00:00Z');
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  model.pay(emulator.now);
  await modeled.check(t, 'starter, after the confirmation of the bank');

  await modeled.advanceTo('2027-01-18T12:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active', subscription_tier: 'teams' });
  model.upgrade('teams', emulator.now, false);
  await modeled.check(t, 'teams in the middle of the month');
  await modeled.use('embed', 1_234_567_890);

  await modeled.downgrade('starter');
  await modeled.check(t, 'a pending downgrade');
  await owner.call('cancel-downgrade');
  model.cancelDowngrade();
  await modeled.check(t, 'a canceled downgrade');
  await modeled.downgrade('starter');
  await modeled.advanceTo('2027-02-01T02:00:00Z');
  await modeled.check(t, 'starter from the first of the month, usage covered by payments');

  await modeled.advanceTo('2027-02-10T00:00:00Z');
  await modeled.use('rerank', 3_000_000_000);
  await owner.call('pause');
  model.pause(emulator.now);
  await modeled.check(t, 'paused');
  await modeled.advanceTo('2027-02-20T00:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'starter' }), { status: 'resumed' });
  model.resume(emulator.now);
  await modeled.check(t, 'resumed');

  t.match(await modeled.redeem('WELCOME', 1_500), { credit_cents: 1_500 });
  await modeled.check(t, 'a redeemed code');
  await modeled.use('embed', 2_000_000_000);
  await modeled.advanceTo('2027-03-01T02:00:00Z');
  await modeled.check(t, 'a month with usage');

  await modeled.downgrade('free');
  await modeled.use('rerank', 10_000_000_000);
  await modeled.advanceTo('2027-04-01T02:00:00Z');
  await modeled.check(t, 'free again, the last usage paid');

  modeled.print(t);
  t.strictSame(
    owner.invoices().map(({ total, amount_due: due }) => ({ total, due })),
    model.bills.map(({ total, due }) => ({ total, due })),
  );
});

t.test(
  `${steps} random steps of actions, faults and time result in the expected charges (seed ${random.seed})`,
  async (t) => {
    const customers = new RandomCustomers(t, random, fixture);
    await customers.run(steps);
    t.comment(JSON.stringify(customers.actionCounts));
    fixture.checkNoInvalidRequests(t);
  },
);
