import t, { type Test } from 'tap';
import { signature } from '../stripe/webhooks.ts';
import {
  asAdministrator,
  BillingWorld,
  limitsOf,
  monthly,
  type Owner,
  type PlanTier,
  seconds,
} from './billing-world.ts';
import { Person, send } from './people.ts';

/** What people pay and get, through the front door of a server whose Stripe is the emulator. */

const world = await BillingWorld.start(t, '2027-03-10T12:00:00Z', { STRIPE_SECONDS_MAX: '1' });
const { emulator } = world;

/** An owner on a tier that is paid with a card. */
async function paying(tier: Exclude<PlanTier, 'free'>, token = 'tok_visa'): Promise<Owner> {
  const owner = await world.owner();
  const answer = await owner.ask('subscribe', { tier, payment_method_id: await owner.card(token) });
  if (answer.status !== 200 || answer.body.status !== 'active')
    throw new Error(`subscribe: ${answer.status} ${answer.text}`);
  return owner;
}

/** What the organisation is shown, and that its limits are those of its tier. */
async function has(t: Test, owner: Owner, tier: PlanTier, more: object = {}) {
  const status = await owner.status();
  const expected = { stale: false, subscription_tier: tier, rate_limits: limitsOf[tier], ...more };
  t.match(status, expected, `it is on ${tier}`);
  return status;
}

const sum = (numbers: readonly number[]) => numbers.reduce((all, one) => all + one, 0);

/** Everything that was ever collected from a card. */
function collected(owner: Owner): number {
  return sum(owner.invoices().map((invoice) => invoice.amount_paid));
}

/** What may not be left behind: an invoice that somebody still has to pay. */
function owed(owner: Owner): number {
  return sum(
    owner
      .invoices()
      .filter(({ status }) => status === 'open')
      .map((invoice) => invoice.amount_remaining),
  );
}

/** What the audit log says of cards, newest first. */
async function cardEntries({ person, organizationId: organization_id }: Owner) {
  const { entries } = (await person.call('organizations/get-audit-log', { organization_id })).body;
  return entries.filter(({ action }: { action: string }) => action.startsWith('billing.payment_method_'));
}

/** The price of the rest of March from a time on. */
function rest(tier: PlanTier, from: number): number {
  return Math.round((monthly[tier] * (seconds('2027-04-01') - from)) / (31 * 86_400));
}

