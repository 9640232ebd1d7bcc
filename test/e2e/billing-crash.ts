import type { FaultKind } from '../support/stripe-emulator/faults.ts';
import t from '../support/tap.ts';
import { waitUntil } from '../timeouts.ts';
import { limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { fixture, type InterruptedCall, type InterruptedScenario } from './billing-restart-server.ts';
import {
  createPromotionCode,
  firstSubscription,
  paymentCount,
  remainingCents,
  subscribedOwner,
} from './billing-steps.ts';
import { interruptMetering } from './billing-usage.ts';
import type { HttpReply } from './people.ts';

/**
 * The server is killed during Stripe calls for many organizations at once; the next start must repair the state. All
 * scenarios share one kill, because a start of the server costs more than everything else in a scenario.
 */

const { emulator, server } = fixture;

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
    if (answered.length > 0) throw new Error(`Stripe did not receive the request to interrupt: ${answered}`);
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

async function interruptDowngrade(): Promise<InterruptedScenario> {
  const owner = await subscribedOwner(fixture, 'teams');
  const downgrade = () => owner.request('downgrade', { tier: 'starter' });
  return {
    interrupted: [interrupt(owner, 'no-reply-before', /^SubscriptionSchedules\.update$/, '', downgrade)],
    check: async (t) => {
      t.match(await owner.status(), { subscription_tier: 'teams', pending_downgrade: null });
      t.equal(owner.subscription()!.schedule, null, 'the schedule in Stripe is released');
      t.match(await owner.call('downgrade', { tier: 'starter' }), { pending_downgrade: { tier: 'starter' } });
    },
  };
}

async function interruptUpgrades(): Promise<InterruptedScenario> {
  const [charged, uncharged] = await subscribedPair('starter');
  await uncharged.call('downgrade', { tier: 'free' });
  const upgrade = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^Subscriptions\.update$/, subscriptionOf(owner), () =>
      owner.request('subscribe', { tier: 'teams' }),
    );
  return {
    interrupted: [upgrade(charged, 'no-reply-after'), upgrade(uncharged, 'no-reply-before')],
    check: async (t) => {
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
    },
  };
}

async function interruptFirstSubscriptions(): Promise<InterruptedScenario> {
  const [created, charged] = [await fixture.createOwner(), await fixture.createOwner()];
  const [creation, payment] = [await firstSubscription(created), await firstSubscription(charged)];
  await created.call('add-payment-method');
  return {
    interrupted: [
      interrupt(created, 'no-reply-after', /^Subscriptions\.create$/, created.customer()!, () =>
        created.request('subscribe', creation),
      ),
      interrupt(charged, 'no-reply-after', /^Invoices\.pay$/, payment.payment_method_id, () =>
        charged.request('subscribe', payment),
      ),
    ],
    check: async (t) => {
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
    },
  };
}

async function interruptRedemptions(): Promise<InterruptedScenario> {
  const [before, after] = await subscribedPair('starter');
  for (const code of ['BEFORE', 'AFTER'])
    await createPromotionCode(fixture, code, { amount_off: 700, currency: 'usd' });
  const redemptions = [
    { owner: before, code: 'BEFORE', kind: 'no-reply-before' },
    { owner: after, code: 'AFTER', kind: 'no-reply-after' },
  ] as const;
  return {
    interrupted: redemptions.map(({ owner, code, kind }) =>
      interrupt(owner, kind, /createBalanceTransaction$/, owner.customer()!, () =>
        owner.request('redeem-code', { code }),
      ),
    ),
    check: async (t) => {
      for (const { owner, code } of redemptions) {
        t.match(
          await owner.status(),
          { credit_balance_cents: 700 },
          `the credit of code ${code} is on the account`,
        );
        t.ok([200, 400].includes((await owner.request('redeem-code', { code })).status));
        t.match(await owner.status(), { credit_balance_cents: 700 }, 'a repeated redemption adds no credit');
      }
    },
  };
}

async function interruptCancellations(): Promise<InterruptedScenario> {
  const [before, after] = await subscribedPair('teams');
  for (const owner of [before, after]) await owner.call('downgrade', { tier: 'starter' });
  const cancel = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^SubscriptionSchedules\.release$/, scheduleOf(owner), () =>
      owner.request('cancel-downgrade'),
    );
  return {
    interrupted: [cancel(before, 'no-reply-before'), cancel(after, 'no-reply-after')],
    check: async (t) => {
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
    },
  };
}

