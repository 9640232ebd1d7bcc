import t, { type Test } from 'tap';
import { signatureHeader } from '../support/stripe-emulator/webhooks.ts';
import {
  administratorStatus,
  BillingFixture,
  limitsByTier,
  monthlyPriceCents,
  type OrganizationOwner,
  type PlanTier,
  seconds,
} from './billing-fixture.ts';
import { sendRequest, TestUser } from './people.ts';

/** Payments and the resulting tiers, through the HTTP API of a server that uses the Stripe emulator. */

const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z', { STRIPE_SECONDS_MAX: '1' });
const { emulator } = fixture;

/** Owner on a tier paid by card. */
async function subscribedOwner(
  tier: Exclude<PlanTier, 'free'>,
  token = 'tok_visa',
): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  const answer = await owner.request('subscribe', { tier, payment_method_id: await owner.createCard(token) });
  if (answer.status !== 200 || answer.body.status !== 'active')
    throw new Error(`subscribe: ${answer.status} ${answer.text}`);
  return owner;
}

/** Checks the reported tier and that the limits are those of the tier. */
async function checkTier(t: Test, owner: OrganizationOwner, tier: PlanTier, more: object = {}) {
  const status = await owner.status();
  const expected = { stale: false, subscription_tier: tier, rate_limits: limitsByTier[tier], ...more };
  t.match(status, expected, `it is on ${tier}`);
  return status;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

/** Total collected from cards. */
function collected(owner: OrganizationOwner): number {
  return sum(owner.invoices().map((invoice) => invoice.amount_paid));
}

/** Total of open invoices, which must be zero after a change. */
function openAmount(owner: OrganizationOwner): number {
  return sum(
    owner
      .invoices()
      .filter(({ status }) => status === 'open')
      .map((invoice) => invoice.amount_remaining),
  );
}

/** Audit log entries about cards, newest first. */
async function cardEntries({ user, organizationId: organization_id }: OrganizationOwner) {
  const { entries } = (await user.call('organizations/get-audit-log', { organization_id })).body;
  return entries.filter(({ action }: { action: string }) => action.startsWith('billing.payment_method_'));
}

/** Price of the rest of March from a given time. */
function remainingCents(tier: PlanTier, from: number): number {
  return Math.round((monthlyPriceCents[tier] * (seconds('2027-04-01') - from)) / (31 * 86_400));
}

t.test('without payments, status shows the tier, prices and limits', async (t) => {
  const owner = await fixture.createOwner();
  const status = await checkTier(t, owner, 'free', {
    status: 'none',
    payment_method: null,
    invoices: [],
    pending_downgrade: null,
  });
  t.match(
    status.pricing.filter(({ tier }: { tier: string }) => tier === 'starter' || tier === 'teams'),
    [
      { tier: 'starter', monthly_price_cents: 5_000, currency: 'usd' },
      { tier: 'teams', monthly_price_cents: 20_000, currency: 'usd' },
    ],
  );
  t.match(await owner.user.call('users/get-user'), { body: { billing_enabled: true } });
});

t.test('the operator account can subscribe without a mail address', async (t) => {
  const link = /https?:\S+verify\?token=\S+/.exec(fixture.server.printedText)?.[0] ?? '';
  const { body } = await sendRequest(link, { method: 'GET', headers: { accept: 'application/json' } });
  const headers = { authorization: `Bearer ${body.access_token}` };
  const ask = async (operation: string, request: object) =>
    (await sendRequest(`${fixture.server.url}/api/${operation}`, { headers, body: request })).body;
  const { organization_id } = await ask('organizations/add-organization', { name: 'Of the operator' });
  const request = { organization_id, tier: 'starter', payment_method_id: 'pm_card_visa' };
  t.match(await ask('billing/subscribe', request), { status: 'active', subscription_tier: 'starter' });
  const customer = emulator.state.listObjects('customer').find(({ name }) => name === 'Of the operator');
  t.equal(customer?.email, null, 'Stripe sends no mail');
});

t.test('the first tier is charged at once for the rest of the month', async (t) => {
  const owner = await subscribedOwner('starter');
  const status = await checkTier(t, owner, 'starter', {
    status: 'active',
    current_period_end: '2027-04-01T00:00:00.000Z',
  });
  const [invoice] = owner.invoices();
  const from = invoice!.lines.data[0]!.period.start;
  t.equal(invoice!.amount_paid, remainingCents('starter', from));
  t.match(status.invoices, [
    { status: 'paid', amount_paid: remainingCents('starter', from), currency: 'usd' },
  ]);
  t.match(status.payment_method, { brand: 'visa', last4: '4242' });
  t.equal((await owner.request('subscribe', { tier: 'starter' })).status, 400, 'the same tier again');
  t.equal(collected(owner), remainingCents('starter', from));
});

t.test('a card that requires authentication is charged later on the hosted page', async (t) => {
  const owner = await fixture.createOwner();
  const card = await owner.createCard('tok_authenticationRequired');
  const subscribeReply = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action', subscription_tier: 'free', pending_tier: 'starter' });
  const payment = emulator.state
    .listObjects('payment_intent')
    .find((one) => one.customer === owner.customer());
  t.equal(payment?.status, 'requires_action', 'the bank requests confirmation instead of declining');
  await checkTier(t, owner, 'free', {
    pending_upgrade: { tier: 'starter', hosted_invoice_url: subscribeReply.hosted_invoice_url },
  });
  const again = await owner.call('subscribe', { tier: 'starter' });
  t.equal(again.hosted_invoice_url, subscribeReply.hosted_invoice_url, 'repeated, it is the same invoice');
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  await checkTier(t, owner, 'starter', { status: 'active', pending_upgrade: null });
  t.equal(owner.invoices().length, 1);
});

t.test('an upgrade that needs bank confirmation changes nothing until it is paid', async (t) => {
  const owner = await subscribedOwner('starter');
  const card = await owner.createCard('tok_authenticationRequired');
  const subscribeReply = await owner.call('subscribe', { tier: 'teams', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action', subscription_tier: 'starter', pending_tier: 'teams' });
  await checkTier(t, owner, 'starter', { pending_upgrade: { tier: 'teams' } });
  t.equal((await owner.request('downgrade', { tier: 'free' })).status, 409, 'no downgrade while it waits');
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  await checkTier(t, owner, 'teams', { pending_upgrade: null });
});

t.test('a declined card leaves no subscription and no debt, and the reply has the reason', async (t) => {
  const owner = await fixture.createOwner();
  const bad = await owner.createCard('tok_chargeCustomerFail');
  const declined = await owner.request('subscribe', { tier: 'starter', payment_method_id: bad });
  t.match(declined, { status: 402, body: { detail: /declined/ } });
  await checkTier(t, owner, 'free', { pending_upgrade: null });
  t.equal(openAmount(owner), 0);
  t.equal(owner.subscription(), null);
  const good = await owner.createCard();
  t.match(await owner.call('subscribe', { tier: 'starter', payment_method_id: good }), { status: 'active' });
  const raised = await owner.request('subscribe', {
    tier: 'teams',
    payment_method_id: await owner.createCard('tok_chargeCustomerFail'),
  });
  t.equal(raised.status, 402);
  await checkTier(t, owner, 'starter', { pending_upgrade: null });
  t.equal(openAmount(owner), 0, 'nothing is left of the attempt');
});

t.test('a double click is charged once', async (t) => {
  for (const headers of [{ 'idempotency-key': 'one click' }, {}]) {
    const owner = await fixture.createOwner();
    const body = { tier: 'starter', payment_method_id: await owner.createCard() };
    const clicks = await Promise.all([1, 2, 3].map(() => owner.request('subscribe', body, headers)));
    const statuses = clicks.map(({ status }) => status).sort();
    t.ok(
      statuses.includes(200) && statuses.every((status) => [200, 400, 409].includes(status)),
      statuses.join(' '),
    );
    await checkTier(t, owner, 'starter');
    t.equal(owner.invoices().filter(({ status }) => status === 'paid').length, 1);
  }
});

t.test('concurrent subscribe and downgrade: only one succeeds', async (t) => {
  const owner = await subscribedOwner('starter');
  const both = await Promise.all([
    owner.request('subscribe', { tier: 'teams' }),
    owner.request('downgrade', { tier: 'free' }),
  ]);
  t.ok(
    both.some(({ status }) => status === 200),
    both.map(({ status }) => status).join(' '),
  );
  t.ok(both.every(({ status }) => [200, 400, 409].includes(status)));
  const status = await owner.status();
  t.equal(owner.subscription()!.schedule !== null, status.pending_downgrade !== null);
});

t.test('lost, repeated or reordered events change nothing', async (t) => {
  const { webhooks } = emulator;
  webhooks.deliveryMode = () => 'lost';
  const lost = await subscribedOwner('starter', 'tok_visa');
  const card = await lost.createCard('tok_authenticationRequired');
  const subscribeReply = await lost.call('subscribe', { tier: 'teams', payment_method_id: card });
  await lost.payOnInvoicePage(subscribeReply.hosted_invoice_url);
  await fixture.advanceBriefly();
  await checkTier(t, lost, 'teams');
  webhooks.deliveryMode = () => 'twice';
  await checkTier(t, await subscribedOwner('teams'), 'teams');
  webhooks.deliveryMode = () => 'held';
  const reversed = await subscribedOwner('starter');
  t.match(await reversed.call('subscribe', { tier: 'teams' }), { status: 'active' });
  webhooks.deliveryMode = () => 'sent';
  webhooks.release((messages) => [...messages].reverse());
  await webhooks.waitUntilDelivered();
  t.ok(webhooks.deliveries.every(({ status }) => status === 200));
  await checkTier(t, reversed, 'teams');
  t.equal(reversed.invoices().length, 2);
});

t.test(
  'upgrade and downgrade in one month: the rest is charged now, the lower price from the first',
  async (t) => {
    const owner = await subscribedOwner('starter');
    t.match(await owner.call('subscribe', { tier: 'teams' }), {
      status: 'active',
      subscription_tier: 'teams',
    });
    const [, upgrade] = owner.invoices();
    const from = upgrade!.lines.data[0]!.period.start;
    t.equal(upgrade!.amount_paid, remainingCents('teams', from) - remainingCents('starter', from));
    const lowered = await owner.call('downgrade', { tier: 'starter' });
    t.match(lowered.pending_downgrade, { tier: 'starter', effective_at: '2027-04-01T00:00:00.000Z' });
    t.match(
      (await owner.call('downgrade', { tier: 'starter' })).pending_downgrade,
      lowered.pending_downgrade,
      'the same again',
    );
    await checkTier(t, owner, 'teams', { pending_downgrade: { tier: 'starter' } });
    t.match(await owner.call('cancel-downgrade'), { pending_downgrade: null });
    t.equal((await owner.request('cancel-downgrade')).status, 400);
    t.equal(owner.subscription()!.schedule, null);
    t.equal((await owner.request('downgrade', { tier: 'teams' })).status, 400, 'not lower');
  },
);

t.test('an upgrade cancels a scheduled downgrade', async (t) => {
  const owner = await subscribedOwner('starter');
  await owner.call('downgrade', { tier: 'free' });
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active' });
  await checkTier(t, owner, 'teams', { pending_downgrade: null });
});

t.test('a declined upgrade keeps the scheduled downgrade and the default card', async (t) => {
  const owner = await subscribedOwner('starter');
  const { payment_method: usual } = await owner.status();
  await owner.call('downgrade', { tier: 'free' });
  const bad = await owner.createCard('tok_chargeCustomerFail');
  t.equal((await owner.request('subscribe', { tier: 'teams', payment_method_id: bad })).status, 402);
  await checkTier(t, owner, 'starter', {
    pending_downgrade: { tier: 'free' },
    payment_method: { id: usual.id },
  });
  t.equal(owner.subscription()!.default_payment_method, usual.id, 'the next month is charged to it');
  t.equal(openAmount(owner), 0);
});

t.test(
  'a pause stops the subscription until it is resumed; rejected while a downgrade is scheduled',
  async (t) => {
    const owner = await subscribedOwner('starter');
    await owner.call('downgrade', { tier: 'free' });
    t.equal((await owner.request('pause')).status, 409);
    await owner.call('cancel-downgrade');
    t.match(await owner.call('pause'), { status: 'paused' });
    await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal((await owner.request('downgrade', { tier: 'free' })).status, 409);
    const resumed = await owner.call('subscribe', { tier: 'starter' });
    t.match(resumed, { status: 'resumed', subscription_tier: 'starter' });
    await checkTier(t, owner, 'starter', { status: 'active' });
    t.equal((await (await fixture.createOwner()).request('pause')).status, 400, 'nothing to pause');
  },
);

/** Promotion code worth a number of cents. */
async function createPromotionCode(
  code: string,
  worth: object = { amount_off: 1_500, currency: 'usd' },
  more: object = {},
) {
  const coupon = await fixture.stripe.coupons.create({ duration: 'once', ...worth });
  return fixture.stripe.promotionCodes.create({
    code,
    promotion: { type: 'coupon', coupon: coupon.id },
    ...more,
  });
}

t.test('a preview shows the charge of a higher tier to the cent and changes nothing', async (t) => {
  await createPromotionCode('EARLY');
  const owner = await fixture.createOwner();
  const first = await owner.call('preview', { tier: 'starter' });
  t.match(first, {
    subscription_tier: 'starter',
    currency: 'usd',
    due_cents: remainingCents('starter', emulator.now),
    credit_cents: 0,
    monthly_price_cents: monthlyPriceCents.starter,
    next_invoice_at: '2027-04-01T00:00:00.000Z',
  });
  t.equal(owner.customer(), null, 'a preview creates no customer');
  await owner.call('redeem-code', { code: 'EARLY' });
  const withCredit = await owner.call('preview', { tier: 'starter' });
  t.match(withCredit, { credit_cents: 1_500, due_cents: first.due_cents - 1_500 });
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
  t.equal(collected(owner), withCredit.due_cents);

  await owner.status();
  const before = JSON.stringify(emulator.state.events);
  const preview = await owner.call('preview', { tier: 'teams' });
  t.match(preview.lines, [
    {
      description: /Unused time on Quarry starter/,
      amount_cents: -remainingCents('starter', seconds(preview.as_of)),
    },
    {
      description: /Remaining time on Quarry teams/,
      amount_cents: remainingCents('teams', seconds(preview.as_of)),
    },
  ]);
  t.equal(preview.total_cents, sum(preview.lines.map((line: { amount_cents: number }) => line.amount_cents)));
  for (const [tier, expected] of [
    ['starter', 400],
    ['free', 400],
    ['enterprise', 400],
    ['gold', 422],
  ] as const)
    t.equal((await owner.request('preview', { tier })).status, expected, tier);
  t.equal(JSON.stringify(emulator.state.events), before, 'nothing happened');
  await fixture.advanceTo(emulator.now + 1_200);
  const { as_of } = preview;
  for (const wrong of ['2027-03-10T10:00:00Z', '2027-03-12T00:00:00Z'])
    t.equal((await owner.request('subscribe', { tier: 'teams', as_of: wrong })).status, 409, wrong);
  for (const wrong of ['now', 7])
    t.equal((await owner.request('subscribe', { tier: 'teams', as_of: wrong })).status, 422, String(wrong));
  t.equal(collected(owner), withCredit.due_cents, 'and nothing was charged');
  const without = await owner.call('preview', { tier: 'teams' });
  t.ok(without.due_cents < preview.due_cents, 'it would be less by now');
  await owner.call('subscribe', { tier: 'teams', as_of });
  t.equal(collected(owner), withCredit.due_cents + preview.due_cents, 'the charge equals the preview');
  await owner.call('pause');
  t.equal((await owner.request('preview', { tier: 'starter' })).status, 409, 'another tier is paused');
  const resumption = await owner.call('preview', { tier: 'teams' });
  t.match(resumption, { due_cents: 0, credit_cents: remainingCents('teams', emulator.now) });
  await fixture.advanceTo(emulator.now + 86_400);
  const later = await owner.call('preview', { tier: 'teams' });
  t.match(later, { next_invoice_at: '2027-04-01T00:00:00.000Z', due_cents: 0 });
  t.ok(later.credit_cents < resumption.credit_cents, 'a day less');
  const beforeIt = { tier: 'teams', as_of: preview.as_of };
  t.equal((await owner.request('subscribe', beforeIt)).status, 409, 'a preview of before the pause');
  const { credit_balance_cents: balance } = await owner.status();
  await fixture.advanceTo(emulator.now + 1_800);
  await owner.call('subscribe', { tier: 'teams', as_of: later.as_of });
  const { credit_balance_cents: left } = await owner.status();
  t.equal(balance - left, later.total_cents, 'the charge of a resume equals the preview, too');

  const subscribeReply = await fixture.createOwner();
  const card = await subscribeReply.createCard('tok_authenticationRequired');
  await subscribeReply.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.equal(
    (await subscribeReply.request('preview', { tier: 'starter' })).status,
    409,
    'it waits for its payment',
  );
  t.match(await subscribeReply.call('preview', { tier: 'teams' }), {
    due_cents: remainingCents('teams', emulator.now),
  });
});

t.test('a code is redeemed once, however often and fast it is sent', async (t) => {
  await createPromotionCode('ONCE');
  const owner = await fixture.createOwner();
  const tries = await Promise.all([1, 2, 3, 4].map(() => owner.request('redeem-code', { code: 'ONCE' })));
  t.equal(
    tries.filter(({ status }) => status === 200).length,
    1,
    tries.map(({ status }) => status).join(' '),
  );
  const again = { status: 400, body: { detail: /^This organization has already redeemed this code/ } };
  t.match(await owner.request('redeem-code', { code: 'ONCE' }), again);
  t.equal((await owner.status()).credit_balance_cents, 1_500);
  const other = await fixture.createOwner();
  t.match(await other.call('redeem-code', { code: 'ONCE' }), { credit_cents: 1_500, currency: 'usd' });
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.createCard() });
  const [invoice] = owner.invoices();
  t.equal(invoice!.amount_paid, invoice!.total - 1_500, 'the credit paid a part of the first invoice');
});

t.test(
  'the redemption limit of a coupon covers all of its codes, and a code can be restricted to a customer',
  async (t) => {
    const coupon = await fixture.stripe.coupons.create({
      ...{ duration: 'once', amount_off: 900, currency: 'usd', max_redemptions: 2 },
    });
    for (const code of ['SPRING', 'MARCH', 'EASTER'])
      await fixture.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
    for (const code of ['SPRING', 'MARCH'])
      t.match(await (await fixture.createOwner()).call('redeem-code', { code }), { credit_cents: 900 });
    const [late, own] = [await fixture.createOwner(), await subscribedOwner('starter')];
    t.equal((await late.request('redeem-code', { code: 'EASTER' })).status, 400, 'the third use of two');
    await createPromotionCode('PERSONAL', { amount_off: 300, currency: 'usd' }, { customer: own.customer() });
    const { id: other } = await fixture.stripe.customers.create({});
    await createPromotionCode('PERSONAL', undefined, { customer: other });
    t.match(await own.call('redeem-code', { code: 'PERSONAL' }), { credit_cents: 300 });
    t.equal((await late.request('redeem-code', { code: 'PERSONAL' })).status, 400);
  },
);

t.test('the last use of a code goes to one of several concurrent requests', async (t) => {
  await createPromotionCode('LAST', undefined, { max_redemptions: 2 });
  const owners = [
    await fixture.createOwner(),
    await fixture.createOwner(),
    await fixture.createOwner(),
    await fixture.createOwner(),
  ];
  const answers = await Promise.all(owners.map((owner) => owner.request('redeem-code', { code: 'LAST' })));
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 400, 400]);
  const credits = await Promise.all(owners.map(async (owner) => (await owner.status()).credit_balance_cents));
  t.equal(sum(credits), 3_000);
});