t.test('before anybody pays there is a tier, prices and limits', async (t) => {
  const owner = await world.owner();
  const status = await has(t, owner, 'free', {
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
  t.match(await owner.person.call('users/get-user'), { body: { billing_enabled: true } });
});

t.test('who runs the server pays, too, at an address that no letter reaches', async (t) => {
  const link = /https?:\S+verify\?token=\S+/.exec(world.server.printed)?.[0] ?? '';
  const { body } = await send(link, { method: 'GET', headers: { accept: 'application/json' } });
  const headers = { authorization: `Bearer ${body.access_token}` };
  const ask = async (operation: string, wanted: object) =>
    (await send(`${world.server.url}/api/${operation}`, { headers, body: wanted })).body;
  const { organization_id } = await ask('organizations/add-organization', { name: 'Of the operator' });
  const wanted = { organization_id, tier: 'starter', payment_method_id: 'pm_card_visa' };
  t.match(await ask('billing/subscribe', wanted), { status: 'active', subscription_tier: 'starter' });
  const customer = emulator.world.all('customer').find(({ name }) => name === 'Of the operator');
  t.equal(customer?.email, null, 'Stripe writes to nobody');
});

t.test('the first tier is paid for the rest of the month at once', async (t) => {
  const owner = await paying('starter');
  const status = await has(t, owner, 'starter', {
    status: 'active',
    current_period_end: '2027-04-01T00:00:00.000Z',
  });
  const [invoice] = owner.invoices();
  const from = invoice!.lines.data[0]!.period.start;
  t.equal(invoice!.amount_paid, rest('starter', from));
  t.match(status.invoices, [{ status: 'paid', amount_paid: rest('starter', from), currency: 'usd' }]);
  t.match(status.payment_method, { brand: 'visa', last4: '4242' });
  t.equal((await owner.ask('subscribe', { tier: 'starter' })).status, 400, 'the same tier again');
  t.equal(collected(owner), rest('starter', from));
});

t.test('a card that wants authentication pays later, on the page', async (t) => {
  const owner = await world.owner();
  const card = await owner.card('tok_authenticationRequired');
  const asked = await owner.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.match(asked, { status: 'requires_action', subscription_tier: 'free', pending_tier: 'starter' });
  const payment = emulator.world.all('payment_intent').find((one) => one.customer === owner.customer());
  t.equal(payment?.status, 'requires_action', 'the bank asks; it does not decline because nobody is there');
  await has(t, owner, 'free', {
    pending_upgrade: { tier: 'starter', hosted_invoice_url: asked.hosted_invoice_url },
  });
  const again = await owner.call('subscribe', { tier: 'starter' });
  t.equal(again.hosted_invoice_url, asked.hosted_invoice_url, 'asked again, it is the same invoice');
  t.equal(await owner.payOnPage(asked.hosted_invoice_url), 200);
  await has(t, owner, 'starter', { status: 'active', pending_upgrade: null });
  t.equal(owner.invoices().length, 1);
});

t.test('an upgrade whose bank wants to ask changes nothing until it was paid', async (t) => {
  const owner = await paying('starter');
  const card = await owner.card('tok_authenticationRequired');
  const asked = await owner.call('subscribe', { tier: 'teams', payment_method_id: card });
  t.match(asked, { status: 'requires_action', subscription_tier: 'starter', pending_tier: 'teams' });
  await has(t, owner, 'starter', { pending_upgrade: { tier: 'teams' } });
  t.equal((await owner.ask('downgrade', { tier: 'free' })).status, 409, 'no downgrade while it waits');
  t.equal(await owner.payOnPage(asked.hosted_invoice_url), 200);
  await has(t, owner, 'teams', { pending_upgrade: null });
});

t.test('a declined card leaves no subscription, no debt and a sentence', async (t) => {
  const owner = await world.owner();
  const bad = await owner.card('tok_chargeCustomerFail');
  const declined = await owner.ask('subscribe', { tier: 'starter', payment_method_id: bad });
  t.match(declined, { status: 402, body: { detail: /declined/ } });
  await has(t, owner, 'free', { pending_upgrade: null });
  t.equal(owed(owner), 0);
  t.equal(owner.subscription(), null);
  const good = await owner.card();
  t.match(await owner.call('subscribe', { tier: 'starter', payment_method_id: good }), { status: 'active' });
  const raised = await owner.ask('subscribe', {
    tier: 'teams',
    payment_method_id: await owner.card('tok_chargeCustomerFail'),
  });
  t.equal(raised.status, 402);
  await has(t, owner, 'starter', { pending_upgrade: null });
  t.equal(owed(owner), 0, 'nothing is left of the attempt');
});

t.test('a double click pays once', async (t) => {
  for (const headers of [{ 'idempotency-key': 'one click' }, {}]) {
    const owner = await world.owner();
    const body = { tier: 'starter', payment_method_id: await owner.card() };
    const clicks = await Promise.all([1, 2, 3].map(() => owner.ask('subscribe', body, headers)));
    const statuses = clicks.map(({ status }) => status).sort();
    t.ok(
      statuses.includes(200) && statuses.every((status) => [200, 400, 409].includes(status)),
      statuses.join(' '),
    );
    await has(t, owner, 'starter');
    t.equal(owner.invoices().filter(({ status }) => status === 'paid').length, 1);
  }
});

t.test('at the same time subscribing and lowering end in one of the two', async (t) => {
  const owner = await paying('starter');
  const both = await Promise.all([
    owner.ask('subscribe', { tier: 'teams' }),
    owner.ask('downgrade', { tier: 'free' }),
  ]);
  t.ok(
    both.some(({ status }) => status === 200),
    both.map(({ status }) => status).join(' '),
  );
  t.ok(both.every(({ status }) => [200, 400, 409].includes(status)));
  const status = await owner.status();
  t.equal(owner.subscription()!.schedule !== null, status.pending_downgrade !== null);
});

t.test('events that are lost, doubled or reversed change nothing', async (t) => {
  const { webhooks } = emulator;
  webhooks.way = () => 'lost';
  const lost = await paying('starter', 'tok_visa');
  const card = await lost.card('tok_authenticationRequired');
  const asked = await lost.call('subscribe', { tier: 'teams', payment_method_id: card });
  await lost.payOnPage(asked.hosted_invoice_url);
  await world.moment();
  await has(t, lost, 'teams');
  webhooks.way = () => 'twice';
  await has(t, await paying('teams'), 'teams');
  webhooks.way = () => 'held';
  const reversed = await paying('starter');
  t.match(await reversed.call('subscribe', { tier: 'teams' }), { status: 'active' });
  webhooks.way = () => 'sent';
  webhooks.release((letters) => [...letters].reverse());
  await webhooks.arrived();
  t.ok(webhooks.sent.every(({ status }) => status === 200));
  await has(t, reversed, 'teams');
  t.equal(reversed.invoices().length, 2);
});

t.test('raised and lowered in one month: the rest is paid now, the lower price from the first', async (t) => {
  const owner = await paying('starter');
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active', subscription_tier: 'teams' });
  const [, raise] = owner.invoices();
  const from = raise!.lines.data[0]!.period.start;
  t.equal(raise!.amount_paid, rest('teams', from) - rest('starter', from));
  const lowered = await owner.call('downgrade', { tier: 'starter' });
  t.match(lowered.pending_downgrade, { tier: 'starter', effective_at: '2027-04-01T00:00:00.000Z' });
  t.match(
    (await owner.call('downgrade', { tier: 'starter' })).pending_downgrade,
    lowered.pending_downgrade,
    'the same again',
  );
  await has(t, owner, 'teams', { pending_downgrade: { tier: 'starter' } });
  t.match(await owner.call('cancel-downgrade'), { pending_downgrade: null });
  t.equal((await owner.ask('cancel-downgrade')).status, 400);
  t.equal(owner.subscription()!.schedule, null);
  t.equal((await owner.ask('downgrade', { tier: 'teams' })).status, 400, 'not lower');
});

t.test('an upgrade takes a planned downgrade back', async (t) => {
  const owner = await paying('starter');
  await owner.call('downgrade', { tier: 'free' });
  t.match(await owner.call('subscribe', { tier: 'teams' }), { status: 'active' });
  await has(t, owner, 'teams', { pending_downgrade: null });
});

t.test(
  'an upgrade that is declined leaves the planned downgrade and the usual card as they were',
  async (t) => {
    const owner = await paying('starter');
    const { payment_method: usual } = await owner.status();
    await owner.call('downgrade', { tier: 'free' });
    const bad = await owner.card('tok_chargeCustomerFail');
    t.equal((await owner.ask('subscribe', { tier: 'teams', payment_method_id: bad })).status, 402);
    await has(t, owner, 'starter', { pending_downgrade: { tier: 'free' }, payment_method: { id: usual.id } });
    t.equal(owner.subscription()!.default_payment_method, usual.id, 'the next month is charged to it');
    t.equal(owed(owner), 0);
  },
);

t.test('a pause stops everything until it is resumed; not with a downgrade planned', async (t) => {
  const owner = await paying('starter');
  await owner.call('downgrade', { tier: 'free' });
  t.equal((await owner.ask('pause')).status, 409);
  await owner.call('cancel-downgrade');
  t.match(await owner.call('pause'), { status: 'paused' });
  await has(t, owner, 'free', { status: 'paused' });
  t.equal((await owner.ask('downgrade', { tier: 'free' })).status, 409);
  const resumed = await owner.call('subscribe', { tier: 'starter' });
  t.match(resumed, { status: 'resumed', subscription_tier: 'starter' });
  await has(t, owner, 'starter', { status: 'active' });
  t.equal((await (await world.owner()).ask('pause')).status, 400, 'nothing to pause');
});

/** A promotion code that is worth some cents. */
async function promotion(
  code: string,
  worth: object = { amount_off: 1_500, currency: 'usd' },
  more: object = {},
) {
  const coupon = await world.stripe.coupons.create({ duration: 'once', ...worth });
  return world.stripe.promotionCodes.create({
    code,
    promotion: { type: 'coupon', coupon: coupon.id },
    ...more,
  });
}

t.test('what a higher tier would charge is told before, to the cent, and changes nothing', async (t) => {
  await promotion('EARLY');
  const owner = await world.owner();
  const first = await owner.call('preview', { tier: 'starter' });
  t.match(first, {
    subscription_tier: 'starter',
    currency: 'usd',
    due_cents: rest('starter', emulator.now),
    credit_cents: 0,
    monthly_price_cents: monthly.starter,
    next_invoice_at: '2027-04-01T00:00:00.000Z',
  });
  t.equal(owner.customer(), null, 'who only looks is no customer');
  await owner.call('redeem-code', { code: 'EARLY' });
  const withCredit = await owner.call('preview', { tier: 'starter' });
  t.match(withCredit, { credit_cents: 1_500, due_cents: first.due_cents - 1_500 });
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.card() });
  t.equal(collected(owner), withCredit.due_cents);

  await owner.status();
  const before = JSON.stringify(emulator.world.happenings);
  const raise = await owner.call('preview', { tier: 'teams' });
  t.match(raise.lines, [
    { description: /Unused time on Quarry starter/, amount_cents: -rest('starter', seconds(raise.as_of)) },
    { description: /Remaining time on Quarry teams/, amount_cents: rest('teams', seconds(raise.as_of)) },
  ]);
  t.equal(raise.total_cents, sum(raise.lines.map((line: { amount_cents: number }) => line.amount_cents)));
  for (const [tier, expected] of [
    ['starter', 400],
    ['free', 400],
    ['enterprise', 400],
    ['gold', 422],
  ] as const)
    t.equal((await owner.ask('preview', { tier })).status, expected, tier);
  t.equal(JSON.stringify(emulator.world.happenings), before, 'nothing happened');
  await world.travel(emulator.now + 1_200);
  const { as_of } = raise;
  for (const wrong of ['2027-03-10T10:00:00Z', '2027-03-12T00:00:00Z'])
    t.equal((await owner.ask('subscribe', { tier: 'teams', as_of: wrong })).status, 409, wrong);
  for (const wrong of ['now', 7])
    t.equal((await owner.ask('subscribe', { tier: 'teams', as_of: wrong })).status, 422, String(wrong));
  t.equal(collected(owner), withCredit.due_cents, 'and nothing was charged');
  const without = await owner.call('preview', { tier: 'teams' });
  t.ok(without.due_cents < raise.due_cents, 'it would be less by now');
  await owner.call('subscribe', { tier: 'teams', as_of });
  t.equal(collected(owner), withCredit.due_cents + raise.due_cents, 'what was shown is what was charged');
  await owner.call('pause');
  t.equal((await owner.ask('preview', { tier: 'starter' })).status, 409, 'another tier is paused');
  const resumption = await owner.call('preview', { tier: 'teams' });
  t.match(resumption, { due_cents: 0, credit_cents: rest('teams', emulator.now) });
  await world.travel(emulator.now + 86_400);
  const later = await owner.call('preview', { tier: 'teams' });
  t.match(later, { next_invoice_at: '2027-04-01T00:00:00.000Z', due_cents: 0 });
  t.ok(later.credit_cents < resumption.credit_cents, 'a day less');
  const beforeIt = { tier: 'teams', as_of: raise.as_of };
  t.equal((await owner.ask('subscribe', beforeIt)).status, 409, 'a preview of before the pause');
  const { credit_balance_cents: balance } = await owner.status();
  await world.travel(emulator.now + 1_800);
  await owner.call('subscribe', { tier: 'teams', as_of: later.as_of });
  const { credit_balance_cents: left } = await owner.status();
  t.equal(balance - left, later.total_cents, 'a resumption costs what was shown, too');

  const asked = await world.owner();
  const card = await asked.card('tok_authenticationRequired');
  await asked.call('subscribe', { tier: 'starter', payment_method_id: card });
  t.equal((await asked.ask('preview', { tier: 'starter' })).status, 409, 'it waits for its payment');
  t.match(await asked.call('preview', { tier: 'teams' }), { due_cents: rest('teams', emulator.now) });
});

