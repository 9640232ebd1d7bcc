import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t, { type Test } from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import {
  BillingFixture,
  limitsByTier,
  type OrganizationOwner,
  type PlanTier,
  seconds,
} from './billing-fixture.ts';
import { startStripeVariantProxy } from './stripe-variant-proxy.ts';

/** A Stripe account shared with other products, and Stripe replies with fewer or more fields than the emulator's. */

const other = await startStripeVariantProxy(t);
const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z', { STRIPE_API_BASE: other.url });
const { emulator } = fixture;
other.target = emulator.url;

async function subscribedOwner(tier: Exclude<PlanTier, 'free'>): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  const answer = await owner.call('subscribe', { tier, payment_method_id: await owner.createCard() });
  if (answer.status !== 'active') throw new Error(`subscribe: ${answer.status}`);
  return owner;
}

async function checkTier(
  t: Test,
  owner: OrganizationOwner,
  tier: PlanTier,
  more: object = {},
): Promise<void> {
  const status = await owner.status();
  t.match(status, { subscription_tier: tier, rate_limits: limitsByTier[tier], ...more }, `it is on ${tier}`);
}

async function createCode(name: string): Promise<string> {
  const coupon = await fixture.stripe.coupons.create({ duration: 'once', amount_off: 700, currency: 'usd' });
  await fixture.stripe.promotionCodes.create({
    code: name,
    promotion: { type: 'coupon', coupon: coupon.id },
  });
  return name;
}

/** Subscription of the same customer to another product of the company. */
async function otherProduct(customer: string, more: object = {}): Promise<string> {
  const { id } = await fixture.stripe.subscriptions.create({
    customer,
    items: [{ price: await createSupportPrice() }],
    ...more,
  });
  return id;
}

/** Fields of a tax rate. */
const tax = {
  active: true,
  country: 'DE',
  description: null,
  display_name: 'VAT',
  effective_percentage: 19,
  flat_amount: null,
  inclusive: false,
  jurisdiction: null,
  jurisdiction_level: null,
  metadata: {},
  percentage: 19,
  rate_type: 'percentage',
  state: null,
  tax_type: 'vat',
};

async function createSupportPrice(): Promise<string> {
  const { id: product } = await fixture.stripe.products.create({ name: 'Support' });
  const recurring = { interval: 'month' } as const;
  const price = await fixture.stripe.prices.create({ currency: 'usd', product, unit_amount: 900, recurring });
  return price.id;
}

t.test('every plan change works with absent null fields and unknown extra fields', async (t) => {
  const owner = await fixture.createOwner();
  t.match(await owner.call('redeem-code', { code: await createCode('LESS') }), { credit_balance_cents: 700 });
  const percent = await fixture.stripe.coupons.create({ duration: 'once', percent_off: 10 });
  const promotion = { type: 'coupon', coupon: percent.id } as const;
  await fixture.stripe.promotionCodes.create({ code: 'PERCENT', promotion });
  t.equal((await owner.request('redeem-code', { code: 'PERCENT' })).status, 400);
  const card = await owner.createCard('tok_authenticationRequired');
  const subscribeReply = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action' });
  await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url);
  await checkTier(t, owner, 'starter', { status: 'active', pending_upgrade: null });
  t.match(await owner.call('subscribe', { tier: 'teams', payment_method_id: await owner.createCard() }), {
    status: 'active',
  });
  t.match(await owner.call('downgrade', { tier: 'starter' }), { pending_downgrade: { tier: 'starter' } });
  t.match(await owner.call('cancel-downgrade'), { pending_downgrade: null });
  t.match(await owner.call('pause'), { status: 'paused' });
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'resumed' });
  await checkTier(t, owner, 'teams', { credit_balance_cents: 0 });
});

t.test('subscriptions to other products are neither tiers nor changed', async (t) => {
  const owner = await subscribedOwner('starter');
  const customer = owner.customer()!;
  const sold = await otherProduct(customer);
  const begun = await otherProduct(customer, { payment_behavior: 'default_incomplete' });
  await fixture.advanceBriefly();
  await checkTier(t, owner, 'starter', { status: 'active' });
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active', subscription_tier: 'teams' });
  t.equal((await fixture.stripe.subscriptions.retrieve(sold)).status, 'active');
  t.equal((await fixture.stripe.subscriptions.retrieve(begun)).status, 'incomplete');
});

