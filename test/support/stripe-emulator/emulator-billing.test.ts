import t from '../tap.ts';
import { createShop, invoiceOf, rejectedWith, seconds, subscribed } from './test-shop.ts';

/** The emulator must compute the same amounts as Stripe; the tests call it through the Stripe SDK. */

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