t.test('a code is redeemed once, however often and fast it is sent', async (t) => {
  await promotion('ONCE');
  const owner = await world.owner();
  const tries = await Promise.all([1, 2, 3, 4].map(() => owner.ask('redeem-code', { code: 'ONCE' })));
  t.equal(
    tries.filter(({ status }) => status === 200).length,
    1,
    tries.map(({ status }) => status).join(' '),
  );
  const again = { status: 400, body: { detail: /^This organization has redeemed this code already/ } };
  t.match(await owner.ask('redeem-code', { code: 'ONCE' }), again);
  t.equal((await owner.status()).credit_balance_cents, 1_500);
  const other = await world.owner();
  t.match(await other.call('redeem-code', { code: 'ONCE' }), { credit_cents: 1_500, currency: 'usd' });
  await owner.call('subscribe', { tier: 'starter', payment_method_id: await owner.card() });
  const [invoice] = owner.invoices();
  t.equal(invoice!.amount_paid, invoice!.total - 1_500, 'the credit paid a part of the first invoice');
});

t.test(
  'a coupon is given as often as it says by whichever code, and a code means its own customer',
  async (t) => {
    const coupon = await world.stripe.coupons.create({
      ...{ duration: 'once', amount_off: 900, currency: 'usd', max_redemptions: 2 },
    });
    for (const code of ['SPRING', 'MARCH', 'EASTER'])
      await world.stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id } });
    for (const code of ['SPRING', 'MARCH'])
      t.match(await (await world.owner()).call('redeem-code', { code }), { credit_cents: 900 });
    const [late, own] = [await world.owner(), await paying('starter')];
    t.equal((await late.ask('redeem-code', { code: 'EASTER' })).status, 400, 'the third use of two');
    await promotion('PERSONAL', { amount_off: 300, currency: 'usd' }, { customer: own.customer() });
    const { id: other } = await world.stripe.customers.create({});
    await promotion('PERSONAL', undefined, { customer: other });
    t.match(await own.call('redeem-code', { code: 'PERSONAL' }), { credit_cents: 300 });
    t.equal((await late.ask('redeem-code', { code: 'PERSONAL' })).status, 400);
  },
);

