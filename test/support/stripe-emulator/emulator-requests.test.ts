import t from '../tap.ts';
import { allOperations } from './operations.ts';
import { createShop, rejectedWith, subscribed } from './test-shop.ts';
import { signatureHeader } from './webhooks.ts';

/** The emulator must be as strict as Stripe; the tests call it through the Stripe SDK. */

t.test('the emulated operations exist in the SDK', async (t) => {
  const names = allOperations().map(({ name }) => name);
  t.ok(names.length > 150, `${names.length} operations`);
  t.equal(new Set(names).size, names.length);
  const create = allOperations().find(({ name }) => name === 'Subscriptions.create');
  t.match(create, { method: 'POST', segments: ['subscriptions'], parameters: { kind: 'fields' } });
});

/** A request that Stripe rejects, and its error. */
type RejectedRequest = readonly [name: string, request: () => Promise<unknown>, about: RegExp];

/** Passes parameters that the types of the SDK do not have. */
const withoutTypes = (parameters: object) => parameters as never;

t.test('parameters of outdated API versions are rejected as Stripe rejects them', async (t) => {
  const at = await createShop(t, '2027-01-10T12:00:00Z');
  const { stripe } = at;
  const { customer, subscription } = await subscribed(at, at.starter);
  const requests: readonly RejectedRequest[] = [
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
      'a billing cycle anchor of an earlier version',
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
  for (const [name, request, about] of requests)
    t.match((await rejectedWith(request())).message, about, name);
  t.match(await rejectedWith(stripe.customers.retrieve(customer, {}, { apiKey: 'sk_test_other' })), {
    statusCode: 401,
  });
});

t.test('outdated parameters of schedules, invoices and updates are rejected', async (t) => {
  const at = await createShop(t, '2027-01-10T12:00:00Z');
  const { stripe } = at;
  const { subscription, items } = await subscribed(at, at.starter);
  const item = items[0]!.id;
  const requests: readonly RejectedRequest[] = [
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
      'a misspelled value',
      () =>
        stripe.subscriptions.update(subscription, {
          items: [{ id: item, price: at.teams }],
          proration_behavior: 'always_invoices',
        }),
      /must be one of always_invoice/,
    ],
  ];
  for (const [name, request, about] of requests)
    t.match((await rejectedWith(request())).message, about, name);
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
