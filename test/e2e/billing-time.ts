import t from '../support/tap.ts';
import { administratorStatus } from './billing-fixture.ts';
import { startOfNextMonth } from './billing-model.ts';
import { fixture } from './billing-month-server.ts';
import { amountsPaid, ownerUntilEnd, partOfMonth } from './billing-plan-file.ts';
import { checkTier } from './billing-steps.ts';

/** Ends of months, failing cards, and unpaid updates, with one clock for Stripe and the server. */

const { emulator } = fixture;

t.test('months of every length, and the 29th of February, end on the first at 00:00 UTC', async (t) => {
  const december = await ownerUntilEnd(t, fixture, 'starter');
  t.strictSame(amountsPaid(december), [partOfMonth('starter', 0.5, 31)]);
  await fixture.advanceTo('2028-01-31T00:00:00Z');
  t.strictSame(amountsPaid(december), [partOfMonth('starter', 0.5, 31), 5_000]);
  const january = await ownerUntilEnd(t, fixture, 'starter');
  t.strictSame(amountsPaid(january), [partOfMonth('starter', 1, 31)]);
  await checkTier(t, january, 'starter', { current_period_end: '2028-02-01T00:00:00.000Z' });
  await fixture.advanceTo('2028-02-29T12:00:00Z');
  const leap = await ownerUntilEnd(t, fixture, 'teams');
  t.strictSame(amountsPaid(leap), [partOfMonth('teams', 0.5, 29)]);
  await january.call('subscribe', { tier: 'teams' });
  t.strictSame(amountsPaid(january), [
    partOfMonth('starter', 1, 31),
    5_000,
    partOfMonth('teams', 0.5, 29) - partOfMonth('starter', 0.5, 29),
  ]);
  await december.call('downgrade', { tier: 'free' });
  await checkTier(t, december, 'starter', {
    pending_downgrade: { tier: 'free', effective_at: '2028-03-01T00:00:00.000Z' },
  });
  await fixture.advanceTo('2028-03-01T02:00:00Z');
  t.equal(amountsPaid(january).at(-1), 20_000);
  t.equal(amountsPaid(leap).at(-1), 20_000);
  await checkTier(t, leap, 'teams', { current_period_end: '2028-04-01T00:00:00.000Z' });
  await checkTier(t, december, 'free', { status: 'none', pending_downgrade: null });
  t.strictSame(amountsPaid(december), [partOfMonth('starter', 0.5, 31), 5_000, 5_000]);
});

t.test('a lower tier starts on the first, with its price and its limits', async (t) => {
  const owner = await ownerUntilEnd(t, fixture, 'teams');
  await owner.call('downgrade', { tier: 'starter' });
  // April 1 has started in Germany, but not in UTC.
  const ends = await ownerUntilEnd(t, fixture, 'starter');
  await ends.call('downgrade', { tier: 'free' });
  await fixture.advanceTo('2028-03-31T23:30:00Z');
  const late = { tier: 'teams', payment_method_id: await ends.createCard('tok_authenticationRequired') };
  t.match(
    await ends.request('subscribe', late),
    { status: 409, body: { detail: /Cancel the downgrade/ } },
    'no payment may wait until after a downgrade',
  );
  await checkTier(t, ends, 'starter', { pending_downgrade: { tier: 'free' }, pending_upgrade: null });
  await checkTier(t, owner, 'teams', {
    pending_downgrade: { tier: 'starter', effective_at: '2028-04-01T00:00:00.000Z' },
  });
  await fixture.advanceTo('2028-04-01T02:00:00Z');
  await checkTier(t, owner, 'starter', { pending_downgrade: null, status: 'active' });
  await checkTier(t, ends, 'free', { status: 'none' });
  t.equal(amountsPaid(owner).at(-1), 5_000);
});

