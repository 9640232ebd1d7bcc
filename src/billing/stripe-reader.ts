import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type {
  BillingCopy,
  InvoiceCopy,
  OpenInvoiceCopy,
  PaymentMethodCopy,
  SubscriptionCopy,
} from '../storage/billing-account.ts';
import { type Tier, tiers } from '../storage/organizations.ts';
import { requiresAuthentication } from './payments.ts';
import { hasStarted, isServing, planStateOf } from './plan-states.ts';
import { tierRank } from './plans.ts';
import { idOf, type PriceCatalogReader, tierMetadataKey } from './price-catalog.ts';
import { isResourceMissing, mapStripeErrors } from './stripe.ts';

/** Reads the state of a Stripe customer. */

/** The copy that is stored, and the Stripe objects that it was made from. */
export interface StripeSnapshot {
  readonly copy: BillingCopy;
  /** Subscriptions that have not ended; the authoritative one first. */
  readonly subscriptions: readonly Stripe.Subscription[];
  readonly schedule: Stripe.SubscriptionSchedule | null;
  /** Newest first. */
  readonly invoices: readonly Stripe.Invoice[];
}

export interface StripeReaderOptions {
  readonly stripe: Stripe;
  readonly catalog: PriceCatalogReader;
  readonly clock: Clock;
}

const endedStatuses: ReadonlySet<string> = new Set(['canceled', 'incomplete_expired']);

export class StripeReader {
  readonly #options: StripeReaderOptions;

  constructor(options: StripeReaderOptions) {
    this.#options = options;
  }

  /**
   * `deleted`: the customer was deleted in Stripe. `unknown`: the account of the secret key never had this
   * customer.
   */
  async read(customerId: string): Promise<StripeSnapshot | 'deleted' | 'unknown'> {
    const replies = await this.#fetchAll(customerId);
    if (typeof replies === 'string') return replies;
    const [customer, found, methods, listed] = replies;
    if (customer.deleted === true) return 'deleted';
    const { clock } = this.#options;
    const subscriptions = found.data
      .filter(({ status }) => !endedStatuses.has(status))
      .sort((a, b) => this.#priorityOf(b) - this.#priorityOf(a) || b.created - a.created);
    const first = subscriptions[0];
    const schedule = first === undefined ? null : await this.#retrieveSchedule(first);
    const defaultMethod = customer.invoice_settings?.default_payment_method ?? null;
    return {
      subscriptions,
      schedule,
      invoices: listed.data,
      copy: {
        readAt: clock.now(),
        currency: customer.currency ?? null,
        // Stripe counts what the customer owes, so the sign is inverted. The condition avoids -0.
        creditBalance: customer.balance ? -customer.balance : 0,
        defaultPaymentMethodId: defaultMethod === null ? null : idOf(defaultMethod),
        paymentMethods: methods.data.map(toPaymentMethodCopy),
        invoices: listed.data.map(toInvoiceCopy),
        subscription:
          first === undefined ? null : await this.#toSubscriptionCopy(first, schedule, listed.data),
      },
    };
  }

  async #fetchAll(customerId: string) {
    const { stripe } = this.#options;
    try {
      return await mapStripeErrors(() =>
        Promise.all([
          stripe.customers.retrieve(customerId),
          stripe.subscriptions.list({
            customer: customerId,
            limit: limits.billingListMax,
            expand: ['data.latest_invoice', 'data.schedule'],
          }),
          stripe.paymentMethods.list({ customer: customerId, limit: limits.billingListMax }),
          stripe.invoices.list({ customer: customerId, limit: limits.billingListMax }),
        ]),
      );
    } catch (error) {
      if (!isResourceMissing(error)) throw error;
      // Stripe rejects lists of a deleted customer in the same way as those of an unknown one.
      const isDeleted = await this.#isDeleted(customerId);
      if (isDeleted === false) throw error;
      return isDeleted === null ? 'unknown' : 'deleted';
    }
  }

  /** Returns null if the customer is unknown. */
  async #isDeleted(customerId: string): Promise<boolean | null> {
    try {
      const { deleted } = await mapStripeErrors(() => this.#options.stripe.customers.retrieve(customerId));
      return deleted === true;
    } catch (error) {
      if (isResourceMissing(error)) return null;
      throw error;
    }
  }