t.test('a repair that Stripe rejects does not withhold a paid tier', async (t) => {
  const owner = await fixture.createOwner();
  const name = await createCode('REFUSED');
  emulator.faults.add({ kind: 'forbidden', operation: /createBalanceTransaction/, times: 1_000 });
  t.equal((await owner.request('redeem-code', { code: name })).status, 502);
  const paid = await owner.request('subscribe', {
    tier: 'starter',
    payment_method_id: await owner.createCard(),
  });
  t.match(paid, { status: 200, body: { status: 'active' } });
  await checkTier(t, owner, 'starter', { stale: false });
  emulator.faults.clear();
  t.match(await owner.call('redeem-code', { code: name }), { credit_cents: 700 });
});

t.test('a declined upgrade keeps the scheduled downgrade', async (t) => {
  const owner = await subscribedOwner('starter');
  const planned = await owner.call('downgrade', { tier: 'free' });
  const bad = await owner.createCard('tok_chargeCustomerFail');
  const declined = await owner.request('subscribe', { tier: 'teams', payment_method_id: bad });
  t.equal(declined.status, 402);
  await checkTier(t, owner, 'starter', {
    pending_downgrade: planned.pending_downgrade,
    pending_upgrade: null,
  });
});

t.test('a downgrade that Stripe rejects halfway does not block the subscription', async (t) => {
  const owner = await subscribedOwner('teams');
  emulator.faults.add({ kind: 'forbidden', operation: /^SubscriptionSchedules\.update$/ });
  t.equal((await owner.request('downgrade', { tier: 'starter' })).status, 502);
  t.equal(owner.subscription()!.schedule, null);
  t.match(await owner.call('pause'), { status: 'paused' });
});

t.test('the invoice of an abandoned first tier is voided', async (t) => {
  const owner = await fixture.createOwner();
  const bad = await owner.createCard('tok_chargeCustomerFail');
  t.equal((await owner.request('subscribe', { tier: 'starter', payment_method_id: bad })).status, 402);
  const [left] = owner.invoices();
  // Simulates a subscription that ended and left its invoice open.
  left!.status = 'open';
  await fixture.advanceBriefly();
  await checkTier(t, owner, 'free', { invoices: [{ status: 'void' }] });
});

t.test('an end scheduled in the Stripe dashboard is canceled, however it was scheduled', async (t) => {
  for (const end of [{ cancel_at_period_end: true }, { cancel_at: seconds('2027-03-20') }]) {
    const owner = await subscribedOwner('starter');
    await fixture.stripe.subscriptions.update(owner.subscription()!.id, end);
    await fixture.advanceBriefly();
    await checkTier(t, owner, 'starter', { pending_downgrade: { tier: 'free' } });
    t.match(await owner.call('cancel-downgrade'), { pending_downgrade: null });
    t.match(owner.subscription(), { cancel_at: null, cancel_at_period_end: false });
  }
});

t.test('a customer deleted in the Stripe dashboard can subscribe again', async (t) => {
  const owner = await subscribedOwner('starter');
  const before = owner.customer()!;
  await fixture.stripe.customers.del(before);
  await fixture.waitUntilSynced();
  await checkTier(t, owner, 'free', { stale: false, status: 'none', payment_methods: [], invoices: [] });
  const again = { tier: 'teams', payment_method_id: await owner.createCard() };
  t.match(await owner.call('subscribe', again), { status: 'active' });
  await checkTier(t, owner, 'teams');
  t.not(owner.customer(), before);
});

