import { hash } from 'node:crypto';
import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { findMeter } from './meter-events.ts';
import {
  type BilledMetric,
  billedMetrics,
  type MeteredPrice,
  type PaidTier,
  type Plans,
  paidTiers,
  type TierPrice,
  toPricePerToken,
} from './plans.ts';
import { PortalConfiguration } from './portal-configuration.ts';
import { idOf, tierMetadataKey } from './price-catalog.ts';
import { isResourceMissing, mapStripeErrors } from './stripe.ts';

/**
 * Stripe resources that the plans need, to be created (`quarry billing setup`) or checked (`quarry billing
 * check`).
 */

export interface StripeResource {
  readonly name: string;
  /** Returns null if the resource is correct, else a description of the problem. Changes nothing. */
  readonly check: () => Promise<string | null>;
  /** Creates or updates the resource. Returns a description of the action. */
  readonly apply: () => Promise<string>;
}

/** Subscribed events. Their content is ignored: any event causes the customer to be read again. */
const webhookEvents: Stripe.WebhookEndpointCreateParams.EnabledEvent[] = [
  'checkout.session.completed',
  'setup_intent.succeeded',
  'payment_method.attached',
  'payment_method.detached',
  'customer.updated',
  'customer.deleted',
  'customer.subscription.created',
  'customer.subscription.updated',
  'customer.subscription.deleted',
  'customer.subscription.paused',
  'customer.subscription.resumed',
  'customer.subscription.pending_update_applied',
  'customer.subscription.pending_update_expired',
  'subscription_schedule.updated',
  'subscription_schedule.released',
  'subscription_schedule.completed',
  'subscription_schedule.canceled',
  'subscription_schedule.aborted',
  'invoice.created',
  'invoice.finalized',
  'invoice.paid',
  'invoice.payment_failed',
  'invoice.payment_action_required',
  'invoice.voided',
  'invoice.marked_uncollectible',
  'invoice.finalization_failed',
  'charge.refunded',
  'charge.dispute.created',
  'billing.credit_grant.created',
  'billing.credit_grant.updated',
];

/**
 * Returns the resources in the order in which they depend on each other. `webhookUrl`: null for no webhook.
 */
export function stripeResources(stripe: Stripe, plans: Plans, webhookUrl: string | null): StripeResource[] {
  return [
    ...paidTiers.flatMap((tier) => tierResources(stripe, plans, tier)),
    ...billedMetrics.flatMap((metric) => {
      const price = plans.metered[metric];
      return price === undefined ? [] : meteredResources(stripe, plans, { metric, price });
    }),
    portalResource(stripe),
    ...(webhookUrl === null ? [] : [webhookResource(stripe, webhookUrl)]),
  ];
}

function tierResources(stripe: Stripe, plans: Plans, tier: PaidTier): StripeResource[] {
  const price: TierPrice = plans.prices[tier];
  const product = productResource(stripe, { id: `quarry_${tier}`, name: price.product });
  const parameters: Stripe.PriceCreateParams = {
    product: `quarry_${tier}`,
    currency: plans.currency,
    unit_amount: price.amount,
    recurring: { interval: 'month' },
    lookup_key: price.lookupKey,
    transfer_lookup_key: true,
    metadata: { [tierMetadataKey]: tier },
  };
  const findMismatch = async ({
    unit_amount: amount,
    currency,
    recurring,
  }: Stripe.Price): Promise<string | null> => {
    if (amount !== price.amount || currency !== plans.currency)
      return `is ${amount} ${currency}, not ${price.amount} ${plans.currency}`;
    return recurring?.interval === 'month' && recurring.usage_type === 'licensed'
      ? null
      : 'is not billed monthly';
  };
  return [product, priceResource(stripe, price.lookupKey, findMismatch, async () => parameters)];
}

