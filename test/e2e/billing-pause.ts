import t from '../support/tap.ts';
import { startOfNextMonth } from './billing-model.ts';
import { fixture } from './billing-month-server.ts';
import { amountsPaid, ownerUntilEnd, partOfMonth, reportUsage } from './billing-plan-file.ts';
import { checkTier, sum, unpaidInvoices } from './billing-steps.ts';
import { sendRequest } from './people.ts';

/** Pauses, and the credit and usage around them, with one clock for Stripe and the server. */

const { emulator } = fixture;

t.test(
  'a pause returns credit, nothing is invoiced while paused, and resuming charges the rest of the month',
  async (t) => {
    await fixture.advanceTo('2028-09-20T02:00:00Z');
    const owner = await ownerUntilEnd(t, fixture, 'starter');
    const invoices = owner.invoices().length;
    await fixture.advanceTo('2028-09-24T00:00:00Z');
    await owner.call('pause');
    const unused = partOfMonth('starter', 7, 30);
    await checkTier(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    await fixture.advanceTo('2028-10-11T00:00:00Z');
    t.equal(owner.invoices().length, invoices + 1);
    const { payment_method: card } = await checkTier(t, owner, 'free', { credit_balance_cents: unused });
    await owner.call('remove-payment-method', { payment_method_id: card.id });
    t.equal(
      (await owner.request('subscribe', { tier: 'starter' })).status,
      402,
      'a charge above the credit is declined',
    );
    await checkTier(t, owner, 'free', { status: 'paused', credit_balance_cents: unused });
    const rest = partOfMonth('starter', 21, 31);
    const resumed = {
      tier: 'starter',
      payment_method_id: await owner.createCard('tok_threeDSecure2Required'),
    };
    const subscribeReply = await owner.call('subscribe', resumed);
    t.match(subscribeReply, { status: 'requires_action', invoice: { amount_due: rest - unused } });
    await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
    await checkTier(t, owner, 'starter', { current_period_end: '2028-11-01T00:00:00.000Z' });
    await fixture.advanceTo('2028-11-01T02:00:00Z');
    t.strictSame(amountsPaid(owner).slice(-2), [rest - unused, 5_000]);
  },
);

function secondsOfMonth(now: number): number {
  const end = startOfNextMonth(now);
  const date = new Date(now * 1_000);
  return end - Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / 1_000;
}

t.test('credit returned by a pause pays for no usage until it pays for a tier again', async (t) => {
  const owner = await ownerUntilEnd(t, fixture, 'teams');
  const first = sum(amountsPaid(owner));
  await reportUsage(fixture, owner, first - 1_000);
  const pauseAndCount = async (used: number) => {
    await owner.call('pause');
    await fixture.advanceBriefly();
    const { credit_balance_cents: credit } = await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal(credit, sum(amountsPaid(owner)) - used, 'payments are used or remain as credit');
  };
  await pauseAndCount(first - 1_000);
  await owner.call('subscribe', { tier: 'teams' });
  await fixture.advanceBriefly();
  const { usage } = await checkTier(t, owner, 'teams', { credit_balance_cents: 0 });
  t.equal(
    usage.subscription_payments_cents,
    sum(amountsPaid(owner)) - (first - 1_000),
    'the remaining credit was used',
  );
  await reportUsage(fixture, owner, 9_000);
  await pauseAndCount(first - 1_000 + 9_000);
});

t.test('a payment is deducted from the usage of its month, also across a pause', async (t) => {
  const [keptOwner, later] = [
    await ownerUntilEnd(t, fixture, 'teams'),
    await ownerUntilEnd(t, fixture, 'teams'),
  ];
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 15 * 86_400);
  await reportUsage(fixture, keptOwner, 2_000);
  const { credit_balance_cents: none } = await checkTier(t, keptOwner, 'teams');
  t.equal(none, 0);
  await keptOwner.call('pause');
  const unused = Math.round(
    (20_000 * (startOfNextMonth(emulator.now) - emulator.now)) / secondsOfMonth(emulator.now),
  );
  await checkTier(t, keptOwner, 'free', { credit_balance_cents: unused });
  await keptOwner.call('subscribe', { tier: 'teams' });
  await fixture.advanceBriefly();
  t.equal(keptOwner.invoices().length, amountsPaid(keptOwner).length);
  await reportUsage(fixture, keptOwner, 17_000);
  const before = sum(amountsPaid(keptOwner));
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 7_200);
  t.equal(sum(amountsPaid(keptOwner)) - before, 20_000, 'all usage was covered by the tier payment');
  // The usage of the ended month is invoiced, so none of it reduces the credit of a pause in the first days of the next.
  await fixture.advanceTo(emulator.now + 3_600);
  await reportUsage(fixture, later, 5_000);
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
      await reportUsage(fixture, owner, 5_000);
      const { usage } = await checkTier(t, owner, 'teams');
      t.equal(usage.subscription_payments_cents, 0);
      await owner.call('pause');
      await fixture.advanceBriefly();
      const { credit_balance_cents: credit } = await checkTier(t, owner, 'free');
      t.ok(credit <= left - 5_000 && credit > left - 5_200, `${credit} of ${left} are left`);
      left = credit;
    }
    t.equal(sum(amountsPaid(owner)), 0);
  },
);