t.test('worthless codes all get the same message, and guessing is limited', async (t) => {
  await createPromotionCode('EURO', { amount_off: 1_500, currency: 'eur' });
  await createPromotionCode('PERCENT', { percent_off: 10 });
  await createPromotionCode('OVER', undefined, { expires_at: emulator.now - 60 });
  await createPromotionCode('ONLYONE', undefined, { max_redemptions: 1 });
  const restrictions = { minimum_amount: 9_900, minimum_amount_currency: 'usd' };
  await createPromotionCode('FROM99', undefined, { restrictions });
  await createPromotionCode('OTHER', undefined, { customer: (await fixture.stripe.customers.create({})).id });
  const { id: support } = await fixture.stripe.products.create({ name: 'Support' });
  const sold = (await fixture.stripe.prices.list({ limit: 100 })).data.map(({ product }) => product);
  const only = (products: unknown[]) => ({ amount_off: 300, currency: 'usd', applies_to: { products } });
  await createPromotionCode('SUPPORT', only([support]));
  await createPromotionCode('ONEPLAN', only([sold[0]]));
  await createPromotionCode('ALLPLANS', only([...new Set(sold), support]));
  const lucky = await fixture.createOwner();
  await lucky.call('redeem-code', { code: 'ONLYONE' });
  t.match(await lucky.call('redeem-code', { code: 'ALLPLANS' }), { credit_cents: 300 });
  const owner = await fixture.createOwner();
  const answers = [];
  for (const code of [
    'EURO',
    'PERCENT',
    'OVER',
    'ONLYONE',
    'FROM99',
    'OTHER',
    'SUPPORT',
    'ONEPLAN',
    'NEVER',
    'a code\r\nwith lines',
  ])
    answers.push(await owner.request('redeem-code', { code }));
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map(() => 400),
  );
  t.equal(new Set(answers.map(({ body }) => body.detail)).size, 1, 'the reason is not revealed');
  const guesses = [];
  for (let i = 0; i < 5; i += 1)
    guesses.push((await owner.request('redeem-code', { code: `GUESS${i}` })).status);
  t.equal(guesses.at(-1), 429);
  t.equal((await owner.status()).credit_balance_cents, 0);
  const guess = (by: OrganizationOwner) => by.request('redeem-code', { code: 'GUESS' });
  await owner.createOrganization('Another organization');
  t.match(await guess(owner), { status: 429, body: { detail: /Too many promo codes/ } }, 'of the same user');
  const [second, third] = [await fixture.createOwner(), await fixture.createOwner()];
  for (const { user } of [second, third]) user.headers = owner.user.headers;
  for (let i = 0; i < 10; i += 1) t.equal((await guess(second)).status, 400);
  t.equal((await guess(third)).status, 429, 'a new user on the same host is limited, too');
});

