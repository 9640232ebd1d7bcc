import t, { type Test } from 'tap';
import { fileMsMax } from '../waiting.ts';
import { eventually } from './api.ts';
import { BillingWorld, limitsOf, type Owner } from './billing-world.ts';

/** Upgrades that come to nothing: a declined card, and one that is given up, leave everything as it was. */

t.setTimeout(fileMsMax);
const world = await BillingWorld.start(t, '2027-06-10T12:00:00Z');
const starter = { tier: 'starter' };

async function paying(): Promise<{ readonly owner: Owner; readonly good: string }> {
  const owner = await world.owner();
  const good = await owner.card();
  await owner.call('subscribe', { ...starter, payment_method_id: good });
  return { owner, good };
}

const open = (owner: Owner) => owner.invoices().filter(({ status }) => ['open', 'draft'].includes(status));

/** Everything is charged to the card that paid before. */
async function chargesStill(t: Test, owner: Owner, good: string): Promise<void> {
  await world.moment();
  t.match(await owner.status(), {
    ...{ subscription_tier: 'starter', status: 'active', rate_limits: limitsOf.starter },
    ...{ payment_method: { id: good }, pending_upgrade: null },
  });
  t.equal(owner.subscription()!.default_payment_method ?? good, good, 'or the usual one of the customer');
  t.strictSame(open(owner), [], 'no invoice is open');
}

t.test('a declined upgrade keeps the card that pays, and that card stays', async (t) => {
  const { owner, good } = await paying();
  const bad = await owner.card('tok_chargeCustomerFail');
  const upgrade = { tier: 'teams', payment_method_id: bad };
  t.equal((await owner.ask('subscribe', upgrade)).status, 402);
  await chargesStill(t, owner, good);
  t.match(await owner.ask('remove-payment-method', { payment_method_id: good }), {
    status: 400,
    body: { detail: /were declined.*Add another/ },
  });
  t.equal((await owner.ask('subscribe', upgrade)).status, 402, 'tried again');
  await chargesStill(t, owner, good);
  const other = await owner.card();
  await owner.call('add-payment-method', { payment_method_id: other });
  await owner.call('remove-payment-method', { payment_method_id: good });
  await chargesStill(t, owner, other);
  t.equal((await owner.ask('remove-payment-method', { payment_method_id: other })).status, 400);
  await owner.call('remove-payment-method', { payment_method_id: bad });
  await chargesStill(t, owner, other);
});

t.test('a card that was declined and then pays may replace the other one', async (t) => {
  const { owner, good } = await paying();
  const bad = await owner.card('tok_chargeCustomerFail');
  const upgrade = { tier: 'teams', payment_method_id: bad };
  t.equal((await owner.ask('subscribe', upgrade)).status, 402);
  world.emulator.world.cards.set(bad, 'pays');
  await world.moment();
  t.match(await owner.call('subscribe', upgrade), { status: 'active' });
  await owner.call('remove-payment-method', { payment_method_id: good });
  t.match(await owner.status(), { payment_method: { id: bad } });
});

