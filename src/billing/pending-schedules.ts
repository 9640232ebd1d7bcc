import type { Logger } from '../core/logger.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingSync } from './billing-sync.ts';
import type { DowngradeManager } from './downgrade-manager.ts';
import { isServing } from './plan-states.ts';
import type { StripeCustomers } from './stripe-customers.ts';

export interface PendingSchedulesOptions {
  readonly customers: StripeCustomers;
  readonly downgrades: () => Pick<DowngradeManager, 'scheduleDowngrade'>;
  readonly sync: () => Pick<BillingSync, 'putPendingSchedule'>;
  readonly logger: Logger;
}

/** State that an upgrade removes until it is paid: a scheduled downgrade, and the default payment method. */
export class PendingSchedules {
  readonly #options: PendingSchedulesOptions;

  constructor(options: PendingSchedulesOptions) {
    this.#options = options;
  }

  /**
   * Stores the state that the upgrade of a subscription removes, before the removal. `requestedMethodId`: the
   * payment method charged instead of the default. If an upgrade is already pending, the state from before
   * that upgrade is kept.
   */
  async save(
    organizationId: string,
    { held: pendingSchedule, copy }: BillingAccount,
    { id, tier: from, pendingDowngrade }: SubscriptionCopy,
    requestedMethodId: string | null,
  ): Promise<void> {
    if (from === null) return;
    const defaultMethodId = copy?.defaultPaymentMethodId ?? null;
    const savedMethodId =
      pendingSchedule?.usualMethodId ??
      (requestedMethodId === null || requestedMethodId === defaultMethodId ? null : defaultMethodId);
    const tier = pendingDowngrade?.tier ?? pendingSchedule?.tier ?? null;
    if (tier === null && savedMethodId === null) return;
    await this.#options
      .sync()
      .putPendingSchedule(organizationId, { subscriptionId: id, from, tier, usualMethodId: savedMethodId });
  }

  /**
   * Restores the state after an upgrade that was not paid or never started. A paid upgrade discards it.
   * Returns whether anything was changed.
   */
  async restore(organizationId: string, account: BillingAccount): Promise<boolean> {
    const { held: pendingSchedule, copy } = account;
    if (pendingSchedule === null) return false;
    const subscription = copy?.subscription ?? null;
    const isSame = subscription?.id === pendingSchedule.subscriptionId && isServing(subscription);
    if (isSame && subscription.pendingUpgrade !== null) return false;
    const isUnpaid = isSame && subscription.tier === pendingSchedule.from;
    const hasRestoredMethod =
      isUnpaid && (await this.restorePaymentMethod(organizationId, account, subscription.id));
    const hasRestoredDowngrade =
      isUnpaid && (await this.#restoreDowngrade(organizationId, account, subscription));
    await this.#options.sync().putPendingSchedule(organizationId, null);
    return hasRestoredMethod || hasRestoredDowngrade;
  }

  /**
   * Restores the default payment method from before the upgrade, even while the upgrade is pending. Does
   * nothing if that method was detached from the customer meanwhile.
   */
  async restorePaymentMethod(
    organizationId: string,
    { held: pendingSchedule, customerId, copy }: BillingAccount,
    subscriptionId: string,
  ): Promise<boolean> {
    const defaultMethodId = pendingSchedule?.usualMethodId ?? null;
    const isAttached = copy?.paymentMethods.some(({ id }) => id === defaultMethodId) === true;
    if (defaultMethodId === null || customerId === null || !isAttached) return false;
    const { customers, logger } = this.#options;
    logger.info({ organizationId }, 'upgrade not paid: default payment method restored');
    if (copy?.defaultPaymentMethodId !== defaultMethodId)
      await customers.setDefaultPaymentMethod(organizationId, customerId, defaultMethodId);
    await customers.setSubscriptionPaymentMethod(organizationId, subscriptionId, defaultMethodId);
    return true;
  }

  async #restoreDowngrade(
    organizationId: string,
    { held: pendingSchedule }: BillingAccount,
    subscription: SubscriptionCopy,
  ): Promise<boolean> {
    const tier = pendingSchedule?.tier ?? null;
    if (tier === null || subscription.pendingDowngrade !== null) return false;
    const { downgrades, logger } = this.#options;
    logger.info({ organizationId, tier }, 'upgrade not paid: downgrade scheduled again');
    await downgrades().scheduleDowngrade(organizationId, subscription, tier);
    return true;
  }
}
