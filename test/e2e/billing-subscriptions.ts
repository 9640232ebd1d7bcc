import t from '../support/tap.ts';
import { fixture } from './billing-server.ts';
import { checkTier, collected, openAmount, remainingCents, subscribedOwner } from './billing-steps.ts';
import { sendRequest } from './people.ts';

/** Subscriptions and the resulting tiers, through the HTTP API of a server that uses the Stripe emulator. */

const { emulator } = fixture;

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
  t.equal(customer?.email, null, 'Stripe has no mail address to send to');
});

t.test('the first tier is charged at once for the rest of the month', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
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
  t.equal(
    (await owner.request('subscribe', { tier: 'starter' })).status,
    400,
    'a subscription to the present tier is rejected',
  );
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
  t.equal(
    again.hosted_invoice_url,
    subscribeReply.hosted_invoice_url,
    'a repeated request gets the same invoice',
  );
  t.equal(await owner.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  await checkTier(t, owner, 'starter', { status: 'active', pending_upgrade: null });
  t.equal(owner.invoices().length, 1);
});

t.test('an upgrade that needs bank confirmation changes nothing until it is paid', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const card = await owner.createCard('tok_authenticationRequired');
  const subscribeReply = await owner.call('subscribe', { tier: 'teams', payment_method_id: card });
  t.match(subscribeReply, { status: 'requires_action', subscription_tier: 'starter', pending_tier: 'teams' });
  await checkTier(t, owner, 'starter', { pending_upgrade: { tier: 'teams' } });
  t.equal(
    (await owner.request('downgrade', { tier: 'free' })).status,
    409,
    'a downgrade is rejected while an upgrade is pending',
  );
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
  const declinedUpgrade = await owner.request('subscribe', {
    tier: 'teams',
    payment_method_id: await owner.createCard('tok_chargeCustomerFail'),
  });
  t.equal(declinedUpgrade.status, 402);
  await checkTier(t, owner, 'starter', { pending_upgrade: null });
  t.equal(openAmount(owner), 0, 'a declined upgrade leaves no open invoice');
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
  const owner = await subscribedOwner(fixture, 'starter');
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

t.test(
  'upgrade and downgrade in one month: the rest is charged now, the lower price from the first',
  async (t) => {
    const owner = await subscribedOwner(fixture, 'starter');
    t.match(await owner.call('subscribe', { tier: 'teams' }), {
      status: 'active',
      subscription_tier: 'teams',
    });
    const [, upgrade] = owner.invoices();
    const from = upgrade!.lines.data[0]!.period.start;
    t.equal(upgrade!.amount_paid, remainingCents('teams', from) - remainingCents('starter', from));
    const downgraded = await owner.call('downgrade', { tier: 'starter' });
    t.match(downgraded.pending_downgrade, { tier: 'starter', effective_at: '2027-04-01T00:00:00.000Z' });
    t.match(
      (await owner.call('downgrade', { tier: 'starter' })).pending_downgrade,
      downgraded.pending_downgrade,
      'a repeated downgrade is accepted',
    );
    await checkTier(t, owner, 'teams', { pending_downgrade: { tier: 'starter' } });
    t.match(await owner.call('cancel-downgrade'), { pending_downgrade: null });
    t.equal((await owner.request('cancel-downgrade')).status, 400);
    t.equal(owner.subscription()!.schedule, null);
    t.equal(
      (await owner.request('downgrade', { tier: 'teams' })).status,
      400,
      'a downgrade to the present tier is rejected',
    );
  },
);

t.test('an upgrade cancels a scheduled downgrade', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  await owner.call('downgrade', { tier: 'free' });
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active' });
  await checkTier(t, owner, 'teams', { pending_downgrade: null });
});

t.test('a declined upgrade keeps the scheduled downgrade and the default card', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const { payment_method: defaultCard } = await owner.status();
  await owner.call('downgrade', { tier: 'free' });
  const bad = await owner.createCard('tok_chargeCustomerFail');
  t.equal((await owner.request('subscribe', { tier: 'teams', payment_method_id: bad })).status, 402);
  await checkTier(t, owner, 'starter', {
    pending_downgrade: { tier: 'free' },
    payment_method: { id: defaultCard.id },
  });
  t.equal(
    owner.subscription()!.default_payment_method,
    defaultCard.id,
    'the next month is charged to the default card',
  );
  t.equal(openAmount(owner), 0);
});

t.test(
  'a pause stops the subscription until it is resumed; rejected while a downgrade is scheduled',
  async (t) => {
    const owner = await subscribedOwner(fixture, 'starter');
    await owner.call('downgrade', { tier: 'free' });
    t.equal((await owner.request('pause')).status, 409);
    await owner.call('cancel-downgrade');
    t.match(await owner.call('pause'), { status: 'paused' });
    await checkTier(t, owner, 'free', { status: 'paused' });
    t.equal((await owner.request('downgrade', { tier: 'free' })).status, 409);
    const resumed = await owner.call('subscribe', { tier: 'starter' });
    t.match(resumed, { status: 'resumed', subscription_tier: 'starter' });
    await checkTier(t, owner, 'starter', { status: 'active' });
    t.equal(
      (await (await fixture.createOwner()).request('pause')).status,
      400,
      'a pause without a subscription is rejected',
    );
  },
);