t.test(
  'usage in the first minute is invoiced, and usage invoiced by a pause is no longer billable',
  async (t) => {
    await fixture.advanceTo(startOfNextMonth(emulator.now) - 3 * 86_400 + 20);
    const owner = await ownerUntilEnd(t, fixture, 'starter');
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
      t.ok(deducted < 10, 'one minute of the tier was charged');
      await fixture.advanceTo(emulator.now + 130);
      await owner.call('subscribe', { tier: 'starter' });
    }
  },
);

t.test('usage that a pause could not charge is paid before resuming', async (t) => {
  const owner = await ownerUntilEnd(t, fixture, 'starter');
  const { payment_method: bad } = await owner.status();
  await reportUsage(fixture, owner, 45_000);
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
  const owner = await ownerUntilEnd(t, fixture, 'starter');
  const first = startOfNextMonth(emulator.now);
  await fixture.advanceTo(first + 1_200);
  t.match(await owner.status(), { subscription_tier: 'starter' });
  const refused = await owner.request('pause');
  t.equal(refused.status, 409);
  t.match(refused.body.detail, /Try again after that/);
  await checkTier(t, owner, 'starter', { status: 'active' });
  await fixture.advanceTo(first + 7_200);
  t.match(await owner.call('pause'), { status: 'paused' });
});

t.test('a declined resume and a declined first tier keep the default card', async (t) => {
  await fixture.advanceTo(startOfNextMonth(emulator.now) - 10 * 86_400);
  const owner = await ownerUntilEnd(t, fixture, 'starter');
  const { payment_method: good } = await owner.status();
  await owner.call('pause');
  // The credit of the pause does not cover the rest of the next month.
  await fixture.advanceTo(startOfNextMonth(emulator.now) + 86_400);
  const bad = { tier: 'starter', payment_method_id: await owner.createCard('tok_chargeCustomerFail') };
  t.equal((await owner.request('subscribe', bad)).status, 402);
  await fixture.advanceBriefly();
  t.match(await owner.status(), { status: 'paused', payment_method: { id: good.id } });
  t.strictSame(unpaidInvoices(owner), []);
  const begins = await fixture.createOwner();
  const usual = await begins.createCard();
  await begins.call('add-payment-method', { payment_method_id: usual });
  const first = { tier: 'starter', payment_method_id: await begins.createCard('tok_chargeCustomerFail') };
  t.equal((await begins.request('subscribe', first)).status, 402);
  await fixture.advanceBriefly();
  t.match(await begins.status(), { status: 'none', payment_method: { id: usual } });
  t.strictSame(unpaidInvoices(begins), []);
});
