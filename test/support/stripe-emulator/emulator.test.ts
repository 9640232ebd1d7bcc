import Stripe from 'stripe';
import t, { type Test } from 'tap';
import { StripeEmulator } from './emulator.ts';
import { allOperations } from './operations.ts';
import { signatureHeader } from './webhooks.ts';

/** The emulator must be as strict as Stripe and compute the same amounts; the tests call it through the Stripe SDK. */

const seconds = (date: string) => Date.parse(date) / 1_000;

interface TestShop {
  readonly emulator: StripeEmulator;
  readonly stripe: Stripe;
  readonly starter: string;
  readonly teams: string;
  readonly tokens: string;
}

/** Account with two monthly prices (50.00 and 200.00) and a metered price of 1 cent per 100 units. */
async function createShop(t: Test, start: string): Promise<TestShop> {
  const emulator = await StripeEmulator.start({ startSeconds: seconds(start), isFrozen: true });
  t.teardown(() => emulator.stop());
  const { port } = new URL(emulator.url);
  const stripe = new Stripe(emulator.secretKey, {
    host: '127.0.0.1',
    port: Number(port),
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  });
  const product = await stripe.products.create({ name: 'Service' });
  const monthly = (amount: number, key: string) =>
    stripe.prices.create({
      currency: 'usd',
      product: product.id,
      unit_amount: amount,
      lookup_key: key,
      recurring: { interval: 'month' },
    });
  const meter = await stripe.billing.meters.create({
    display_name: 'Tokens',
    event_name: 'tokens',
    default_aggregation: { formula: 'sum' },
  });
  const tokens = await stripe.prices.create({
    currency: 'usd',
    product: product.id,
    unit_amount_decimal: Stripe.Decimal.from('0.01'),
    recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
  });
  const [starter, teams] = [await monthly(5_000, 'starter'), await monthly(20_000, 'teams')];
  return { emulator, stripe, starter: starter.id, teams: teams.id, tokens: tokens.id };
}

async function customerWith(
  { stripe }: TestShop,
  token: string,
): Promise<{ customer: string; card: string }> {
  const customer = await stripe.customers.create({ name: 'Ada', metadata: { organization_id: 'one' } });
  const made = await stripe.paymentMethods.create({ type: 'card', card: { token } });
  const card = await stripe.paymentMethods.attach(made.id, { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: card.id } });
  return { customer: customer.id, card: card.id };
}

function subscribe({ stripe, tokens }: TestShop, customer: string, price: string) {
  return stripe.subscriptions.create({
    customer,
    items: [{ price }, { price: tokens }],
    billing_cycle_anchor_config: { day_of_month: 1, hour: 0, minute: 0, second: 0 },
    proration_behavior: 'create_prorations',
    payment_behavior: 'default_incomplete',
    payment_settings: { save_default_payment_method: 'on_subscription' },
    expand: ['latest_invoice'],
  });
}

/** Customer with an active, paid subscription. */
async function subscribed(at: TestShop, price: string, token = 'tok_visa') {
  const who = await customerWith(at, token);
  const subscription = await subscribe(at, who.customer, price);
  const invoice = await at.stripe.invoices.pay(invoiceOf(subscription).id, { payment_method: who.card });
  return { ...who, subscription: subscription.id, items: subscription.items.data, invoice };
}

function invoiceOf({ latest_invoice: invoice }: Stripe.Subscription): Stripe.Invoice {
  if (invoice === null || typeof invoice === 'string') throw new Error('not expanded');
  return invoice;
}

async function rejectedWith(
  promise: Promise<unknown>,
): Promise<InstanceType<typeof Stripe.errors.StripeError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error('it was not refused');
}

t.test('the emulated operations exist in the SDK', async (t) => {
  const names = allOperations().map(({ name }) => name);
  t.ok(names.length > 150, `${names.length} operations`);
  t.equal(new Set(names).size, names.length);
  const create = allOperations().find(({ name }) => name === 'Subscriptions.create');
  t.match(create, { method: 'POST', segments: ['subscriptions'], parameters: { kind: 'fields' } });
});