t.test('when the reply of Stripe is lost, nothing is done twice', async (t) => {
  const work = [/^Subscriptions\.create$/, /^Invoices\.pay$/, /^Customers\.create$/];
  for (const operation of work) {
    for (const kind of ['error-after', 'lost-after', 'error-remembered'] as const) {
      const owner = await fixture.createOwner();
      const body = { tier: 'starter', payment_method_id: await owner.createCard() };
      emulator.faults.add({ kind, operation, times: 4 });
      const first = await owner.request('subscribe', body);
      t.ok([200, 502, 503].includes(first.status), `${kind} of ${operation.source}: ${first.status}`);
      emulator.faults.clear();
      for (let tries = 0; tries < 3 && owner.subscription()?.status !== 'active'; tries += 1)
        await owner.request('subscribe', body);
      await checkTier(t, owner, 'starter', { status: 'active' });
      t.equal(owner.invoices().filter(({ amount_paid: paid }) => paid > 0).length, 1, 'one payment');
      t.equal(openAmount(owner), 0);
    }
  }
});

/** Sends a request while Stripe executes an operation but its replies are lost. */
async function withLostReply(
  operation: RegExp,
  ask: () => Promise<{ readonly status: number }>,
): Promise<number> {
  emulator.faults.add({ kind: 'lost-after', operation, times: 4 });
  const { status } = await ask();
  emulator.faults.clear();
  return status;
}

