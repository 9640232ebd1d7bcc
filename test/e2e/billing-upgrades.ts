import t, { type Test } from '../support/tap.ts';
import { limitsByTier, type OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import { unpaidInvoices } from './billing-steps.ts';
import { waitFor } from './checked-api-client.ts';

/** Failed upgrades: after a declined or a canceled one, everything is as before. */

const starter = { tier: 'starter' };

async function subscribedOwner(): Promise<{ readonly owner: OrganizationOwner; readonly good: string }> {
  const owner = await fixture.createOwner();
  const good = await owner.createCard();
  await owner.call('subscribe', { ...starter, payment_method_id: good });
  return { owner, good };
}

/** All payments use the card that paid before. */
async function checkDefaultCard(t: Test, owner: OrganizationOwner, good: string): Promise<void> {
  await fixture.advanceBriefly();
  t.match(await owner.status(), {
    subscription_tier: 'starter',
    status: 'active',
    rate_limits: limitsByTier.starter,
    payment_method: { id: good },
    pending_upgrade: null,
  });
  t.equal(owner.subscription()!.default_payment_method ?? good, good, 'or the usual one of the customer');
  t.strictSame(unpaidInvoices(owner), [], 'no invoice is open');
}

t.test('a declined upgrade keeps the working card, which cannot be removed', async (t) => {
  const { owner, good } = await subscribedOwner();
  const bad = await owner.createCard('tok_chargeCustomerFail');
  const upgrade = { tier: 'teams', payment_method_id: bad };
  t.equal((await owner.request('subscribe', upgrade)).status, 402);
  await checkDefaultCard(t, owner, good);
  t.match(await owner.request('remove-payment-method', { payment_method_id: good }), {
    status: 400,
    body: { detail: /were declined.*Add another/ },
  });
  t.equal((await owner.request('subscribe', upgrade)).status, 402, 'the second attempt');
  await checkDefaultCard(t, owner, good);
  const other = await owner.createCard();
  await owner.call('add-payment-method', { payment_method_id: other });
  await owner.call('remove-payment-method', { payment_method_id: good });
  await checkDefaultCard(t, owner, other);
  t.equal((await owner.request('remove-payment-method', { payment_method_id: other })).status, 400);
  await owner.call('remove-payment-method', { payment_method_id: bad });
  await checkDefaultCard(t, owner, other);
});

t.test('a card that was declined and then pays can replace the other one', async (t) => {
  const { owner, good } = await subscribedOwner();
  const bad = await owner.createCard('tok_chargeCustomerFail');
  const upgrade = { tier: 'teams', payment_method_id: bad };
  t.equal((await owner.request('subscribe', upgrade)).status, 402);
  fixture.emulator.state.cards.set(bad, 'pays');
  await fixture.advanceBriefly();
  t.match(await owner.call('subscribe', upgrade), { status: 'active' });
  await owner.call('remove-payment-method', { payment_method_id: good });
  t.match(await owner.status(), { payment_method: { id: bad } });
});

t.test('a second card declined during bank confirmation changes no card', async (t) => {
  const { owner, good } = await subscribedOwner();
  const cardWithConfirmation = await owner.createCard('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: cardWithConfirmation });
  t.equal(waiting.status, 'requires_action');
  const bad = await owner.createCard('tok_chargeCustomerFail');
  t.equal((await owner.request('subscribe', { tier: 'teams', payment_method_id: bad })).status, 402);
  t.match(await owner.status(), { payment_method: { id: good }, pending_upgrade: { tier: 'teams' } });
});

t.test('canceling an upgrade that waits for the bank restores the previous state', async (t) => {
  const { owner, good } = await subscribedOwner();
  await owner.call('downgrade', { tier: 'free' });
  const cardWithConfirmation = await owner.createCard('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: cardWithConfirmation });
  t.equal(waiting.status, 'requires_action');
  t.match(await owner.request('downgrade', { tier: 'free' }), {
    status: 409,
    body: { detail: /cancel the upgrade/ },
  });
  t.strictSame(await owner.call('cancel-upgrade'), { subscription_tier: 'starter', pending_upgrade: null });
  await checkDefaultCard(t, owner, good);
  t.match(await owner.status(), { pending_downgrade: { tier: 'free' } }, 'scheduled again');
  t.not(await owner.payOnInvoicePage(waiting.hosted_invoice_url), 200, 'its page accepts no payment');
  t.match(await owner.request('cancel-upgrade'), { status: 400, body: { detail: /No upgrade is pending/ } });
  await owner.call('cancel-downgrade');
  t.match(await owner.call('pause'), { status: 'paused' }, 'later changes are not blocked');
});

t.test('a first tier that waits for the bank can be canceled', async (t) => {
  const owner = await fixture.createOwner();
  const request = { tier: 'teams', payment_method_id: await owner.createCard('tok_authenticationRequired') };
  const waiting = await owner.call('subscribe', request);
  t.strictSame(await owner.call('cancel-upgrade'), { subscription_tier: 'free', pending_upgrade: null });
  t.not(await owner.payOnInvoicePage(waiting.hosted_invoice_url), 200, 'its page accepts no payment');
  t.match(await owner.status(), { status: 'none', pending_upgrade: null });
  t.strictSame(unpaidInvoices(owner), []);
  const first = { ...starter, payment_method_id: await owner.createCard() };
  t.match(await owner.call('subscribe', first), { status: 'active' });
});

t.test('an upgrade paid during its cancellation stays', async (t) => {
  const { owner } = await subscribedOwner();
  // From here on, only the cancellation reads from Stripe: no webhook triggers a read.
  await fixture.waitUntilSynced();
  fixture.emulator.webhooks.deliveryMode = () => 'lost';
  const cardWithConfirmation = await owner.createCard('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: cardWithConfirmation });
  const [kind, operation] = ['late-after', /^Invoices\.retrieve$/] as const;
  fixture.emulator.faults.add({ kind, operation, text: waiting.invoice.id });
  const canceled = owner.request('cancel-upgrade');
  await waitFor(
    'the invoice was read',
    async () => (fixture.emulator.faults.hasOccurred({ operation, text: waiting.invoice.id }) ? true : null),
    120_000,
  );
  t.equal(await owner.payOnInvoicePage(waiting.hosted_invoice_url), 200);
  fixture.emulator.faults.releaseReplies();
  t.match(await canceled, { status: 409, body: { detail: /has already been paid/ } });
  fixture.emulator.faults.clear();
  fixture.emulator.webhooks.deliveryMode = () => 'sent';
  await fixture.advanceBriefly();
  t.match(await owner.status(), { subscription_tier: 'teams', status: 'active', pending_upgrade: null });
});

t.test('canceling an upgrade that was paid before names the payment', async (t) => {
  const { owner } = await subscribedOwner();
  await fixture.waitUntilSynced();
  fixture.emulator.webhooks.deliveryMode = () => 'lost';
  const cardWithConfirmation = await owner.createCard('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: cardWithConfirmation });
  t.equal(await owner.payOnInvoicePage(waiting.hosted_invoice_url), 200);
  t.match(await owner.request('cancel-upgrade'), {
    status: 409,
    body: { detail: /has already been paid/ },
  });
  t.match(await owner.request('cancel-upgrade'), { status: 400, body: { detail: /No upgrade is pending/ } });
  fixture.emulator.webhooks.deliveryMode = () => 'sent';
  await fixture.advanceBriefly();
  t.match(await owner.status(), { subscription_tier: 'teams', status: 'active', pending_upgrade: null });
});

t.test('a lost reply to a canceled upgrade is repeated', async (t) => {
  const { owner, good } = await subscribedOwner();
  const cardWithConfirmation = await owner.createCard('tok_authenticationRequired');
  await owner.call('subscribe', { tier: 'teams', payment_method_id: cardWithConfirmation });
  fixture.emulator.faults.add({ kind: 'lost-after', operation: /^Invoices\.voidInvoice$/, times: 4 });
  t.equal((await owner.request('cancel-upgrade')).status, 503);
  fixture.emulator.faults.clear();
  await owner.call('cancel-upgrade');
  await checkDefaultCard(t, owner, good);
});
