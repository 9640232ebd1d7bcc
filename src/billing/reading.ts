import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type {
  BillingCopy,
  InvoiceCopy,
  OpenInvoiceCopy,
  PaymentMethodCopy,
  SubscriptionCopy,
} from '../store/billing.ts';
import { type Tier, tiers } from '../store/organisations.ts';
import { type CatalogueReader, idOf, tierMark } from './catalogue.ts';
import { wantsAuthentication } from './payments.ts';
import { rankOf } from './plans.ts';
import { asking, isMissing } from './stripe.ts';

/** Reads everything that matters of a customer at Stripe. */

export interface Reading {
  readonly copy: BillingCopy;
  /** Those that have not ended, the one that counts first. */
  readonly subscriptions: readonly Stripe.Subscription[];
  readonly schedule: Stripe.SubscriptionSchedule | null;
  /** Newest first. */
  readonly invoices: readonly Stripe.Invoice[];
}

export interface ReaderOptions {
  readonly stripe: Stripe;
  readonly catalogue: CatalogueReader;
  readonly clock: Clock;
}

const ended: ReadonlySet<string> = new Set(['canceled', 'incomplete_expired']);
const serving: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);
const begun: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due', 'unpaid', 'paused']);

export class StripeReader {
  readonly #options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.#options = options;
  }

  /** `deleted`: at Stripe. `unknown`: the account of the secret key never had this customer. */
  async read(customerId: string): Promise<Reading | 'deleted' | 'unknown'> {
    const answers = await this.#ask(customerId);
    if (typeof answers === 'string') return answers;
    const [customer, found, methods, listed] = answers;
    if (customer.deleted === true) return 'deleted';
    const { clock } = this.#options;
    const subscriptions = found.data
      .filter(({ status }) => !ended.has(status))
      .sort((a, b) => this.#weightOf(b) - this.#weightOf(a) || b.created - a.created);
    const first = subscriptions[0];
    const schedule = first === undefined ? null : await this.#scheduleOf(first);
    const usual = customer.invoice_settings?.default_payment_method ?? null;
    return {
      subscriptions,
      schedule,
      invoices: listed.data,
      copy: {
        readAt: clock.now(),
        currency: customer.currency ?? null,
        // Stripe counts what the customer owes; 0 has no sign here.
        creditBalance: customer.balance ? -customer.balance : 0,
        defaultPaymentMethodId: usual === null ? null : idOf(usual),
        paymentMethods: methods.data.map(paymentMethodCopy),
        invoices: listed.data.map(invoiceCopy),
        subscription: first === undefined ? null : await this.#subscriptionCopy(first, schedule, listed.data),
      },
    };
  }

  async #ask(customerId: string) {
    const { stripe } = this.#options;
    try {
      return await asking(() =>
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
      if (!isMissing(error)) throw error;
      // Of a deleted customer the lists are refused as those of an unknown one are.
      const isDeleted = await this.#isDeleted(customerId);
      if (isDeleted === false) throw error;
      return isDeleted === null ? 'unknown' : 'deleted';
    }
  }

  /** Null for one that is unknown. */
  async #isDeleted(customerId: string): Promise<boolean | null> {
    try {
      const { deleted } = await asking(() => this.#options.stripe.customers.retrieve(customerId));
      return deleted === true;
    } catch (error) {
      if (isMissing(error)) return null;
      throw error;
    }
  }

  /** What is ours counts before what else is sold to the customer, then what serves, then what was paid once. */
  #weightOf(subscription: Stripe.Subscription): number {
    const { status } = subscription;
    const isOurs = this.#options.catalogue.isOfTier(subscription);
    return Number(isOurs) * 4 + Number(serving.has(status)) * 2 + Number(begun.has(status));
  }

  async #scheduleOf(subscription: Stripe.Subscription): Promise<Stripe.SubscriptionSchedule | null> {
    const { schedule } = subscription;
    if (schedule === null || schedule === undefined) return null;
    if (typeof schedule !== 'string') return schedule;
    return asking(() => this.#options.stripe.subscriptionSchedules.retrieve(schedule));
  }

  async #subscriptionCopy(
    subscription: Stripe.Subscription,
    schedule: Stripe.SubscriptionSchedule | null,
    invoices: readonly Stripe.Invoice[],
  ): Promise<SubscriptionCopy> {
    const { catalogue } = this.#options;
    const items = subscription.items.data;
    const item = items.find(({ price }) => catalogue.tierOf(price) !== null) ?? items[0];
    const tier = item === undefined ? null : catalogue.tierOf(item.price);
    return {
      id: subscription.id,
      status: subscription.status,
      tier,
      itemId: item?.id ?? '',
      priceId: item?.price.id ?? '',
      startedAt: subscription.start_date * 1_000,
      periodStart: milliseconds(item?.current_period_start),
      periodEnd: milliseconds(item?.current_period_end),
      pausedAt:
        subscription.status === 'paused'
          ? milliseconds(subscription.status_details?.paused?.transitioned_at)
          : null,
      scheduleId: schedule?.id ?? null,
      endsWithPeriod: subscription.cancel_at_period_end,
      pendingDowngrade: lowerThan(tier, await this.#plannedOf(subscription, schedule)),
      pendingUpgrade: this.#upgradeOf(subscription),
      openInvoice: await this.#openInvoiceOf(subscription),
      isInvoiceDrafted: invoices.some(
        (invoice) => invoice.status === 'draft' && subscriptionOf(invoice) === subscription.id,
      ),
    };
  }

  #upgradeOf({ pending_update: pending }: Stripe.Subscription): SubscriptionCopy['pendingUpgrade'] {
    const prices =
      pending?.subscription_items?.map(({ price }) => this.#options.catalogue.tierOf(price)) ?? [];
    const tier = prices.find((each) => each !== null);
    return pending && tier ? { tier, expiresAt: milliseconds(pending.expires_at) } : null;
  }

  async #plannedOf(
    subscription: Stripe.Subscription,
    schedule: Stripe.SubscriptionSchedule | null,
  ): Promise<SubscriptionCopy['pendingDowngrade']> {
    if (schedule === null) {
      const at = milliseconds(subscription.cancel_at);
      return at === null ? null : { tier: 'free', effectiveAt: at };
    }
    const now = schedule.current_phase?.end_date ?? schedule.phases[0]?.end_date ?? null;
    const next = schedule.phases.find(({ start_date: start }) => now !== null && start >= now);
    const tier = await this.#plannedTier(schedule, next);
    const at = milliseconds(next?.start_date ?? schedule.phases.at(-1)?.end_date);
    return tier === null || at === null ? null : { tier, effectiveAt: at };
  }

  /** What setup and this server write on schedules; else what the next phase says. */
  async #plannedTier(
    schedule: Stripe.SubscriptionSchedule,
    next: Stripe.SubscriptionSchedule.Phase | undefined,
  ): Promise<Tier | null> {
    const mark = schedule.metadata?.[tierMark];
    const marked = tiers.find((tier) => tier === mark);
    if (marked !== undefined) return marked;
    if (next === undefined) return schedule.end_behavior === 'cancel' ? 'free' : null;
    const { prices } = await this.#options.catalogue.read();
    const ids = next.items.map(({ price }) => idOf(price));
    return ids.includes(prices.starter) ? 'starter' : ids.includes(prices.teams) ? 'teams' : null;
  }

  async #openInvoiceOf({ latest_invoice: latest }: Stripe.Subscription): Promise<OpenInvoiceCopy | null> {
    if (latest === null || latest === undefined) return null;
    if (typeof latest !== 'string' && latest.status !== 'open') return null;
    const invoice = await asking(() =>
      this.#options.stripe.invoices.retrieve(idOf(latest), {
        expand: ['payments.data.payment.payment_intent'],
      }),
    );
    if (invoice.status !== 'open') return null;
    const payment = paymentOf(invoice);
    const { code, decline_code: decline } = payment?.last_payment_error ?? {};
    return {
      ...invoiceCopy(invoice),
      needsAction: payment?.status === 'requires_action' || wantsAuthentication(code, decline),
      refusal: payment?.last_payment_error?.message ?? null,
    };
  }
}

