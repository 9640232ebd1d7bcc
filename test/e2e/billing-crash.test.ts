import t from 'tap';
import type { FaultKind } from '../support/stripe-emulator/faults.ts';
import { waitUntil } from '../timeouts.ts';
import { BillingFixture, limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { createPromotionCode, firstSubscription, paymentCount, subscribedOwner } from './billing-steps.ts';
import type { HttpReply } from './people.ts';

/** The server is killed during Stripe calls for many organizations at once; the next start must repair the state. */

const fixture = await BillingFixture.start(t, '2027-03-10T12:00:00Z');

const { emulator, server } = fixture;

/** Call in progress when the server is killed. */
interface InterruptedCall {
  readonly owner: OrganizationOwner;
  readonly call: () => Promise<HttpReply>;
  /** Fault after which Stripe sends no reply, and the request that it applies to. */
  readonly kind: FaultKind;
  readonly operation: RegExp;
  readonly text: string;
}

const isSilent = (one: InterruptedCall) =>
  emulator.faults.hasOccurred({ operation: one.operation, text: one.text });

/** Starts all calls and kills the server once each of them waits for Stripe. */
async function killDuring(all: readonly InterruptedCall[]): Promise<void> {
  for (const { kind, operation, text } of all) emulator.faults.add({ kind, operation, text });
  const answered: string[] = [];
  const ask = async (one: InterruptedCall) => {
    const answer = await one.call().catch(() => null);
    // The deletion of an organization continues after its reply.
    if (!isSilent(one) && answer?.status !== 200)
      answered.push(`${one.operation.source}: ${answer?.status} ${answer?.text}`);
  };
  const calls = all.map(ask);
  while (!all.every(isSilent)) {
    if (answered.length > 0) throw new Error(`Stripe was not asked for what should be cut off: ${answered}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  await server.stop('SIGKILL');
  await Promise.all(calls);
  emulator.faults.clear();
  await fixture.restart();
}

/** Part of the owner's payments that still counts toward usage, in cents; there is no usage. */
const deductible = (owner: OrganizationOwner) =>
  emulator.state
    .listObjects('billing.credit_grant')
    .filter((grant) => grant.customer === owner.customer() && grant.expires_at > emulator.now)
    .reduce((sum, grant) => sum + grant.amount.monetary.value, 0);

/** Describes a call to interrupt: the fault, the Stripe operation, and a text in the request. */
function interrupt(
  owner: OrganizationOwner,
  kind: FaultKind,
  operation: RegExp,
  text: string,
  call: () => Promise<HttpReply>,
): InterruptedCall {
  return { owner, kind, operation, text, call };
}

const subscriptionOf = (owner: OrganizationOwner): string => owner.subscription()!.id;

const scheduleOf = (owner: OrganizationOwner): string => owner.subscription()!.schedule;

const subscribedPair = async (tier: 'starter' | 'teams') =>
  [await subscribedOwner(fixture, tier), await subscribedOwner(fixture, tier)] as const;

t.test('an interrupted downgrade leaves no schedule and can be repeated', async (t) => {
  const owner = await subscribedOwner(fixture, 'teams');
  const downgrade = () => owner.request('downgrade', { tier: 'starter' });
  await killDuring([interrupt(owner, 'silence-before', /^SubscriptionSchedules\.update$/, '', downgrade)]);
  t.match(await owner.status(), { subscription_tier: 'teams', pending_downgrade: null });
  t.equal(owner.subscription()!.schedule, null, 'the schedule at Stripe is released');
  t.match(await owner.call('downgrade', { tier: 'starter' }), { pending_downgrade: { tier: 'starter' } });
});

t.test('after a crash during an upgrade, a paid one applies and an unpaid one changes nothing', async (t) => {
  const [charged, uncharged] = await subscribedPair('starter');
  await uncharged.call('downgrade', { tier: 'free' });
  const upgrade = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^Subscriptions\.update$/, subscriptionOf(owner), () =>
      owner.request('subscribe', { tier: 'teams' }),
    );
  await killDuring([upgrade(charged, 'silence-after'), upgrade(uncharged, 'silence-before')]);
  t.match(
    await charged.status(),
    { subscription_tier: 'teams', rate_limits: limitsByTier.teams },
    'a paid upgrade applies',
  );
  t.equal(paymentCount(charged), 2);
  t.match(
    await uncharged.status(),
    { subscription_tier: 'starter', pending_downgrade: { tier: 'free' }, pending_upgrade: null },
    'a downgrade removed by an interrupted upgrade is scheduled again',
  );
});

t.test('after a crash during a first subscription it is paid once', async (t) => {
  const [created, charged] = [await fixture.createOwner(), await fixture.createOwner()];
  const [creation, payment] = [await firstSubscription(created), await firstSubscription(charged)];
  await created.call('add-payment-method');
  await killDuring([
    interrupt(created, 'silence-after', /^Subscriptions\.create$/, created.customer()!, () =>
      created.request('subscribe', creation),
    ),
    interrupt(charged, 'silence-after', /^Invoices\.pay$/, payment.payment_method_id, () =>
      charged.request('subscribe', payment),
    ),
  ]);
  t.match(
    await created.status(),
    { subscription_tier: 'free' },
    'an unpaid first subscription grants no tier',
  );
  t.match(await created.call('subscribe', creation), { status: 'active' });
  t.match(await created.status(), { subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  t.equal(paymentCount(created), 1, 'a repeated first subscription is paid once');
  t.match(
    await charged.status(),
    { subscription_tier: 'starter', status: 'active' },
    'a paid first subscription applies',
  );
  t.equal(paymentCount(charged), 1);
});

t.test('after a crash during the redemption of a code it is credited once', async (t) => {
  const [before, after] = await subscribedPair('starter');
  for (const code of ['BEFORE', 'AFTER'])
    await createPromotionCode(fixture, code, { amount_off: 700, currency: 'usd' });
  const redemptions = [
    { owner: before, code: 'BEFORE', kind: 'silence-before' },
    { owner: after, code: 'AFTER', kind: 'silence-after' },
  ] as const;
  await killDuring(
    redemptions.map(({ owner, code, kind }) =>
      interrupt(owner, kind, /createBalanceTransaction$/, owner.customer()!, () =>
        owner.request('redeem-code', { code }),
      ),
    ),
  );
  for (const { owner, code } of redemptions) {
    t.match(
      await owner.status(),
      { credit_balance_cents: 700 },
      `the credit of code ${code} is on the account`,
    );
    t.ok([200, 400].includes((await owner.request('redeem-code', { code })).status));
    t.match(await owner.status(), { credit_balance_cents: 700 }, 'a repeated redemption adds no credit');
  }
});

t.test('a canceled downgrade is canceled once, whether the crash came before or after Stripe', async (t) => {
  const [before, after] = await subscribedPair('teams');
  for (const owner of [before, after]) await owner.call('downgrade', { tier: 'starter' });
  const cancel = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^SubscriptionSchedules\.release$/, scheduleOf(owner), () =>
      owner.request('cancel-downgrade'),
    );
  await killDuring([cancel(before, 'silence-before'), cancel(after, 'silence-after')]);
  t.match(await before.status(), { pending_downgrade: { tier: 'starter' } }, 'the downgrade is pending');
  t.match(await before.call('cancel-downgrade'), { pending_downgrade: null });
  t.match(
    await after.status(),
    { subscription_tier: 'teams', pending_downgrade: null },
    'the downgrade is canceled',
  );
  t.match(
    await after.call('cancel-downgrade'),
    { pending_downgrade: null },
    'a repeated request is accepted',
  );
  for (const owner of [before, after]) {
    t.equal(owner.subscription()!.schedule, null);
    t.equal(paymentCount(owner), 1);
  }
});

t.test('a crash during a pause neither loses nor doubles a payment', async (t) => {
  const [pausing, paused] = await subscribedPair('starter');
  const [creditCreated, creditExpired] = await subscribedPair('starter');
  const owners = [pausing, paused, creditCreated, creditExpired];
  await fixture.advanceTo('2027-03-21T12:00:00Z');
  for (const owner of owners) await owner.signIn();
  const payments = new Map(owners.map((owner) => [owner, deductible(owner)]));
  const creditId: string = emulator.state
    .listObjects('billing.credit_grant')
    .find(({ customer }) => customer === creditExpired.customer())!.id;
  const pause = (owner: OrganizationOwner) => () => owner.request('pause');
  await killDuring([
    interrupt(pausing, 'silence-before', /^Subscriptions\.pause$/, subscriptionOf(pausing), pause(pausing)),
    interrupt(paused, 'silence-after', /^Subscriptions\.pause$/, subscriptionOf(paused), pause(paused)),
    interrupt(
      creditCreated,
      'silence-after',
      /CreditGrants\.create$/,
      creditCreated.customer()!,
      pause(creditCreated),
    ),
    interrupt(creditExpired, 'silence-after', /CreditGrants\.expire$/, creditId, pause(creditExpired)),
  ]);

  t.match(await pausing.status(), { status: 'active', subscription_tier: 'starter' });
  t.match(await paused.status(), {
    status: 'paused',
    subscription_tier: 'free',
    rate_limits: limitsByTier.free,
  });
  const unused = Math.round((5_000 * 10.5) / 31);
  t.equal(deductible(paused), payments.get(paused)! - unused, 'credit returned by a pause pays for no usage');
  for (const owner of [pausing, creditCreated, creditExpired]) {
    t.match(await owner.status(), { status: 'active', subscription_tier: 'starter' });
    t.equal(deductible(owner), payments.get(owner), 'credit withdrawn by a failed pause is returned');
  }
  for (const owner of owners) {
    t.match(await owner.call('pause'), { status: 'paused', paused_tier: 'starter' });
    t.equal(paymentCount(owner), 1);
    const { credit_balance_cents: credit } = await owner.status();
    t.equal(credit + deductible(owner), payments.get(owner), 'no payment is lost or doubled');
  }
});

t.test('a subscription resumes once, whether the crash came before or after Stripe', async (t) => {
  const [before, after] = await subscribedPair('starter');
  for (const owner of [before, after]) await owner.call('pause');
  await fixture.advanceTo('2027-03-22T12:00:00Z');
  const payments = new Map([before, after].map((owner) => [owner, paymentCount(owner)]));
  for (const owner of [before, after]) await owner.signIn();
  const resume = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^Subscriptions\.resume$/, subscriptionOf(owner), () =>
      owner.request('subscribe', { tier: 'starter' }),
    );
  await killDuring([resume(before, 'silence-before'), resume(after, 'silence-after')]);
  t.match(await before.status(), { status: 'paused', subscription_tier: 'free' });
  t.match(await after.status(), {
    status: 'active',
    subscription_tier: 'starter',
    rate_limits: limitsByTier.starter,
  });
  for (const owner of [before, after]) {
    t.match(await owner.call('subscribe', { tier: 'starter' }), {
      subscription_tier: 'starter',
      pending_tier: null,
    });
    t.match(await owner.status(), { status: 'active', subscription_tier: 'starter' });
    t.equal(paymentCount(owner), payments.get(owner)!, 'unused payments pay for the rest of the month');
  }
  const [invoicesBefore, invoicesAfter] = [before, after].map((owner) =>
    owner.invoices().map(({ total, status }) => [total, status]),
  );
  t.same(invoicesBefore, invoicesAfter, 'the invoices do not depend on the time of the crash');
});

t.test('after a crash while a card is removed, the other card pays', async (t) => {
  const [before, after] = await subscribedPair('starter');
  const cards = new Map<OrganizationOwner, string>();
  for (const owner of [before, after]) {
    cards.set(owner, (await owner.status()).payment_method.id);
    await owner.call('add-payment-method', { payment_method_id: await owner.createCard('tok_mastercard') });
  }
  const remove = (owner: OrganizationOwner) => () =>
    owner.request('remove-payment-method', { payment_method_id: cards.get(owner) });
  await killDuring([
    interrupt(before, 'silence-after', /^Customers\.update$/, before.customer()!, remove(before)),
    interrupt(after, 'silence-after', /^PaymentMethods\.detach$/, cards.get(after)!, remove(after)),
  ]);
  for (const owner of [before, after]) {
    const { payment_methods: methods, payment_method: defaultCard } = await owner.status();
    t.equal(defaultCard.brand, 'mastercard', 'the other card is the default');
    t.equal(methods.length, owner === before ? 2 : 1);
    t.equal((await remove(owner)()).status, 200, 'a repeated request succeeds');
    t.equal((await owner.status()).payment_methods.length, 1);
  }
});

t.test(
  'the deletion of an organization continues after a crash and ends its subscription once',
  async (t) => {
    const owners = await subscribedPair('starter');
    const ended = new Map(owners.map((owner) => [owner, subscriptionOf(owner)]));
    const remove = (owner: OrganizationOwner, kind: FaultKind) =>
      interrupt(owner, kind, /^Subscriptions\.cancel$/, ended.get(owner)!, () =>
        owner.user.call('organizations/delete-organization', { organization_id: owner.organizationId }),
      );
    await killDuring([remove(owners[0], 'silence-before'), remove(owners[1], 'silence-after')]);
    const isRemoved = ({ organizationId }: OrganizationOwner) =>
      server.fullLog
        .split('\n')
        .some((line) => line.includes(organizationId) && line.includes('organization removed'));
    await waitUntil('the removal of both organizations', () => owners.every(isRemoved));
    for (const owner of owners) {
      t.ok(isRemoved(owner), 'the deletion continues');
      const id = ended.get(owner)!;
      const isCancellation = (one: { readonly operation: string; readonly ids: readonly string[] }) =>
        one.operation === 'Subscriptions.cancel' && one.ids.includes(id);
      t.equal(emulator.requests.filter(isCancellation).length, 1, 'the subscription is canceled once');
      t.equal(emulator.state.listObjects('subscription').find((one) => one.id === id)?.status, 'canceled');
      t.equal(owner.invoices().filter(({ status }) => status === 'open').length, 0);
      t.equal(paymentCount(owner), 1);
    }
    fixture.checkNoInvalidRequests(t);
  },
);