t.test('the last use of a code goes to one of those who ask for it at once', async (t) => {
  await promotion('LAST', undefined, { max_redemptions: 2 });
  const owners = [await world.owner(), await world.owner(), await world.owner(), await world.owner()];
  const answers = await Promise.all(owners.map((owner) => owner.ask('redeem-code', { code: 'LAST' })));
  t.same(answers.map(({ status }) => status).sort(), [200, 200, 400, 400]);
  const credits = await Promise.all(owners.map(async (owner) => (await owner.status()).credit_balance_cents));
  t.equal(sum(credits), 3_000);
});

t.test('codes that are worth nothing get one sentence, and guessing ends', async (t) => {
  await promotion('EURO', { amount_off: 1_500, currency: 'eur' });
  await promotion('PERCENT', { percent_off: 10 });
  await promotion('OVER', undefined, { expires_at: emulator.now - 60 });
  await promotion('ONLYONE', undefined, { max_redemptions: 1 });
  const restrictions = { minimum_amount: 9_900, minimum_amount_currency: 'usd' };
  await promotion('FROM99', undefined, { restrictions });
  await promotion('OTHER', undefined, { customer: (await world.stripe.customers.create({})).id });
  const { id: support } = await world.stripe.products.create({ name: 'Support' });
  const sold = (await world.stripe.prices.list({ limit: 100 })).data.map(({ product }) => product);
  const only = (products: unknown[]) => ({ amount_off: 300, currency: 'usd', applies_to: { products } });
  await promotion('SUPPORT', only([support]));
  await promotion('ONEPLAN', only([sold[0]]));
  await promotion('ALLPLANS', only([...new Set(sold), support]));
  const lucky = await world.owner();
  await lucky.call('redeem-code', { code: 'ONLYONE' });
  t.match(await lucky.call('redeem-code', { code: 'ALLPLANS' }), { credit_cents: 300 });
  const owner = await world.owner();
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
    answers.push(await owner.ask('redeem-code', { code }));
  t.strictSame(
    answers.map(({ status }) => status),
    answers.map(() => 400),
  );
  t.equal(new Set(answers.map(({ body }) => body.detail)).size, 1, 'nobody learns why');
  const guesses = [];
  for (let i = 0; i < 5; i += 1) guesses.push((await owner.ask('redeem-code', { code: `GUESS${i}` })).status);
  t.equal(guesses.at(-1), 429);
  t.equal((await owner.status()).credit_balance_cents, 0);
  const guess = (by: Owner) => by.ask('redeem-code', { code: 'GUESS' });
  await owner.begin('Another organisation');
  t.match(
    await guess(owner),
    { status: 429, body: { detail: /Too many promo codes/ } },
    'of the same person',
  );
  const [second, third] = [await world.owner(), await world.owner()];
  for (const { person } of [second, third]) person.headers = owner.person.headers;
  for (let i = 0; i < 10; i += 1) t.equal((await guess(second)).status, 400);
  t.equal((await guess(third)).status, 429, 'one who is new guesses no further from the same host');
});

