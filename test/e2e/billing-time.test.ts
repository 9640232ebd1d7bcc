import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import {
  administratorStatus,
  BillingFixture,
  limitsByTier,
  monthlyPriceCents,
  type OrganizationOwner,
  type PlanTier,
} from './billing-fixture.ts';
import { startOfNextMonth } from './billing-model.ts';
import { sendRequest } from './people.ts';

/** Ends of months, failing cards, and unpaid updates, with one clock for Stripe and the server. */

// A time zone with daylight saving from March to November: billing must not depend on it.
process.env.TZ = 'America/New_York';
const folder = mkdtempSync(join(tmpdir(), 'quarry-billing-time-'));
t.teardown(() => rmSync(folder, { recursive: true, force: true }));
// Price of one cent per embedded token.
const embed = {
  lookupKey: 'dear_tokens',
  meter: 'dear_tokens',
  product: 'Dear tokens',
  perMillion: '1000000',
};
const priceOf = (tier: 'starter' | 'teams') => ({
  price: { lookupKey: `quarry_${tier}_monthly`, amount: monthlyPriceCents[tier], product: `Quarry ${tier}` },
});
writeFileSync(
  join(folder, 'plans.json'),
  JSON.stringify({
    currency: 'usd',
    tiers: { starter: priceOf('starter'), teams: priceOf('teams') },
    metered: { embed },
  }),
);
const fixture = await BillingFixture.start(t, '2027-12-31T12:00:00Z', {
  PLANS_FILE: join(folder, 'plans.json'),
});
const { emulator } = fixture;
await (async () => {
  const { billing, products, prices } = fixture.stripe;
  const meter = await billing.meters.create({
    display_name: embed.product,
    event_name: embed.meter,
    default_aggregation: { formula: 'sum' },
  });
  await prices.create({
    ...{ currency: 'usd', product: (await products.create({ name: embed.product })).id, unit_amount: 1 },
    ...{
      lookup_key: embed.lookupKey,
      recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
    },
  });
})();

/** Owner on a tier; the subscription is canceled at the end of the test, so that it does not renew later. */
async function subscribedOwner(
  t: Test,
  tier: Exclude<PlanTier, 'free'>,
  token = 'tok_visa',
): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  t.teardown(async () => {
    const left = owner.subscription();
    if (left !== null) await fixture.stripe.subscriptions.cancel(left.id);
  });
  await owner.call('subscribe', { tier, payment_method_id: await owner.createCard(token) });
  return owner;
}

async function checkTier(t: Test, owner: OrganizationOwner, tier: PlanTier, more: object = {}) {
  const status = await owner.status();
  t.match(status, { subscription_tier: tier, rate_limits: limitsByTier[tier], ...more }, `it is on ${tier}`);
  return status;
}

/** Amount paid of each invoice, oldest first. */
const paid = (owner: OrganizationOwner) => owner.invoices().map((invoice) => invoice.amount_paid);

/** Reports usage to Stripe. */
async function reportUsage(owner: OrganizationOwner, cents: number): Promise<void> {
  const payload = { stripe_customer_id: owner.customer()!, value: String(cents) };
  await fixture.stripe.billing.meterEvents.create({ event_name: embed.meter, payload });
  await fixture.advanceBriefly();
}

/** Price of a number of days of a month. */
const part = (tier: PlanTier, days: number, of: number) => Math.round((monthlyPriceCents[tier] * days) / of);

