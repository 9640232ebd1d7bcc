import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { PreviewResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import { timeToShow } from './billing-replies.ts';
import type { CatalogueReader } from './catalogue.ts';
import { isServing, tierOf } from './effective-tier.ts';
import { firstOfNextMonth } from './lowering.ts';
import type { PaidTier } from './plans.ts';
import {
  paidTierOf,
  raisedFrom,
  refuseBoughtElsewhere,
  refuseGranted,
  refuseMeteredElsewhere,
  resumedTo,
  type SoldElsewhere,
} from './sale-conditions.ts';
import { asking } from './stripe.ts';
import type { BillingSync } from './sync.ts';

export interface PreviewsOptions extends SoldElsewhere {
  readonly stripe: Stripe;
  readonly catalogue: CatalogueReader;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

/** Says what a higher tier, or the end of a pause, would charge now, as Stripe would write the invoice. Changes nothing. */
export class Previews {
  readonly #options: PreviewsOptions;

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /** Errors: those of subscribing to that tier; 409 where nothing new would be invoiced. */
  async preview(organisation: Organisation, wanted: Organisation['tier']): Promise<PreviewResponse> {
    const { stripe, catalogue, sync, tiers, clock } = this.#options;
    const tier = paidTierOf(organisation, wanted);
    const { organizationId } = organisation;
    const account = await sync.read(organizationId);
    if (tierOf(account.copy?.subscription ?? null) !== tier) refuseGranted(tiers, organizationId, tier);
    // Stripe counts whole seconds, on a clock of its own: what began there a moment ago has begun here, too.
    const begun = account.copy?.subscription?.periodStart ?? 0;
    const now = Math.max(Math.floor(clock.now() / 1_000) * 1_000, begun);
    const parameters = await this.#parametersOf(organisation, tier, account, now);
    const invoice = await asking(() => stripe.invoices.createPreview(parameters));
    return {
      subscription_tier: tier,
      as_of: timeToShow(now),
      currency: invoice.currency,
      lines: invoice.lines.data.map(({ description, amount }) => ({
        description: description ?? '',
        amount_cents: amount,
      })),
      total_cents: invoice.total,
      credit_cents: Math.max(0, invoice.total - invoice.amount_due),
      due_cents: invoice.amount_due,
      monthly_price_cents: catalogue.plans.prices[tier].amount,
      next_invoice_at: timeToShow(nextInvoiceAt(account.copy?.subscription ?? null, now)),
    };
  }

  async #parametersOf(
    { organizationId }: Organisation,
    tier: PaidTier,
    { customerId, copy }: BillingAccount,
    now: number,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    const { catalogue } = this.#options;
    const subscription = copy?.subscription ?? null;
    if (subscription === null || subscription.status === 'incomplete') {
      if (subscription?.tier === tier) throw waits(tier);
      await refuseBoughtElsewhere(this.#options, organizationId);
      const { prices } = await catalogue.read();
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
    if (subscription.status === 'paused') {
      resumedTo(subscription, tier);
      await refuseMeteredElsewhere(this.#options, organizationId);
    }
    const isOwed = subscription.status === 'past_due' || subscription.status === 'unpaid';
    if (isOwed || (subscription.status === 'paused' && subscription.openInvoice !== null))
      throw new AppError('conflict', 'An invoice of this organisation is not paid: pay it first.');
    return subscription.status === 'paused' ? resumption(subscription) : this.#raise(subscription, tier, now);
  }

  async #raise(
    subscription: SubscriptionCopy,
    tier: PaidTier,
    now: number,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    raisedFrom(subscription, tier);
    if (subscription.pendingUpgrade?.tier === tier) throw waits(tier);
    const { prices } = await this.#options.catalogue.read();
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

function resumption({ id }: SubscriptionCopy): Stripe.InvoiceCreatePreviewParams {
  return {
    subscription: id,
    subscription_details: {
      resume_at: 'now',
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
    },
  };
}

/** A paused one has no period: it goes on with the first of the month. */
function nextInvoiceAt(subscription: SubscriptionCopy | null, now: number): number {
  const runs = subscription !== null && isServing(subscription);
  return (runs ? subscription.periodEnd : null) ?? firstOfNextMonth(now);
}

function waits(tier: PaidTier): AppError {
  return new AppError(
    'conflict',
    `An invoice for ${tier} waits for its payment: billing/status has it under pending_upgrade.`,
  );
}
