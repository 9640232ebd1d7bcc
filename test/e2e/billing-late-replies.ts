import { signatureHeader } from '../support/stripe-emulator/webhooks.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { checkOrphanedCustomers } from './billing-orphaned-customers.ts';
import { fixture } from './billing-restart-server.ts';
import { createPromotionCode, firstSubscription, paymentCount, subscribedOwner } from './billing-steps.ts';
import type { HttpReply } from './people.ts';

/** Payments and replies of Stripe that arrive late, or that the server learns of without events. */

const { emulator, server } = fixture;

const subscriptionOf = (owner: OrganizationOwner): string => owner.subscription()!.id;

const subscribedPair = async (tier: 'starter' | 'teams') =>
  [await subscribedOwner(fixture, tier), await subscribedOwner(fixture, tier)] as const;

/** A change whose reply from Stripe arrives after the deadline of its request. */
interface DelayedChange {
  readonly owner: OrganizationOwner;
  readonly operation: RegExp;
  readonly text: string;
  readonly call: () => Promise<HttpReply>;
}

/** Repeats a change until an earlier attempt has ended; counts the 503 replies caused by a slow machine. */
async function retryUntilAnswered({
  owner,
  call,
}: DelayedChange): Promise<{ answer: HttpReply; late: number }> {
  let [answer, late] = [await call(), 0];
  const isAnswered = async () => {
    if (![409, 503].includes(answer.status)) return true;
    if (answer.status === 503) late += 1;
    // While a change runs, most reads wait for its end. Repeating without waiting would reach the limit on
    // redemptions.
    await waitUntil('a fresh status', async () => (await owner.status()).stale === false);
    answer = await call();
    return false;
  };
  await waitUntil('a reply other than 409 and 503', isAnswered, 1_000);
  return { answer, late };
}

/** One change of each kind, for separate organizations. */
async function prepareDelayedChanges() {
  await createPromotionCode(fixture, 'LATE', { amount_off: 700, currency: 'usd' });
  const [subscribing, keyed] = [await fixture.createOwner(), await fixture.createOwner()];
  const [upgrading, redeeming] = await subscribedPair('starter');
  const [pausing, removing] = await subscribedPair('starter');
  const removedCard: string = (await removing.status()).payment_method.id;
  await removing.call('add-payment-method', {
    payment_method_id: await removing.createCard('tok_mastercard'),
  });
  const [subscription, keyedSubscription] = [
    await firstSubscription(subscribing),
    await firstSubscription(keyed),
  ];
  const changes: Readonly<Record<string, DelayedChange>> = {
    subscribe: {
      owner: subscribing,
      operation: /^Invoices\.pay$/,
      text: subscription.payment_method_id,
      call: () => subscribing.request('subscribe', subscription),
    },
    upgrade: {
      owner: upgrading,
      operation: /^Subscriptions\.update$/,
      text: subscriptionOf(upgrading),
      call: () => upgrading.request('subscribe', { tier: 'teams' }),
    },
    'subscribe with an Idempotency-Key': {
      owner: keyed,
      operation: /^Invoices\.pay$/,
      text: keyedSubscription.payment_method_id,
      call: () => keyed.request('subscribe', keyedSubscription, { 'idempotency-key': 'late' }),
    },
    'redeem-code': {
      owner: redeeming,
      operation: /createBalanceTransaction$/,
      text: redeeming.customer()!,
      call: () => redeeming.request('redeem-code', { code: 'LATE' }),
    },
    pause: {
      owner: pausing,
      operation: /^Subscriptions\.pause$/,
      text: subscriptionOf(pausing),
      call: () => pausing.request('pause'),
    },
    'remove-payment-method': {
      owner: removing,
      operation: /^PaymentMethods\.detach$/,
      text: removedCard,
      call: () => removing.request('remove-payment-method', { payment_method_id: removedCard }),
    },
  };
  return { changes, subscribing, keyed, upgrading, redeeming, pausing, removing };
}

/** Both are created by the first test, before the restart that sets the deadlines of Stripe. */
let reading: OrganizationOwner;
let delayed: Awaited<ReturnType<typeof prepareDelayedChanges>>;

t.test('a payment while the server is stopped applies after the next start', async (t) => {
  const unpaid = await fixture.createOwner();
  const { hosted_invoice_url: unpaidInvoiceUrl } = await unpaid.call('subscribe', {
    tier: 'teams',
    payment_method_id: await unpaid.createCard('tok_authenticationRequired'),
  });
  reading = await subscribedOwner(fixture, 'starter');
  delayed = await prepareDelayedChanges();
  await server.stop('SIGKILL');
  t.equal(await unpaid.payOnInvoicePage(unpaidInvoiceUrl), 200);
  // Stripe has failed to delete customers until now.
  emulator.faults.clear();
  await fixture.restart({ STRIPE_ANSWER_SECONDS_MAX: '1', STRIPE_SECONDS_MAX: '60' });
  // A slow reply of Stripe can make the first status stale.
  await waitUntil('a fresh status', async () => (await unpaid.status()).stale === false);
  t.match(
    await unpaid.status(),
    { subscription_tier: 'teams', rate_limits: limitsByTier.teams },
    'the status shows the paid tier',
  );
});