t.test('months of every length, and the 29th of February, end on the first at 00:00 UTC', async (t) => {
  const december = await subscribedOwner(t, 'starter');
  t.strictSame(paid(december), [part('starter', 0.5, 31)]);
  await fixture.advanceTo('2028-01-31T00:00:00Z');
  t.strictSame(paid(december), [part('starter', 0.5, 31), 5_000]);
  const january = await subscribedOwner(t, 'starter');
  t.strictSame(paid(january), [part('starter', 1, 31)]);
  await checkTier(t, january, 'starter', { current_period_end: '2028-02-01T00:00:00.000Z' });
  await fixture.advanceTo('2028-02-29T12:00:00Z');
  const leap = await subscribedOwner(t, 'teams');
  t.strictSame(paid(leap), [part('teams', 0.5, 29)]);
  await january.call('subscribe', { tier: 'teams' });
  t.strictSame(paid(january), [
    part('starter', 1, 31),
    5_000,
    part('teams', 0.5, 29) - part('starter', 0.5, 29),
  ]);
  await december.call('downgrade', { tier: 'free' });
  await checkTier(t, december, 'starter', {
    pending_downgrade: { tier: 'free', effective_at: '2028-03-01T00:00:00.000Z' },
  });
  await fixture.advanceTo('2028-03-01T02:00:00Z');
  t.equal(paid(january).at(-1), 20_000);
  t.equal(paid(leap).at(-1), 20_000);
  await checkTier(t, leap, 'teams', { current_period_end: '2028-04-01T00:00:00.000Z' });
  await checkTier(t, december, 'free', { status: 'none', pending_downgrade: null });
  t.strictSame(paid(december), [part('starter', 0.5, 31), 5_000, 5_000]);
});

t.test('a lower tier starts on the first, with its price and its limits', async (t) => {
  const owner = await subscribedOwner(t, 'teams');
  await owner.call('downgrade', { tier: 'starter' });
  // April 1 has started in Germany, but not in UTC.
  const ends = await subscribedOwner(t, 'starter');
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
  t.equal(paid(owner).at(-1), 5_000);
});

