import t, { type Test } from 'tap';
import {
  asAdministrator,
  BillingWorld,
  limitsOf,
  monthly,
  type Owner,
  type PlanTier,
} from './billing-world.ts';
import { firstAfter } from './money-model.ts';

/** Months that end, cards that stop paying, updates that nobody pays: one time for Stripe and the server, moved by hand. */

// Where clocks are put forward in March and back in November: nothing of billing may follow them.
process.env.TZ = 'America/New_York';
const world = await BillingWorld.start(t, '2027-12-31T12:00:00Z');
const { emulator } = world;

/** An owner on a tier until the end of the test: then nothing renews any more. */
async function subscribed(t: Test, tier: Exclude<PlanTier, 'free'>, token = 'tok_visa'): Promise<Owner> {
  const owner = await world.owner();
  t.teardown(async () => {
    const left = owner.subscription();
    if (left !== null) await world.stripe.subscriptions.cancel(left.id);
  });
  await owner.call('subscribe', { tier, payment_method_id: await owner.card(token) });
  return owner;
}

async function has(t: Test, owner: Owner, tier: PlanTier, more: object = {}) {
  const status = await owner.status();
  t.match(status, { subscription_tier: tier, rate_limits: limitsOf[tier], ...more }, `it is on ${tier}`);
  return status;
}

/** What was collected for each invoice, oldest first. */
const paid = (owner: Owner) => owner.invoices().map((invoice) => invoice.amount_paid);

/** The price of some days of a month. */
const part = (tier: PlanTier, days: number, of: number) => Math.round((monthly[tier] * days) / of);

t.test('months of every length, and the 29th of February, end on the first at 00:00 UTC', async (t) => {
  const december = await subscribed(t, 'starter');
  t.strictSame(paid(december), [part('starter', 0.5, 31)]);
  await world.travel('2028-01-31T00:00:00Z');
  t.strictSame(paid(december), [part('starter', 0.5, 31), 5_000]);
  const january = await subscribed(t, 'starter');
  t.strictSame(paid(january), [part('starter', 1, 31)]);
  await has(t, january, 'starter', { current_period_end: '2028-02-01T00:00:00.000Z' });
  await world.travel('2028-02-29T12:00:00Z');
  const leap = await subscribed(t, 'teams');
  t.strictSame(paid(leap), [part('teams', 0.5, 29)]);
  await january.call('subscribe', { tier: 'teams' });
  t.strictSame(paid(january), [
    part('starter', 1, 31),
    5_000,
    part('teams', 0.5, 29) - part('starter', 0.5, 29),
  ]);
  await december.call('downgrade', { tier: 'free' });
  await has(t, december, 'starter', {
    pending_downgrade: { tier: 'free', effective_at: '2028-03-01T00:00:00.000Z' },
  });
  await world.travel('2028-03-01T02:00:00Z');
  t.equal(paid(january).at(-1), 20_000);
  t.equal(paid(leap).at(-1), 20_000);
  await has(t, leap, 'teams', { current_period_end: '2028-04-01T00:00:00.000Z' });
  await has(t, december, 'free', { status: 'none', pending_downgrade: null });
  t.strictSame(paid(december), [part('starter', 0.5, 31), 5_000, 5_000]);
});

t.test('a lower tier begins on the first, with its price and its limits', async (t) => {
  const owner = await subscribed(t, 'teams');
  await owner.call('downgrade', { tier: 'starter' });
  // In Germany it is the 1st of April already, in UTC it is not.
  const ends = await subscribed(t, 'starter');
  await ends.call('downgrade', { tier: 'free' });
  await world.travel('2028-03-31T23:30:00Z');
  const late = { tier: 'teams', payment_method_id: await ends.card('tok_authenticationRequired') };
  t.match(
    await ends.ask('subscribe', late),
    { status: 409, body: { detail: /cancel the downgrade/ } },
    'no payment may wait until after a downgrade',
  );
  await has(t, ends, 'starter', { pending_downgrade: { tier: 'free' }, pending_upgrade: null });
  await has(t, owner, 'teams', {
    pending_downgrade: { tier: 'starter', effective_at: '2028-04-01T00:00:00.000Z' },
  });
  await world.travel('2028-04-01T02:00:00Z');
  await has(t, owner, 'starter', { pending_downgrade: null, status: 'active' });
  await has(t, ends, 'free', { status: 'none' });
  t.equal(paid(owner).at(-1), 5_000);
});

t.test(
  'an upgrade that nobody pays for is given up after 23 hours, and a planned downgrade is back',
  async (t) => {
    const owner = await subscribed(t, 'starter');
    const changesMind = await subscribed(t, 'starter');
    const card = await owner.card('tok_authenticationRequired');
    await owner.call('downgrade', { tier: 'free' });
    await changesMind.call('downgrade', { tier: 'free' });
    const same = { tier: 'teams', payment_method_id: await changesMind.card('tok_authenticationRequired') };
    await changesMind.call('subscribe', same);
    t.match(await changesMind.call('cancel-downgrade'), { pending_downgrade: null });
    const asked = await owner.call('subscribe', { tier: 'teams', payment_method_id: card });
    t.match(
      (await owner.status()).pending_upgrade.expires_at,
      new Date((emulator.now + 23 * 3_600) * 1_000).toISOString(),
    );
    await world.travel(emulator.now + 24 * 3_600);
    await has(t, owner, 'starter', { pending_upgrade: null, pending_downgrade: { tier: 'free' } });
    await has(t, changesMind, 'starter', { pending_upgrade: null, pending_downgrade: null });
    t.equal(await owner.payOnPage(asked.hosted_invoice_url), 409, 'its page takes no money any more');
  },
);