t.test('when Stripe did it and its answer was lost, nothing is done twice', async (t) => {
  const work = [/^Subscriptions\.create$/, /^Invoices\.pay$/, /^Customers\.create$/];
  for (const operation of work) {
    for (const kind of ['error-after', 'lost-after', 'error-remembered'] as const) {
      const owner = await world.owner();
      const body = { tier: 'starter', payment_method_id: await owner.card() };
      emulator.faults.add({ kind, operation, times: 4 });
      const first = await owner.ask('subscribe', body);
      t.ok([200, 502, 503].includes(first.status), `${kind} of ${operation.source}: ${first.status}`);
      emulator.faults.clear();
      for (let tries = 0; tries < 3 && owner.subscription()?.status !== 'active'; tries += 1)
        await owner.ask('subscribe', body);
      await has(t, owner, 'starter', { status: 'active' });
      t.equal(owner.invoices().filter(({ amount_paid: paid }) => paid > 0).length, 1, 'one payment');
      t.equal(owed(owner), 0);
    }
  }
});

/** Asks while Stripe does the work of one operation and its answers are lost. */
async function unanswered(
  operation: RegExp,
  ask: () => Promise<{ readonly status: number }>,
): Promise<number> {
  emulator.faults.add({ kind: 'lost-after', operation, times: 4 });
  const { status } = await ask();
  emulator.faults.clear();
  return status;
}

