import t from 'tap';
import type { FaultKind } from '../stripe/faults.ts';
import { BillingWorld, limitsOf, type Owner } from './billing-world.ts';

/** The server is killed in the middle of what it does at Stripe for many at once, and put right by its next start. */

const world = await BillingWorld.start(t, '2027-03-10T12:00:00Z');
const { emulator, server } = world;

/** What somebody was doing when the server was killed. */
interface CutOff {
  readonly owner: Owner;
  readonly call: () => Promise<unknown>;
  /** Where Stripe falls silent, and in which request. */
  readonly kind: FaultKind;
  readonly operation: RegExp;
  readonly text: string;
}

const isSilent = (one: CutOff) => emulator.faults.befell({ operation: one.operation, text: one.text });

/** Begins everything, and kills the server when Stripe is silent to each. */
async function killedDuring(all: readonly CutOff[]): Promise<void> {
  for (const { kind, operation, text } of all) emulator.faults.add({ kind, operation, text });
  const calls = all.map(({ call }) => call().catch(() => null));
  while (!all.every(isSilent)) await new Promise((resolve) => setTimeout(resolve, 5));
  await server.stop('SIGKILL');
  await Promise.all(calls);
  emulator.faults.clear();
  await world.restart();
}

async function paying(tier: 'starter' | 'teams'): Promise<Owner> {
  const owner = await world.owner();
  await owner.call('subscribe', { tier, payment_method_id: await owner.card() });
  return owner;
}

const paid = (owner: Owner) => owner.invoices().filter(({ amount_paid: cents }) => cents > 0).length;

async function promotion(code: string): Promise<void> {
  const coupon = await world.stripe.coupons.create({ duration: 'once', amount_off: 700, currency: 'usd' });
  await world.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
}

t.test('a crash between any two calls is repaired by the next look', async (t) => {
  const [lowering, raising] = [await paying('teams'), await paying('starter')];
  const [starting, paysFirst] = [await world.owner(), await world.owner()];
  const [redeems, redeemed] = [await paying('starter'), await paying('starter')];
  const away = await world.owner();
  const torn = await paying('starter');
  await torn.call('downgrade', { tier: 'free' });
  const first = async (owner: Owner) => ({ tier: 'starter', payment_method_id: await owner.card() });
  const [start, pay] = [await first(starting), await first(paysFirst)];
  await starting.call('add-payment-method');
  for (const code of ['BEFORE', 'AFTER']) await promotion(code);
  const bank = await away.card('tok_authenticationRequired');
  const asked = await away.call('subscribe', { tier: 'teams', payment_method_id: bank });

  const subscriptionOf = (owner: Owner): string => owner.subscription()!.id;
  await killedDuring([
    {
      owner: lowering,
      call: () => lowering.ask('downgrade', { tier: 'starter' }),
      kind: 'silence-before',
      operation: /^SubscriptionSchedules\.update$/,
      text: '',
    },
    {
      owner: raising,
      call: () => raising.ask('subscribe', { tier: 'teams' }),
      kind: 'silence-after',
      operation: /^Subscriptions\.update$/,
      text: subscriptionOf(raising),
    },
    {
      owner: torn,
      call: () => torn.ask('subscribe', { tier: 'teams' }),
      kind: 'silence-before',
      operation: /^Subscriptions\.update$/,
      text: subscriptionOf(torn),
    },
    {
      owner: starting,
      call: () => starting.ask('subscribe', start),
      kind: 'silence-after',
      operation: /^Subscriptions\.create$/,
      text: starting.customer()!,
    },
    {
      owner: paysFirst,
      call: () => paysFirst.ask('subscribe', pay),
      kind: 'silence-after',
      operation: /^Invoices\.pay$/,
      text: pay.payment_method_id,
    },
    {
      owner: redeems,
      call: () => redeems.ask('redeem-code', { code: 'BEFORE' }),
      kind: 'silence-before',
      operation: /createBalanceTransaction$/,
      text: redeems.customer()!,
    },
    {
      owner: redeemed,
      call: () => redeemed.ask('redeem-code', { code: 'AFTER' }),
      kind: 'silence-after',
      operation: /createBalanceTransaction$/,
      text: redeemed.customer()!,
    },
  ]);

  t.match(await lowering.status(), { subscription_tier: 'teams', pending_downgrade: null });
  t.equal(
    lowering.subscription()!.schedule,
    null,
    'of a downgrade that was half made nothing holds the subscription',
  );
  t.match(await lowering.call('downgrade', { tier: 'starter' }), { pending_downgrade: { tier: 'starter' } });

  t.match(
    await raising.status(),
    { subscription_tier: 'teams', rate_limits: limitsOf.teams },
    'a raise that was paid is there',
  );
  t.equal(paid(raising), 2);

  t.match(
    await torn.status(),
    { subscription_tier: 'starter', pending_downgrade: { tier: 'free' }, pending_upgrade: null },
    'what an upgrade had put aside when it was cut off is planned again',
  );

  t.match(await starting.status(), { subscription_tier: 'free' }, 'what was begun and not paid is no tier');
  t.match(await starting.call('subscribe', start), { status: 'active' });
  t.match(await starting.status(), { subscription_tier: 'starter', rate_limits: limitsOf.starter });
  t.equal(paid(starting), 1, 'asked again, it is paid once');

  t.match(
    await paysFirst.status(),
    { subscription_tier: 'starter', status: 'active' },
    'a first payment is there',
  );
  t.equal(paid(paysFirst), 1);

  for (const [owner, code] of [
    [redeems, 'BEFORE'],
    [redeemed, 'AFTER'],
  ] as const) {
    t.match(
      await owner.status(),
      { credit_balance_cents: 700 },
      `the credit of the code that was sent ${code} the crash`,
    );
    t.ok([200, 400].includes((await owner.ask('redeem-code', { code })).status));
    t.match(await owner.status(), { credit_balance_cents: 700 }, 'and once');
  }

  await server.stop('SIGKILL');
  t.equal(await away.payOnPage(asked.hosted_invoice_url), 200);
  await world.restart();
  t.match(
    await away.status(),
    { subscription_tier: 'teams', rate_limits: limitsOf.teams },
    'what happened meanwhile is seen',
  );
  world.checkUnderstood(t);
});
