import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { PreviewResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import { timeToShow } from './billing-replies.ts';
import type { CatalogueReader } from './catalogue.ts';
import { firstOfNextMonth } from './lowering.ts';
import type { PaidTier } from './plans.ts';
import { asking } from './stripe.ts';
import { paidTierOf, raisedFrom, refuseBoughtElsewhere } from './subscribing.ts';
import type { BillingSync, BoughtElsewhere } from './sync.ts';

export interface PreviewsOptions {
  readonly stripe: Stripe;
  readonly catalogue: CatalogueReader;
  readonly sync: BillingSync;
  readonly boughtElsewhere: BoughtElsewhere;
  readonly clock: Clock;
}

/** Says what a higher tier would charge now, as Stripe would write the invoice, and changes nothing. */
export class Previews {
  readonly #options: PreviewsOptions;

  constructor(options: PreviewsOptions) {
    this.#options = options;
  }

  /** Errors: those of subscribing to that tier; 409 where nothing new would be invoiced. */
  async preview(organisation: Organisation, wanted: Organisation['tier']): Promise<PreviewResponse> {
    const { stripe, catalogue, sync, clock } = this.#options;
    const tier = paidTierOf(organisation, wanted);
    const account = await sync.read(organisation.organizationId);
    const parameters = await this.#parametersOf(organisation, tier, account);
    const invoice = await asking(() => stripe.invoices.createPreview(parameters));
    const now = clock.now();
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
      next_invoice_at: timeToShow(account.copy?.subscription?.periodEnd ?? firstOfNextMonth(now)),
    };
  }

  async #parametersOf(
    { organizationId }: Organisation,
    tier: PaidTier,
    { customerId, copy }: BillingAccount,
  ): Promise<Stripe.InvoiceCreatePreviewParams> {
    const { catalogue, clock } = this.#options;
    const subscription = copy?.subscription ?? null;
    if (subscription === null || subscription.status === 'incomplete') {
      if (subscription?.tier === tier) throw waits(tier);
      await refuseBoughtElsewhere(this.#options.boughtElsewhere, organizationId);
      const { prices } = await catalogue.read();
      const timestamp = firstOfNextMonth(clock.now()) / 1_000;
      return {
        ...(customerId === null ? {} : { customer: customerId }),
        subscription_details: {
          items: [{ price: prices[tier], quantity: 1 }],
          billing_cycle_anchor: { type: 'timestamp', timestamp },
          proration_behavior: 'create_prorations',
        },
      };
    }
    return this.#raise(subscription, tier);
  }

  async #raise(subscription: SubscriptionCopy, tier: PaidTier): Promise<Stripe.InvoiceCreatePreviewParams> {
    if (subscription.status === 'paused')
      throw new AppError('conflict', 'The subscription is paused: to resume it charges nothing now.');
    if (subscription.status === 'past_due' || subscription.status === 'unpaid')
      throw new AppError('conflict', 'An invoice of this organisation is not paid: pay it first.');
    raisedFrom(subscription, tier);
    if (subscription.pendingUpgrade?.tier === tier) throw waits(tier);
    const { prices } = await this.#options.catalogue.read();
    return {
      subscription: subscription.id,
      subscription_details: {
        items: [{ id: subscription.itemId, price: prices[tier] }],
        proration_behavior: 'always_invoice',
      },
    };
  }
}

function waits(tier: PaidTier): AppError {
  return new AppError(
    'conflict',
    `An invoice for ${tier} waits for its payment: billing/status has it under pending_upgrade.`,
  );
}
