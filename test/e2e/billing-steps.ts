import type { Test } from '../support/tap.ts';
import {
  type BillingFixture,
  limitsByTier,
  monthlyPriceCents,
  type OrganizationOwner,
  type PlanTier,
  seconds,
} from './billing-fixture.ts';

/** Steps and checks that several tests of billing share. */

/** Owner on a tier paid by card. */
export async function subscribedOwner(
  fixture: BillingFixture,
  tier: Exclude<PlanTier, 'free'>,
  token = 'tok_visa',
): Promise<OrganizationOwner> {
  const owner = await fixture.createOwner();
  const answer = await owner.request('subscribe', { tier, payment_method_id: await owner.createCard(token) });
  if (answer.status !== 200 || answer.body.status !== 'active')
    throw new Error(`subscribe: ${answer.status} ${answer.text}`);
  return owner;
}

/** First subscription of an owner, with a new card. */
export async function firstSubscription(owner: OrganizationOwner) {
  return { tier: 'starter', payment_method_id: await owner.createCard() };
}

/** Promotion code worth a number of cents. */
export async function createPromotionCode(
  { stripe }: BillingFixture,
  code: string,
  worth: object = { amount_off: 1_500, currency: 'usd' },
  more: object = {},
) {
  const coupon = await stripe.coupons.create({ duration: 'once', ...worth });
  return stripe.promotionCodes.create({ code, promotion: { type: 'coupon', coupon: coupon.id }, ...more });
}

/** Checks the reported tier and that the limits are those of the tier. */
export async function checkTier(t: Test, owner: OrganizationOwner, tier: PlanTier, more: object = {}) {
  const status = await owner.status();
  const expected = { stale: false, subscription_tier: tier, rate_limits: limitsByTier[tier], ...more };
  t.match(status, expected, `the tier is ${tier}`);
  return status;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/** Total collected from cards. */
export function collected(owner: OrganizationOwner): number {
  return sum(owner.invoices().map((invoice) => invoice.amount_paid));
}

/** Number of invoices for which a card was charged. */
export function paymentCount(owner: OrganizationOwner): number {
  return owner.invoices().filter(({ amount_paid: cents }) => cents > 0).length;
}

/** Total of open invoices, which must be zero after a change. */
export function openAmount(owner: OrganizationOwner): number {
  const open = owner.invoices().filter(({ status }) => status === 'open');
  return sum(open.map((invoice) => invoice.amount_remaining));
}

/** Invoices that are neither paid nor voided. */
export function unpaidInvoices(owner: OrganizationOwner) {
  return owner.invoices().filter(({ status }) => ['open', 'draft'].includes(status));
}

/** Price of the rest of March 2027 from a given time in seconds. */
export function remainingCents(tier: PlanTier, from: number): number {
  return Math.round((monthlyPriceCents[tier] * (seconds('2027-04-01') - from)) / (31 * 86_400));
}

/** Fails if Stripe could not read a request, or if the log has a secret. */
export function checkRequestsAndLog(t: Test, fixture: BillingFixture): void {
  fixture.checkNoInvalidRequests(t);
  const log = fixture.server.fullLog;
  for (const secret of [fixture.emulator.secretKey, 'whsec_of_the_tests']) t.notOk(log.includes(secret));
}