function meteredResources(
  stripe: Stripe,
  plans: Plans,
  { metric, price }: { readonly metric: BilledMetric; readonly price: MeteredPrice },
): StripeResource[] {
  const productId = `quarry_${metric}`;
  const unit = toPricePerToken(price.perMillion);
  const meter = async () => (await findMeter(stripe, price.meter))?.id;
  const parameters = async (): Promise<Stripe.PriceCreateParams> => ({
    product: productId,
    currency: plans.currency,
    billing_scheme: 'per_unit',
    unit_amount_decimal: unit as unknown as Stripe.Decimal,
    recurring: { interval: 'month', usage_type: 'metered', meter: (await meter()) ?? '' },
    lookup_key: price.lookupKey,
    transfer_lookup_key: true,
  });
  return [
    meterResource(stripe, price),
    productResource(stripe, { id: productId, name: price.product }),
    priceResource(
      stripe,
      price.lookupKey,
      async ({ unit_amount_decimal: amount, currency, recurring }) => {
        if (Number(amount) !== Number(unit) || currency !== plans.currency)
          return `is ${amount} ${currency} per token, not ${unit} ${plans.currency}`;
        return recurring?.meter === (await meter()) ? null : `is not metered by ${price.meter}`;
      },
      parameters,
    ),
  ];
}

function productResource(
  stripe: Stripe,
  { id, name }: { readonly id: string; readonly name: string },
): StripeResource {
  const find = () => nullIfMissing(() => stripe.products.retrieve(id));
  const check = async () => {
    const found = await find();
    if (found === null) return 'is missing';
    if (!found.active) return 'is archived';
    return found.name === name ? null : `is named "${found.name}", not "${name}"`;
  };
  return {
    name: `product ${id}`,
    check,
    apply: async () => {
      if ((await find()) === null) {
        const create = (key: IdempotencyKeyOptions) => stripe.products.create({ id, name }, key);
        await callOnce(
          { resource: 'product', parameters: { id, name } },
          create,
          async () => (await find()) !== null,
        );
        return 'created';
      }
      const parameters = { name, active: true };
      const change = (key: IdempotencyKeyOptions) => stripe.products.update(id, parameters, key);
      await callOnce({ resource: `product:${id}`, parameters }, change, async () => (await check()) === null);
      return 'updated';
    },
  };
}

function priceResource(
  stripe: Stripe,
  lookupKey: string,
  findMismatch: (price: Stripe.Price) => Promise<string | null>,
  parameters: () => Promise<Stripe.PriceCreateParams>,
): StripeResource {
  const findHolder = async (more: Stripe.PriceListParams = {}) => {
    const { data } = await mapStripeErrors(() =>
      stripe.prices.list({ lookup_keys: [lookupKey], ...more, limit: 1 }),
    );
    return data[0] ?? null;
  };
  const find = () => findHolder({ active: true });
  return {
    name: `price ${lookupKey}`,
    check: async () => {
      const found = await find();
      return found === null ? 'is missing' : findMismatch(found);
    },
    apply: async () => {
      const [before, previousHolder] = [await find(), await findHolder()];
      const newParameters = await parameters();
      const { metadata } = newParameters;
      // A price created by hand is recognized only by its lookup key, which it loses here. The metadata keeps
      // the tier of its subscribers.
      if (previousHolder !== null && metadata) await markPrice(stripe, previousHolder.id, metadata);
      // The product stays for the same reason: it identifies the lines of an invoice that paid for a tier.
      const finalParameters =
        before === null ? newParameters : { ...newParameters, product: idOf(before.product) };
      // `after` makes the key differ after each change, even if the parameters equal those of an earlier
      // price.
      const request = { resource: 'price', parameters: { ...finalParameters, after: before?.id ?? null } };
      await callOnce(
        request,
        (key) => stripe.prices.create(finalParameters, key),
        async () => {
          const found = await find();
          return found !== null && found.id !== before?.id;
        },
      );
      return before === null ? 'created' : 'created again; existing subscribers keep the earlier price';
    },
  };
}

async function markPrice(stripe: Stripe, id: string, metadata: Stripe.MetadataParam): Promise<void> {
  await callOnce(
    { resource: `price:${id}`, parameters: metadata },
    (key) => stripe.prices.update(id, { metadata }, key),
    async () => {
      const { metadata: current } = await mapStripeErrors(() => stripe.prices.retrieve(id));
      return Object.entries(metadata).every(([name, value]) => current[name] === value);
    },
  );
}

