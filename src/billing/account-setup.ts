import { hash } from 'node:crypto';
import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import { idOf, tierMark } from './catalogue.ts';
import { findMeter } from './meter-events.ts';
import {
  type MeteredPrice,
  type Metric,
  metrics,
  type PaidTier,
  type Plans,
  paidTiers,
  perToken,
  type TierPrice,
} from './plans.ts';
import { PortalPage } from './portal-page.ts';
import { asking, isMissing } from './stripe.ts';

/** What the plans need at Stripe, to be made (`quarry billing setup`) or looked at (`quarry billing check`). */

export interface Fixture {
  readonly name: string;
  /** Null when it is as it should be; otherwise what is wrong. Changes nothing. */
  readonly look: () => Promise<string | null>;
  /** Makes it so, and says what was done. */
  readonly mend: () => Promise<string>;
}

/** Events that are sent; whatever they say, the customer is read anew. */
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

/** In the order in which they need each other. `webhookUrl`: null where none is wanted. */
export function fixturesOf(stripe: Stripe, plans: Plans, webhookUrl: string | null): Fixture[] {
  return [
    ...paidTiers.flatMap((tier) => tierFixtures(stripe, plans, tier)),
    ...metrics.flatMap((metric) => {
      const price = plans.metered[metric];
      return price === undefined ? [] : meteredFixtures(stripe, plans, { metric, price });
    }),
    portalFixture(stripe),
    ...(webhookUrl === null ? [] : [webhookFixture(stripe, webhookUrl)]),
  ];
}

function tierFixtures(stripe: Stripe, plans: Plans, tier: PaidTier): Fixture[] {
  const price: TierPrice = plans.prices[tier];
  const product = productFixture(stripe, { id: `quarry_${tier}`, name: price.product });
  const parameters: Stripe.PriceCreateParams = {
    product: `quarry_${tier}`,
    currency: plans.currency,
    unit_amount: price.amount,
    recurring: { interval: 'month' },
    lookup_key: price.lookupKey,
    transfer_lookup_key: true,
    metadata: { [tierMark]: tier },
  };
  const wrong = ({ unit_amount: amount, currency, recurring }: Stripe.Price): string | null => {
    if (amount !== price.amount || currency !== plans.currency)
      return `is ${amount} ${currency}, not ${price.amount} ${plans.currency}`;
    return recurring?.interval === 'month' && recurring.usage_type === 'licensed'
      ? null
      : 'is not paid every month';
  };
  return [product, priceFixture(stripe, price.lookupKey, wrong, async () => parameters)];
}

function meteredFixtures(
  stripe: Stripe,
  plans: Plans,
  { metric, price }: { readonly metric: Metric; readonly price: MeteredPrice },
): Fixture[] {
  const productId = `quarry_${metric}`;
  const unit = perToken(price.perMillion);
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
    meterFixture(stripe, price),
    productFixture(stripe, { id: productId, name: price.product }),
    priceFixture(
      stripe,
      price.lookupKey,
      async ({ unit_amount_decimal: amount, currency, recurring }) => {
        if (Number(amount) !== Number(unit) || currency !== plans.currency)
          return `is ${amount} ${currency} a token, not ${unit} ${plans.currency}`;
        return recurring?.meter === (await meter()) ? null : `is not metered by ${price.meter}`;
      },
      parameters,
    ),
  ];
}

function productFixture(
  stripe: Stripe,
  { id, name }: { readonly id: string; readonly name: string },
): Fixture {
  const find = () => orNull(() => stripe.products.retrieve(id));
  const look = async () => {
    const found = await find();
    if (found === null) return 'is missing';
    if (!found.active) return 'is archived';
    return found.name === name ? null : `is named "${found.name}", not "${name}"`;
  };
  return {
    name: `product ${id}`,
    look,
    mend: async () => {
      if ((await find()) === null) {
        const create = (key: Key) => stripe.products.create({ id, name }, key);
        await once(
          { what: 'product', parameters: { id, name } },
          create,
          async () => (await find()) !== null,
        );
        return 'made';
      }
      const parameters = { name, active: true };
      const change = (key: Key) => stripe.products.update(id, parameters, key);
      await once({ what: `product:${id}`, parameters }, change, async () => (await look()) === null);
      return 'changed';
    },
  };
}

function priceFixture(
  stripe: Stripe,
  lookupKey: string,
  wrong: (price: Stripe.Price) => string | null | Promise<string | null>,
  parameters: () => Promise<Stripe.PriceCreateParams>,
): Fixture {
  const holder = async (more: Stripe.PriceListParams = {}) => {
    const { data } = await asking(() => stripe.prices.list({ lookup_keys: [lookupKey], ...more, limit: 1 }));
    return data[0] ?? null;
  };
  const find = () => holder({ active: true });
  return {
    name: `price ${lookupKey}`,
    look: async () => {
      const found = await find();
      return found === null ? 'is missing' : wrong(found);
    },
    mend: async () => {
      const [before, loser] = [await find(), await holder()];
      const wanted = await parameters();
      const { metadata } = wanted;
      // One that was made by hand says its tier by its lookup key alone, which it loses here; who pays it keeps the tier.
      if (loser !== null && metadata) await markPrice(stripe, loser.id, metadata);
      // For the same reason the product stays: by it an invoice shows what was paid for a tier.
      const said = before === null ? wanted : { ...wanted, product: idOf(before.product) };
      // Another one after each change, although it may say what an earlier one said.
      const about = { what: 'price', parameters: { ...said, after: before?.id ?? null } };
      await once(
        about,
        (key) => stripe.prices.create(said, key),
        async () => {
          const found = await find();
          return found !== null && found.id !== before?.id;
        },
      );
      return before === null ? 'made' : 'made anew; who subscribed at the earlier price keeps it';
    },
  };
}

