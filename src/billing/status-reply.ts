import type { StatusResponse } from '../schemas/billing.ts';
import type { RateLimits } from '../schemas/organisation-limits.ts';
import type { BillingAccount, ReportedUsage, SubscriptionCopy, UsageGrant } from '../store/billing.ts';
import { type Organisation, type Tier, tiers } from '../store/organisations.ts';
import {
  downgradeToShow,
  invoiceToShow,
  optionalTime,
  paymentMethodToShow,
  upgradeToShow,
} from './billing-replies.ts';
import { chargeOf, isPaid, type Metric, metrics, type Plans } from './plans.ts';
import { monthOf } from './usage-reports.ts';

/** What limits there are, as replies show them. */
export interface ShownLimits {
  /** Of an organisation, its overrides applied. */
  readonly of: (organisation: Organisation) => RateLimits;
  /** What a tier says. */
  readonly ofTier: (tier: Tier) => RateLimits;
}

interface Known {
  readonly organisation: Organisation;
  readonly account: BillingAccount;
  readonly grants: readonly UsageGrant[];
  readonly reported: ReportedUsage | undefined;
  readonly now: number;
  readonly isStale: boolean;
  readonly isEnabled: boolean;
}

export function statusReply(
  known: Known,
  { plans, limits }: { readonly plans: Plans; readonly limits: ShownLimits },
): StatusResponse {
  const { organisation, account, isStale, isEnabled } = known;
  const { copy } = account;
  const subscription = copy?.subscription ?? null;
  const isPaused = subscription?.status === 'paused';
  const methods = (copy?.paymentMethods ?? []).map((method) =>
    paymentMethodToShow(method, copy?.defaultPaymentMethodId ?? null),
  );
  return {
    billing_enabled: isEnabled,
    stale: isStale,
    read_at: optionalTime(copy?.readAt),
    subscription_tier: organisation.tier,
    status: statusOf(subscription),
    current_period_start: optionalTime(subscription?.periodStart),
    current_period_end: optionalTime(subscription?.periodEnd),
    paused_at: isPaused ? optionalTime(subscription.pausedAt) : null,
    paused_tier: isPaused ? subscription.tier : null,
    payment_method: methods.find(({ is_default }) => is_default) ?? null,
    payment_methods: methods,
    invoices: (copy?.invoices ?? []).map(invoiceToShow),
    pricing: pricingOf(plans, limits),
    usage_pricing: {
      currency: plans.currency,
      rerank_per_million_tokens_cents: priceOf(plans, 'rerank'),
      embed_per_million_tokens_cents: priceOf(plans, 'embed'),
    },
    rate_limits: limits.of(organisation),
    pending_downgrade: downgradeToShow(subscription),
    pending_upgrade: upgradeToShow(subscription),
    currency: copy?.currency ?? plans.currency,
    credit_balance_cents: copy?.creditBalance ?? 0,
    usage: usageOf(known, plans),
  };
}

function pricingOf(plans: Plans, limits: ShownLimits): StatusResponse['pricing'] {
  return tiers.map((tier) => ({
    tier,
    monthly_price_cents: tier === 'free' ? 0 : isPaid(tier) ? plans.prices[tier].amount : null,
    currency: plans.currency,
    rate_limits: limits.ofTier(tier),
  }));
}

function priceOf(plans: Plans, metric: (typeof metrics)[number]): number | null {
  const price = plans.metered[metric];
  return price === undefined ? null : Number(price.perMillion);
}

/** Of the current month: what was used, less what was paid for subscriptions. */
function usageOf({ grants, reported, now }: Known, plans: Plans): StatusResponse['usage'] {
  const month = monthOf(now);
  const used = reported?.month === month ? reported : null;
  const settled = grants.filter(({ paidAt }) => monthOf(paidAt) === month);
  const sum = (numberOf: (grant: UsageGrant) => number) =>
    settled.reduce((all, grant) => all + numberOf(grant), 0);
  const costOf = (tokensOf: (metric: Metric) => number) =>
    metrics.reduce(
      (all, metric) => all + chargeOf(tokensOf(metric), plans.metered[metric]?.perMillion ?? '0'),
      0,
    );
  const chargedOf = (metric: Metric) => sum(({ charged }) => charged?.[metric] ?? 0);
  const payments = sum(({ amount }) => amount);
  const spent = sum((grant) => grant.spent ?? 0);
  const waiting = costOf((metric) => Math.max(0, (used?.[metric] ?? 0) - chargedOf(metric)));
  return {
    month,
    charges_cents: costOf((metric) => used?.[metric] ?? 0),
    subscription_payments_cents: payments,
    invoiced_cents: Math.max(0, costOf(chargedOf) - spent),
    // What was deducted from an invoice of the month already is not deducted again.
    billable_cents: Math.max(0, waiting - Math.max(0, payments - spent)),
  };
}

function statusOf(subscription: SubscriptionCopy | null): StatusResponse['status'] {
  switch (subscription?.status) {
    case undefined:
      return 'none';
    case 'active':
    case 'trialing':
      return subscription?.openInvoice?.needsAction === true ? 'requires_action' : 'active';
    case 'past_due':
    case 'unpaid':
      return 'past_due';
    case 'paused':
      return 'paused';
    default:
      return subscription?.openInvoice?.needsAction === true ? 'requires_action' : 'incomplete';
  }
}