function meterResource(stripe: Stripe, { meter, product }: MeteredPrice): StripeResource {
  return {
    name: `meter ${meter}`,
    check: async () => {
      const found = await findMeter(stripe, meter);
      if (found === null) return 'is missing';
      return found.default_aggregation.formula === 'sum'
        ? null
        : 'has the wrong aggregation (expected sum): archive it in Stripe';
    },
    apply: async () => {
      const parameters: Stripe.Billing.MeterCreateParams = {
        display_name: product,
        event_name: meter,
        default_aggregation: { formula: 'sum' },
        customer_mapping: { type: 'by_id', event_payload_key: 'stripe_customer_id' },
        value_settings: { event_payload_key: 'value' },
      };
      const create = (key: IdempotencyKeyOptions) => stripe.billing.meters.create(parameters, key);
      const exists = async () => (await findMeter(stripe, meter)) !== null;
      await callOnce({ resource: 'meter', parameters }, create, exists);
      return 'created';
    },
  };
}

function portalResource(stripe: Stripe): StripeResource {
  const page = new PortalConfiguration(stripe);
  return {
    name: 'configuration of the customer portal',
    check: async () => ((await page.findId()) === null ? 'is missing' : null),
    apply: async () => {
      await page.create();
      return 'created';
    },
  };
}

function webhookResource(stripe: Stripe, url: string): StripeResource {
  const find = () =>
    mapStripeErrors(async () => {
      for await (const endpoint of stripe.webhookEndpoints.list({ limit: 100 }))
        if (endpoint.url === url) return endpoint;
      return null;
    });
  const check = async () => {
    const found = await find();
    if (found === null) return 'is missing';
    if (found.status !== 'enabled') return 'is disabled';
    const sent = new Set<string>(found.enabled_events);
    const missing = sent.has('*') ? [] : webhookEvents.filter((event) => !sent.has(event));
    return missing.length === 0 ? null : `is not sent ${missing.join(', ')}`;
  };
  return {
    name: `webhook ${url}`,
    check,
    apply: async () => {
      const found = await find();
      if (found !== null) {
        const parameters = { enabled_events: webhookEvents, disabled: false };
        const change = (key: IdempotencyKeyOptions) =>
          stripe.webhookEndpoints.update(found.id, parameters, key);
        const isDone = async () => (await check()) === null;
        await callOnce({ resource: `webhook:${found.id}`, parameters }, change, isDone);
        return 'updated; its secret is unchanged';
      }
      const parameters = { url, enabled_events: webhookEvents };
      const create = (key: IdempotencyKeyOptions) => stripe.webhookEndpoints.create(parameters, key);
      const exists = async () => (await find()) !== null;
      const { secret } = await callOnce({ resource: 'webhook', parameters }, create, exists);
      return `created. Stripe shows its secret only once:\n  QUARRY_STRIPE_WEBHOOK_SECRET=${secret ?? ''}`;
    },
  };
}

/** Returns null if Stripe has no resource with the id. */
async function nullIfMissing<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await mapStripeErrors(call);
  } catch (error) {
    if (isResourceMissing(error)) return null;
    throw error;
  }
}

interface IdempotencyKeyOptions {
  readonly idempotencyKey: string;
}

/** Number of times per day that a manual undo can be reapplied. */
const repeatsPerDayMax = 50;

/**
 * Uses the same key for the same request, so that an interrupted setup repeats nothing. Stripe replays the
 * first reply to a key for a day, even if its effect was undone by hand since. If the effect is missing, the
 * call is repeated with another key.
 */
async function callOnce<T>(
  { resource, parameters }: { readonly resource: string; readonly parameters: object },
  call: (key: IdempotencyKeyOptions) => Promise<T>,
  isApplied: () => Promise<boolean>,
): Promise<T> {
  for (let attempt = 0; attempt < repeatsPerDayMax; attempt += 1) {
    const serialized = JSON.stringify(attempt === 0 ? parameters : { ...parameters, again: attempt });
    const idempotencyKey = `quarry:${resource}:${hash('sha256', serialized, 'hex')}`;
    const result = await mapStripeErrors(() => call({ idempotencyKey }));
    if (await isApplied()) return result;
  }
  throw new AppError(
    'bad_gateway',
    `Stripe did not apply the change of the ${resource}. Try again tomorrow.`,
  );
}