t.test('a second card that is declined while the bank is asked changes no card', async (t) => {
  const { owner, good } = await paying();
  const asks = await owner.card('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: asks });
  t.equal(waiting.status, 'requires_action');
  const bad = await owner.card('tok_chargeCustomerFail');
  t.equal((await owner.ask('subscribe', { tier: 'teams', payment_method_id: bad })).status, 402);
  t.match(await owner.status(), { payment_method: { id: good }, pending_upgrade: { tier: 'teams' } });
});

t.test('an upgrade that waits for the bank is canceled, and everything is as before it', async (t) => {
  const { owner, good } = await paying();
  await owner.call('downgrade', { tier: 'free' });
  const asks = await owner.card('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: asks });
  t.equal(waiting.status, 'requires_action');
  t.match(await owner.ask('downgrade', { tier: 'free' }), {
    status: 409,
    body: { detail: /cancel the upgrade/ },
  });
  t.strictSame(await owner.call('cancel-upgrade'), { subscription_tier: 'starter', pending_upgrade: null });
  await chargesStill(t, owner, good);
  t.match(await owner.status(), { pending_downgrade: { tier: 'free' } }, 'planned again');
  t.not(await owner.payOnPage(waiting.hosted_invoice_url), 200, 'its page takes no money');
  t.match(await owner.ask('cancel-upgrade'), { status: 400, body: { detail: /No upgrade is pending/ } });
  await owner.call('cancel-downgrade');
  t.match(await owner.call('pause'), { status: 'paused' }, 'nothing is blocked');
});

t.test('a first tier that waits for the bank is canceled', async (t) => {
  const owner = await world.owner();
  const asks = { tier: 'teams', payment_method_id: await owner.card('tok_authenticationRequired') };
  const waiting = await owner.call('subscribe', asks);
  t.strictSame(await owner.call('cancel-upgrade'), { subscription_tier: 'free', pending_upgrade: null });
  t.not(await owner.payOnPage(waiting.hosted_invoice_url), 200, 'its page takes no money');
  t.match(await owner.status(), { status: 'none', pending_upgrade: null });
  t.strictSame(open(owner), []);
  const first = { ...starter, payment_method_id: await owner.card() };
  t.match(await owner.call('subscribe', first), { status: 'active' });
});

t.test('an upgrade that was paid while it was canceled stays', async (t) => {
  const { owner } = await paying();
  // Only the cancellation reads from here on: no event makes the server read.
  await world.settled();
  world.emulator.webhooks.way = () => 'lost';
  const asks = await owner.card('tok_authenticationRequired');
  const waiting = await owner.call('subscribe', { tier: 'teams', payment_method_id: asks });
  const [kind, operation] = ['late-after', /^Invoices\.retrieve$/] as const;
  world.emulator.faults.add({ kind, operation, text: waiting.invoice.id });
  const cancelled = owner.ask('cancel-upgrade');
  await eventually(
    'the invoice was read',
    async () => (world.emulator.faults.befell({ operation, text: waiting.invoice.id }) ? true : null),
    120_000,
  );
  t.equal(await owner.payOnPage(waiting.hosted_invoice_url), 200);
  world.emulator.faults.release();
  t.match(await cancelled, { status: 409, body: { detail: /was paid in the meantime/ } });
  world.emulator.faults.clear();
  world.emulator.webhooks.way = () => 'sent';
  await world.moment();
  t.match(await owner.status(), { subscription_tier: 'teams', status: 'active', pending_upgrade: null });
});

t.test('a lost answer to a canceled upgrade is repeated', async (t) => {
  const { owner, good } = await paying();
  const asks = await owner.card('tok_authenticationRequired');
  await owner.call('subscribe', { tier: 'teams', payment_method_id: asks });
  world.emulator.faults.add({ kind: 'lost-after', operation: /^Invoices\.voidInvoice$/, times: 4 });
  t.equal((await owner.ask('cancel-upgrade')).status, 503);
  world.emulator.faults.clear();
  await owner.call('cancel-upgrade');
  await chargesStill(t, owner, good);
});

t.test('a declined resumption and a declined first tier keep the card that was usual', async (t) => {
  const { owner, good } = await paying();
  await owner.call('pause');
  // The credit of the pause pays for less than the rest of the next month.
  await world.travel('2027-07-02T00:00:00Z');
  const bad = { ...starter, payment_method_id: await owner.card('tok_chargeCustomerFail') };
  t.equal((await owner.ask('subscribe', bad)).status, 402);
  await world.moment();
  t.match(await owner.status(), { status: 'paused', payment_method: { id: good } });
  t.strictSame(open(owner), []);
  const begins = await world.owner();
  const usual = await begins.card();
  await begins.call('add-payment-method', { payment_method_id: usual });
  const first = { ...starter, payment_method_id: await begins.card('tok_chargeCustomerFail') };
  t.equal((await begins.ask('subscribe', first)).status, 402);
  await world.moment();
  t.match(await begins.status(), { status: 'none', payment_method: { id: usual } });
  t.strictSame(open(begins), []);
});

t.test('Stripe understood every request', async (t) => world.checkUnderstood(t));
