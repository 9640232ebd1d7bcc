import Stripe from 'stripe';
import type { Test } from '../tap.ts';
import { StripeEmulator } from './emulator.ts';

/** A small catalog in an emulated account, with customers that subscribe. */

export const seconds = (date: string) => Date.parse(date) / 1_000;

export interface TestShop {
  readonly emulator: StripeEmulator;
  readonly stripe: Stripe;
  readonly starter: string;
  readonly teams: string;
  readonly tokens: string;
}

/** Account with two monthly prices (50.00 and 200.00) and a metered price of 1 cent per 100 units. */
export async function createShop(t: Test, start: string): Promise<TestShop> {
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

export async function customerWith(
  { stripe }: TestShop,
  token: string,
): Promise<{ customer: string; card: string }> {
  const customer = await stripe.customers.create({ name: 'Ada', metadata: { organization_id: 'one' } });
  const made = await stripe.paymentMethods.create({ type: 'card', card: { token } });
  const card = await stripe.paymentMethods.attach(made.id, { customer: customer.id });
  await stripe.customers.update(customer.id, { invoice_settings: { default_payment_method: card.id } });
  return { customer: customer.id, card: card.id };
}

export function subscribe({ stripe, tokens }: TestShop, customer: string, price: string) {
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
export async function subscribed(at: TestShop, price: string, token = 'tok_visa') {
  const who = await customerWith(at, token);
  const subscription = await subscribe(at, who.customer, price);
  const invoice = await at.stripe.invoices.pay(invoiceOf(subscription).id, { payment_method: who.card });
  return { ...who, subscription: subscription.id, items: subscription.items.data, invoice };
}

export function invoiceOf({ latest_invoice: invoice }: Stripe.Subscription): Stripe.Invoice {
  if (invoice === null || typeof invoice === 'string') throw new Error('not expanded');
  return invoice;
}

export async function rejectedWith(
  promise: Promise<unknown>,
): Promise<InstanceType<typeof Stripe.errors.StripeError>> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof Stripe.errors.StripeError) return error;
    throw error;
  }
  throw new Error('the request was not rejected');
}