async function markPrice(stripe: Stripe, id: string, metadata: Stripe.MetadataParam): Promise<void> {
  await once(
    { what: `price:${id}`, parameters: metadata },
    (key) => stripe.prices.update(id, { metadata }, key),
    async () => {
      const { metadata: has } = await asking(() => stripe.prices.retrieve(id));
      return Object.entries(metadata).every(([name, value]) => has[name] === value);
    },
  );
}

function meterFixture(stripe: Stripe, { meter, product }: MeteredPrice): Fixture {
  return {
    name: `meter ${meter}`,
    look: async () => {
      const found = await findMeter(stripe, meter);
      if (found === null) return 'is missing';
      return found.default_aggregation.formula === 'sum' ? null : 'does not add up: archive it at Stripe';
    },
    mend: async () => {
      const parameters: Stripe.Billing.MeterCreateParams = {
        display_name: product,
        event_name: meter,
        default_aggregation: { formula: 'sum' },
        customer_mapping: { type: 'by_id', event_payload_key: 'stripe_customer_id' },
        value_settings: { event_payload_key: 'value' },
      };
      const create = (key: Key) => stripe.billing.meters.create(parameters, key);
      const isThere = async () => (await findMeter(stripe, meter)) !== null;
      await once({ what: 'meter', parameters }, create, isThere);
      return 'made';
    },
  };
}

function portalFixture(stripe: Stripe): Fixture {
  const page = new PortalPage(stripe);
  return {
    name: 'configuration of the customer portal',
    look: async () => ((await page.find()) === null ? 'is missing' : null),
    mend: async () => {
      await page.make();
      return 'made';
    },
  };
}

function webhookFixture(stripe: Stripe, url: string): Fixture {
  const find = () =>
    asking(async () => {
      for await (const endpoint of stripe.webhookEndpoints.list({ limit: 100 }))
        if (endpoint.url === url) return endpoint;
      return null;
    });
  const look = async () => {
    const found = await find();
    if (found === null) return 'is missing';
    if (found.status !== 'enabled') return 'is disabled';
    const sent = new Set<string>(found.enabled_events);
    const missing = sent.has('*') ? [] : webhookEvents.filter((event) => !sent.has(event));
    return missing.length === 0 ? null : `is not sent ${missing.join(', ')}`;
  };
  return {
    name: `webhook ${url}`,
    look,
    mend: async () => {
      const found = await find();
      if (found !== null) {
        const parameters = { enabled_events: webhookEvents, disabled: false };
        const change = (key: Key) => stripe.webhookEndpoints.update(found.id, parameters, key);
        const isDone = async () => (await look()) === null;
        await once({ what: `webhook:${found.id}`, parameters }, change, isDone);
        return 'changed; its secret stays';
      }
      const parameters = { url, enabled_events: webhookEvents };
      const create = (key: Key) => stripe.webhookEndpoints.create(parameters, key);
      const isThere = async () => (await find()) !== null;
      const { secret } = await once({ what: 'webhook', parameters }, create, isThere);
      return `made; Stripe tells its secret this once:\n  QUARRY_STRIPE_WEBHOOK_SECRET=${secret ?? ''}`;
    },
  };
}

/** Of what is found by an id; null where there is none. */
async function orNull<T>(call: () => Promise<T>): Promise<T | null> {
  try {
    return await asking(call);
  } catch (error) {
    if (isMissing(error)) return null;
    throw error;
  }
}

interface Key {
  readonly idempotencyKey: string;
}

/** How often a day something may be undone by hand and done again. */
const donePerDayMax = 50;

/**
 * The same wish has the same key, so that a setup that was cut off does nothing twice. But for a day Stripe answers a key
 * as it did first, also when what it did then was undone by hand since: where that is not seen, it is done with another.
 */
async function once<T>(
  { what, parameters }: { readonly what: string; readonly parameters: object },
  call: (key: Key) => Promise<T>,
  isSeen: () => Promise<boolean>,
): Promise<T> {
  for (let again = 0; again < donePerDayMax; again += 1) {
    const said = JSON.stringify(again === 0 ? parameters : { ...parameters, again });
    const idempotencyKey = `quarry:${what}:${hash('sha256', said, 'hex')}`;
    const one = await asking(() => call({ idempotencyKey }));
    if (await isSeen()) return one;
  }
  throw new AppError(
    'bad_gateway',
    `Stripe does not show the ${what} as it was asked for; try again tomorrow.`,
  );
}
