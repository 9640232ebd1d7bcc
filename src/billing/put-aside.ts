import type { Logger } from '../base/logger.ts';
import type { BillingAccount, SubscriptionCopy } from '../store/billing.ts';
import type { Customers } from './customers.ts';
import { isServing } from './effective-tier.ts';
import type { Lowering } from './lowering.ts';
import type { BillingSync } from './sync.ts';

export interface PutAsideOptions {
  readonly customers: Customers;
  readonly lowering: () => Pick<Lowering, 'plan'>;
  readonly sync: () => Pick<BillingSync, 'hold'>;
  readonly logger: Logger;
}

/** What an upgrade puts aside until it is paid: a planned downgrade, and what the next month is charged to. */
export class PutAside {
  readonly #options: PutAsideOptions;

  constructor(options: PutAsideOptions) {
    this.#options = options;
  }

  /**
   * Notes what the upgrade of a subscription puts aside, before it does; `named`: what is charged instead of the usual
   * payment method. Of an upgrade that waits already it is what there was before that.
   */
  async hold(
    organizationId: string,
    { held, copy }: BillingAccount,
    { id, tier: from, pendingDowngrade }: SubscriptionCopy,
    named: string | null,
  ): Promise<void> {
    if (from === null) return;
    const usual = copy?.defaultPaymentMethodId ?? null;
    const usualMethodId = held?.usualMethodId ?? (named === null || named === usual ? null : usual);
    const tier = pendingDowngrade?.tier ?? held?.tier ?? null;
    if (tier === null && usualMethodId === null) return;
    await this.#options.sync().hold(organizationId, { subscriptionId: id, from, tier, usualMethodId });
  }

  /** After an upgrade that was not paid, or never began; one that was paid keeps nothing. True when it changed something. */
  async putBack(organizationId: string, account: BillingAccount): Promise<boolean> {
    const { held, copy } = account;
    if (held === null) return false;
    const subscription = copy?.subscription ?? null;
    const isSame = subscription?.id === held.subscriptionId && isServing(subscription);
    if (isSame && subscription.pendingUpgrade !== null) return false;
    const isUnpaid = isSame && subscription.tier === held.from;
    const hasCharged = isUnpaid && (await this.chargeAsBefore(organizationId, account, subscription.id));
    const hasPlanned = isUnpaid && (await this.#planAgain(organizationId, account, subscription));
    await this.#options.sync().hold(organizationId, null);
    return hasCharged || hasPlanned;
  }

  /**
   * Charges what was usual before the upgrade, also while that waits. One that was taken from the customer meanwhile is
   * the usual one no more.
   */
  async chargeAsBefore(
    organizationId: string,
    { held, customerId, copy }: BillingAccount,
    subscriptionId: string,
  ): Promise<boolean> {
    const usual = held?.usualMethodId ?? null;
    const isTheirs = copy?.paymentMethods.some(({ id }) => id === usual) === true;
    if (usual === null || customerId === null || !isTheirs) return false;
    const { customers, logger } = this.#options;
    logger.info({ organizationId }, 'an upgrade was not paid: invoices are charged as before');
    if (copy?.defaultPaymentMethodId !== usual) await customers.makeUsual(organizationId, customerId, usual);
    await customers.chargeTo(organizationId, subscriptionId, usual);
    return true;
  }

  async #planAgain(
    organizationId: string,
    { held }: BillingAccount,
    subscription: SubscriptionCopy,
  ): Promise<boolean> {
    const tier = held?.tier ?? null;
    if (tier === null || subscription.pendingDowngrade !== null) return false;
    const { lowering, logger } = this.#options;
    logger.info({ organizationId, tier }, 'an upgrade was not paid: the downgrade is planned again');
    await lowering().plan(organizationId, subscription, tier);
    return true;
  }
}
