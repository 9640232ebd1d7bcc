import { toOptionalTimestamp } from '../core/timestamps.ts';
import type { BillingStatusResponse } from '../schemas/billing.ts';
import type { RateLimits } from '../schemas/organization-limits.ts';
import type { ReportedUsage, UsageGrant } from '../storage/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import { type Organization, type Tier, tiers } from '../storage/organizations.ts';
import { toMonth } from './billing-months.ts';
import {
  toBillingInvoice,
  toBillingPaymentMethod,
  toPendingDowngrade,
  toPendingUpgrade,
} from './billing-replies.ts';
import { planStateOf } from './plan-states.ts';
import { type BilledMetric, billedMetrics, computeCharge, isPaidTier, type Plans } from './plans.ts';

/** Limits as shown in replies. */
export interface DisplayedLimits {
  /** Limits of an organization, with its overrides applied. */
  readonly forOrganization: (organization: Organization) => RateLimits;
  /** Limits of a tier. */
  readonly forTier: (tier: Tier) => RateLimits;
}

interface StatusInput {
  readonly organization: Organization;
  readonly account: BillingAccount;
  readonly grants: readonly UsageGrant[];
  readonly reported: ReportedUsage | undefined;
  readonly now: number;
  readonly isStale: boolean;
  readonly isEnabled: boolean;
}

export function buildStatusReply(
  input: StatusInput,
  { plans, limits }: { readonly plans: Plans; readonly limits: DisplayedLimits },
): BillingStatusResponse {
  const { organization, account, isStale, isEnabled } = input;
  const { copy } = account;
  const subscription = copy?.subscription ?? null;
  const paused = planStateOf(subscription) === 'paused' ? subscription : null;
  const methods = (copy?.paymentMethods ?? []).map((method) =>
    toBillingPaymentMethod(method, copy?.defaultPaymentMethodId ?? null),
  );
  return {
    billing_enabled: isEnabled,
    stale: isStale,
    read_at: toOptionalTimestamp(copy?.readAt),
    subscription_tier: organization.tier,
    status: statusOf(subscription),
    current_period_start: toOptionalTimestamp(subscription?.periodStart),
    current_period_end: toOptionalTimestamp(subscription?.periodEnd),
    paused_at: toOptionalTimestamp(paused?.pausedAt),
    paused_tier: paused?.tier ?? null,
    payment_method: methods.find(({ is_default }) => is_default) ?? null,
    payment_methods: methods,
    invoices: (copy?.invoices ?? []).map(toBillingInvoice),
    pricing: pricingOf(plans, limits),
    usage_pricing: {
      currency: plans.currency,
      rerank_per_million_tokens_cents: priceOf(plans, 'rerank'),
      embed_per_million_tokens_cents: priceOf(plans, 'embed'),
    },
    rate_limits: limits.forOrganization(organization),
    pending_downgrade: toPendingDowngrade(subscription),
    pending_upgrade: toPendingUpgrade(subscription),
    currency: copy?.currency ?? plans.currency,
    credit_balance_cents: copy?.creditBalance ?? 0,
    usage: usageOf(input, plans),
  };
}

function pricingOf(plans: Plans, limits: DisplayedLimits): BillingStatusResponse['pricing'] {
  return tiers.map((tier) => ({
    tier,
    monthly_price_cents: tier === 'free' ? 0 : isPaidTier(tier) ? plans.prices[tier].amount : null,
    currency: plans.currency,
    rate_limits: limits.forTier(tier),
  }));
}

function priceOf(plans: Plans, metric: (typeof billedMetrics)[number]): number | null {
  const price = plans.metered[metric];
  return price === undefined ? null : Number(price.perMillion);
}

/** Usage of the current month, less the payments for subscriptions. */
function usageOf({ grants, reported, now }: StatusInput, plans: Plans): BillingStatusResponse['usage'] {
  const month = toMonth(now);
  const used = reported?.month === month ? reported : null;
  const monthGrants = grants.filter(({ paidAt }) => toMonth(paidAt) === month);
  const sum = (numberOf: (grant: UsageGrant) => number) =>
    monthGrants.reduce((all, grant) => all + numberOf(grant), 0);
  const costOf = (tokensOf: (metric: BilledMetric) => number) =>
    billedMetrics.reduce(
      (all, metric) => all + computeCharge(tokensOf(metric), plans.metered[metric]?.perMillion ?? '0'),
      0,
    );
  const chargedOf = (metric: BilledMetric) => sum(({ charged }) => charged?.[metric] ?? 0);
  const payments = sum(({ amount }) => amount);
  const spent = sum((grant) => grant.spent ?? 0);
  const unbilledCents = costOf((metric) => Math.max(0, (used?.[metric] ?? 0) - chargedOf(metric)));
  return {
    month,
    charges_cents: costOf((metric) => used?.[metric] ?? 0),
    subscription_payments_cents: payments,
    invoiced_cents: Math.max(0, costOf(chargedOf) - spent),
    // Amounts already deducted from an invoice of the month are not deducted again.
    billable_cents: Math.max(0, unbilledCents - Math.max(0, payments - spent)),
  };
}

function statusOf(subscription: SubscriptionCopy | null): BillingStatusResponse['status'] {
  const state = planStateOf(subscription);
  switch (state) {
    case 'none':
    case 'paused':
      return state;
    case 'past_due':
    case 'unpaid':
      return 'past_due';
    case 'active':
    case 'incomplete':
    case 'unknown': {
      const fallback = state === 'active' ? 'active' : 'incomplete';
      return subscription?.openInvoice?.needsAction === true ? 'requires_action' : fallback;
    }
  }
}