t.test('changed there and back after a lost answer, it is as it was asked for last', async (t) => {
  const [lowers, pauses] = [await paying('teams'), await paying('starter')];
  const free = { tier: 'free' };
  t.equal(await unanswered(/^SubscriptionSchedules\.update$/, () => lowers.ask('downgrade', free)), 503);
  for (const tier of ['starter', 'free'])
    t.match(await lowers.call('downgrade', { tier }), { pending_downgrade: { tier } });
  await has(t, lowers, 'teams', { pending_downgrade: free });
  t.equal(await unanswered(/^Subscriptions\.pause$/, () => pauses.ask('pause')), 503);
  t.match(await pauses.call('subscribe', { tier: 'starter' }), { status: 'resumed' });
  t.match(await pauses.call('pause'), { status: 'paused' });
  await has(t, pauses, 'free', { status: 'paused' });
});

t.test('an organisation that is renamed while Stripe is silent is one customer', async (t) => {
  const owner = await world.owner();
  const body = { tier: 'starter', payment_method_id: await owner.card() };
  t.equal(await unanswered(/^Customers\.create$/, () => owner.ask('subscribe', body)), 503);
  const { organizationId: organization_id } = owner;
  await owner.person.call('organizations/update-organization', { organization_id, name: 'Another name' });
  t.match(await owner.call('subscribe', body), { status: 'active' });
  const mine = ({ metadata }: { metadata: Record<string, string> }) =>
    metadata.organization_id === organization_id;
  t.equal((emulator.world.all('customer') as never[]).filter(mine).length, 1);
});

t.test('a redeemed code whose answer was lost is worth its amount once', async (t) => {
  await promotion('LOST');
  for (const kind of ['error-after', 'lost-after'] as const) {
    const owner = await world.owner();
    emulator.faults.add({ kind, operation: /createBalanceTransaction/, times: 4 });
    t.ok((await owner.ask('redeem-code', { code: 'LOST' })).status >= 500);
    emulator.faults.clear();
    await owner.ask('redeem-code', { code: 'LOST' });
    t.equal((await owner.status()).credit_balance_cents, 1_500);
  }
});

t.test('while Stripe is down, what is known is shown as old, and nothing is changed', async (t) => {
  const owner = await paying('starter');
  const [lowering, pausing, free] = [await paying('starter'), await paying('starter'), await world.owner()];
  for (const who of [owner, lowering, pausing, free]) await who.status();
  emulator.faults.add({ kind: 'lost-before', times: 10_000 });
  await world.moment();
  const status = await owner.call('status');
  t.match(status, { stale: true, subscription_tier: 'starter', rate_limits: limitsOf.starter });
  const writes: readonly [Owner, string, object][] = [
    [owner, 'preview', { tier: 'teams' }],
    [owner, 'subscribe', { tier: 'teams' }],
    [lowering, 'downgrade', { tier: 'free' }],
    [pausing, 'pause', {}],
    [free, 'redeem-code', { code: 'ONCE' }],
  ];
  const refuse = async ([who, operation, body]: (typeof writes)[number]) => {
    const { status: code, body: reply } = await who.ask(operation, body);
    t.ok(code === 502 || code === 503, `${operation} answers ${code}`);
    t.equal(typeof reply.detail, 'string');
  };
  await Promise.all(writes.map(refuse));
  emulator.faults.clear();
  for (const who of [owner, lowering, pausing]) {
    await has(t, who, 'starter', { stale: false, pending_downgrade: null, status: 'active' });
    t.equal(who.invoices().length, 1);
  }
});

t.test('a card entered at Stripe is shown at once, also before the event of Stripe arrives', async (t) => {
  const owner = await world.owner();
  const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
  await owner.call('status');
  emulator.webhooks.way = () => 'held';
  t.teardown(() => {
    emulator.webhooks.way = () => 'sent';
    emulator.webhooks.release();
  });
  await fetch(form.url, {
    method: 'POST',
    body: new URLSearchParams({ card: 'pm_card_visa' }),
    redirect: 'manual',
  });
  t.match(await owner.call('status'), { payment_methods: [{ brand: 'visa', last4: '4242' }] });
});