t.test('with the key of another account no paid tier is lost and nothing is charged twice', async (t) => {
  const [stays, leaves, free] = [
    await subscribedOwner('starter'),
    await subscribedOwner('starter'),
    await fixture.createOwner(),
  ];
  await free.call('add-payment-method', { payment_method_id: await free.createCard() });
  // Processes the events now, so that no read happens in the middle of the change.
  await fixture.waitUntilSynced();
  for (const owner of [stays, leaves, free]) {
    const { state: known } = emulator;
    const customer = owner.customer()!;
    for (const kind of ['subscription', 'invoice', 'payment_method'])
      for (const one of known.listObjects(kind)) if (one.customer === customer) known.remove(one.id);
    known.remove(customer);
  }
  await fixture.advanceTo(emulator.now + 60);
  await checkTier(t, stays, 'starter', { stale: true, status: 'active' });
  const { organizationId: organization_id } = leaves;
  const removal = () => leaves.user.call('organizations/delete-organization', { organization_id });
  for (const refused of [await stays.request('subscribe', { tier: 'teams' }), await removal()])
    t.match(refused, {
      status: 409,
      body: { detail: /until 2027-04-01T00:00:00.000Z in another Stripe account/ },
    });
  await checkTier(t, free, 'free', { stale: true, payment_methods: [{ last4: '4242' }] });
  const start = { tier: 'starter', payment_method_id: await free.createCard() };
  t.match(
    await free.call('subscribe', start),
    { status: 'active' },
    'an organization without a payment starts in the new account',
  );
  await fixture.advanceTo('2027-04-01T02:00:00Z');
  await checkTier(t, stays, 'free', { stale: false, status: 'none' });
  const request = { tier: 'starter', payment_method_id: await stays.createCard() };
  t.match(await stays.call('subscribe', request), { status: 'active' });
  await leaves.signIn();
  t.equal((await removal()).status, 200);
});

t.test('manual changes of the operator to a subscription survive a downgrade', async (t) => {
  const owner = await subscribedOwner('teams');
  const subscription = owner.subscription()!;
  const price = await createSupportPrice();
  await fixture.stripe.subscriptions.update(subscription.id, { items: [{ price }] });
  const taxRate = emulator.state.add({ id: 'txr_by_hand', object: 'tax_rate', ...tax });
  Object.assign(subscription, { discounts: ['di_by_hand'], default_tax_rates: [taxRate] });
  const priced = () =>
    subscription.items.data.map(
      (item: { price: string }) => emulator.state.get('price', item.price).unit_amount,
    );
  await owner.call('downgrade', { tier: 'starter' });
  await fixture.advanceTo('2027-05-01T02:00:00Z');
  await checkTier(t, owner, 'starter', { pending_downgrade: null });
  t.match(subscription, { discounts: ['di_by_hand'], default_tax_rates: [taxRate], schedule: null });
  t.strictSame(priced(), [5_000, null, null, 900]);
});

t.test('subscribers of a manually created price keep the tier when setup creates a new one', async (t) => {
  const owner = await subscribedOwner('starter');
  const folder = mkdtempSync(join(tmpdir(), 'quarry-billing-other-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const price = (lookupKey: string, amount: number) => ({ price: { lookupKey, amount, product: 'Quarry' } });
  const tiers = {
    starter: price('quarry_starter_monthly', 6_000),
    teams: price('quarry_teams_monthly', 20_000),
  };
  const file = join(folder, 'plans.json');
  writeFileSync(file, JSON.stringify({ currency: 'usd', tiers }));
  const env = {
    PATH: process.env.PATH,
    QUARRY_STRIPE_API_BASE: emulator.url,
    QUARRY_STRIPE_SECRET_KEY: emulator.secretKey,
    QUARRY_PLANS_FILE: file,
  };
  const cli = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');
  const { stdout } = await promisify(execFile)(process.execPath, [cli, 'billing', 'setup'], { env });
  t.match(stdout, /price quarry_starter_monthly: created again/);
  await fixture.advanceTo(emulator.now + 60);
  await checkTier(t, owner, 'starter', { status: 'active' });
  t.match(await owner.call('downgrade', { tier: 'free' }), { pending_downgrade: { tier: 'free' } });
  await owner.call('cancel-downgrade');
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active' });
});

t.test('nothing of a deleted organization is charged', async (t) => {
  const owner = await subscribedOwner('starter');
  const customer = owner.customer()!;
  const { data: prices } = await fixture.stripe.prices.list({ lookup_keys: ['quarry_teams_monthly'] });
  await fixture.stripe.subscriptions.create({ customer, items: [{ price: prices[0]!.id }] });
  const { organizationId: organization_id } = owner;
  const deletedOrganization = await owner.user.call('organizations/delete-organization', { organization_id });
  t.equal(deletedOrganization.status, 200, deletedOrganization.text);
  const subscriptions = () =>
    emulator.state.listObjects('subscription').filter((one) => one.customer === customer);
  await waitUntil('the end of both', () => subscriptions().every(({ status }) => status === 'canceled'));
  t.strictSame(
    subscriptions().map(({ status }) => status),
    ['canceled', 'canceled'],
  );
});

t.test('every request is valid for Stripe', async (t) => fixture.checkNoInvalidRequests(t));
