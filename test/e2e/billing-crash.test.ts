import t from 'tap';
import type { FaultKind } from '../support/stripe-emulator/faults.ts';
import { signatureHeader } from '../support/stripe-emulator/webhooks.ts';
import { waitUntil } from '../timeouts.ts';
import { BillingFixture, limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
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

async function subscribedOwner(tier: 'starter' | 'teams'): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  await owner.call('subscribe', { tier, payment_method_id: await owner.createCard() });
  return owner;
}

const paid = (owner: OrganizationOwner) =>
  owner.invoices().filter(({ amount_paid: cents }) => cents > 0).length;

/** Part of the owner's payments that still counts toward usage, in cents; there is no usage. */
const deductible = (owner: OrganizationOwner) =>
  emulator.state
    .listObjects('billing.credit_grant')
    .filter((grant) => grant.customer === owner.customer() && grant.expires_at > emulator.now)
    .reduce((sum, grant) => sum + grant.amount.monetary.value, 0);

async function createPromotionCode(code: string): Promise<void> {
  const coupon = await fixture.stripe.coupons.create({ duration: 'once', amount_off: 700, currency: 'usd' });
  await fixture.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
}

t.test('a crash between any two calls is repaired by the next read', async (t) => {
  const [lowering, raising] = [await subscribedOwner('teams'), await subscribedOwner('starter')];
  const [starting, paysFirst] = [await fixture.createOwner(), await fixture.createOwner()];
  const [redeems, redeemed] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
  const away = await fixture.createOwner();
  const torn = await subscribedOwner('starter');
  await torn.call('downgrade', { tier: 'free' });
  const first = async (owner: OrganizationOwner) => ({
    tier: 'starter',
    payment_method_id: await owner.createCard(),
  });
  const [start, pay] = [await first(starting), await first(paysFirst)];
  await starting.call('add-payment-method');
  for (const code of ['BEFORE', 'AFTER']) await createPromotionCode(code);
  const bank = await away.createCard('tok_authenticationRequired');
  const subscribeReply = await away.call('subscribe', { tier: 'teams', payment_method_id: bank });

  const subscriptionOf = (owner: OrganizationOwner): string => owner.subscription()!.id;
  await killDuring([
    {
      owner: lowering,
      call: () => lowering.request('downgrade', { tier: 'starter' }),
      kind: 'silence-before',
      operation: /^SubscriptionSchedules\.update$/,
      text: '',
    },
    {
      owner: raising,
      call: () => raising.request('subscribe', { tier: 'teams' }),
      kind: 'silence-after',
      operation: /^Subscriptions\.update$/,
      text: subscriptionOf(raising),
    },
    {
      owner: torn,
      call: () => torn.request('subscribe', { tier: 'teams' }),
      kind: 'silence-before',
      operation: /^Subscriptions\.update$/,
      text: subscriptionOf(torn),
    },
    {
      owner: starting,
      call: () => starting.request('subscribe', start),
      kind: 'silence-after',
      operation: /^Subscriptions\.create$/,
      text: starting.customer()!,
    },
    {
      owner: paysFirst,
      call: () => paysFirst.request('subscribe', pay),
      kind: 'silence-after',
      operation: /^Invoices\.pay$/,
      text: pay.payment_method_id,
    },
    {
      owner: redeems,
      call: () => redeems.request('redeem-code', { code: 'BEFORE' }),
      kind: 'silence-before',
      operation: /createBalanceTransaction$/,
      text: redeems.customer()!,
    },
    {
      owner: redeemed,
      call: () => redeemed.request('redeem-code', { code: 'AFTER' }),
      kind: 'silence-after',
      operation: /createBalanceTransaction$/,
      text: redeemed.customer()!,
    },
  ]);

  t.match(await lowering.status(), { subscription_tier: 'teams', pending_downgrade: null });
  t.equal(lowering.subscription()!.schedule, null, 'an incomplete downgrade leaves no schedule');
  t.match(await lowering.call('downgrade', { tier: 'starter' }), { pending_downgrade: { tier: 'starter' } });

  t.match(
    await raising.status(),
    { subscription_tier: 'teams', rate_limits: limitsByTier.teams },
    'a paid upgrade applies',
  );
  t.equal(paid(raising), 2);

  t.match(
    await torn.status(),
    { subscription_tier: 'starter', pending_downgrade: { tier: 'free' }, pending_upgrade: null },
    'a downgrade removed by an interrupted upgrade is scheduled again',
  );

  t.match(
    await starting.status(),
    { subscription_tier: 'free' },
    'an unpaid first subscription grants no tier',
  );
  t.match(await starting.call('subscribe', start), { status: 'active' });
  t.match(await starting.status(), { subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  t.equal(paid(starting), 1, 'repeated, it is paid once');

  t.match(
    await paysFirst.status(),
    { subscription_tier: 'starter', status: 'active' },
    'a first payment applies',
  );
  t.equal(paid(paysFirst), 1);

  for (const [owner, code] of [
    [redeems, 'BEFORE'],
    [redeemed, 'AFTER'],
  ] as const) {
    t.match(
      await owner.status(),
      { credit_balance_cents: 700 },
      `the credit of the code that was sent ${code} the crash`,
    );
    t.ok([200, 400].includes((await owner.request('redeem-code', { code })).status));
    t.match(await owner.status(), { credit_balance_cents: 700 }, 'and once');
  }

  await server.stop('SIGKILL');
  t.equal(await away.payOnInvoicePage(subscribeReply.hosted_invoice_url), 200);
  await fixture.restart();
  t.match(
    await away.status(),
    { subscription_tier: 'teams', rate_limits: limitsByTier.teams },
    'changes in the meantime are seen',
  );
  fixture.checkNoInvalidRequests(t);
});

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

t.test(
  'a crash while something is canceled, paused, resumed, removed or deleted is repaired too',
  async (t) => {
    const [keepingOwner, keptOwner] = [await subscribedOwner('teams'), await subscribedOwner('teams')];
    const [pausing, paused] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
    const [keepsCredit, losesCredit] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
    const [resuming, resumed] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
    const [leaving, left] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
    const [removing, removed] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
    for (const owner of [keepingOwner, keptOwner]) await owner.call('downgrade', { tier: 'starter' });
    for (const owner of [resuming, resumed]) await owner.call('pause');
    const cards = new Map<OrganizationOwner, string>();
    for (const owner of [removing, removed]) {
      cards.set(owner, (await owner.status()).payment_method.id);
      await owner.call('add-payment-method', { payment_method_id: await owner.createCard('tok_mastercard') });
    }
    await fixture.advanceTo('2027-03-21T12:00:00Z');
    for (const owner of [leaving, left, keepsCredit, losesCredit]) await owner.signIn();
    const pays = new Map(
      [pausing, paused, keepsCredit, losesCredit].map((owner) => [owner, deductible(owner)]),
    );
    const creditOf = (owner: OrganizationOwner): string =>
      emulator.state
        .listObjects('billing.credit_grant')
        .find(({ customer }) => customer === owner.customer())!.id;
    const subscriptionOf = (owner: OrganizationOwner): string => owner.subscription()!.id;
    const scheduleOf = (owner: OrganizationOwner): string => owner.subscription()!.schedule;
    const ended = new Map([leaving, left].map((owner) => [owner, subscriptionOf(owner)]));
    const before = new Map([resuming, resumed].map((owner) => [owner, paid(owner)]));
    const leave = (owner: OrganizationOwner) => () =>
      owner.user.call('organizations/delete-organization', { organization_id: owner.organizationId });
    const cancel = (owner: OrganizationOwner) => () => owner.request('cancel-downgrade');
    const pause = (owner: OrganizationOwner) => () => owner.request('pause');
    const resume = (owner: OrganizationOwner) => () => owner.request('subscribe', { tier: 'starter' });
    const remove = (owner: OrganizationOwner) => () =>
      owner.request('remove-payment-method', { payment_method_id: cards.get(owner) });
    await killDuring([
      interrupt(
        keepingOwner,
        'silence-before',
        /^SubscriptionSchedules\.release$/,
        scheduleOf(keepingOwner),
        cancel(keepingOwner),
      ),
      interrupt(
        keptOwner,
        'silence-after',
        /^SubscriptionSchedules\.release$/,
        scheduleOf(keptOwner),
        cancel(keptOwner),
      ),
      interrupt(pausing, 'silence-before', /^Subscriptions\.pause$/, subscriptionOf(pausing), pause(pausing)),
      interrupt(paused, 'silence-after', /^Subscriptions\.pause$/, subscriptionOf(paused), pause(paused)),
      interrupt(
        keepsCredit,
        'silence-after',
        /CreditGrants\.create$/,
        keepsCredit.customer()!,
        pause(keepsCredit),
      ),
      interrupt(
        losesCredit,
        'silence-after',
        /CreditGrants\.expire$/,
        creditOf(losesCredit),
        pause(losesCredit),
      ),
      interrupt(
        resuming,
        'silence-before',
        /^Subscriptions\.resume$/,
        subscriptionOf(resuming),
        resume(resuming),
      ),
      interrupt(
        resumed,
        'silence-after',
        /^Subscriptions\.resume$/,
        subscriptionOf(resumed),
        resume(resumed),
      ),
      interrupt(removing, 'silence-after', /^Customers\.update$/, removing.customer()!, remove(removing)),
      interrupt(removed, 'silence-after', /^PaymentMethods\.detach$/, cards.get(removed)!, remove(removed)),
      interrupt(leaving, 'silence-before', /^Subscriptions\.cancel$/, ended.get(leaving)!, leave(leaving)),
      interrupt(left, 'silence-after', /^Subscriptions\.cancel$/, ended.get(left)!, leave(left)),
    ]);

    t.match(await keepingOwner.status(), { pending_downgrade: { tier: 'starter' } }, 'nothing was canceled');
    t.match(await keepingOwner.call('cancel-downgrade'), { pending_downgrade: null });
    t.match(await keptOwner.status(), { subscription_tier: 'teams', pending_downgrade: null }, 'taken back');
    t.match(
      await keptOwner.call('cancel-downgrade'),
      { pending_downgrade: null },
      'a repeated request is accepted',
    );
    for (const owner of [keepingOwner, keptOwner]) {
      t.equal(owner.subscription()!.schedule, null);
      t.equal(paid(owner), 1);
    }

    t.match(await pausing.status(), { status: 'active', subscription_tier: 'starter' });
    t.match(await paused.status(), {
      status: 'paused',
      subscription_tier: 'free',
      rate_limits: limitsByTier.free,
    });
    const unused = Math.round((5_000 * 10.5) / 31);
    t.equal(deductible(paused), pays.get(paused)! - unused, 'credit returned by a pause pays for no usage');
    for (const owner of [pausing, keepsCredit, losesCredit]) {
      t.match(await owner.status(), { status: 'active', subscription_tier: 'starter' });
      t.equal(deductible(owner), pays.get(owner), 'credit withdrawn by a failed pause is returned');
    }
    for (const owner of [pausing, paused, keepsCredit, losesCredit]) {
      t.match(await owner.call('pause'), { status: 'paused', paused_tier: 'starter' });
      t.equal(paid(owner), 1);
      const { credit_balance_cents: credit } = await owner.status();
      t.equal(credit + deductible(owner), pays.get(owner), 'no payment is lost or doubled');
    }

    t.match(await resuming.status(), { status: 'paused', subscription_tier: 'free' });
    t.match(await resumed.status(), {
      status: 'active',
      subscription_tier: 'starter',
      rate_limits: limitsByTier.starter,
    });
    for (const owner of [resuming, resumed]) {
      t.match(await owner.call('subscribe', { tier: 'starter' }), {
        subscription_tier: 'starter',
        pending_tier: null,
      });
      t.match(await owner.status(), { status: 'active', subscription_tier: 'starter' });
      t.equal(paid(owner), before.get(owner)!, 'unused payments pay the rest of the month');
    }
    const openInvoices = [resuming, resumed].map((owner) =>
      owner.invoices().map(({ total, status }) => [total, status]),
    );
    t.same(openInvoices[0], openInvoices[1], 'cut off before or after, the invoices are the same');

    for (const owner of [removing, removed]) {
      const { payment_methods: methods, payment_method: usual } = await owner.status();
      t.equal(usual.brand, 'mastercard', 'the other card pays from now on');
      t.equal(methods.length, owner === removing ? 2 : 1);
      t.equal((await remove(owner)()).status, owner === removing ? 200 : 404);
      t.equal((await owner.status()).payment_methods.length, 1);
    }

    const isGone = ({ organizationId }: OrganizationOwner) =>
      server.fullLog
        .split('\n')
        .some((line) => line.includes(organizationId) && line.includes('organization removed'));
    await waitUntil('the end of both organizations', () => [leaving, left].every(isGone));
    for (const owner of [leaving, left]) {
      t.ok(isGone(owner), 'the deletion continues');
      const id = ended.get(owner)!;
      const isItsEnd = (one: { readonly operation: string; readonly ids: readonly string[] }) =>
        one.operation === 'Subscriptions.cancel' && one.ids.includes(id);
      t.equal(emulator.requests.filter(isItsEnd).length, 1, 'and the subscription is not ended twice');
      t.equal(emulator.state.listObjects('subscription').find((one) => one.id === id)?.status, 'canceled');
      t.equal(owner.invoices().filter(({ status }) => status === 'open').length, 0);
      t.equal(paid(owner), 1);
    }
    fixture.checkNoInvalidRequests(t);
  },
);

/** Repeats a request until the first attempt has ended; counts the 503 replies caused by a slow machine. */
async function retryUntilAnswered(
  ask: () => Promise<HttpReply>,
): Promise<{ answer: HttpReply; late: number }> {
  let [answer, late] = [await ask(), 0];
  const isAnswered = async () => {
    if (![409, 503].includes(answer.status)) return true;
    if (answer.status === 503) late += 1;
    answer = await ask();
    return false;
  };
  await waitUntil('the answer', isAnswered, 100);
  return { answer, late };
}

t.test('late replies of Stripe neither block requests nor cause double charges', async (t) => {
  await createPromotionCode('LATE');
  const [buying, raising, keyed] = [
    await fixture.createOwner(),
    await subscribedOwner('starter'),
    await fixture.createOwner(),
  ];
  const [redeeming, pausing] = [await subscribedOwner('starter'), await subscribedOwner('starter')];
  const leaving = await subscribedOwner('starter');
  const first = async (owner: OrganizationOwner) => ({
    tier: 'starter',
    payment_method_id: await owner.createCard(),
  });
  const [buy, keyedBuy] = [await first(buying), await first(keyed)];
  await fixture.restart({ STRIPE_ANSWER_SECONDS_MAX: '1', STRIPE_SECONDS_MAX: '60' });
  const cases: readonly [string, RegExp, string, () => Promise<HttpReply>][] = [
    ['buying', /^Invoices\.pay$/, buy.payment_method_id, () => buying.request('subscribe', buy)],
    [
      'raising',
      /^Subscriptions\.update$/,
      raising.subscription()!.id,
      () => raising.request('subscribe', { tier: 'teams' }),
    ],
    [
      'with a key',
      /^Invoices\.pay$/,
      keyedBuy.payment_method_id,
      () => keyed.request('subscribe', keyedBuy, { 'idempotency-key': 'late' }),
    ],
    [
      'redeeming',
      /createBalanceTransaction$/,
      redeeming.customer()!,
      () => redeeming.request('redeem-code', { code: 'LATE' }),
    ],
    ['pausing', /^Subscriptions\.pause$/, pausing.subscription()!.id, () => pausing.request('pause')],
  ];
  const readCustomerFault = { operation: /^Customers\.retrieve$/, text: leaving.customer()! };
  const leave = () =>
    leaving.user.call('organizations/delete-organization', { organization_id: leaving.organizationId });
  // Two faults: the server may also read on its own, because it checks for missed events when it starts.
  emulator.faults.add({ kind: 'late-after', ...readCustomerFault, times: 2 });
  let lastStatus: HttpReply['body'] = null;
  // A read that started before the fault was added may finish later: its copy is fresh, so no reply is stale yet.
  await waitUntil('a reading that is late', async () => {
    await fixture.advanceBriefly();
    lastStatus = await leaving.call('status');
    return lastStatus.stale;
  });
  t.match(lastStatus, { stale: true, subscription_tier: 'starter', rate_limits: limitsByTier.starter });
  t.match(lastStatus.payment_method, { last4: '4242' }, 'status shows the last copy');
  t.match(await leave(), { status: 503, body: { detail: /Nothing was deleted/ } });
  t.match(await leave(), { status: 409 }, 'while the first one is not answered');
  for (const [, operation, text] of cases) emulator.faults.add({ kind: 'late-after', operation, text });
  const answers = await Promise.all(cases.map(([, , , ask]) => ask()));
  for (const [i, answer] of answers.entries()) {
    t.match(answer, { status: 503, body: { detail: /still running/ } }, cases[i]![0]);
    t.ok(answer.headers.has('retry-after'));
  }
  for (const [, operation, text] of cases)
    while (!emulator.faults.hasOccurred({ operation, text }))
      await new Promise((resolve) => setTimeout(resolve, 5));
  for (const [what, , , ask] of cases) t.equal((await ask()).status, 409, `${what}: the first one continues`);
  emulator.faults.clear();
  emulator.faults.releaseReplies();
  let lateAgain = 0;
  for (const [what, , , ask] of cases) {
    const { answer, late } = await retryUntilAnswered(ask);
    t.equal(answer.status, 200, `${what}: repeated, it gets the outcome: ${answer.text}`);
    if (what === 'buying') lateAgain = late;
  }
  await fixture.restart({ STRIPE_ANSWER_SECONDS_MAX: '25' });
  t.match(await leaving.status(), { stale: false, subscription_tier: 'starter' }, 'it was not deleted');
  t.equal((await leave()).status, 200);
  t.match(await buying.status(), { subscription_tier: 'starter', status: 'active' });
  t.match(await keyed.status(), { subscription_tier: 'starter', status: 'active' });
  t.match(await raising.status(), { subscription_tier: 'teams' });
  t.match(await redeeming.status(), { credit_balance_cents: 700 });
  t.match(await pausing.status(), { status: 'paused' });
  t.same([buying, keyed, raising, redeeming, pausing].map(paid), [1, 1, 2, 1, 1]);
  const { entries } = (
    await buying.user.call('organizations/get-audit-log', { organization_id: buying.organizationId })
  ).body;
  t.equal(
    entries.filter(({ action }: { action: string }) => action === 'billing.subscribed').length,
    2 + lateAgain,
    'the actor is in the audit log, although no client waited',
  );
  fixture.checkNoInvalidRequests(t);
});

t.test('without a webhook secret, events are rejected and Stripe is read on request', async (t) => {
  const owner = await subscribedOwner('starter');
  await fixture.restart({ STRIPE_WEBHOOK_SECRET: '' });
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
