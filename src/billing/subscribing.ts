import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { SubscribeResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import { invoiceToShow } from './billing-replies.ts';
import type { StripeCalls } from './calls.ts';
import type { CatalogueReader } from './catalogue.ts';
import type { Customers } from './customers.ts';
import { isServing, tierOf } from './effective-tier.ts';
import { type Lowering, pauseOf } from './lowering.ts';
import { declined, needsAction, type Payment, type Payments } from './payments.ts';
import type { PaidTier } from './plans.ts';
import type { PutAside } from './put-aside.ts';
import {
  ofNoTier,
  paidTierOf,
  raisedFrom,
  refuseBoughtElsewhere,
  refuseGranted,
  refuseMeteredElsewhere,
  resumedTo,
  type SoldElsewhere,
} from './sale-conditions.ts';
import { StripeRefusal, StripeSilence } from './stripe.ts';
import type { BillingSync, Change } from './sync.ts';

export interface SubscribingOptions extends SoldElsewhere {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly customers: Customers;
  readonly payments: Payments;
  readonly lowering: Pick<Lowering, 'release'>;
  readonly aside: PutAside;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

interface Wanted {
  readonly organisation: Organisation;
  readonly tier: PaidTier;
  readonly paymentMethodId: string | null;
  /** Whole seconds since the epoch that the rest of the month is counted from; null for the moment of the charge. */
  readonly asOf: number | null;
}

/** By how much the clock of Stripe may be ahead of that of this server. */
const clocksApartMsMax = 60_000;

/** What happened to the wish; the reply is read from Stripe afterwards. */
type Happened = Payment | 'resumed';

/**
 * Subscribes organisations to tiers, and raises them to higher ones. A tier applies when its invoice is paid: a payment
 * that the customer's bank wants confirmed leaves an open invoice with an address, a declined one leaves nothing.
 */
export class Subscribing {
  readonly #options: SubscribingOptions;

  constructor(options: SubscribingOptions) {
    this.#options = options;
  }

  subscribe(
    organisation: Organisation,
    request: Pick<Wanted, 'paymentMethodId' | 'asOf'> & { readonly tier: Organisation['tier'] },
  ): Promise<SubscribeResponse> {
    const { paymentMethodId, asOf } = request;
    const tier = paidTierOf(organisation, request.tier);
    const { organizationId } = organisation;
    const wanted: Wanted = { organisation, tier, paymentMethodId, asOf };
    this.#countedFrom(wanted, null);
    return this.#options.sync.change(organizationId, { kind: 'subscribe', tier }, async (change) => {
      const happened = await this.#happen(wanted, change);
      const account = await change.reread();
      const tierNow = this.#options.sync.tierOf(organizationId);
      const reply = replyOf({ before: change, account, wanted, happened, tierNow });
      const charged = chargedMethod(wanted, change.account);
      if (charged !== null && (reply.invoice?.amount_paid ?? 0) > 0)
        await this.#options.sync.noteCharge(organizationId, charged, false);
      return reply;
    });
  }

  async #happen(wanted: Wanted, change: Change): Promise<Happened> {
    const subscription = change.account.copy?.subscription ?? null;
    if (subscription === null) return this.#start(wanted, change);
    if (subscription.tier === null) throw ofNoTier();
    if (subscription.status === 'incomplete') return this.#goOnStarting(wanted, subscription, change);
    if (subscription.status === 'paused') return this.#resume(wanted, subscription, change);
    if (subscription.status === 'past_due' || subscription.status === 'unpaid')
      return this.#settleDebt(wanted, subscription, change);
    return this.#raise(wanted, subscription, change);
  }

  /** Since when a charge counts. Errors: 409 for the time of no preview of the last hour, or of one before `begunAt`. */
  #countedFrom({ asOf }: Wanted, begunAt: number | null): { readonly proration_date?: number } {
    if (asOf === null) return {};
    const now = this.#options.clock.now();
    const [at, from] = [asOf * 1_000, Math.max(now - limits.billingPreviewMsMax, begunAt ?? 0)];
    if (at < from || at > now + clocksApartMsMax)
      throw new AppError('conflict', 'as_of is of no preview that still counts: ask for a new preview.');
    return { proration_date: asOf };
  }

  /** The first tier: a subscription until the first of the next month, charged for that part now. */
  async #start(wanted: Wanted, { account, reread }: Change): Promise<Happened> {
    const { stripe, calls, catalogue, customers } = this.#options;
    const { organisation, tier } = wanted;
    const { organizationId } = organisation;
    await refuseBoughtElsewhere(this.#options, organizationId);
    refuseGranted(this.#options.tiers, organizationId, tier);
    const { prices, metered } = await catalogue.read();
    if (wanted.paymentMethodId !== null) await customers.usable(account.customerId, wanted.paymentMethodId);
    const customer = await customers.customerOf(organisation);
    const method = await this.#methodFor(wanted, customer, account);
    const price = prices[tier];
    const parameters: Stripe.SubscriptionCreateParams = {
      customer,
      items: [{ price, quantity: 1 }, ...metered.map((each) => ({ price: each }))],
      billing_cycle_anchor_config: { day_of_month: 1, hour: 0, minute: 0, second: 0 },
      proration_behavior: 'create_prorations',
      payment_behavior: 'default_incomplete',
      payment_settings: { save_default_payment_method: 'on_subscription' },
      metadata: { organization_id: organizationId },
    };
    const call = { organizationId, name: `start:${tier}:${price}`, about: 'start', parameters };
    await calls.run(call, (options, noted) => stripe.subscriptions.create(noted, options));
    const started = (await reread()).copy?.subscription ?? null;
    if (started === null) throw notStarted();
    return this.#payFirst(wanted, started, { method, account });
  }

  /** `account`: as it was before what was asked for became the usual payment method. */
  async #payFirst(
    wanted: Wanted,
    subscription: SubscriptionCopy,
    { method, account }: { readonly method: string | null; readonly account: BillingAccount },
  ): Promise<Payment> {
    const { payments } = this.#options;
    const { organizationId } = wanted.organisation;
    const { openInvoice } = subscription;
    if (openInvoice === null) return isServing(subscription) ? 'paid' : 'requires_payment_method';
    if (method === null) return 'requires_payment_method';
    try {
      return await payments.pay(organizationId, openInvoice.id, method);
    } catch (error) {
      await this.#noteDecline(wanted, account, error);
      if (!(error instanceof StripeRefusal && error.isCard)) throw error;
      await this.#giveUp(organizationId, subscription.id);
      await this.#restoreUsual(wanted, account, null);
      throw declined(error.sentence);
    }
  }

  async #noteDecline(wanted: Wanted, account: BillingAccount, error: unknown): Promise<void> {
    const charged = chargedMethod(wanted, account);
    if (charged === null || !(error instanceof StripeRefusal && error.isCard)) return;
    await this.#options.sync.noteCharge(wanted.organisation.organizationId, charged, true);
  }

  /** A payment that was declined changes nothing: what was charged usually before it is charged again. */
  async #restoreUsual(
    { organisation: { organizationId }, paymentMethodId }: Wanted,
    { customerId, copy }: BillingAccount,
    subscriptionId: string | null,
  ): Promise<void> {
    const usual = copy?.defaultPaymentMethodId ?? null;
    if (paymentMethodId === null || usual === null || usual === paymentMethodId || customerId === null)
      return;
    const { customers } = this.#options;
    await customers.makeUsual(organizationId, customerId, usual);
    if (subscriptionId !== null) await customers.chargeTo(organizationId, subscriptionId, usual);
  }

  /** Charges an open invoice of a subscription that there is. Errors: 402 for a decline, which changes nothing. */
  async #payOpen(
    wanted: Wanted,
    { account }: Change,
    charge: {
      readonly invoiceId: string;
      readonly method: string | null;
      /** Puts back what was usual before. */
      readonly restore: () => Promise<unknown>;
    },
  ): Promise<Payment> {
    const { organizationId } = wanted.organisation;
    try {
      return await this.#options.payments.pay(organizationId, charge.invoiceId, charge.method);
    } catch (error) {
      await this.#noteDecline(wanted, account, error);
      if (!(error instanceof StripeRefusal && error.isCard)) throw error;
      await charge.restore();
      throw declined(error.sentence);
    }
  }

  /** A subscription that was never paid ends without a trace; its invoice is void. */
  async #giveUp(organizationId: string, subscriptionId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `cancel:${subscriptionId}` }, (options) =>
      stripe.subscriptions.cancel(subscriptionId, {}, options),
    );
  }

  /** The first payment is still open. */
  async #goOnStarting(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    const { organizationId } = wanted.organisation;
    // A start that nobody saw the answer of has ended: here is what it made.
    await this.#options.calls.forget({ organizationId, name: 'start' });
    if (subscription.tier !== wanted.tier) {
      await this.#giveUp(organizationId, subscription.id);
      return this.#start(wanted, { ...change, account: await change.reread() });
    }
    const { customers } = this.#options;
    const customer = await customers.customerOf(wanted.organisation);
    const method = await this.#methodFor(wanted, customer, change.account);
    refuseGranted(this.#options.tiers, organizationId, wanted.tier);
    const isAsked = wanted.paymentMethodId === null && subscription.openInvoice?.needsAction === true;
    if (isAsked) return 'requires_action';
    return this.#payFirst(wanted, subscription, { method, account: change.account });
  }

  /** The rest of the month is charged now, to credit first; invoices go on with the first of the month that they had. */
  async #resume(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    const { stripe, calls } = this.#options;
    const { organizationId } = wanted.organisation;
    resumedTo(subscription, wanted.tier);
    await refuseMeteredElsewhere(this.#options, organizationId);
    refuseGranted(this.#options.tiers, organizationId, wanted.tier);
    const parameters: Stripe.SubscriptionResumeParams = {
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
      payment_behavior: 'resume_on_payment_success',
      ...this.#countedFrom(wanted, subscription.pausedAt),
    };
    if (subscription.openInvoice !== null) {
      const paid = await this.#payWhilePaused(wanted, subscription, change);
      const left = (await change.reread()).copy?.subscription ?? null;
      // It was that of the pause, which comes before that of the resumption.
      const isStillPaused = left?.status === 'paused' && left.openInvoice === null;
      if (paid !== 'resumed' || !isStillPaused) return paid;
    }
    await this.#useMethod(wanted, subscription, change.account);
    try {
      await calls.run(
        {
          organizationId,
          name: `resume:${subscription.id}:${subscription.pausedAt}`,
          about: pauseOf(subscription.id),
          parameters,
        },
        (options, noted) => stripe.subscriptions.resume(subscription.id, noted, options),
      );
    } catch (error) {
      // A bank that wants to ask, or declined, leaves the invoice open.
      if (!(error instanceof StripeRefusal && error.isCard)) throw error;
      const left = (await change.reread()).copy?.subscription?.openInvoice ?? null;
      if (left === null || !needsAction(error)) {
        await this.#restoreUsual(wanted, change.account, subscription.id);
        return this.#decline(wanted, change, { invoiceId: left?.id ?? null, sentence: error.sentence });
      }
    }
    return this.#afterCharge(wanted, change, 'resumed');
  }

  async #payWhilePaused(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    const method = await this.#useMethod(wanted, subscription, change.account);
    const { openInvoice } = subscription;
    if (openInvoice === null) return 'resumed';
    if (openInvoice.needsAction && wanted.paymentMethodId === null) return 'requires_action';
    const paid = await this.#payOpen(wanted, change, {
      ...{ invoiceId: openInvoice.id, method },
      restore: () => this.#restoreUsual(wanted, change.account, subscription.id),
    });
    return paid === 'paid' ? 'resumed' : paid;
  }

  /** An invoice was not paid in time: that one comes first. */
  async #settleDebt(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    if (subscription.tier !== wanted.tier) {
      throw new AppError(
        'conflict',
        'An invoice of this organisation is not paid: pay it first, then change the tier.',
      );
    }
    const customer = await this.#options.customers.customerOf(wanted.organisation);
    const method = await this.#methodFor(wanted, customer, change.account);
    if (subscription.openInvoice === null) return 'paid';
    if (method === null) return 'requires_payment_method';
    return this.#payOpen(wanted, change, {
      ...{ invoiceId: subscription.openInvoice.id, method },
      restore: () => this.#restoreUsual(wanted, change.account, null),
    });
  }

  /** A higher tier: the rest of the month is charged now, and the tier applies when that is paid. */
  async #raise(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    const { aside } = this.#options;
    const { organizationId } = wanted.organisation;
    const { tier } = wanted;
    if (tierOf(subscription) === tier && change.isRepeated) return 'paid';
    raisedFrom(subscription, tier);
    const { pendingUpgrade, openInvoice } = subscription;
    refuseGranted(this.#options.tiers, organizationId, tier);
    if (pendingUpgrade?.tier === tier) return this.#payRaise(wanted, subscription, change);
    this.#countedFrom(wanted, subscription.periodStart);
    if (pendingUpgrade !== null && openInvoice !== null)
      await this.#options.payments.void(organizationId, openInvoice.id);
    const { pendingDowngrade } = subscription;
    await aside.hold(organizationId, change.account, subscription, wanted.paymentMethodId);
    // Nothing may be planned for a subscription that is raised.
    await this.#options.lowering.release(organizationId, subscription);
    try {
      const method = await this.#useMethod(wanted, subscription, change.account);
      await this.#update(wanted, subscription, change);
      const happened = await this.#afterCharge(
        wanted,
        change,
        method === null ? 'requires_payment_method' : 'paid',
      );
      if (happened === 'paid') await this.#options.sync.hold(organizationId, null);
      else if (pendingDowngrade !== null) await this.#giveUpBefore(wanted, pendingDowngrade, change);
      return happened;
    } catch (error) {
      if (!(error instanceof StripeSilence)) await aside.putBack(organizationId, await change.reread());
      throw error;
    }
  }

  /**
   * Nothing may be planned for a subscription whose raise waits to be paid, and what was planned comes back only when that
   * is over: on the 1st itself that would be too late, and the month that nobody wanted would be charged.
   */
  async #giveUpBefore(
    { organisation: { organizationId } }: Wanted,
    planned: NonNullable<SubscriptionCopy['pendingDowngrade']>,
    { reread }: Change,
  ): Promise<void> {
    const waiting = (await reread()).copy?.subscription ?? null;
    const until = waiting?.pendingUpgrade?.expiresAt ?? Number.POSITIVE_INFINITY;
    if (until < planned.effectiveAt) return;
    const open = waiting?.openInvoice ?? null;
    if (open !== null) await this.#options.payments.void(organizationId, open.id);
    throw new AppError(
      'conflict',
      'The payment waits to be confirmed, and the downgrade that is planned may come first: cancel the downgrade, then try again.',
    );
  }

  async #update(wanted: Wanted, subscription: SubscriptionCopy, { account }: Change): Promise<void> {
    const { stripe, calls, catalogue } = this.#options;
    const { prices } = await catalogue.read();
    const { organisation, tier } = wanted;
    const { organizationId } = organisation;
    const parameters: Stripe.SubscriptionUpdateParams = {
      items: [{ id: subscription.itemId, price: prices[tier] }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      ...this.#countedFrom(wanted, subscription.periodStart),
    };
    // Raised, lowered on the 1st and raised again is twice, however soon.
    const name = `raise:${subscription.id}:${prices[tier]}:${subscription.periodStart}`;
    try {
      await calls.run({ organizationId, name, parameters }, (options, noted) =>
        stripe.subscriptions.update(subscription.id, noted, options),
      );
    } catch (error) {
      if (!(error instanceof StripeRefusal && error.isCard)) throw error;
      if (needsAction(error)) return;
      await this.#noteDecline(wanted, account, error);
      throw declined(error.sentence);
    }
  }

  /** The invoice of a raise is open already: charge it to another payment method, or say where it is. */
  async #payRaise(wanted: Wanted, subscription: SubscriptionCopy, change: Change): Promise<Happened> {
    const { openInvoice } = subscription;
    if (openInvoice === null || wanted.paymentMethodId === null)
      return openInvoice?.needsAction === false && change.account.copy?.paymentMethods.length === 0
        ? 'requires_payment_method'
        : 'requires_action';
    const { aside } = this.#options;
    const { organizationId } = wanted.organisation;
    await aside.hold(organizationId, change.account, subscription, wanted.paymentMethodId);
    const method = await this.#useMethod(wanted, subscription, change.account);
    return this.#payOpen(wanted, change, {
      ...{ invoiceId: openInvoice.id, method },
      restore: async () => aside.chargeAsBefore(organizationId, await change.reread(), subscription.id),
    });
  }

  /** Whether a charge that Stripe began is paid shows only what it left: its call succeeds in either case. */
  async #afterCharge(wanted: Wanted, change: Change, paid: Happened): Promise<Happened> {
    const subscription = (await change.reread()).copy?.subscription ?? null;
    const isServed = subscription !== null && isServing(subscription) && subscription.tier === wanted.tier;
    if (isServed && subscription.pendingUpgrade === null) return paid === 'resumed' ? 'resumed' : 'paid';
    const open = subscription?.openInvoice ?? null;
    if (open?.needsAction === true) return 'requires_action';
    if (paid === 'requires_payment_method' && open !== null) return paid;
    // What an upgrade put aside is put back by its caller.
    if (paid === 'resumed') await this.#restoreUsual(wanted, change.account, subscription?.id ?? null);
    return this.#decline(wanted, change, { invoiceId: open?.id ?? null, sentence: open?.refusal ?? null });
  }

  /** The invoice is void, so that nothing is left of the attempt. */
  async #decline(
    wanted: Wanted,
    { account }: Change,
    { invoiceId, sentence }: { readonly invoiceId: string | null; readonly sentence: string | null },
  ): Promise<never> {
    const { payments, sync } = this.#options;
    const { organizationId } = wanted.organisation;
    const charged = chargedMethod(wanted, account);
    if (charged !== null) await sync.noteCharge(organizationId, charged, true);
    if (invoiceId !== null) await payments.void(organizationId, invoiceId);
    throw declined(sentence);
  }

  /** What to charge: what was asked for, the usual one, or the newest. */
  async #methodFor(wanted: Wanted, customer: string, account: BillingAccount): Promise<string | null> {
    const { copy } = account;
    const { organizationId } = wanted.organisation;
    if (wanted.paymentMethodId === null) return chargedMethod(wanted, account);
    const { customers } = this.#options;
    const { id } = await customers.owned(organizationId, customer, wanted.paymentMethodId);
    if (copy?.defaultPaymentMethodId !== id) await customers.makeUsual(organizationId, customer, id);
    return id;
  }

  /** The same for a subscription that Stripe charges by itself: it remembers what it charges. */
  async #useMethod(
    wanted: Wanted,
    { id }: SubscriptionCopy,
    account: BillingAccount,
  ): Promise<string | null> {
    const { customers } = this.#options;
    const { organizationId } = wanted.organisation;
    const customer = await customers.customerOf(wanted.organisation);
    const method = await this.#methodFor(wanted, customer, account);
    if (method !== null && wanted.paymentMethodId !== null)
      await customers.chargeTo(organizationId, id, method);
    return method;
  }
}

