import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { PreviewResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { Organization } from '../storage/organizations.ts';
import { firstOfNextMonth } from './billing-months.ts';
import type { BillingSync } from './billing-sync.ts';
import { tierOfSubscription } from './effective-tiers.ts';
import { isServing, planTransitionOf } from './plan-states.ts';
import type { PaidTier } from './plans.ts';
import type { PriceCatalogReader } from './price-catalog.ts';
import {
  checkNotBoughtAtMarketplace,
  checkNotGranted,
  checkNotMeteredByMarketplace,
  checkResumeTier,
  checkUpgrade,
  type MarketplaceSales,
  requirePaidTier,
} from './sale-conditions.ts';
import { mapStripeErrors } from './stripe.ts';

export interface InvoicePreviewsOptions extends MarketplaceSales {
  readonly stripe: Stripe;
  readonly catalog: PriceCatalogReader;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

/**
 * Computes the charge for an upgrade or for resuming a paused subscription, as Stripe would invoice it now.
 * Changes nothing.
 */
export class InvoicePreviews {
  readonly #options: InvoicePreviewsOptions;

  constructor(options: InvoicePreviewsOptions) {
    this.#options = options;
  }

  /** Errors: those of subscribing to the tier; 409 if nothing new would be invoiced. */
  async preview(organization: Organization, requestedTier: Organization['tier']): Promise<PreviewResponse> {
    const { stripe, catalog, sync, tiers, clock } = this.#options;
    const tier = requirePaidTier(organization, requestedTier);
    const { organizationId } = organization;
    const account = await sync.read(organizationId);
    if (tierOfSubscription(account.copy?.subscription ?? null) !== tier)
      checkNotGranted(tiers, organizationId, tier);
    // Stripe counts whole seconds on its own clock, so a period that has just started may lie ahead of the
    // local clock.
    const periodStart = account.copy?.subscription?.periodStart ?? 0;
    const now = Math.max(Math.floor(clock.now() / 1_000) * 1_000, periodStart);
    const parameters = await this.#buildParameters(organization, tier, account, now);
    const invoice = await mapStripeErrors(() => stripe.invoices.createPreview(parameters));
    return {
      subscription_tier: tier,
      as_of: toTimestamp(now),
      currency: invoice.currency,
      lines: invoice.lines.data.map(({ description, amount }) => ({
        description: description ?? '',
        amount_cents: amount,
      })),
      total_cents: invoice.total,
      credit_cents: Math.max(0, invoice.total - invoice.amount_due),
      due_cents: invoice.amount_due,
      monthly_price_cents: catalog.plans.prices[tier].amount,
      next_invoice_at: toTimestamp(nextInvoiceAt(account.copy?.subscription ?? null, now)),
    };
  }

  async #buildParameters(
    { organizationId }: Organization,
    tier: PaidTier,
    { customerId, copy }: BillingAccount,
    now: number,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    const subscription = copy?.subscription ?? null;
    const transition = planTransitionOf('subscribe', subscription);
    if (subscription === null || transition === 'start' || transition === 'continue_start') {
      if (subscription?.tier === tier) throw pendingInvoiceError(tier);
      await checkNotBoughtAtMarketplace(this.#options, organizationId);
      return this.#startParameters(customerId, tier, now);
    }
    switch (transition) {
      case 'resume':
        checkResumeTier(subscription, tier);
        await checkNotMeteredByMarketplace(this.#options, organizationId);
        if (subscription.openInvoice !== null) throw unpaidInvoiceError();
        return resumeParameters(subscription);
      case 'pay_invoice':
        throw unpaidInvoiceError();
      case 'upgrade':
        return this.#upgradeParameters(subscription, tier, now);
    }
  }

  async #startParameters(
    customerId: string | null,
    tier: PaidTier,
    now: number,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    const { prices } = await this.#options.catalog.read();
    const timestamp = firstOfNextMonth(now) / 1_000;
    return {
      ...(customerId === null ? {} : { customer: customerId }),
      subscription_details: {
        items: [{ price: prices[tier], quantity: 1 }],
        billing_cycle_anchor: { type: 'timestamp', timestamp },
        proration_behavior: 'create_prorations',
      },
    };
  }

  async #upgradeParameters(
    subscription: SubscriptionCopy,
    tier: PaidTier,
    now: number,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    checkUpgrade(subscription, tier);
    if (subscription.pendingUpgrade?.tier === tier) throw pendingInvoiceError(tier);
    const { prices } = await this.#options.catalog.read();
    return {
      subscription: subscription.id,
      subscription_details: {
        items: [{ id: subscription.itemId, price: prices[tier] }],
        proration_behavior: 'always_invoice',
        proration_date: now / 1_000,
      },
    };
  }
}

function resumeParameters({ id }: SubscriptionCopy): Stripe.InvoiceCreatePreviewParams {
  return {
    subscription: id,
    subscription_details: {
      resume_at: 'now',
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
    },
  };
}

/** A paused subscription has no period; it resumes on the first of the month. */
function nextInvoiceAt(subscription: SubscriptionCopy | null, now: number): number {
  const isInService = subscription !== null && isServing(subscription);
  return (isInService ? subscription.periodEnd : null) ?? firstOfNextMonth(now);
}

function pendingInvoiceError(tier: PaidTier): AppError {
  return new AppError(
    'conflict',
    `An invoice for ${tier} is awaiting payment. See pending_upgrade in billing/status.`,
  );
}

function unpaidInvoiceError(): AppError {
  return new AppError('conflict', 'This organization has an unpaid invoice. Pay it first.');
}
