import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Test } from '../support/tap.ts';
import {
  BillingFixture,
  monthlyPriceCents,
  type OrganizationOwner,
  type PlanTier,
} from './billing-fixture.ts';

/** A server whose plans come from a file, in a time zone with daylight saving. */

/** Price of one cent per embedded token. */
const embed = {
  lookupKey: 'dear_tokens',
  meter: 'dear_tokens',
  product: 'Dear tokens',
  perMillion: '1000000',
};

const priceOf = (tier: 'starter' | 'teams') => ({
  price: { lookupKey: `quarry_${tier}_monthly`, amount: monthlyPriceCents[tier], product: `Quarry ${tier}` },
});

export async function startWithPlanFile(t: Test, date: string): Promise<BillingFixture> {
  // Daylight saving from March to November: billing must not depend on it.
  const { TZ: usualZone } = process.env;
  process.env.TZ = 'America/New_York';
  t.teardown(() => {
    // Other files may follow in this process.
    if (usualZone === undefined) delete process.env.TZ;
    else process.env.TZ = usualZone;
  });
  const folder = mkdtempSync(join(tmpdir(), 'quarry-billing-time-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const plans = {
    currency: 'usd',
    tiers: { starter: priceOf('starter'), teams: priceOf('teams') },
    metered: { embed },
  };
  writeFileSync(join(folder, 'plans.json'), JSON.stringify(plans));
  const fixture = await BillingFixture.start(t, date, { PLANS_FILE: join(folder, 'plans.json') });
  const { billing, products, prices } = fixture.stripe;
  const meter = await billing.meters.create({
    display_name: embed.product,
    event_name: embed.meter,
    default_aggregation: { formula: 'sum' },
  });
  await prices.create({
    currency: 'usd',
    product: (await products.create({ name: embed.product })).id,
    unit_amount: 1,

    lookup_key: embed.lookupKey,
    recurring: { interval: 'month', usage_type: 'metered', meter: meter.id },
  });
  return fixture;
}

/** Owner on a tier; the subscription is canceled at the end of the test, so that it does not renew later. */
export async function ownerUntilEnd(
  t: Test,
  fixture: BillingFixture,
  tier: Exclude<PlanTier, 'free'>,
  token = 'tok_visa',
): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  t.teardown(async () => {
    const left = owner.subscription();
    if (left !== null) await fixture.stripe.subscriptions.cancel(left.id);
  });
  await owner.call('subscribe', { tier, payment_method_id: await owner.createCard(token) });
  return owner;
}

/** Amount paid of each invoice, oldest first. */
export function amountsPaid(owner: OrganizationOwner): number[] {
  return owner.invoices().map((invoice) => invoice.amount_paid);
}

/** Reports usage to Stripe. */
export async function reportUsage(
  fixture: BillingFixture,
  owner: OrganizationOwner,
  cents: number,
): Promise<void> {
  const payload = { stripe_customer_id: owner.customer()!, value: String(cents) };
  await fixture.stripe.billing.meterEvents.create({ event_name: embed.meter, payload });
  await fixture.advanceBriefly();
}

/** Price of a number of days of a month. */
export function partOfMonth(tier: PlanTier, days: number, of: number): number {
  return Math.round((monthlyPriceCents[tier] * days) / of);
}