t.test('cards: added by form or by id, shown, removed, and never those of others', async (t) => {
  const owner = await world.owner();
  const form = await owner.call('add-payment-method', { return_url: '/app/billing' });
  const { allowed_payment_method_types: types } = await world.stripe.checkout.sessions.retrieve(
    form.session_id,
  );
  t.strictSame(types, ['card'], 'nothing that is paid only days later');
  const visited = await fetch(form.url, {
    method: 'POST',
    body: new URLSearchParams({ card: 'pm_card_mastercard' }),
    redirect: 'manual',
  });
  t.equal(visited.headers.get('location'), `${world.server.url}/app/billing`);
  await emulator.webhooks.arrived();
  const shown = await owner.status();
  t.match(shown.payment_method, { brand: 'mastercard', last4: '4444' });
  const card = await owner.card();
  t.match(await owner.call('add-payment-method', { payment_method_id: card }), {
    payment_method: { id: card },
  });
  t.equal((await owner.status()).payment_methods.length, 2);
  const other = await paying('starter');
  const theirs = (await other.status()).payment_method.id;
  for (const id of [theirs, 'pm_never', '../customers', ''])
    for (const operation of ['remove-payment-method', 'add-payment-method']) {
      const { status } = await owner.ask(operation, { payment_method_id: id });
      t.ok([404, 422].includes(status), `${operation} of "${id}": ${status}`);
    }
  t.equal((await owner.ask('subscribe', { tier: 'starter', payment_method_id: theirs })).status, 404);
  t.equal(
    (await other.ask('remove-payment-method', { payment_method_id: theirs })).status,
    400,
    'the last one of who pays',
  );
  await other.call('downgrade', { tier: 'free' });
  t.match(
    await other.ask('remove-payment-method', { payment_method_id: theirs }),
    { status: 400, body: { detail: /used until its end/ } },
    'until the end that is planned there may be use to charge',
  );
  t.equal((await owner.ask('remove-payment-method', { payment_method_id: card })).status, 200);
  t.equal((await owner.status()).payment_methods.length, 1);
  const [entered] = (await owner.status()).payment_methods;
  t.match(
    await cardEntries(owner),
    [
      { action: 'billing.payment_method_removed', actor: /-/, details: { payment_method: card } },
      { action: 'billing.payment_method_added', actor: /-/, details: { payment_method: card } },
      { action: 'billing.payment_method_added', actor: 'system', details: { payment_method: entered.id } },
    ],
    'each stands in the audit log once: that of the form by whom Stripe does not say',
  );
  const begins = await world.owner();
  const asks = await begins.card('tok_authenticationRequired');
  const begun = await begins.call('subscribe', { tier: 'starter', payment_method_id: asks });
  t.equal(begun.status, 'requires_action');
  await begins.call('remove-payment-method', { payment_method_id: asks });
  t.strictSame((await begins.status()).payment_methods, [], 'a first tier that nobody paid is no debt');
  t.match((await owner.call('manage-billing-details')).url, new RegExp(`^${emulator.url}/portal/`));
});

t.test('bad input changes nothing', async (t) => {
  const owner = await paying('starter');
  await world.settled();
  const changes = () =>
    emulator.asked
      .map(({ operation }) => operation)
      .filter((operation) => /create|update|cancel|pay/.test(operation));
  const before = changes();
  for (const tier of ['gold', '', 'Teams', 7, null])
    t.equal((await owner.ask('subscribe', { tier })).status, 422, `tier ${tier}`);
  for (const tier of ['enterprise', 'free'])
    t.equal((await owner.ask('subscribe', { tier })).status >= 400, true, tier);
  t.equal((await owner.ask('downgrade', { tier: 'enterprise' })).status >= 400, true);
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
      `${world.server.url}.evil.example/`,
      'data:text/html,x',
    ],
  ];
  for (const return_url of evil)
    for (const operation of ['add-payment-method', 'manage-billing-details', 'subscribe'])
      t.match(
        (await owner.ask(operation, { tier: 'teams', return_url })).status,
        400,
        `${operation} back to ${JSON.stringify(return_url)}`,
      );
  t.strictSame(changes(), before, 'Stripe was not asked to change anything');
  await has(t, owner, 'starter');
});

/** Somebody who joins the organisation of an owner. */
async function joined(owner: Owner, permission: 'ADMIN' | 'MEMBER'): Promise<Person> {
  const { organizationId: organization_id } = owner;
  const { person } = await world.owner();
  const { email } = person;
  await owner.person.call('organizations/users/invite-user', { organization_id, email, permission });
  const mail = await person.mailWith('invites you');
  const invite_code = /eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(mail)?.[0];
  const answer = await person.call('organizations/users/accept-invite', { invite_code });
  if (answer.body.permission !== permission) throw new Error(`joining answered ${answer.text}`);
  return person;
}

async function withKey(owner: Owner, permission: 'all' | 'read_only'): Promise<Person> {
  const wanted = { organization_id: owner.organizationId, name: permission, permission };
  const program = new Person('a program', world.server, () => []);
  program.token = (await owner.person.call('organizations/api-keys/add-api-key', wanted)).body.api_key;
  return program;
}

