import t from 'tap';
import { createTestRandom } from '../storage/test-random.ts';
import { testFileMsMax } from '../timeouts.ts';
import { BillingFixture, limitsByTier } from './billing-fixture.ts';
import { BillingModel } from './billing-model.ts';
import { RandomCustomers } from './random-customers.ts';

const fixture = await BillingFixture.start(t, '2027-01-11T00:00:00Z');
const { emulator } = fixture;
const random = createTestRandom();
const steps = 40;
t.setTimeout(testFileMsMax);

t.test('every plan change from free through a paid month with usage is charged to the cent', async (t) => {
  const owner = await fixture.createOwner();
  const model = new BillingModel();
  const advanceTo = async (date: string) => {
    model.advance(emulator.now, Date.parse(date) / 1_000);
    await fixture.advanceTo(date);
  };
  const now = async (what: string) => {
    const status = await owner.status();
    t.match(status, { subscription_tier: model.tier, rate_limits: limitsByTier[model.tier] }, what);
    t.equal(status.credit_balance_cents, model.credit, `${what}: credit`);
    const collected = owner.invoices().reduce((sum, invoice) => sum + invoice.amount_paid, 0);
    t.equal(collected, model.collectedCents, `${what}: collected`);
    return status;
  };
  const use = async (metric: 'embed' | 'rerank', tokens: number) => {
    const payload = { stripe_customer_id: owner.customer()!, value: String(tokens) };
    await fixture.stripe.billing.meterEvents.create({ event_name: `quarry_${metric}_tokens`, payload });
    model.recordUsage(metric, tokens);
    await fixture.advanceBriefly();
  };

  await now('free');
  const card = await owner.createCard('tok_threeDSecure2Required');
  const subscribeReply = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action', subscription_tier: 'free' });
  model.start('starter', emulator.now, true);
  await advanceTo('2027-01-11T09:00:00Z');
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  model.pay(emulator.now);
  await now('starter, authenticated');

  await advanceTo('2027-01-18T12:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active', subscription_tier: 'teams' });
  model.upgrade('teams', emulator.now, false);
  await now('teams in the middle of the month');
  await use('embed', 1_234_567_890);

  await owner.call('downgrade', { tier: 'starter' });
  model.planDowngrade('starter');
  await now('a downgrade is planned');
  await owner.call('cancel-downgrade');
  model.cancelDowngrade();
  await now('and taken back');
  await owner.call('downgrade', { tier: 'starter' });
  model.planDowngrade('starter');
  await advanceTo('2027-02-01T02:00:00Z');
  await now('starter from the first, the use paid by what was paid');

  await advanceTo('2027-02-10T00:00:00Z');
  await use('rerank', 3_000_000_000);
  await owner.call('pause');
  model.pause(emulator.now);
  await now('paused');
  await advanceTo('2027-02-20T00:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'starter' }), { status: 'resumed' });
  model.resume(emulator.now);
  await now('resumed');

  const coupon = await fixture.stripe.coupons.create({
    duration: 'once',
    amount_off: 1_500,
    currency: 'usd',
  });
  await fixture.stripe.promotionCodes.create({
    code: 'WELCOME',
    promotion: { type: 'coupon', coupon: coupon.id },
  });
  t.match(await owner.call('redeem-code', { code: 'WELCOME' }), { credit_cents: 1_500 });
  model.redeem(1_500);
  await now('a code');
  await use('embed', 2_000_000_000);
  await advanceTo('2027-03-01T02:00:00Z');
  await now('a month with use');

  await owner.call('downgrade', { tier: 'free' });
  model.planDowngrade('free');
  await use('rerank', 10_000_000_000);
  await advanceTo('2027-04-01T02:00:00Z');
  await now('free again, the last use paid');

  const dollars = (amount: number) => (amount / 100).toFixed(2).padStart(9);
  const bills = owner.invoices();
  t.comment('  date        invoice        reason                   total       due      paid');
  for (const bill of bills) {
    const day = new Date(bill.created * 1_000).toISOString().slice(0, 10);
    t.comment(
      `  ${day}  ${bill.number}  ${bill.billing_reason.padEnd(20)} ${dollars(bill.total)} ${dollars(bill.amount_due)} ${dollars(bill.amount_paid)}`,
    );
  }
  t.strictSame(
    bills.map(({ total, amount_due: due }) => ({ total, due })),
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
