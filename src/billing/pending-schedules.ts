import type { Logger } from '../core/logger.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing.ts';
import type { BillingSync } from './billing-sync.ts';
import type { DowngradeManager } from './downgrade-manager.ts';
import { isServing } from './effective-tiers.ts';
import type { StripeCustomers } from './stripe-customers.ts';

export interface PendingSchedulesOptions {
  readonly customers: StripeCustomers;
  readonly downgrades: () => Pick<DowngradeManager, 'scheduleDowngrade'>;
  readonly sync: () => Pick<BillingSync, 'putPendingSchedule'>;
  readonly logger: Logger;
}

/** What an upgrade puts aside until it is paid: a planned downgrade, and what the next month is charged to. */
export class PendingSchedules {
  readonly #options: PendingSchedulesOptions;

  constructor(options: PendingSchedulesOptions) {
    this.#options = options;
  }

  /**
   * Notes what the upgrade of a subscription puts aside, before it does; `named`: what is charged instead of the usual
   * payment method. Of an upgrade that waits already it is what there was before that.
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

  /** After an upgrade that was not paid, or never began; one that was paid keeps nothing. True when it changed something. */
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
   * Charges what was usual before the upgrade, also while that waits. One that was taken from the customer meanwhile is
   * the usual one no more.
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
    logger.info({ organizationId }, 'an upgrade was not paid: invoices are charged as before');
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
    logger.info({ organizationId, tier }, 'an upgrade was not paid: the downgrade is planned again');
    await downgrades().scheduleDowngrade(organizationId, subscription, tier);
    return true;
  }
}