  /**
   * Rank of a subscription: tiers of this server before other products, then serving ones, then started ones.
   */
  #priorityOf(subscription: Stripe.Subscription): number {
    const hasOwnPrice = this.#options.catalog.hasTierPrice(subscription);
    return Number(hasOwnPrice) * 4 + Number(isServing(subscription)) * 2 + Number(hasStarted(subscription));
  }

  async #retrieveSchedule(subscription: Stripe.Subscription): Promise<Stripe.SubscriptionSchedule | null> {
    const { schedule } = subscription;
    if (schedule === null || schedule === undefined) return null;
    if (typeof schedule !== 'string') return schedule;
    return mapStripeErrors(() => this.#options.stripe.subscriptionSchedules.retrieve(schedule));
  }

  async #toSubscriptionCopy(
    subscription: Stripe.Subscription,
    schedule: Stripe.SubscriptionSchedule | null,
    invoices: readonly Stripe.Invoice[],
  ): Promise<SubscriptionCopy> {
    const { catalog } = this.#options;
    const items = subscription.items.data;
    const item = items.find(({ price }) => catalog.tierOf(price) !== null) ?? items[0];
    const tier = item === undefined ? null : catalog.tierOf(item.price);
    return {
      id: subscription.id,
      status: subscription.status,
      tier,
      itemId: item?.id ?? '',
      priceId: item?.price.id ?? '',
      startedAt: subscription.start_date * 1_000,
      periodStart: toMilliseconds(item?.current_period_start),
      periodEnd: toMilliseconds(item?.current_period_end),
      pausedAt:
        planStateOf(subscription) === 'paused'
          ? toMilliseconds(subscription.status_details?.paused?.transitioned_at)
          : null,
      scheduleId: schedule?.id ?? null,
      endsWithPeriod: subscription.cancel_at_period_end,
      pendingDowngrade: keepIfLower(tier, await this.#pendingDowngradeOf(subscription, schedule)),
      pendingUpgrade: this.#pendingUpgradeOf(subscription),
      openInvoice: await this.#findOpenInvoice(subscription),
      isInvoiceDrafted: invoices.some(
        (invoice) => invoice.status === 'draft' && subscriptionIdOf(invoice) === subscription.id,
      ),
    };
  }

  #pendingUpgradeOf({ pending_update: pending }: Stripe.Subscription): SubscriptionCopy['pendingUpgrade'] {
    const prices = pending?.subscription_items?.map(({ price }) => this.#options.catalog.tierOf(price)) ?? [];
    const tier = prices.find((each) => each !== null);
    return pending && tier ? { tier, expiresAt: toMilliseconds(pending.expires_at) } : null;
  }

  async #pendingDowngradeOf(
    subscription: Stripe.Subscription,
    schedule: Stripe.SubscriptionSchedule | null,
  ): Promise<SubscriptionCopy['pendingDowngrade']> {
    if (schedule === null) {
      const at = toMilliseconds(subscription.cancel_at);
      return at === null ? null : { tier: 'free', effectiveAt: at };
    }
    const now = schedule.current_phase?.end_date ?? schedule.phases[0]?.end_date ?? null;
    const next = schedule.phases.find(({ start_date: start }) => now !== null && start >= now);
    const tier = await this.#plannedTier(schedule, next);
    const at = toMilliseconds(next?.start_date ?? schedule.phases.at(-1)?.end_date);
    return tier === null || at === null ? null : { tier, effectiveAt: at };
  }

  /**
   * Tier of a scheduled change: from the metadata written by setup and this server, else from the prices of
   * the next phase.
   */
  async #plannedTier(
    schedule: Stripe.SubscriptionSchedule,
    next: Stripe.SubscriptionSchedule.Phase | undefined,
  ): Promise<Tier | null> {
    const tierLabel = schedule.metadata?.[tierMetadataKey];
    const labeledTier = tiers.find((tier) => tier === tierLabel);
    if (labeledTier !== undefined) return labeledTier;
    if (next === undefined) return schedule.end_behavior === 'cancel' ? 'free' : null;
    const { prices } = await this.#options.catalog.read();
    const ids = next.items.map(({ price }) => idOf(price));
    return ids.includes(prices.starter) ? 'starter' : ids.includes(prices.teams) ? 'teams' : null;
  }

  async #findOpenInvoice({ latest_invoice: latest }: Stripe.Subscription): Promise<OpenInvoiceCopy | null> {
    if (latest === null || latest === undefined) return null;
    if (typeof latest !== 'string' && latest.status !== 'open') return null;
    const invoice = await mapStripeErrors(() =>
      this.#options.stripe.invoices.retrieve(idOf(latest), {
        expand: ['payments.data.payment.payment_intent'],
      }),
    );
    if (invoice.status !== 'open') return null;
    const payment = paymentOf(invoice);
    const { code, decline_code: decline } = payment?.last_payment_error ?? {};
    return {
      ...toInvoiceCopy(invoice),
      needsAction: payment?.status === 'requires_action' || requiresAuthentication(code, decline),
      refusal: payment?.last_payment_error?.message ?? null,
    };
  }
}

/** A scheduled change that has taken effect is no longer pending. */
function keepIfLower(
  tier: Tier | null,
  planned: SubscriptionCopy['pendingDowngrade'],
): SubscriptionCopy['pendingDowngrade'] {
  return planned !== null && (tier === null || tierRank(planned.tier) < tierRank(tier)) ? planned : null;
}

function subscriptionIdOf({ parent }: Stripe.Invoice): string | null {
  const subscription = parent?.subscription_details?.subscription ?? null;
  return subscription === null ? null : idOf(subscription);
}

/** Returns the payment that an invoice waits for, if it was expanded. */
function paymentOf(invoice: Stripe.Invoice): Stripe.PaymentIntent | null {
  for (const { payment } of invoice.payments?.data ?? []) {
    const intent = payment.payment_intent;
    if (typeof intent === 'object' && intent !== null) return intent;
  }
  return null;
}

export function toInvoiceCopy(invoice: Stripe.Invoice): InvoiceCopy {
  return {
    id: invoice.id,
    number: invoice.number ?? null,
    status: invoice.status ?? null,
    amountDue: invoice.amount_due,
    amountPaid: invoice.amount_paid,
    currency: invoice.currency,
    createdAt: invoice.created * 1_000,
    hostedInvoiceUrl: invoice.hosted_invoice_url ?? null,
    invoicePdf: invoice.invoice_pdf ?? null,
  };
}

export function toPaymentMethodCopy({ id, type, card }: Stripe.PaymentMethod): PaymentMethodCopy {
  return {
    id,
    type,
    brand: card?.brand ?? null,
    last4: card?.last4 ?? null,
    expMonth: card?.exp_month ?? null,
    expYear: card?.exp_year ?? null,
  };
}

/** Converts seconds, as used by Stripe. */
function toMilliseconds(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : seconds * 1_000;
}