t.test('only owners pay, admins look on, and others do not learn that it exists', async (t) => {
  const owner = await paying('starter');
  const card = (await owner.status()).payment_method.id;
  /** What each operation is sent, and what the owner is told, in this order. */
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
  const nobody = new Person('nobody@example.com', world.server, () => []);
  const callers: readonly [string, Person, { readonly looks: number; readonly pays: number }][] = [
    ['MEMBER', await joined(owner, 'MEMBER'), { looks: 403, pays: 403 }],
    ['ADMIN', await joined(owner, 'ADMIN'), { looks: 200, pays: 403 }],
    ['the owner of another', (await paying('starter')).person, { looks: 404, pays: 404 }],
    ['an API key', await withKey(owner, 'all'), { looks: 401, pays: 401 }],
    ['a read-only key', await withKey(owner, 'read_only'), { looks: 401, pays: 401 }],
    ['nobody', nobody, { looks: 401, pays: 401 }],
  ];
  await world.settled();
  const changes = () =>
    emulator.asked.filter(({ operation }) => !/\.(list|retrieve|search)/.test(operation)).length;
  const before = changes();
  const { organizationId: organization_id } = owner;
  for (const [who, person, { looks, pays }] of callers)
    for (const [operation, body] of operations) {
      const { status } = await person.call(`billing/${operation}`, { organization_id, ...body });
      t.equal(status, operation === 'status' ? looks : pays, `${operation} for ${who}`);
    }
  t.equal(changes(), before, 'Stripe was not asked to change anything');
  await has(t, owner, 'starter', { pending_downgrade: null });
  for (const [operation, body, expected] of operations)
    t.equal((await owner.ask(operation, body)).status, expected, `${operation} for the OWNER`);
});

t.test(
  'what others do at Stripe, or an administrator here, is seen and put right by the next look',
  async (t) => {
    const [freed, planned] = [await paying('starter'), await paying('teams')];
    const [cancelled, gone] = [await paying('starter'), await paying('starter')];
    const { organizationId: organization_id } = freed;
    const body = { organization_id, subscription_tier: 'free' };
    t.equal(await asAdministrator(world.server, 'update-organization', body), 200);
    await planned.call('downgrade', { tier: 'starter' });
    emulator.webhooks.way = () => 'lost';
    await world.stripe.subscriptionSchedules.release(planned.subscription()!.schedule);
    await world.stripe.subscriptions.cancel(cancelled.subscription()!.id);
    await world.stripe.customers.del(gone.customer()!);
    emulator.webhooks.way = () => 'sent';
    await world.moment();
    await has(t, freed, 'starter', { status: 'active' });
    const { entries } = (await freed.person.call('organizations/get-audit-log', { organization_id })).body;
    const put = entries.find(({ action }: { action: string }) => action === 'billing.reconciled');
    t.match(put, { details: { from: 'free', to: 'starter' } });
    await has(t, planned, 'teams', { pending_downgrade: null, status: 'active' });
    await has(t, cancelled, 'free', { status: 'none' });
    await has(t, gone, 'free', { status: 'none', payment_methods: [] });
    const again = { tier: 'starter', payment_method_id: await gone.card() };
    t.match(
      await gone.call('subscribe', again),
      { status: 'active' },
      'who was deleted there may begin anew',
    );
  },
);

t.test('events that Stripe did not sign, or long ago, are refused', async (t) => {
  const owner = await paying('starter');
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
    return (await fetch(`${world.server.url}/api/billing/webhook`, { method: 'POST', headers, body: text }))
      .status;
  };
  const good = signature(body, 'whsec_of_the_tests', emulator.now);
  t.equal(await send(null), 400, 'no signature');
  t.equal(await send(signature(body, 'whsec_guessed', emulator.now)), 400, 'another secret');
  t.equal(await send(signature(body, 'whsec_of_the_tests', emulator.now - 3_600)), 400, 'an hour old');
  t.equal(await send(good, body.replace('deleted', 'updated')), 400, 'another body');
  t.equal(await send(good.replace('v1=', 'v0=')), 400, 'another scheme');
  const large = JSON.stringify({ ...event, filler: 'x'.repeat(2_000_000) });
  t.equal(await send(signature(large, 'whsec_of_the_tests', emulator.now), large), 413, 'too large');
  t.equal(await send(good), 200, 'true to the letter');
  t.equal(await send(good), 200, 'replayed');
  await has(t, owner, 'starter', { status: 'active' });
});

t.test('Stripe understood every request, and no secret is in the log', async (t) => {
  world.checkUnderstood(t);
  const log = world.server.wholeLog;
  for (const secret of [emulator.secretKey, 'whsec_of_the_tests']) t.notOk(log.includes(secret));
});