/** The subscriptions of these organizations have been paid for some days. */
async function interruptPauses([pausing, paused, creditCreated, creditExpired]: readonly [
  OrganizationOwner,
  OrganizationOwner,
  OrganizationOwner,
  OrganizationOwner,
]): Promise<InterruptedScenario> {
  const owners = [pausing, paused, creditCreated, creditExpired];
  const payments = new Map(owners.map((owner) => [owner, deductible(owner)]));
  const creditId: string = emulator.state
    .listObjects('billing.credit_grant')
    .find(({ customer }) => customer === creditExpired.customer())!.id;
  const cutPause = (owner: OrganizationOwner, kind: FaultKind, operation: RegExp, text: string) =>
    interrupt(owner, kind, operation, text, () => owner.request('pause'));
  return {
    interrupted: [
      cutPause(pausing, 'no-reply-before', /^Subscriptions\.pause$/, subscriptionOf(pausing)),
      cutPause(paused, 'no-reply-after', /^Subscriptions\.pause$/, subscriptionOf(paused)),
      cutPause(creditCreated, 'no-reply-after', /CreditGrants\.create$/, creditCreated.customer()!),
      cutPause(creditExpired, 'no-reply-after', /CreditGrants\.expire$/, creditId),
    ],
    check: async (t) => {
      t.match(await pausing.status(), { status: 'active', subscription_tier: 'starter' });
      t.match(await paused.status(), {
        status: 'paused',
        subscription_tier: 'free',
        rate_limits: limitsByTier.free,
      });
      const unused = remainingCents('starter', emulator.now);
      const left = payments.get(paused)! - unused;
      t.equal(deductible(paused), left, 'credit returned by a pause pays for no usage');
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
    },
  };
}

/** The subscriptions of these organizations were paused some days ago. */
async function interruptResumes([before, after]: readonly [
  OrganizationOwner,
  OrganizationOwner,
]): Promise<InterruptedScenario> {
  const payments = new Map([before, after].map((owner) => [owner, paymentCount(owner)]));
  const resume = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^Subscriptions\.resume$/, subscriptionOf(owner), () =>
      owner.request('subscribe', { tier: 'starter' }),
    );
  return {
    interrupted: [resume(before, 'no-reply-before'), resume(after, 'no-reply-after')],
    check: async (t) => {
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
    },
  };
}

async function interruptCardRemovals(): Promise<InterruptedScenario> {
  const [before, after] = await subscribedPair('starter');
  const cards = new Map<OrganizationOwner, string>();
  for (const owner of [before, after]) {
    cards.set(owner, (await owner.status()).payment_method.id);
    await owner.call('add-payment-method', { payment_method_id: await owner.createCard('tok_mastercard') });
  }
  const remove = (owner: OrganizationOwner) => () =>
    owner.request('remove-payment-method', { payment_method_id: cards.get(owner) });
  return {
    interrupted: [
      interrupt(before, 'no-reply-after', /^Customers\.update$/, before.customer()!, remove(before)),
      interrupt(after, 'no-reply-after', /^PaymentMethods\.detach$/, cards.get(after)!, remove(after)),
    ],
    check: async (t) => {
      for (const owner of [before, after]) {
        const { payment_methods: methods, payment_method: defaultCard } = await owner.status();
        t.equal(defaultCard.brand, 'mastercard', 'the other card is the default');
        t.equal(methods.length, owner === before ? 2 : 1);
        t.equal((await remove(owner)()).status, 200, 'a repeated request succeeds');
        t.equal((await owner.status()).payment_methods.length, 1);
      }
    },
  };
}

async function interruptDeletions(): Promise<InterruptedScenario> {
  const owners = await subscribedPair('starter');
  const ended = new Map(owners.map((owner) => [owner, subscriptionOf(owner)]));
  const remove = (owner: OrganizationOwner, kind: FaultKind) =>
    interrupt(owner, kind, /^Subscriptions\.cancel$/, ended.get(owner)!, () =>
      owner.user.call('organizations/delete-organization', { organization_id: owner.organizationId }),
    );
  const isRemoved = ({ organizationId }: OrganizationOwner) =>
    server.fullLog
      .split('\n')
      .some((line) => line.includes(organizationId) && line.includes('organization removed'));
  return {
    interrupted: [remove(owners[0], 'no-reply-before'), remove(owners[1], 'no-reply-after')],
    check: async (t) => {
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
    },
  };
}

t.test('a crash during calls of Stripe', async (t) => {
  const pausing = [...(await subscribedPair('starter')), ...(await subscribedPair('starter'))] as const;
  const resuming = await subscribedPair('starter');
  for (const owner of resuming) await owner.call('pause');
  await fixture.advanceTo('2027-03-21T12:00:00Z');
  for (const owner of [...pausing, ...resuming]) await owner.signIn();

  const scenarios: Readonly<Record<string, InterruptedScenario>> = {
    'a crash during a pause neither loses nor doubles a payment': await interruptPauses(pausing),
    'a subscription resumes once, whether the crash came before or after Stripe':
      await interruptResumes(resuming),
    'an interrupted downgrade leaves no schedule and can be repeated': await interruptDowngrade(),
    'after a crash during an upgrade, a paid one applies and an unpaid one changes nothing':
      await interruptUpgrades(),
    'after a crash during a first subscription it is paid once': await interruptFirstSubscriptions(),
    'after a crash during the redemption of a code it is credited once': await interruptRedemptions(),
    'a canceled downgrade is canceled once, whether the crash came before or after Stripe':
      await interruptCancellations(),
    'after a crash while a card is removed, the other card pays': await interruptCardRemovals(),
    'the deletion of an organization continues after a crash and ends its subscription once':
      await interruptDeletions(),
    // The last one: the server would report its usage to Stripe at the next minute.
    'a kill after any step of a pause or a resume neither loses nor doubles tokens':
      await interruptMetering(),
  };

  await killDuring(Object.values(scenarios).flatMap(({ interrupted }) => interrupted));

  for (const [title, { check }] of Object.entries(scenarios)) await t.test(title, check);
});