t.test('an unpaid upgrade expires after 23 hours, and a scheduled downgrade is restored', async (t) => {
  const owner = await subscribedOwner(t, 'starter');
  const changesMind = await subscribedOwner(t, 'starter');
  const card = await owner.createCard('tok_authenticationRequired');
  const goesOn = await subscribedOwner(t, 'starter');
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
    'its page takes no money any more',
  );
  await checkTier(t, goesOn, 'starter', { payment_method: { id: usual.id }, pending_upgrade: null });
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  await checkTier(t, goesOn, 'starter', { status: 'active' });
  t.equal(paid(goesOn).at(-1), 5_000, 'the next month is charged to the previous payment method');
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
  const [pays, never] = [await subscribedOwner(t, 'starter'), await subscribedOwner(t, 'starter')];
  for (const owner of [pays, never])
    emulator.state.cards.set((await owner.status()).payment_method.id, 'declines');
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  for (const owner of [pays, never]) {
    await checkTier(t, owner, 'starter', { status: 'past_due' });
    t.equal((await owner.request('pause')).status, 409, 'with a debt there is no pause');
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
  const owner = await subscribedOwner(t, 'starter');
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

t.test(
  'a pause returns credit, nothing is invoiced while paused, and resuming charges the rest of the month',
  async (t) => {
    const owner = await subscribedOwner(t, 'starter');
    const invoices = owner.invoices().length;
    await fixture.advanceTo('2028-06-24T00:00:00Z');
    await owner.call('pause');
    const unused = part('starter', 7, 30);
    await checkTier(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    await fixture.advanceTo('2028-07-11T00:00:00Z');
    t.equal(owner.invoices().length, invoices + 1);
    const { payment_method: card } = await checkTier(t, owner, 'free', { credit_balance_cents: unused });
    await owner.call('remove-payment-method', { payment_method_id: card.id });
    t.equal(
      (await owner.request('subscribe', { tier: 'starter' })).status,
      402,
      'not more than the credit pays',
    );
    await checkTier(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    const rest = part('starter', 21, 31);
    const resumed = {
      tier: 'starter',
      payment_method_id: await owner.createCard('tok_threeDSecure2Required'),
    };
    const subscribeReply = await owner.call('subscribe', resumed);
    t.match(subscribeReply, { status: 'requires_action', invoice: { amount_due: rest - unused } });
    await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
    await checkTier(t, owner, 'starter', { current_period_end: '2028-08-01T00:00:00.000Z' });
    await fixture.advanceTo('2028-08-01T02:00:00Z');
    t.strictSame(paid(owner).slice(-2), [rest - unused, 5_000]);
  },
);

function secondsOfMonth(now: number): number {
  const end = startOfNextMonth(now);
  const date = new Date(now * 1_000);
  return end - Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000;
}

const sumOf = (all: readonly number[]) => all.reduce((sum, one) => sum + one, 0);

t.test('credit returned by a pause pays for no usage until it pays for a tier again', async (t) => {
  const owner = await subscribedOwner(t, 'teams');
  const first = sumOf(paid(owner));
  await reportUsage(owner, first - 1_000);
  const pauseAndCount = async (used: number) => {
    await owner.call('pause');
    await fixture.advanceBriefly();
    const { credit_balance_cents: credit } = await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal(credit, sumOf(paid(owner)) - used, 'payments are used or remain as credit');
  };
  await pauseAndCount(first - 1_000);
  await owner.call('subscribe', { tier: 'teams' });
  await fixture.advanceBriefly();
  const { usage } = await checkTier(t, owner, 'teams', { credit_balance_cents: 0 });
  t.equal(usage.subscription_payments_cents, sumOf(paid(owner)) - (first - 1_000), 'the rest was used up');
  await reportUsage(owner, 9_000);
  await pauseAndCount(first - 1_000 + 9_000);
});

t.test('a payment is deducted from the usage of its month, also across a pause', async (t) => {
  const [keptOwner, later] = [await subscribedOwner(t, 'teams'), await subscribedOwner(t, 'teams')];
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 15 * 86_400);
  await reportUsage(keptOwner, 2_000);
  const { credit_balance_cents: none } = await checkTier(t, keptOwner, 'teams');
  t.equal(none, 0);
  await keptOwner.call('pause');
  const unused = Math.round(
    (20_000 * (startOfNextMonth(emulator.now) - emulator.now)) / secondsOfMonth(emulator.now),
  );
  await checkTier(t, keptOwner, 'free', { credit_balance_cents: unused });
  await keptOwner.call('subscribe', { tier: 'teams' });
  await fixture.advanceBriefly();
  t.equal(keptOwner.invoices().length, paid(keptOwner).length);
  await reportUsage(keptOwner, 17_000);
  const before = sumOf(paid(keptOwner));
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  t.equal(sumOf(paid(keptOwner)) - before, 20_000, 'all usage was covered by the tier payment');
  // The usage of February is invoiced, so none of it reduces the credit of a pause in the first days of March.
  await fixture.advanceTo(emulator.now + 3_600);
  await reportUsage(later, 5_000);
  await later.call('pause');
  await fixture.advanceBriefly();
  t.equal((await later.status()).credit_balance_cents, 20_000 - 5_000);
});

t.test(
  'credit that was never paid pays for tiers, but such payments are not deducted from usage',
  async (t) => {
    const owner = await fixture.createOwner();
    const coupon = await fixture.stripe.coupons.create({
      duration: 'once',
      amount_off: 60_000,
      currency: 'usd',
    });
    await fixture.stripe.promotionCodes.create({
      code: 'GIFT',
      promotion: { type: 'coupon', coupon: coupon.id },
    });
    await owner.call('redeem-code', { code: 'GIFT' });
    let left = 60_000;
    for (let turn = 0; turn < 2; turn += 1) {
      await owner.call('subscribe', { tier: 'teams', payment_method_id: await owner.createCard() });
      await reportUsage(owner, 5_000);
      const { usage } = await checkTier(t, owner, 'teams');
      t.equal(usage.subscription_payments_cents, 0);
      await owner.call('pause');
      await fixture.advanceBriefly();
      const { credit_balance_cents: credit } = await checkTier(t, owner, 'free');
      t.ok(credit <= left - 5_000 && credit > left - 5_200, `${credit} of ${left} are left`);
      left = credit;
    }
    t.equal(sumOf(paid(owner)), 0);
  },
);

t.test(
  'usage in the first minute is invoiced, and usage invoiced by a pause is no longer billable',
  async (t) => {
    await fixture.advanceTo(startOfNextMonth(emulator.now) - 3 * 86_400 + 20);
    const owner = await subscribedOwner(t, 'starter');
    const { organizationId: organization_id, user } = owner;
    const key = { organization_id, name: 'k', permission: 'all' };
    const { api_key } = (await user.call('organizations/api-keys/add-api-key', key)).body;
    const input = Array.from({ length: 50 }, (_, i) => `a sentence about invoices, number ${i}`);
    let used = 0;
    for (let turn = 0; turn < 2; turn += 1) {
      const answer = await sendRequest(`${fixture.server.url}/v1/models/embed`, {
        headers: { authorization: `Bearer ${api_key}` },
        body: { model: 'zembed-1', input_type: 'document', input },
      });
      const { total_tokens: tokens } = answer.body.usage;
      used += tokens;
      await fixture.advanceTo(emulator.now + 70);
      await owner.call('pause');
      const lines = owner.invoices().at(-1)!.lines.data as { quantity: number | null; amount: number }[];
      t.ok(
        lines.some(({ quantity, amount }) => quantity === tokens && amount === tokens),
        `${tokens} tokens of the first minute are on the invoice`,
      );
      await fixture.advanceBriefly();
      const { usage } = await checkTier(t, owner, 'free', { status: 'paused' });
      t.match(usage, { charges_cents: used, billable_cents: 0 });
      const deducted = usage.subscription_payments_cents;
      t.equal(usage.invoiced_cents + deducted, used, 'all of it was deducted or invoiced');
      t.ok(deducted < 10, 'a minute of a tier was kept');
      await fixture.advanceTo(emulator.now + 130);
      await owner.call('subscribe', { tier: 'starter' });
    }
  },
);

t.test('usage that a pause could not charge is paid before resuming', async (t) => {
  const owner = await subscribedOwner(t, 'starter');
  const { payment_method: bad } = await owner.status();
  await reportUsage(owner, 45_000);
  emulator.state.cards.set(bad.id, 'declines');
  t.match(await owner.call('pause'), { status: 'paused' });
  const openInvoiceCount = () => owner.invoices().filter(({ status }) => status === 'open').length;
  t.equal(openInvoiceCount(), 1);
  const keptOwner = await owner.request('remove-payment-method', { payment_method_id: bad.id });
  t.equal(keptOwner.status, 400, 'there is a debt');
  t.equal((await owner.request('subscribe', { tier: 'starter' })).status, 402);
  await checkTier(t, owner, 'free', { status: 'paused' });
  const body = { tier: 'starter', payment_method_id: await owner.createCard() };
  t.match(await owner.call('subscribe', body), { status: 'resumed' });
  await checkTier(t, owner, 'starter', { status: 'active' });
  t.equal(openInvoiceCount(), 0);
});

t.test('pausing is rejected while the invoice of a new month is a draft', async (t) => {
  const owner = await subscribedOwner(t, 'starter');
  const first = startOfNextMonth(emulator.now);
  await fixture.advanceTo(first + 1_200);
  t.match(await owner.status(), { subscription_tier: 'starter' });
  const refused = await owner.request('pause');
  t.equal(refused.status, 409);
  t.match(refused.body.detail, /Pause after that/);
  await checkTier(t, owner, 'starter', { status: 'active' });
  await fixture.advanceTo(first + 7_200);
  t.match(await owner.call('pause'), { status: 'paused' });
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
  t.strictSame(paid(owner), [rest, 5_000]);
  const { usage } = await owner.status();
  t.equal(usage.subscription_payments_cents, rest + 5_000, 'both were paid in this month');
  await fixture.stripe.subscriptions.cancel(owner.subscription()!.id);
});

t.test('every request is valid at Stripe', async (t) => fixture.checkNoInvalidRequests(t));