t.test('an unpaid upgrade expires after 23 hours, and a scheduled downgrade is restored', async (t) => {
  const owner = await ownerUntilEnd(t, fixture, 'starter');
  const changesMind = await ownerUntilEnd(t, fixture, 'starter');
  const card = await owner.createCard('tok_authenticationRequired');
  const goesOn = await ownerUntilEnd(t, fixture, 'starter');
  const { payment_method: usual } = await goesOn.status();
  for (const token of ['tok_authenticationRequired', 'tok_threeDSecure2Required'])
    t.match(
      await goesOn.call('subscribe', { tier: 'teams', payment_method_id: await goesOn.createCard(token) }),
      {
        status: 'requires_action',
      },
    );
  await owner.call('downgrade', { tier: 'free' });
  await changesMind.call('downgrade', { tier: 'free' });
  const same = {
    tier: 'teams',
    payment_method_id: await changesMind.createCard('tok_authenticationRequired'),
  };
  await changesMind.call('subscribe', same);
  t.match(await changesMind.call('cancel-downgrade'), { pending_downgrade: null });
  const subscribeReply = await owner.call('subscribe', { tier: 'teams', payment_method_id: card });
  t.match(
    (await owner.status()).pending_upgrade.expires_at,
    new Date((emulator.now + 23 * 3_600) * 1_000).toISOString(),
  );
  await fixture.advanceTo(emulator.now + 24 * 3_600);
  await checkTier(t, owner, 'starter', { pending_upgrade: null, pending_downgrade: { tier: 'free' } });
  await checkTier(t, changesMind, 'starter', { pending_upgrade: null, pending_downgrade: null });
  t.equal(
    await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url),
    409,
    'its page accepts no payment',
  );
  await checkTier(t, goesOn, 'starter', { payment_method: { id: usual.id }, pending_upgrade: null });
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  await checkTier(t, goesOn, 'starter', { status: 'active' });
  t.equal(amountsPaid(goesOn).at(-1), 5_000, 'the next month is charged to the previous payment method');
});

t.test('an unpaid first tier expires and can be started again', async (t) => {
  const owner = await fixture.createOwner();
  const card = await owner.createCard('tok_authenticationRequired');
  await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  await fixture.advanceTo(emulator.now + 24 * 3_600);
  await checkTier(t, owner, 'free', { status: 'none', pending_upgrade: null });
  t.match(await owner.call('subscribe', { tier: 'teams', payment_method_id: await owner.createCard() }), {
    status: 'active',
  });
  await checkTier(t, owner, 'teams');
});

t.test('a declined renewal keeps the tier during retries and ends it afterwards', async (t) => {
  const [pays, never] = [
    await ownerUntilEnd(t, fixture, 'starter'),
    await ownerUntilEnd(t, fixture, 'starter'),
  ];
  for (const owner of [pays, never])
    emulator.state.cards.set((await owner.status()).payment_method.id, 'declines');
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  for (const owner of [pays, never]) {
    await checkTier(t, owner, 'starter', { status: 'past_due' });
    t.equal((await owner.request('pause')).status, 409, 'a pause is rejected with an unpaid invoice');
  }
  const paying = await pays.call('subscribe', {
    tier: 'starter',
    payment_method_id: await pays.createCard('tok_mastercard'),
  });
  t.match(paying, { status: 'active', subscription_tier: 'starter' });
  await checkTier(t, pays, 'starter', { status: 'active' });
  await fixture.advanceTo(emulator.now + 19 * 86_400);
  await checkTier(t, never, 'free');
  await checkTier(t, pays, 'starter', { status: 'active' });
});

t.test('an override by the administrator takes precedence over the tier', async (t) => {
  const owner = await ownerUntilEnd(t, fixture, 'starter');
  const body = { organization_id: owner.organizationId, override_bpm_fast: 1_234_567 };
  t.equal(await administratorStatus(fixture.server, 'update-organization', body), 200);
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

t.test('a first tier confirmed after its month continues with the next', async (t) => {
  await fixture.advanceTo(startOfNextMonth(emulator.now) - 4 * 3_600);
  const [owner, first] = [await fixture.createOwner(), startOfNextMonth(emulator.now)];
  const card = await owner.createCard('tok_threeDSecure2Required');
  const subscribeReply = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  const rest = subscribeReply.invoice.amount_due;
  await fixture.advanceTo(first + 10 * 3_600);
  await checkTier(t, owner, 'free');
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  await fixture.advanceTo(first + 12 * 3_600);
  await checkTier(t, owner, 'starter', { status: 'active', credit_balance_cents: 0 });
  t.strictSame(amountsPaid(owner), [rest, 5_000]);
  const { usage } = await owner.status();
  t.equal(usage.subscription_payments_cents, rest + 5_000, 'both were paid in this month');
  await fixture.stripe.subscriptions.cancel(owner.subscription()!.id);
});