t.test('parameters of outdated API versions are rejected as Stripe rejects them', async (t) => {
  const at = await createShop(t, '2027-01-10T12:00:00Z');
  const { stripe } = at;
  const { customer, subscription, items } = await subscribed(at, at.starter);
  const item = items[0]!.id;
  const withoutTypes = (parameters: object) => parameters as never;
  const deprecatedRequests: readonly [name: string, request: () => Promise<unknown>, about: RegExp][] = [
    [
      'payment_method_types at Checkout',
      () =>
        stripe.checkout.sessions.create(
          withoutTypes({
            mode: 'setup',
            customer,
            currency: 'usd',
            success_url: 'https://a.example/',
            payment_method_types: ['card'],
          }),
        ),
      /unknown parameter: payment_method_types/,
    ],
    [
      'payment_method_types of a SetupIntent',
      () => stripe.setupIntents.create(withoutTypes({ customer, payment_method_types: ['card'] })),
      /unknown parameter: payment_method_types/,
    ],
    [
      'Checkout in setup mode without a currency',
      () => stripe.checkout.sessions.create({ mode: 'setup', customer, success_url: 'https://a.example/' }),
      /currency/,
    ],
    [
      'an anchor that is a word',
      () => stripe.subscriptions.resume(subscription, withoutTypes({ billing_cycle_anchor: 'unchanged' })),
      /billing_cycle_anchor|Invalid object/,
    ],
    [
      'a coupon of a customer',
      () => stripe.customers.update(customer, withoutTypes({ coupon: 'X' })),
      /unknown parameter: coupon/,
    ],
    [
      'a promotion code of a subscription',
      () => stripe.subscriptions.update(subscription, withoutTypes({ promotion_code: 'promo_1' })),
      /unknown parameter: promotion_code/,
    ],
    [
      'a coupon of a promotion code',
      () => stripe.promotionCodes.create(withoutTypes({ coupon: 'X', code: 'OLD' })),
      /unknown parameter: coupon|Missing required param: promotion/,
    ],
    [
      'iterations of a phase',
      async () => {
        const schedule = await stripe.subscriptionSchedules.create({ from_subscription: subscription });
        const start_date = schedule.phases[0]!.start_date;
        const phases = [{ items: [{ price: at.starter }], start_date, iterations: 1 }];
        const updated = stripe.subscriptionSchedules.update(schedule.id, withoutTypes({ phases }));
        await Promise.allSettled([updated]);
        await stripe.subscriptionSchedules.release(schedule.id);
        return updated;
      },
      /unknown parameter: phases\[0\]\[iterations\]/,
    ],
    [
      'the payment intent of an invoice',
      () => stripe.subscriptions.retrieve(subscription, { expand: ['latest_invoice.payment_intent'] }),
      /cannot be expanded \(latest_invoice.payment_intent\)/,
    ],
    [
      'a word that is misspelt',
      () =>
        stripe.subscriptions.update(subscription, {
          items: [{ id: item, price: at.teams }],
          proration_behavior: 'always_invoices',
        }),
      /must be one of always_invoice/,
    ],
    [
      'the address of upcoming invoices',
      () => stripe.rawRequest('GET', `/v1/invoices/upcoming?customer=${customer}`),
      /unknown parameter: customer|Unrecognized/,
    ],
    [
      'another version',
      () => stripe.customers.retrieve(customer, {}, { apiVersion: '2025-01-27.acacia' }),
      /version/,
    ],
  ];
  for (const [name, request, about] of deprecatedRequests)
    t.match((await rejectedWith(request())).message, about, name);
  t.match(await rejectedWith(stripe.customers.retrieve(customer, {}, { apiKey: 'sk_test_other' })), {
    statusCode: 401,
  });
});

t.test('a partial first month is charged at once, and the next full month on the first', async (t) => {
  const at = await createShop(t, '2027-01-16T00:00:00Z');
  const { customer, subscription, invoice } = await subscribed(at, at.starter);
  t.equal(invoice.status, 'paid');
  t.equal(invoice.amount_paid, Math.round((5_000 * 16) / 31));
  at.emulator.moveTo(seconds('2027-02-01T00:30:00Z'));
  t.equal((await at.stripe.invoices.list({ customer, status: 'draft' })).data.length, 1);
  at.emulator.moveTo(seconds('2027-02-01T01:00:00Z'));
  const [renewal] = (await at.stripe.invoices.list({ customer, limit: 1 })).data;
  t.match(renewal, { status: 'paid', amount_paid: 5_000, billing_reason: 'subscription_cycle' });
  const after = await at.stripe.subscriptions.retrieve(subscription);
  t.equal(after.items.data[0]!.current_period_end, seconds('2027-03-01T00:00:00Z'));
  t.equal(after.default_payment_method, invoice.default_payment_method ?? after.default_payment_method);
});

