import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import type { SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingChange } from './billing-sync.ts';
import { requiresAction } from './payments.ts';
import { planStateOf } from './plan-states.ts';
import {
  checkNotGranted,
  checkNotMeteredByMarketplace,
  checkResumeTier,
  type MarketplaceSales,
} from './sale-conditions.ts';
import { StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import {
  prorationFrom,
  type SubscribeInput,
  type SubscribeOutcome,
  type SubscriptionCharges,
} from './subscription-charges.ts';
import { pausePurpose } from './subscription-pause.ts';

export interface SubscriptionResumeOptions extends MarketplaceSales {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly charges: SubscriptionCharges;
  readonly clock: Clock;
}

/** Effects of `resume`. */
export class SubscriptionResume {
  readonly #options: SubscriptionResumeOptions;

  constructor(options: SubscriptionResumeOptions) {
    this.#options = options;
  }

  /**
   * Resumes a paused subscription. Charges the remainder of the month now, using credit first. The billing
   * date stays on the first of the month.
   */
  async resume(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { tiers, charges, clock } = this.#options;
    const { organizationId } = input.organization;
    checkResumeTier(subscription, input.tier);
    await checkNotMeteredByMarketplace(this.#options, organizationId);
    checkNotGranted(tiers, organizationId, input.tier);
    const parameters: Stripe.SubscriptionResumeParams = {
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
      payment_behavior: 'resume_on_payment_success',
      ...prorationFrom(input, { now: clock.now(), startedAt: subscription.pausedAt }),
    };
    if (subscription.openInvoice !== null) {
      const paid = await this.#payWhilePaused(input, subscription, change);
      const current = (await change.reread()).copy?.subscription ?? null;
      // The paid invoice was that of the pause, which precedes that of the resume.
      const isStillPaused = planStateOf(current) === 'paused' && current?.openInvoice === null;
      if (paid !== 'resumed' || !isStillPaused) return paid;
    }
    await charges.useMethod(input, subscription, change.account);
    try {
      await this.#resumeAtStripe(organizationId, subscription, parameters);
    } catch (error) {
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      await this.#handleDecline(input, { subscription, change, error });
    }
    return charges.readOutcome(input, change, 'resumed');
  }

  async #resumeAtStripe(
    organizationId: string,
    { id, pausedAt }: SubscriptionCopy,
    parameters: Stripe.SubscriptionResumeParams,
  ): Promise<void> {
    const { stripe, calls } = this.#options;
    const name = `resume:${id}:${pausedAt}`;
    await calls.run(
      { organizationId, name, purpose: pausePurpose(id), parameters },
      (options, storedParameters) => stripe.subscriptions.resume(id, storedParameters, options),
    );
  }

  /**
   * Keeps the open invoice of a bank that requires authentication. Voids that of a bank that declined, and
   * throws the decline.
   */
  async #handleDecline(
    input: SubscribeInput,
    {
      subscription,
      change,
      error,
    }: {
      readonly subscription: SubscriptionCopy;
      readonly change: BillingChange;
      readonly error: StripeRejectedError;
    },
  ): Promise<void> {
    const { charges } = this.#options;
    const openInvoice = (await change.reread()).copy?.subscription?.openInvoice ?? null;
    if (openInvoice !== null && requiresAction(error)) return;
    await charges.restoreDefaultMethod(input, change.account, subscription.id);
    await charges.voidAndDecline(input, change, {
      invoiceId: openInvoice?.id ?? null,
      message: error.stripeMessage,
    });
  }

  async #payWhilePaused(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { charges } = this.#options;
    const method = await charges.useMethod(input, subscription, change.account);
    const { openInvoice } = subscription;
    if (openInvoice === null) return 'resumed';
    if (openInvoice.needsAction && input.paymentMethodId === null) return 'requires_action';
    const paid = await charges.payOpenInvoice(input, change, {
      invoiceId: openInvoice.id,
      method,
      restore: () => charges.restoreDefaultMethod(input, change.account, subscription.id),
    });
    return paid === 'paid' ? 'resumed' : paid;
  }
}
