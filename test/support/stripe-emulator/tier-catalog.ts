import Stripe from 'stripe';

/** Creates the prices of tiers and tokens that the server expects by default. */
export async function createTierCatalog(stripe: Stripe): Promise<void> {
  for (const [tier, unit_amount] of [
    ['starter', 5_000],
    ['teams', 20_000],
  ] as const) {
    const product = await stripe.products.create({ name: `Quarry ${tier}` });
    await stripe.prices.create({
      currency: 'usd',
      product: product.id,
      unit_amount,
      lookup_key: `quarry_${tier}_monthly`,
      recurring: { interval: 'month' },
    });
  }
  for (const [metric, each] of [
    ['embed', '0.000005'],
    ['rerank', '0.0000025'],
  ] as const) {
    const name = `quarry_${metric}_tokens`;
    const meter = await stripe.billing.meters.create({
      display_name: name,
      event_name: name,
      default_aggregation: { formula: 'sum' },
    });
    const product = await stripe.products.create({ name });
    await stripe.prices.create({
      currency: 'usd',
      product: product.id,
      unit_amount_decimal: Stripe.Decimal.from(each),
      lookup_key: name,
      recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
    });
  }
}