t.test('an upgrade is charged at once, or waits for the bank and expires after 23 hours', async (t) => {
  const at = await createShop(t, '2027-01-01T00:00:00Z');
  const { stripe, emulator } = at;
  const { subscription, items, customer } = await subscribed(
    at,
    at.starter,
    'tok_threeDSecure2Required',
  ).catch(async (error) => {
    t.match(error, { statusCode: 402, code: 'authentication_required' });
    const [open] = (await stripe.invoices.list({ status: 'open' })).data;
    const paid = await fetch(open!.hosted_invoice_url!, { method: 'POST' });
    t.equal(paid.status, 200);
    const [first] = (await stripe.subscriptions.list()).data;
    t.equal(first!.status, 'active');
    return { subscription: first!.id, items: first!.items.data, customer: first!.customer as string };
  });
  emulator.moveTo(seconds('2027-01-17T00:00:00Z'));
  const upgrade = () =>
    stripe.subscriptions.update(subscription, {
      items: [{ id: items[0]!.id, price: at.teams }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      expand: ['latest_invoice'],
    });
  emulator.state.cards.set(
    (await stripe.paymentMethods.list({ customer })).data[0]!.id,
    'authenticates-always',
  );
  const waiting = await upgrade();
  t.equal(waiting.items.data[0]!.price.id, at.starter, 'the price has not changed');
  t.match(waiting.pending_update, { expires_at: emulator.now + 23 * 3_600 });
  const due = Math.round((20_000 * 15) / 31) - Math.round((5_000 * 15) / 31);
  t.match(waiting.latest_invoice, { status: 'open', amount_due: due });
  emulator.moveTo(emulator.now + 24 * 3_600);
  const expired = await stripe.subscriptions.retrieve(subscription, { expand: ['latest_invoice'] });
  t.match(expired, { pending_update: null, latest_invoice: { status: 'void' } });
  const again = await upgrade();
  const page = invoiceOf(again).hosted_invoice_url!;
  t.equal((await fetch(page, { method: 'POST' })).status, 200);
  t.equal((await stripe.subscriptions.retrieve(subscription)).items.data[0]!.price.id, at.teams);
  t.equal((await fetch(page, { method: 'POST' })).status, 409, 'a paid invoice is not paid again');
});

t.test('a schedule lowers the price on the first, or cancels the subscription', async (t) => {
  const at = await createShop(t, '2027-01-10T00:00:00Z');
  const { stripe, emulator } = at;
  const { subscription, customer } = await subscribed(at, at.teams);
  const schedule = await stripe.subscriptionSchedules.create({ from_subscription: subscription });
  t.match(await rejectedWith(stripe.subscriptionSchedules.create({ from_subscription: subscription })), {
    statusCode: 400,
  });
  const [running] = schedule.phases;
  const current = {
    items: [{ price: at.teams, quantity: 1 }, { price: at.tokens }],
    start_date: running!.start_date,
    end_date: running!.end_date,
  };
  const items = [{ price: at.starter, quantity: 1 }, { price: at.tokens }];
  const next = {
    items,
    proration_behavior: 'none' as const,
    duration: { interval: 'month' as const, interval_count: 1 },
  };
  await stripe.subscriptionSchedules.update(schedule.id, {
    end_behavior: 'release',
    phases: [current, next],
  });
  t.match(
    await rejectedWith(stripe.subscriptions.update(subscription, { cancel_at_period_end: true })),
    /managed by the subscription schedule/,
  );
  t.match(
    await rejectedWith(stripe.subscriptions.pause(subscription, { type: 'subscription' } as never)),
    /schedule/,
  );
  emulator.moveTo(seconds('2027-02-01T02:00:00Z'));
  const [renewal] = (await stripe.invoices.list({ customer, limit: 1 })).data;
  t.equal(renewal!.amount_paid, 5_000);
  emulator.moveTo(seconds('2027-03-01T02:00:00Z'));
  t.equal(
    (await stripe.subscriptions.retrieve(subscription)).schedule,
    null,
    'released after its last phase',
  );
  const ending = await stripe.subscriptionSchedules.create({ from_subscription: subscription });
  await stripe.subscriptionSchedules.update(ending.id, { end_behavior: 'cancel' });
  emulator.moveTo(seconds('2027-04-01T02:00:00Z'));
  t.equal((await stripe.subscriptions.retrieve(subscription)).status, 'canceled');
});

t.test('credit grants pay for usage only, then the balance is used, then the card', async (t) => {
  const at = await createShop(t, '2027-01-01T00:00:00Z');
  const { stripe, emulator } = at;
  const { customer } = await subscribed(at, at.starter);
  emulator.moveTo(seconds('2027-01-20T00:00:00Z'));
  const payload = { stripe_customer_id: customer, value: '6000000' };
  const meterEvent = { event_name: 'tokens', identifier: 'one', payload };
  await stripe.billing.meterEvents.create(meterEvent);
  t.match(
    await rejectedWith(stripe.billing.meterEvents.create(meterEvent)),
    /already exists with identifier/,
  );
  await stripe.billing.creditGrants.create({
    customer,
    category: 'paid',
    amount: { type: 'monetary', monetary: { currency: 'usd', value: 50_000 } },
    applicability_config: { scope: { price_type: 'metered' } },
    expires_at: seconds('2027-02-04T00:00:00Z'),
  });
  await stripe.customers.createBalanceTransaction(customer, { amount: -1_500, currency: 'usd' });
  t.match(
    await rejectedWith(stripe.customers.createBalanceTransaction(customer, { amount: -1, currency: 'eur' })),
    /combine currencies/,
  );
  emulator.moveTo(seconds('2027-02-01T02:00:00Z'));
  const [renewal] = (await stripe.invoices.list({ customer, limit: 1 })).data;
  t.match(renewal, {
    subtotal: 65_000,
    total: 15_000,
    amount_due: 13_500,
    amount_paid: 13_500,
    status: 'paid',
  });
});

t.test('a pause credits the unused time, and resuming charges the rest of the month', async (t) => {
  const at = await createShop(t, '2027-01-01T00:00:00Z');
  const { stripe, emulator } = at;
  const { customer, subscription } = await subscribed(at, at.starter);
  emulator.moveTo(seconds('2027-01-11T00:00:00Z'));
  await stripe.subscriptions.pause(subscription, {
    bill_for: { unused_time_from: { type: 'now' }, outstanding_usage_through: { type: 'now' } },
    invoicing_behavior: 'pending_invoice_item',
  } as never);
  emulator.moveTo(seconds('2027-03-11T00:00:00Z'));
  t.equal((await stripe.invoices.list({ customer })).data.length, 1, 'no invoice while it is paused');
  const resumed = await stripe.subscriptions.resume(subscription, {
    billing_cycle_anchor: { type: 'unchanged' },
    proration_behavior: 'always_invoice',
    payment_behavior: 'resume_on_payment_success',
    expand: ['latest_invoice'],
  });
  const due = Math.round((5_000 * 21) / 31) - Math.round((5_000 * 21) / 31);
  t.match(resumed, { status: 'active', latest_invoice: { status: 'paid', total: due } });
  t.equal(resumed.items.data[0]!.current_period_end, seconds('2027-04-01T00:00:00Z'));
});

t.test(
  'a repeated request with its idempotency key runs once, and with other parameters is rejected',
  async (t) => {
    const { stripe, emulator } = await createShop(t, '2027-01-01T00:00:00Z');
    const once = { idempotencyKey: 'one' };
    const first = await stripe.customers.create({ name: 'Ada' }, once);
    t.equal((await stripe.customers.create({ name: 'Ada' }, once)).id, first.id);
    t.match(await rejectedWith(stripe.customers.create({ name: 'Bea' }, once)), {
      type: 'StripeIdempotencyError',
    });
    emulator.faults.add({ kind: 'error-after' });
    t.match(await rejectedWith(stripe.customers.create({ name: 'Cleo' }, { idempotencyKey: 'two' })), {
      statusCode: 500,
    });
    // The SDK itself retries once after a broken connection.
    emulator.faults.add({ kind: 'lost-after', times: 2 });
    t.match(await rejectedWith(stripe.customers.create({ name: 'Dora' }, { idempotencyKey: 'three' })), {
      type: 'StripeConnectionError',
    });
    emulator.faults.add({ kind: 'error-before' });
    t.match(await rejectedWith(stripe.customers.create({ name: 'Edda' })), { statusCode: 500 });
    const names = (await stripe.customers.list()).data.map(({ name }) => name);
    t.strictSame(names, ['Dora', 'Cleo', 'Ada']);
    t.equal((await stripe.customers.create({ name: 'Cleo' }, { idempotencyKey: 'two' })).name, 'Cleo');
    t.equal((await stripe.customers.list()).data.length, 3);
  },
);

t.test('the SDK accepts the signatures of events', async (t) => {
  const { stripe, emulator } = await createShop(t, '2027-01-01T00:00:00Z');
  const customer = await stripe.customers.create({ name: 'Ada' });
  const [event] = (await stripe.events.list({ type: 'customer.created' })).data;
  t.match(event, { type: 'customer.created', data: { object: { id: customer.id } } });
  const body = JSON.stringify(event);
  const header = signatureHeader(body, 'whsec_secret', Math.floor(Date.now() / 1_000));
  t.equal(stripe.webhooks.constructEvent(body, header, 'whsec_secret').id, event!.id);
  t.throws(() => stripe.webhooks.constructEvent(`${body} `, header, 'whsec_secret'));
  t.equal(emulator.invalidRequests.length, 0);
});
