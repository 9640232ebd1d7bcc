import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import type { DowngradeManager } from './downgrade-manager.ts';
import { tierOfSubscription } from './effective-tiers.ts';
import { type Payments, paymentDeclinedError, requiresAction } from './payments.ts';
import type { PendingSchedules } from './pending-schedules.ts';
import type { PriceCatalogReader } from './price-catalog.ts';
import { checkNotGranted, checkUpgrade, type MarketplaceSales } from './sale-conditions.ts';
import { StripeRejectedError, UnknownOutcomeError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import {
  prorationFrom,
  type SubscribeInput,
  type SubscribeOutcome,
  type SubscriptionCharges,
} from './subscription-charges.ts';

export interface SubscriptionUpgradeOptions extends Pick<MarketplaceSales, 'tiers'> {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly payments: Payments;
  readonly charges: SubscriptionCharges;
  readonly downgrades: Pick<DowngradeManager, 'releaseSchedule'>;
  readonly pendingSchedules: PendingSchedules;
  readonly sync: Pick<BillingSync, 'putPendingSchedule'>;
  readonly clock: Clock;
}

/** Effects of `upgrade`. */
export class SubscriptionUpgrade {
  readonly #options: SubscriptionUpgradeOptions;

  constructor(options: SubscriptionUpgradeOptions) {
    this.#options = options;
  }

  /**
   * Upgrades to a higher tier. Charges the remainder of the month now; the tier applies once that is paid.
   */
  async upgrade(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { pendingSchedules, charges, payments, downgrades, clock, sync, tiers } = this.#options;
    const { tier } = input;
    const { organizationId } = input.organization;
    if (tierOfSubscription(subscription) === tier && change.isRepeated) return 'paid';
    checkUpgrade(subscription, tier);
    const { pendingUpgrade, openInvoice } = subscription;
    checkNotGranted(tiers, organizationId, tier);
    if (pendingUpgrade?.tier === tier) return this.#payPendingUpgrade(input, subscription, change);
    prorationFrom(input, { now: clock.now(), startedAt: subscription.periodStart });
    if (pendingUpgrade !== null && openInvoice !== null)
      await payments.voidInvoice(organizationId, openInvoice.id);
    const { pendingDowngrade } = subscription;
    await pendingSchedules.save(organizationId, change.account, subscription, input.paymentMethodId);
    // A subscription with a schedule cannot be upgraded.
    await downgrades.releaseSchedule(organizationId, subscription);
    try {
      const method = await charges.useMethod(input, subscription, change.account);
      await this.#updateSubscription(input, subscription, change);
      const outcome = await charges.readOutcome(
        input,
        change,
        method === null ? 'requires_payment_method' : 'paid',
      );
      if (outcome === 'paid') await sync.putPendingSchedule(organizationId, null);
      else if (pendingDowngrade !== null)
        await this.#checkDowngradeNotBefore(input, pendingDowngrade, change);
      return outcome;
    } catch (error) {
      if (!(error instanceof UnknownOutcomeError))
        await pendingSchedules.restore(organizationId, await change.reread());
      throw error;
    }
  }

  /**
   * The invoice of an upgrade is already open: charges it to another payment method, or reports its state.
   */
  async #payPendingUpgrade(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { pendingSchedules, charges } = this.#options;
    const { openInvoice } = subscription;
    if (openInvoice === null || input.paymentMethodId === null)
      return openInvoice?.needsAction === false && change.account.copy?.paymentMethods.length === 0
        ? 'requires_payment_method'
        : 'requires_action';
    const { organizationId } = input.organization;
    await pendingSchedules.save(organizationId, change.account, subscription, input.paymentMethodId);
    const method = await charges.useMethod(input, subscription, change.account);
    return charges.payOpenInvoice(input, change, {
      invoiceId: openInvoice.id,
      method,
      restore: async () =>
        pendingSchedules.restorePaymentMethod(organizationId, await change.reread(), subscription.id),
    });
  }

  /**
   * Rejects an upgrade whose payment may be confirmed only after a scheduled downgrade is due. A subscription
   * with a pending upgrade cannot have a schedule, so the downgrade is restored only when the upgrade ends.
   * On the 1st itself that is too late, and an unwanted month would be charged.
   */
  async #checkDowngradeNotBefore(
    { organization: { organizationId } }: SubscribeInput,
    planned: NonNullable<SubscriptionCopy['pendingDowngrade']>,
    { reread }: BillingChange,
  ): Promise<void> {
    const upgraded = (await reread()).copy?.subscription ?? null;
    const until = upgraded?.pendingUpgrade?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (until < planned.effectiveAt) return;
    const open = upgraded?.openInvoice ?? null;
    if (open !== null) await this.#options.payments.voidInvoice(organizationId, open.id);
    throw new AppError(
      'conflict',
      'The payment needs confirmation, and the scheduled downgrade may apply before that. Cancel the downgrade, then try again.',
    );
  }

  async #updateSubscription(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    { account }: BillingChange,
  ): Promise<void> {
    const { stripe, calls, catalog, charges, clock } = this.#options;
    const { prices } = await catalog.read();
    const { organization, tier } = input;
    const { organizationId } = organization;
    const parameters: Stripe.SubscriptionUpdateParams = {
      items: [{ id: subscription.itemId, price: prices[tier] }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      ...prorationFrom(input, { now: clock.now(), startedAt: subscription.periodStart }),
    };
    // An upgrade, a downgrade on the 1st and another upgrade are two separate upgrades, so the name includes
    // the period.
    const name = `raise:${subscription.id}:${prices[tier]}:${subscription.periodStart}`;
    try {
      await calls.run({ organizationId, name, parameters }, (options, storedParameters) =>
        stripe.subscriptions.update(subscription.id, storedParameters, options),
      );
    } catch (error) {
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      if (requiresAction(error)) return;
      await charges.recordDecline(input, account, error);
      throw paymentDeclinedError(error.stripeMessage);
    }
  }
}