/** A plan whose time has come is none any more. */
function lowerThan(
  tier: Tier | null,
  planned: SubscriptionCopy['pendingDowngrade'],
): SubscriptionCopy['pendingDowngrade'] {
  return planned !== null && (tier === null || rankOf(planned.tier) < rankOf(tier)) ? planned : null;
}

function subscriptionOf({ parent }: Stripe.Invoice): string | null {
  const about = parent?.subscription_details?.subscription ?? null;
  return about === null ? null : idOf(about);
}

/** The payment that an invoice waits for, where it was read with it. */
function paymentOf(invoice: Stripe.Invoice): Stripe.PaymentIntent | null {
  for (const { payment } of invoice.payments?.data ?? []) {
    const intent = payment.payment_intent;
    if (typeof intent === 'object' && intent !== null) return intent;
  }
  return null;
}

export function invoiceCopy(invoice: Stripe.Invoice): InvoiceCopy {
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

export function paymentMethodCopy({ id, type, card }: Stripe.PaymentMethod): PaymentMethodCopy {
  return {
    id,
    type,
    brand: card?.brand ?? null,
    last4: card?.last4 ?? null,
    expMonth: card?.exp_month ?? null,
    expYear: card?.exp_year ?? null,
  };
}

/** Stripe counts seconds. */
function milliseconds(seconds: number | null | undefined): number | null {
  return seconds === null || seconds === undefined ? null : seconds * 1_000;
}