/** What a change charges. */
function chargedMethod({ paymentMethodId }: Wanted, { copy }: BillingAccount): string | null {
  return paymentMethodId ?? copy?.defaultPaymentMethodId ?? copy?.paymentMethods[0]?.id ?? null;
}

function notStarted(): AppError {
  return new AppError(
    'bad_gateway',
    'The payment provider shows no subscription; try again. Nothing was charged.',
  );
}

function replyOf({
  before: { account: before, isRepeated },
  account,
  wanted: { tier },
  happened,
  tierNow,
}: {
  readonly before: Change;
  readonly account: BillingAccount;
  readonly wanted: Wanted;
  readonly happened: Happened;
  readonly tierNow: Organisation['tier'];
}): SubscribeResponse {
  const subscription = account.copy?.subscription ?? null;
  const open = subscription?.openInvoice ?? null;
  const isDone = happened === 'paid' || happened === 'resumed';
  const newest = account.copy?.invoices[0] ?? null;
  const known = before.copy?.invoices.find(({ id }) => id === newest?.id);
  // What had been done before and asks for nothing has no invoice.
  const invoice = open ?? (known?.status !== newest?.status || isRepeated ? newest : null);
  return {
    status: happened === 'paid' ? 'active' : happened,
    subscription_tier: tierNow,
    pending_tier: isDone ? null : tier,
    hosted_invoice_url: isDone ? null : (open?.hostedInvoiceUrl ?? null),
    invoice: invoice === null ? null : invoiceToShow(invoice),
  };
}
