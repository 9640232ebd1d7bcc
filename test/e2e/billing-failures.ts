import { signatureHeader } from '../support/stripe-emulator/webhooks.ts';
import t from '../support/tap.ts';
import { administratorStatus, limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import {
  checkTier,
  createPromotionCode,
  openAmount,
  paymentCount,
  subscribedOwner,
} from './billing-steps.ts';

/** Lost replies and events, a Stripe that is down, and changes made in Stripe. */

const { emulator } = fixture;

t.test('lost, repeated or reordered events change nothing', async (t) => {
  const { webhooks } = emulator;
  webhooks.deliveryMode = () => 'lost';
  const lost = await subscribedOwner(fixture, 'starter', 'tok_visa');
  const card = await lost.createCard('tok_authenticationRequired');
  const subscribeReply = await lost.call('subscribe', { tier: 'teams', payment_method_id: card });
  await lost.payOnInvoicePage(subscribeReply.hosted_invoice_url);
  await fixture.advanceBriefly();
  await checkTier(t, lost, 'teams');
  webhooks.deliveryMode = () => 'twice';
  await checkTier(t, await subscribedOwner(fixture, 'teams'), 'teams');
  webhooks.deliveryMode = () => 'held';
  const reversed = await subscribedOwner(fixture, 'starter');
  t.match(await reversed.call('subscribe', { tier: 'teams' }), { status: 'active' });
  webhooks.deliveryMode = () => 'sent';
  webhooks.release((messages) => [...messages].reverse());
  await webhooks.waitUntilDelivered();
  t.ok(webhooks.deliveries.every(({ status }) => status === 200));
  await checkTier(t, reversed, 'teams');
  t.equal(reversed.invoices().length, 2);
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

t.test('after a lost reply, the last change that was requested applies', async (t) => {
  const [lowers, pauses] = [
    await subscribedOwner(fixture, 'teams'),
    await subscribedOwner(fixture, 'starter'),
  ];
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

t.test('a card whose removal got no reply is removed when the request is repeated', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const card = (await owner.status()).payment_method.id;
  await owner.call('add-payment-method', { payment_method_id: await owner.createCard('tok_mastercard') });
  const remove = () => owner.request('remove-payment-method', { payment_method_id: card });
  t.equal(await withLostReply(/^PaymentMethods\.detach$/, remove), 503);
  t.equal((await remove()).status, 200, 'the repeated request succeeds');
  t.equal((await remove()).status, 404, 'a request after the reply finds no card');
  t.match((await owner.status()).payment_methods, [{ brand: 'mastercard' }]);
});

t.test('an upgrade whose reply was lost can be repeated after a change of cards', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const upgrade = () => owner.request('subscribe', { tier: 'teams' });
  t.equal(await withLostReply(/^Subscriptions\.update$/, upgrade), 503);
  const { payment_method: added } = await owner.call('add-payment-method', {
    payment_method_id: await owner.createCard('tok_mastercard'),
  });
  await owner.call('remove-payment-method', { payment_method_id: added.id });
  t.match(await upgrade(), { status: 200, body: { status: 'active', subscription_tier: 'teams' } });
  t.equal((await upgrade()).status, 400, 'a request after the reply is a new one');
  t.equal(paymentCount(owner), 2);
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
  await createPromotionCode(fixture, 'LOST');
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
  const owner = await subscribedOwner(fixture, 'starter');
  const [downgrading, pausing, free] = [
    await subscribedOwner(fixture, 'starter'),
    await subscribedOwner(fixture, 'starter'),
    await fixture.createOwner(),
  ];
  for (const customer of [owner, downgrading, pausing, free]) await customer.status();
  emulator.faults.add({ kind: 'lost-before', times: 10_000 });
  await fixture.advanceBriefly();
  const status = await owner.call('status');
  t.match(status, { stale: true, subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  const writes: readonly [OrganizationOwner, string, object][] = [
    [owner, 'preview', { tier: 'teams' }],
    [owner, 'subscribe', { tier: 'teams' }],
    [downgrading, 'downgrade', { tier: 'free' }],
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
  for (const customer of [owner, downgrading, pausing]) {
    await checkTier(t, customer, 'starter', { stale: false, pending_downgrade: null, status: 'active' });
    t.equal(customer.invoices().length, 1);
  }
});

t.test('changes in Stripe or by an administrator are applied by the next read', async (t) => {
  const [freed, planned] = [
    await subscribedOwner(fixture, 'starter'),
    await subscribedOwner(fixture, 'teams'),
  ];
  const [canceled, deletedOwner] = [
    await subscribedOwner(fixture, 'starter'),
    await subscribedOwner(fixture, 'starter'),
  ];
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
    'an organization whose customer was deleted in Stripe can subscribe again',
  );
});

t.test('unsigned and old events are rejected', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
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
  t.equal(await send(good), 200, 'a valid signature is accepted');
  t.equal(await send(good), 200, 'a repeated event is accepted');
  await checkTier(t, owner, 'starter', { status: 'active' });
});