t.test('a first tier that nobody pays for is given up, and may be begun again', async (t) => {
  const owner = await world.owner();
  const card = await owner.card('tok_authenticationRequired');
  await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  await world.travel(emulator.now + 24 * 3_600);
  await has(t, owner, 'free', { status: 'none', pending_upgrade: null });
  t.match(await owner.call('subscribe', { tier: 'teams', payment_method_id: await owner.card() }), {
    status: 'active',
  });
  await has(t, owner, 'teams');
});

t.test(
  'a renewal that is declined keeps the tier while it is tried again, and ends it after that',
  async (t) => {
    const [pays, never] = [await subscribed(t, 'starter'), await subscribed(t, 'starter')];
    for (const owner of [pays, never])
      emulator.world.cards.set((await owner.status()).payment_method.id, 'declines');
    await world.travel('2028-05-01T02:00:00Z');
    for (const owner of [pays, never]) {
      await has(t, owner, 'starter', { status: 'past_due' });
      t.equal((await owner.ask('pause')).status, 409, 'with a debt there is no pause');
    }
    const paying = await pays.call('subscribe', {
      tier: 'starter',
      payment_method_id: await pays.card('tok_mastercard'),
    });
    t.match(paying, { status: 'active', subscription_tier: 'starter' });
    await has(t, pays, 'starter', { status: 'active' });
    await world.travel('2028-05-20T00:00:00Z');
    await has(t, never, 'free');
    await has(t, pays, 'starter', { status: 'active' });
  },
);

t.test('an override of the administrator wins over the tier, whatever is paid', async (t) => {
  const owner = await subscribed(t, 'starter');
  const body = { organization_id: owner.organizationId, override_bpm_fast: 1_234_567 };
  t.equal(await asAdministrator(world.server, 'update-organization', body), 200);
  t.match((await owner.status()).rate_limits, {
    bpm_fast: 1_234_567,
    bpm_slow: 20_000_000,
    overridden: true,
  });
  await owner.call('subscribe', { tier: 'teams' });
  t.match((await owner.status()).rate_limits, {
    bpm_fast: 1_234_567,
    bpm_slow: 100_000_000,
    overridden: true,
  });
});

t.test(
  'what a pause gives back is credit; paused nothing is invoiced, and resumed the rest of the month is',
  async (t) => {
    const owner = await subscribed(t, 'starter');
    const invoices = owner.invoices().length;
    await world.travel('2028-05-25T00:00:00Z');
    await owner.call('pause');
    const unused = part('starter', 7, 31);
    await has(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    await world.travel('2028-07-11T00:00:00Z');
    t.equal(owner.invoices().length, invoices + 1);
    const { payment_method: card } = await has(t, owner, 'free', { credit_balance_cents: unused });
    await owner.call('remove-payment-method', { payment_method_id: card.id });
    t.equal((await owner.ask('subscribe', { tier: 'starter' })).status, 402, 'not more than the credit pays');
    await has(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    const rest = part('starter', 21, 31);
    const resumed = { tier: 'starter', payment_method_id: await owner.card('tok_threeDSecure2Required') };
    const asked = await owner.call('subscribe', resumed);
    t.match(asked, { status: 'requires_action', invoice: { amount_due: rest - unused } });
    await has(t, owner, 'free', { status: 'paused' });
    t.equal(await owner.payOnPage(asked.hosted_invoice_url), 200);
    await has(t, owner, 'starter', { current_period_end: '2028-08-01T00:00:00.000Z' });
    await world.travel('2028-08-01T02:00:00Z');
    t.strictSame(paid(owner).slice(-2), [rest - unused, 5_000]);
  },
);

t.test('use that a pause could not charge is paid before it is resumed', async (t) => {
  const owner = await subscribed(t, 'starter');
  const { payment_method: bad } = await owner.status();
  const payload = { stripe_customer_id: owner.customer()!, value: '9000000000' };
  await world.stripe.billing.meterEvents.create({ event_name: 'quarry_embed_tokens', payload });
  await world.moment();
  emulator.world.cards.set(bad.id, 'declines');
  t.match(await owner.call('pause'), { status: 'paused' });
  const owed = () => owner.invoices().filter(({ status }) => status === 'open').length;
  t.equal(owed(), 1);
  const kept = await owner.ask('remove-payment-method', { payment_method_id: bad.id });
  t.equal(kept.status, 400, 'there is a debt');
  t.equal((await owner.ask('subscribe', { tier: 'starter' })).status, 402);
  await has(t, owner, 'free', { status: 'paused' });
  const body = { tier: 'starter', payment_method_id: await owner.card() };
  t.match(await owner.call('subscribe', body), { status: 'resumed' });
  await has(t, owner, 'starter', { status: 'active' });
  t.equal(owed(), 0);
});

t.test('while the invoice of a new month is written there is no pause', async (t) => {
  const owner = await subscribed(t, 'starter');
  const first = firstAfter(emulator.now);
  await world.travel(first + 1_200);
  t.match(await owner.status(), { subscription_tier: 'starter' });
  const refused = await owner.ask('pause');
  t.equal(refused.status, 409);
  t.match(refused.body.detail, /pause after that/);
  await has(t, owner, 'starter', { status: 'active' });
  await world.travel(first + 7_200);
  t.match(await owner.call('pause'), { status: 'paused' });
});

t.test('Stripe understood every request', async (t) => world.checkUnderstood(t));
