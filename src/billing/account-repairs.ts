import type Stripe from 'stripe';
import type { Logger } from '../core/logger.ts';
import type { BillingAccount } from '../storage/billing-account.ts';
import { schedulePurpose } from './downgrade-manager.ts';
import type { Payments } from './payments.ts';
import type { PendingSchedules } from './pending-schedules.ts';
import { planStateOf } from './plan-states.ts';
import { idOf, type PriceCatalogReader, tierMetadataKey } from './price-catalog.ts';
import type { PromoCodes } from './promo-codes.ts';
import { mapStripeErrors, StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeCustomers } from './stripe-customers.ts';
import type { StripeSnapshot } from './stripe-reader.ts';
import type { UsageCredits } from './usage-credits.ts';

export interface AccountRepairsOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly payments: Payments;
  readonly customers: StripeCustomers;
  readonly promoCodes: PromoCodes;
  readonly credits: UsageCredits;
  readonly pendingSchedules: PendingSchedules;
  readonly logger: Logger;
}

/** Repairs the state that crashes, lost replies and hosted Stripe forms leave behind. Idempotent. */
export class AccountRepairs {
  readonly #options: AccountRepairsOptions;

  constructor(options: AccountRepairsOptions) {
    this.#options = options;
  }

  /** Runs every repair step. Returns whether any step changed something. */
  async repair(organizationId: string, account: BillingAccount, reading: StripeSnapshot): Promise<boolean> {
    const { promoCodes, credits, pendingSchedules } = this.#options;
    const steps: Readonly<Record<string, () => Promise<boolean>>> = {
      'incomplete downgrade': () => this.#releaseIncompleteDowngrade(organizationId, account, reading),
      'pending schedule': () => pendingSchedules.restore(organizationId, { ...account, copy: reading.copy }),
      'completed downgrade': () => this.#releaseCompletedDowngrade(organizationId, reading),
      'duplicate subscriptions': () => this.#cancelDuplicateSubscriptions(organizationId, reading),
      'abandoned first invoice': () => this.#voidAbandonedInvoices(organizationId, reading),
      'missing default payment method': () =>
        this.#chooseDefaultPaymentMethod(organizationId, account, reading),
      'promo codes without credit': () => promoCodes.finishPending(organizationId, account),
      'payments without usage credit': () => credits.settleInvoices(organizationId, account, reading),
    };
    let hasChanged = false;
    for (const [problem, step] of Object.entries(steps))
      if (await this.#runStep({ organizationId, problem }, step)) hasChanged = true;
    return hasChanged;
  }

  /**
   * Runs one step. A rejection by Stripe needs an operator, so it is logged and the remaining steps still
   * run. Other errors are thrown.
   */
  async #runStep(
    context: { readonly organizationId: string; readonly problem: string },
    step: () => Promise<boolean>,
  ): Promise<boolean> {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StripeRejectedError)) throw error;
      this.#options.logger.error(
        { ...context, reason: error.stripeMessage },
        'billing repair rejected by Stripe',
      );
      return false;
    }
  }

  /**
   * Releases a schedule that was created but never filled. A downgrade takes two calls, and an empty schedule
   * blocks the subscription for no reason.
   */
  async #releaseIncompleteDowngrade(
    organizationId: string,
    { intent }: BillingAccount,
    { schedule, copy }: StripeSnapshot,
  ): Promise<boolean> {
    if (intent?.kind !== 'downgrade' || intent.settled || copy.subscription === null) return false;
    if (schedule === null || copy.subscription.pendingDowngrade !== null) return false;
    const { stripe, calls, logger } = this.#options;
    logger.warn(
      { organizationId, schedule: schedule.id },
      'releasing the schedule of an incomplete downgrade',
    );
    const purpose = schedulePurpose(copy.subscription.id);
    await calls.run({ organizationId, name: `release:${schedule.id}`, purpose }, (options) =>
      stripe.subscriptionSchedules.release(schedule.id, {}, options),
    );
    return true;
  }

  /**
   * Releases the schedule of a downgrade that took effect. Otherwise it holds the subscription for another
   * month, in which the subscription could not be paused.
   */
  async #releaseCompletedDowngrade(
    organizationId: string,
    { schedule, copy }: StripeSnapshot,
  ): Promise<boolean> {
    if (schedule === null || copy.subscription?.pendingDowngrade !== null) return false;
    if (schedule.metadata?.[tierMetadataKey] !== copy.subscription.tier) return false;
    const { stripe, calls } = this.#options;
    const purpose = schedulePurpose(copy.subscription.id);
    await calls.run({ organizationId, name: `release:${schedule.id}`, purpose }, (options) =>
      stripe.subscriptionSchedules.release(schedule.id, {}, options),
    );
    return true;
  }

  /**
   * Cancels additional subscriptions that were never paid. Logs additional paid subscriptions, which an
   * operator must resolve.
   */
  async #cancelDuplicateSubscriptions(
    organizationId: string,
    { subscriptions }: StripeSnapshot,
  ): Promise<boolean> {
    const { stripe, calls, catalog, logger } = this.#options;
    let hasEnded = false;
    for (const duplicate of subscriptions.slice(1).filter((one) => catalog.hasTierPrice(one))) {
      const { id, status } = duplicate;
      if (planStateOf(duplicate) !== 'incomplete') {
        logger.error(
          { organizationId, subscription: id, status },
          'organization has more than one subscription',
        );
        continue;
      }
      await calls.run({ organizationId, name: `cancel:${id}` }, (options) =>
        stripe.subscriptions.cancel(id, {}, options),
      );
      hasEnded = true;
    }
    return hasEnded;
  }

  /**
   * Voids open invoices of an abandoned first subscription. Their hosted pages would still accept a payment
   * that has no effect.
   */
  async #voidAbandonedInvoices(
    organizationId: string,
    { invoices, subscriptions }: StripeSnapshot,
  ): Promise<boolean> {
    const { stripe, payments } = this.#options;
    let hasVoided = false;
    for (const { id, status, billing_reason: reason, parent } of invoices) {
      const details = parent?.subscription_details ?? null;
      if (status !== 'open' || reason !== 'subscription_create' || details === null) continue;
      const subscriptionId = idOf(details.subscription);
      if (
        details.metadata?.organization_id !== organizationId ||
        subscriptions.some((one) => one.id === subscriptionId)
      )
        continue;
      const { status: statusNow } = await mapStripeErrors(() =>
        stripe.subscriptions.retrieve(subscriptionId),
      );
      if (statusNow !== 'canceled' && statusNow !== 'incomplete_expired') continue;
      await payments.voidInvoice(organizationId, id);
      hasVoided = true;
    }
    return hasVoided;
  }

  /**
   * Makes the newest payment method entered in a Stripe form the default for invoices, if the customer has no
   * default.
   */
  async #chooseDefaultPaymentMethod(
    organizationId: string,
    { customerId }: BillingAccount,
    { copy }: StripeSnapshot,
  ): Promise<boolean> {
    const [first] = copy.paymentMethods;
    if (first === undefined || customerId === null || copy.defaultPaymentMethodId !== null) return false;
    await this.#options.customers.setDefaultPaymentMethod(organizationId, customerId, first.id);
    return true;
  }
}