t.test('after a lost reply and a change back, the last request applies', async (t) => {
  const [lowers, pauses] = [await subscribedOwner('teams'), await subscribedOwner('starter')];
  const free = { tier: 'free' };
  t.equal(
    await withLostReply(/^SubscriptionSchedules\.update$/, () => lowers.request('downgrade', free)),
    503,
  );
  for (const tier of ['starter', 'free'])
    t.match(await lowers.call('downgrade', { tier }), { pending_downgrade: { tier } });
  await checkTier(t, lowers, 'teams', { pending_downgrade: free });
  t.equal(await withLostReply(/^Subscriptions\.pause$/, () => pauses.request('pause')), 503);
  t.match(await pauses.call('subscribe', { tier: 'starter' }), { status: 'resumed' });
  t.match(await pauses.call('pause'), { status: 'paused' });
  await checkTier(t, pauses, 'free', { status: 'paused' });
});

t.test('an organization renamed while Stripe does not respond gets one customer', async (t) => {
  const owner = await fixture.createOwner();
  const body = { tier: 'starter', payment_method_id: await owner.createCard() };
  t.equal(await withLostReply(/^Customers\.create$/, () => owner.request('subscribe', body)), 503);
  const { organizationId: organization_id } = owner;
  await owner.user.call('organizations/update-organization', { organization_id, name: 'Another name' });
  t.match(await owner.call('subscribe', body), { status: 'active' });
  const isOwnCustomer = ({ metadata }: { metadata: Record<string, string> }) =>
    metadata.organization_id === organization_id;
  t.equal((emulator.state.listObjects('customer') as never[]).filter(isOwnCustomer).length, 1);
});