t.test('after a kill, while customers of deleted organizations remain in Stripe', checkOrphanedCustomers);

const removeReading = () =>
  reading.user.call('organizations/delete-organization', { organization_id: reading.organizationId });

t.test('while Stripe replies late, status shows the last copy and a deletion is rejected', async (t) => {
  const readFault = { operation: /^Customers\.retrieve$/, text: reading.customer()! };
  // Two faults: the server may also read on its own, because it checks for missed events when it starts.
  emulator.faults.add({ kind: 'late-after', ...readFault, times: 2 });
  let lastStatus: HttpReply['body'] = null;
  // A read that started before the fault was added may finish later: its copy is fresh, so no reply is stale yet.
  await waitUntil('a status that is stale', async () => {
    await fixture.advanceBriefly();
    lastStatus = await reading.call('status');
    return lastStatus.stale;
  });
  t.match(lastStatus, { stale: true, subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  t.match(lastStatus.payment_method, { last4: '4242' }, 'status shows the card of the last copy');
  t.match(await removeReading(), { status: 503, body: { detail: /Nothing was deleted/ } });
  t.match(await removeReading(), { status: 409 }, 'the first deletion still waits for Stripe');
  emulator.faults.clear();
  emulator.faults.releaseReplies();
});

t.test('late replies of Stripe neither block requests nor cause double charges', async (t) => {
  const { changes, subscribing, keyed, upgrading, redeeming, pausing, removing } = delayed;
  const all = Object.values(changes);
  for (const { operation, text } of all) emulator.faults.add({ kind: 'late-after', operation, text });
  const answers = await Promise.all(
    Object.entries(changes).map(async ([name, { call }]) => ({ name, answer: await call() })),
  );
  for (const { name, answer } of answers) {
    t.match(answer, { status: 503, body: { detail: /still running/ } }, name);
    t.ok(answer.headers.has('retry-after'));
  }
  await waitUntil(
    'a late reply to each change',
    () => all.every((one) => emulator.faults.hasOccurred(one)),
    5,
  );
  for (const [name, { call }] of Object.entries(changes))
    t.equal((await call()).status, 409, `${name}: the first request still runs`);
  emulator.faults.clear();
  emulator.faults.releaseReplies();
  const lateReplies = new Map<OrganizationOwner, number>();
  for (const [name, change] of Object.entries(changes)) {
    const { answer, late } = await retryUntilAnswered(change);
    t.equal(answer.status, 200, `${name}: a repeated request gets the outcome: ${answer.text}`);
    lateReplies.set(change.owner, late);
  }
  // The secret is removed for the last test.
  await fixture.restart({ STRIPE_ANSWER_SECONDS_MAX: '25', STRIPE_WEBHOOK_SECRET: '' });
  t.match(await subscribing.status(), { subscription_tier: 'starter', status: 'active' });
  t.match(await keyed.status(), { subscription_tier: 'starter', status: 'active' });
  t.match(await upgrading.status(), { subscription_tier: 'teams' });
  t.match(await redeeming.status(), { credit_balance_cents: 700 });
  t.match(await pausing.status(), { status: 'paused' });
  t.match((await removing.status()).payment_methods, [{ brand: 'mastercard' }]);
  t.same([subscribing, keyed, upgrading, redeeming, pausing].map(paymentCount), [1, 1, 2, 1, 1]);
  const { user, organizationId: organization_id } = subscribing;
  const { entries } = (await user.call('organizations/get-audit-log', { organization_id })).body;
  t.equal(
    entries.filter(({ action }: { action: string }) => action === 'billing.subscribed').length,
    2 + lateReplies.get(subscribing)!,
    'the audit log names the actor of a change that completes without a waiting client',
  );
});

t.test('a deletion that was rejected during late replies succeeds later', async (t) => {
  t.match(
    await reading.status(),
    { stale: false, subscription_tier: 'starter' },
    'the organization is not deleted',
  );
  t.equal((await removeReading()).status, 200);
});

t.test('without a webhook secret, events are rejected and Stripe is read on request', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const body = JSON.stringify({ id: 'evt_1', object: 'event', type: 'customer.updated' });
  const headers = {
    'content-type': 'application/json',
    'stripe-signature': signatureHeader(body, 'whsec_of_the_tests', emulator.now),
  };
  const answer = await fetch(`${server.url}/api/billing/webhook`, { method: 'POST', headers, body });
  t.equal(answer.status, 503);
  t.match(await answer.json(), { detail: /QUARRY_STRIPE_WEBHOOK_SECRET is not set/ });
  await fixture.stripe.subscriptions.cancel(owner.subscription()!.id);
  await emulator.webhooks.waitUntilDelivered();
  await fixture.advanceBriefly();
  t.match(await owner.status(), { subscription_tier: 'free', status: 'none', stale: false });
});
