import type Stripe from 'stripe';
import type { Logger } from '../base/logger.ts';
import type { BillingAccount } from '../store/billing.ts';
import type { StripeCalls } from './calls.ts';
import { type CatalogueReader, idOf, tierMark } from './catalogue.ts';
import type { Customers } from './customers.ts';
import { planOf } from './lowering.ts';
import type { Payments } from './payments.ts';
import type { Promotions } from './promotions.ts';
import type { PutAside } from './put-aside.ts';
import type { Reading } from './reading.ts';
import { asking, StripeRefusal } from './stripe.ts';
import type { UsageCredits } from './usage-credits.ts';

export interface RepairsOptions {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly payments: Payments;
  readonly customers: Customers;
  readonly promotions: Promotions;
  readonly credits: UsageCredits;
  readonly aside: PutAside;
  readonly logger: Logger;
}

/** Puts right what crashes, lost answers and forms of Stripe leave behind. Harmless however often. */
export class Repairs {
  readonly #options: RepairsOptions;

  constructor(options: RepairsOptions) {
    this.#options = options;
  }

  /** True when something was changed. */
  async repair(organizationId: string, account: BillingAccount, reading: Reading): Promise<boolean> {
    const { promotions, credits, aside } = this.#options;
    const steps: Readonly<Record<string, () => Promise<boolean>>> = {
      'half a downgrade': () => this.#releaseHalfPlanned(organizationId, account, reading),
      'what an upgrade put aside': () => aside.putBack(organizationId, { ...account, copy: reading.copy }),
      'a downgrade that has come': () => this.#releaseDone(organizationId, reading),
      'a second subscription': () => this.#endDoubles(organizationId, reading),
      'the invoice of a first tier that was given up': () => this.#voidGivenUp(organizationId, reading),
      'no usual payment method': () => this.#chooseUsual(organizationId, account, reading),
      'promo codes without credit': () => promotions.finish(organizationId, account),
      'payments without usage credit': () => credits.settle(organizationId, account, reading),
    };
    let hasChanged = false;
    for (const [trouble, mend] of Object.entries(steps))
      if (await this.#unlessRefused({ organizationId, trouble }, mend)) hasChanged = true;
    return hasChanged;
  }

  /** What Stripe refuses is for people to look at; the rest of what was read must not wait for them. */
  async #unlessRefused(
    about: { readonly organizationId: string; readonly trouble: string },
    mend: () => Promise<boolean>,
  ): Promise<boolean> {
    try {
      return await mend();
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      this.#options.logger.error(
        { ...about, reason: error.sentence },
        'Stripe refused to put something right',
      );
      return false;
    }
  }

  /** A downgrade takes two calls: a plan that was made and never filled holds the subscription for nothing. */
  async #releaseHalfPlanned(
    organizationId: string,
    { intent }: BillingAccount,
    { schedule, copy }: Reading,
  ): Promise<boolean> {
    if (intent?.kind !== 'downgrade' || intent.settled || copy.subscription === null) return false;
    if (schedule === null || copy.subscription.pendingDowngrade !== null) return false;
    const { stripe, calls, logger } = this.#options;
    logger.warn({ organizationId, schedule: schedule.id }, 'a downgrade that was cut off is taken back');
    const about = planOf(copy.subscription.id);
    await calls.run({ organizationId, name: `release:${schedule.id}`, about }, (options) =>
      stripe.subscriptionSchedules.release(schedule.id, {}, options),
    );
    return true;
  }

  /** A downgrade that has come holds the subscription for another month, in which it could not be paused. */
  async #releaseDone(organizationId: string, { schedule, copy }: Reading): Promise<boolean> {
    if (schedule === null || copy.subscription?.pendingDowngrade !== null) return false;
    if (schedule.metadata?.[tierMark] !== copy.subscription.tier) return false;
    const { stripe, calls } = this.#options;
    const about = planOf(copy.subscription.id);
    await calls.run({ organizationId, name: `release:${schedule.id}`, about }, (options) =>
      stripe.subscriptionSchedules.release(schedule.id, {}, options),
    );
    return true;
  }

  /** Of several subscriptions those that were never paid end; one that was paid is for people to look at. */
  async #endDoubles(organizationId: string, { subscriptions }: Reading): Promise<boolean> {
    const { stripe, calls, catalogue, logger } = this.#options;
    let hasEnded = false;
    for (const { id, status } of subscriptions.slice(1).filter((one) => catalogue.isOfTier(one))) {
      if (status !== 'incomplete') {
        logger.error({ organizationId, subscription: id, status }, 'an organisation has two subscriptions');
        continue;
      }
      await calls.run({ organizationId, name: `cancel:${id}` }, (options) =>
        stripe.subscriptions.cancel(id, {}, options),
      );
      hasEnded = true;
    }
    return hasEnded;
  }

  /** Nobody may pay for a first tier that was given up: its page would take the money, and nothing would follow. */
  async #voidGivenUp(organizationId: string, { invoices, subscriptions }: Reading): Promise<boolean> {
    const { stripe, payments } = this.#options;
    let hasVoided = false;
    for (const { id, status, billing_reason: reason, parent } of invoices) {
      const about = parent?.subscription_details ?? null;
      if (status !== 'open' || reason !== 'subscription_create' || about === null) continue;
      const begun = idOf(about.subscription);
      if (about.metadata?.organization_id !== organizationId || subscriptions.some((one) => one.id === begun))
        continue;
      const { status: left } = await asking(() => stripe.subscriptions.retrieve(begun));
      if (left !== 'canceled' && left !== 'incomplete_expired') continue;
      await payments.void(organizationId, id);
      hasVoided = true;
    }
    return hasVoided;
  }

  /** What was entered in a form of Stripe is what invoices are charged to, where there was nothing. */
  async #chooseUsual(
    organizationId: string,
    { customerId }: BillingAccount,
    { copy }: Reading,
  ): Promise<boolean> {
    const [first] = copy.paymentMethods;
    if (first === undefined || customerId === null || copy.defaultPaymentMethodId !== null) return false;
    await this.#options.customers.makeUsual(organizationId, customerId, first.id);
    return true;
  }
}