t.test('a redeemed code whose reply was lost is credited once', async (t) => {
  await createPromotionCode('LOST');
  for (const kind of ['error-after', 'lost-after'] as const) {
    const owner = await fixture.createOwner();
    emulator.faults.add({ kind, operation: /createBalanceTransaction/, times: 4 });
    t.ok((await owner.request('redeem-code', { code: 'LOST' })).status >= 500);
    emulator.faults.clear();
    await owner.request('redeem-code', { code: 'LOST' });
    t.equal((await owner.status()).credit_balance_cents, 1_500);
  }
});

t.test('while Stripe is down, status is marked as stale and nothing changes', async (t) => {
  const owner = await subscribedOwner('starter');
  const [lowering, pausing, free] = [
    await subscribedOwner('starter'),
    await subscribedOwner('starter'),
    await fixture.createOwner(),
  ];
  for (const customer of [owner, lowering, pausing, free]) await customer.status();
  emulator.faults.add({ kind: 'lost-before', times: 10_000 });
  await fixture.advanceBriefly();
  const status = await owner.call('status');
  t.match(status, { stale: true, subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  const writes: readonly [OrganizationOwner, string, object][] = [
    [owner, 'preview', { tier: 'teams' }],
    [owner, 'subscribe', { tier: 'teams' }],
    [lowering, 'downgrade', { tier: 'free' }],
    [pausing, 'pause', {}],
    [free, 'redeem-code', { code: 'ONCE' }],
  ];
  const refuse = async ([customer, operation, body]: (typeof writes)[number]) => {
    const { status: code, body: reply } = await customer.request(operation, body);
    t.ok(code === 502 || code === 503, `${operation} answers ${code}`);
    t.equal(typeof reply.detail, 'string');
  };
  await Promise.all(writes.map(refuse));
  emulator.faults.clear();
  for (const customer of [owner, lowering, pausing]) {
    await checkTier(t, customer, 'starter', { stale: false, pending_downgrade: null, status: 'active' });
    t.equal(customer.invoices().length, 1);
  }
});

t.test('a card entered at Stripe is shown at once, also before the event of Stripe arrives', async (t) => {
  const owner = await fixture.createOwner();
  const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
  await owner.call('status');
  emulator.webhooks.deliveryMode = () => 'held';
  t.teardown(() => {
    emulator.webhooks.deliveryMode = () => 'sent';
    emulator.webhooks.release();
  });
  await fetch(form.url, {
    method: 'POST',
    body: new URLSearchParams({ card: 'pm_card_visa' }),
    redirect: 'manual',
  });
  t.match(await owner.call('status'), { payment_methods: [{ brand: 'visa', last4: '4242' }] });
});

t.test(
  'cards are added by form or ID, shown and removed, and those of others are never accessible',
  async (t) => {
    const owner = await fixture.createOwner();
    const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
    const { allowed_payment_method_types: types } = await fixture.stripe.checkout.sessions.retrieve(
      form.session_id,
    );
    t.strictSame(types, ['card'], 'nothing that is paid only days later');
    const visited = await fetch(form.url, {
      method: 'POST',
      body: new URLSearchParams({ card: 'pm_card_mastercard' }),
      redirect: 'manual',
    });
    t.equal(visited.headers.get('location'), `${fixture.server.url}/app/billing`);
    await emulator.webhooks.waitUntilDelivered();
    const statusReply = await owner.status();
    t.match(statusReply.payment_method, { brand: 'mastercard', last4: '4444' });
    const card = await owner.createCard();
    t.match(await owner.call('add-payment-method', { payment_method_id: card }), {
      payment_method: { id: card },
    });
    t.equal((await owner.status()).payment_methods.length, 2);
    const other = await subscribedOwner('starter');
    const otherCard = (await other.status()).payment_method.id;
    for (const id of [otherCard, 'pm_never', '../customers', ''])
      for (const operation of ['remove-payment-method', 'add-payment-method']) {
        const { status } = await owner.request(operation, { payment_method_id: id });
        t.ok([404, 422].includes(status), `${operation} of "${id}": ${status}`);
      }
    t.equal(
      (await owner.request('subscribe', { tier: 'starter', payment_method_id: otherCard })).status,
      404,
    );
    t.equal(
      (await other.request('remove-payment-method', { payment_method_id: otherCard })).status,
      400,
      'the last one of a paying organization',
    );
    await other.call('downgrade', { tier: 'free' });
    t.match(
      await other.request('remove-payment-method', { payment_method_id: otherCard }),
      { status: 400, body: { detail: /outstanding usage/ } },
      'usage can be charged until the scheduled end',
    );
    t.equal((await owner.request('remove-payment-method', { payment_method_id: card })).status, 200);
    t.equal((await owner.status()).payment_methods.length, 1);
    const [entered] = (await owner.status()).payment_methods;
    t.match(
      await cardEntries(owner),
      [
        { action: 'billing.payment_method_removed', actor: /-/, details: { payment_method: card } },
        { action: 'billing.payment_method_added', actor: /-/, details: { payment_method: card } },
        { action: 'billing.payment_method_added', actor: 'system', details: { payment_method: entered.id } },
      ],
      'each is in the audit log once: the one of the form without a user',
    );
    const begins = await fixture.createOwner();
    const confirmationCard = await begins.createCard('tok_authenticationRequired');
    const begun = await begins.call('subscribe', { tier: 'starter', payment_method_id: confirmationCard });
    t.equal(begun.status, 'requires_action');
    await begins.call('remove-payment-method', { payment_method_id: confirmationCard });
    t.strictSame((await begins.status()).payment_methods, [], 'an unpaid first tier is not a debt');
    t.match((await owner.call('manage-billing-details')).url, new RegExp(`^${emulator.url}/portal/`));
  },
);

t.test('bad input changes nothing', async (t) => {
  const owner = await subscribedOwner('starter');
  await fixture.waitUntilSynced();
  const changes = () =>
    emulator.requests
      .map(({ operation }) => operation)
      .filter((operation) => /create|update|cancel|pay/.test(operation));
  const before = changes();
  for (const tier of ['gold', '', 'Teams', 7, null])
    t.equal((await owner.request('subscribe', { tier })).status, 422, `tier ${tier}`);
  for (const tier of ['enterprise', 'free'])
    t.equal((await owner.request('subscribe', { tier })).status >= 400, true, tier);
  t.equal((await owner.request('downgrade', { tier: 'enterprise' })).status >= 400, true);
  const evil = [
    ...[
      '//evil.example',
      '/\\evil.example',
      'https:evil.example',
      'https://evil.example/app',
      'javascript:alert(1)',
    ],
    ...[
      'http://127.0.0.1@evil.example/',
      '/\tevil',
      '/\r\nlocation: x',
      `${fixture.server.url}.evil.example/`,
      'data:text/html,x',
    ],
  ];
  for (const return_url of evil)
    for (const operation of ['add-payment-method', 'manage-billing-details', 'subscribe'])
      t.match(
        (await owner.request(operation, { tier: 'teams', return_url })).status,
        400,
        `${operation} back to ${JSON.stringify(return_url)}`,
      );
  t.strictSame(changes(), before, 'Stripe got no change');
  await checkTier(t, owner, 'starter');
});

/** Adds a member to the organization of an owner. */
async function addMember(owner: OrganizationOwner, permission: 'ADMIN' | 'MEMBER'): Promise<TestUser> {
  const { organizationId: organization_id } = owner;
  const { user } = await fixture.createOwner();
  const { email } = user;
  await owner.user.call('organizations/users/invite-user', { organization_id, email, permission });
  const mail = await user.findMail('invites you');
  const invite_code = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(mail)?.[0];
  const answer = await user.call('organizations/users/accept-invite', { invite_code });
  if (answer.body.permission !== permission) throw new Error(`joining answered ${answer.text}`);
  return user;
}

async function callWithKey(owner: OrganizationOwner, permission: 'all' | 'read_only'): Promise<TestUser> {
  const request = { organization_id: owner.organizationId, name: permission, permission };
  const program = new TestUser('a program', fixture.server, () => []);
  program.token = (await owner.user.call('organizations/api-keys/add-api-key', request)).body.api_key;
  return program;
}

t.test('only owners can pay, admins can read, and billing is hidden from others', async (t) => {
  const owner = await subscribedOwner('starter');
  const card = (await owner.status()).payment_method.id;
  /** Body of each operation and the status that the owner gets, in this order. */
  const operations: readonly [string, object, number][] = [
    ['status', {}, 200],
    ['preview', { tier: 'teams' }, 200],
    ['subscribe', { tier: 'teams' }, 200],
    ['add-payment-method', {}, 200],
    ['manage-billing-details', {}, 200],
    ['downgrade', { tier: 'free' }, 200],
    ['cancel-downgrade', {}, 200],
    ['cancel-upgrade', {}, 400],
    ['remove-payment-method', { payment_method_id: card }, 400],
    ['redeem-code', { code: 'NEVER' }, 400],
    ['pause', {}, 200],
  ];
  const outsider = new TestUser('nobody@example.com', fixture.server, () => []);
  const callers: readonly [string, TestUser, { readonly readStatus: number; readonly payStatus: number }][] =
    [
      ['MEMBER', await addMember(owner, 'MEMBER'), { readStatus: 403, payStatus: 403 }],
      ['ADMIN', await addMember(owner, 'ADMIN'), { readStatus: 200, payStatus: 403 }],
      ['the owner of another', (await subscribedOwner('starter')).user, { readStatus: 404, payStatus: 404 }],
      ['an API key', await callWithKey(owner, 'all'), { readStatus: 401, payStatus: 401 }],
      ['a read-only key', await callWithKey(owner, 'read_only'), { readStatus: 401, payStatus: 401 }],
      ['nobody', outsider, { readStatus: 401, payStatus: 401 }],
    ];
  await fixture.waitUntilSynced();
  const changes = () =>
    emulator.requests.filter(({ operation }) => !/\.(list|retrieve|search)/.test(operation)).length;
  const before = changes();
  const { organizationId: organization_id } = owner;
  for (const [role, user, { readStatus, payStatus }] of callers)
    for (const [operation, body] of operations) {
      const { status } = await user.call(`billing/${operation}`, { organization_id, ...body });
      t.equal(status, operation === 'status' ? readStatus : payStatus, `${operation} for ${role}`);
    }
  t.equal(changes(), before, 'Stripe got no change');
  await checkTier(t, owner, 'starter', { pending_downgrade: null });
  for (const [operation, body, expected] of operations)
    t.equal((await owner.request(operation, body)).status, expected, `${operation} for the OWNER`);
});

t.test('changes at Stripe or by an administrator are seen and repaired by the next read', async (t) => {
  const [freed, planned] = [await subscribedOwner('starter'), await subscribedOwner('teams')];
  const [canceled, deletedOwner] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
  const { organizationId: organization_id } = freed;
  const body = { organization_id, subscription_tier: 'free' };
  t.equal(await administratorStatus(fixture.server, 'update-organization', body), 200);
  await planned.call('downgrade', { tier: 'starter' });
  emulator.webhooks.deliveryMode = () => 'lost';
  await fixture.stripe.subscriptionSchedules.release(planned.subscription()!.schedule);
  await fixture.stripe.subscriptions.cancel(canceled.subscription()!.id);
  await fixture.stripe.customers.del(deletedOwner.customer()!);
  emulator.webhooks.deliveryMode = () => 'sent';
  await fixture.advanceBriefly();
  await checkTier(t, freed, 'starter', { status: 'active' });
  const { entries } = (await freed.user.call('organizations/get-audit-log', { organization_id })).body;
  const put = entries.find(({ action }: { action: string }) => action === 'billing.reconciled');
  t.match(put, { details: { from: 'free', to: 'starter' } });
  await checkTier(t, planned, 'teams', { pending_downgrade: null, status: 'active' });
  await checkTier(t, canceled, 'free', { status: 'none' });
  await checkTier(t, deletedOwner, 'free', { status: 'none', payment_methods: [] });
  const again = { tier: 'starter', payment_method_id: await deletedOwner.createCard() };
  t.match(
    await deletedOwner.call('subscribe', again),
    { status: 'active' },
    'a customer deleted there can subscribe again',
  );
});

t.test('unsigned and old events are rejected', async (t) => {
  const owner = await subscribedOwner('starter');
  const customer = owner.customer();
  const event = {
    id: 'evt_forged',
    object: 'event',
    type: 'customer.subscription.deleted',
    created: emulator.now,
    data: { object: { id: owner.subscription()!.id, object: 'subscription', customer, status: 'canceled' } },
  };
  const body = JSON.stringify(event);
  const send = async (header: string | null, text = body) => {
    const headers = {
      'content-type': 'application/json',
      ...(header === null ? {} : { 'stripe-signature': header }),
    };
    return (await fetch(`${fixture.server.url}/api/billing/webhook`, { method: 'POST', headers, body: text }))
      .status;
  };
  const good = signatureHeader(body, 'whsec_of_the_tests', emulator.now);
  t.equal(await send(null), 400, 'no signature');
  t.equal(await send(signatureHeader(body, 'whsec_guessed', emulator.now)), 400, 'another secret');
  t.equal(await send(signatureHeader(body, 'whsec_of_the_tests', emulator.now - 3_600)), 400, 'an hour old');
  t.equal(await send(good, body.replace('deleted', 'updated')), 400, 'another body');
  t.equal(await send(good.replace('v1=', 'v0=')), 400, 'another scheme');
  const large = JSON.stringify({ ...event, filler: 'x'.repeat(2_000_000) });
  t.equal(await send(signatureHeader(large, 'whsec_of_the_tests', emulator.now), large), 413, 'too large');
  t.equal(await send(good), 200, 'true to the letter');
  t.equal(await send(good), 200, 'replayed');
  await checkTier(t, owner, 'starter', { status: 'active' });
});

t.test('every request is valid at Stripe, and the log has no secret', async (t) => {
  fixture.checkNoInvalidRequests(t);
  const log = fixture.server.fullLog;
  for (const secret of [emulator.secretKey, 'whsec_of_the_tests']) t.notOk(log.includes(secret));
});
