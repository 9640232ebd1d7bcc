import t from 'tap';
import { seeded } from '../store/seeded.ts';
import { fileMsMax } from '../waiting.ts';
import { BillingWorld, limitsOf } from './billing-world.ts';
import { MoneyModel } from './money-model.ts';
import { Payers } from './payers.ts';

const world = await BillingWorld.start(t, '2027-01-11T00:00:00Z');
const { emulator } = world;
const chance = seeded();
const steps = 40;
t.setTimeout(fileMsMax);

t.test('from free to a paid month with use, through every turn, to the cent', async (t) => {
  const owner = await world.owner();
  const model = new MoneyModel();
  const travel = async (date: string) => {
    model.pass(emulator.now, Date.parse(date) / 1_000);
    await world.travel(date);
  };
  const now = async (what: string) => {
    const status = await owner.status();
    t.match(status, { subscription_tier: model.tier, rate_limits: limitsOf[model.tier] }, what);
    t.equal(status.credit_balance_cents, model.credit, `${what}: credit`);
    const collected = owner.invoices().reduce((sum, invoice) => sum + invoice.amount_paid, 0);
    t.equal(collected, model.collected, `${what}: collected`);
    return status;
  };
  const use = async (metric: 'embed' | 'rerank', tokens: number) => {
    const payload = { stripe_customer_id: owner.customer()!, value: String(tokens) };
    await world.stripe.billing.meterEvents.create({ event_name: `quarry_${metric}_tokens`, payload });
    model.use(metric, tokens);
    await world.moment();
  };

  await now('free');
  const card = await owner.card('tok_threeDSecure2Required');
  const asked = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(asked, { status: 'requires_action', subscription_tier: 'free' });
  model.start('starter', emulator.now, true);
  await travel('2027-01-11T09:00:00Z');
  t.equal(await owner.payOnPage(asked.hosted_invoice_url), 200);
  model.pay(emulator.now);
  await now('starter, authenticated');

  await travel('2027-01-18T12:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active', subscription_tier: 'teams' });
  model.raise('teams', emulator.now, false);
  await now('teams in the middle of the month');
  await use('embed', 1_234_567_890);

  await owner.call('downgrade', { tier: 'starter' });
  model.plan('starter');
  await now('a downgrade is planned');
  await owner.call('cancel-downgrade');
  model.cancelPlan();
  await now('and taken back');
  await owner.call('downgrade', { tier: 'starter' });
  model.plan('starter');
  await travel('2027-02-01T02:00:00Z');
  await now('starter from the first, the use paid by what was paid');

  await travel('2027-02-10T00:00:00Z');
  await use('rerank', 3_000_000_000);
  await owner.call('pause');
  model.pause(emulator.now);
  await now('paused');
  await travel('2027-02-20T00:00:00Z');
  t.match(await owner.call('subscribe', { tier: 'starter' }), { status: 'resumed' });
  model.resume(emulator.now);
  await now('resumed');

  const coupon = await world.stripe.coupons.create({ duration: 'once', amount_off: 1_500, currency: 'usd' });
  await world.stripe.promotionCodes.create({
    code: 'WELCOME',
    promotion: { type: 'coupon', coupon: coupon.id },
  });
  t.match(await owner.call('redeem-code', { code: 'WELCOME' }), { credit_cents: 1_500 });
  model.redeem(1_500);
  await now('a code');
  await use('embed', 2_000_000_000);
  await travel('2027-03-01T02:00:00Z');
  await now('a month with use');

  await owner.call('downgrade', { tier: 'free' });
  model.plan('free');
  await use('rerank', 10_000_000_000);
  await travel('2027-04-01T02:00:00Z');
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
  `${steps} random steps of people, faults and time leave the money that the rules say (seed ${chance.seed})`,
  async (t) => {
    const payers = new Payers(t, chance, world);
    await payers.run(steps);
    t.comment(JSON.stringify(payers.seen));
    world.checkUnderstood(t);
  },
);
