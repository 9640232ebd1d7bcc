import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { SubscribeResponse } from '../schemas/billing.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing.ts';
import type { Organization } from '../storage/organizations.ts';
import { toBillingInvoice } from './billing-replies.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { type DowngradeManager, pausePurpose } from './downgrade-manager.ts';
import { isServing, tierOfSubscription } from './effective-tiers.ts';
import { type PaymentOutcome, type Payments, paymentDeclinedError, requiresAction } from './payments.ts';
import type { PendingSchedules } from './pending-schedules.ts';
import { planEffectOf } from './plan-states.ts';
import type { PaidTier } from './plans.ts';
import type { PriceCatalogReader } from './price-catalog.ts';
import {
  checkNotBoughtAtMarketplace,
  checkNotGranted,
  checkNotMeteredByMarketplace,
  checkResumeTier,
  checkUpgrade,
  type MarketplaceSales,
  requirePaidTier,
  unknownPriceError,
} from './sale-conditions.ts';
import { StripeRejectedError, UnknownOutcomeError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeCustomers } from './stripe-customers.ts';

export interface SubscriptionManagerOptions extends MarketplaceSales {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly customers: StripeCustomers;
  readonly payments: Payments;
  readonly downgrades: Pick<DowngradeManager, 'releaseSchedule'>;
  readonly pendingSchedules: PendingSchedules;
  readonly sync: BillingSync;
  readonly clock: Clock;
}

interface SubscribeInput {
  readonly organization: Organization;
  readonly tier: PaidTier;
  readonly paymentMethodId: string | null;
  /** Start of the prorated charge in whole seconds since 1970; null for the time of the charge. */
  readonly asOf: number | null;
}

/** Maximum milliseconds by which the clock of Stripe may be ahead of this server. */
const clockSkewMsMax = 60_000;

/** Outcome of the change. The reply is built from a subsequent read of Stripe. */
type SubscribeOutcome = PaymentOutcome | 'resumed';

/**
 * Subscribes organizations to tiers and upgrades them. A tier applies once its invoice is paid. A payment
 * that needs confirmation by the customer's bank leaves an open invoice with a URL; a declined payment leaves
 * nothing.
 */
export class SubscriptionManager {
  readonly #options: SubscriptionManagerOptions;

  constructor(options: SubscriptionManagerOptions) {
    this.#options = options;
  }

  subscribe(
    organization: Organization,
    request: Pick<SubscribeInput, 'paymentMethodId' | 'asOf'> & { readonly tier: Organization['tier'] },
  ): Promise<SubscribeResponse> {
    const { paymentMethodId, asOf } = request;
    const tier = requirePaidTier(organization, request.tier);
    const { organizationId } = organization;
    const input: SubscribeInput = { organization, tier, paymentMethodId, asOf };
    this.#prorationFrom(input, null);
    return this.#options.sync.runChange(organizationId, { kind: 'subscribe', tier }, async (change) => {
      const outcome = await this.#applyChange(input, change);
      const account = await change.reread();
      const tierNow = this.#options.sync.tierOf(organizationId);
      const reply = buildReply({ before: change, account, input, outcome, tierNow });
      const charged = chargedMethodId(input, change.account);
      if (charged !== null && (reply.invoice?.amount_paid ?? 0) > 0)
        await this.#options.sync.recordCharge(organizationId, charged, false);
      return reply;
    });
  }

  async #applyChange(input: SubscribeInput, change: BillingChange): Promise<SubscribeOutcome> {
    const subscription = change.account.copy?.subscription ?? null;
    const effect = planEffectOf('subscribe', subscription);
    if (subscription === null || effect === 'start') return this.#startSubscription(input, change);
    if (subscription.tier === null) throw unknownPriceError();
    switch (effect) {
      case 'continue_start':
        return this.#continueStart(input, subscription, change);
      case 'resume':
        return this.#resumeSubscription(input, subscription, change);
      case 'pay_invoice':
        return this.#payPastDue(input, subscription, change);
      case 'upgrade':
        return this.#upgrade(input, subscription, change);
    }
  }

  /**
   * Proration date of a charge. Errors: 409 if `asOf` is not from a preview of the last hour, or is before
   * `startedAt`.
   */
  #prorationFrom({ asOf }: SubscribeInput, startedAt: number | null): { readonly proration_date?: number } {
    if (asOf === null) return {};
    const now = this.#options.clock.now();
    const [at, from] = [asOf * 1_000, Math.max(now - limits.billingPreviewMsMax, startedAt ?? 0)];
    if (at < from || at > now + clockSkewMsMax)
      throw new AppError(
        'conflict',
        'as_of has expired or is not from a preview (valid for 1 hour). Request a new preview.',
      );
    return { proration_date: asOf };
  }

  /**
   * Starts the first subscription. Its first period ends on the first of the next month, and is prorated and
   * charged now.
   */
  async #startSubscription(
    input: SubscribeInput,
    { account, reread }: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { stripe, calls, catalog, customers } = this.#options;
    const { organization, tier } = input;
    const { organizationId } = organization;
    await checkNotBoughtAtMarketplace(this.#options, organizationId);
    checkNotGranted(this.#options.tiers, organizationId, tier);
    const { prices, meteredPriceIds: metered } = await catalog.read();
    if (input.paymentMethodId !== null)
      await customers.requireUsable(account.customerId, input.paymentMethodId);
    const customer = await customers.ensureCustomer(organization);
    const method = await this.#paymentMethodFor(input, customer, account);
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
    const call = { organizationId, name: `start:${tier}:${price}`, purpose: 'start', parameters };
    await calls.run(call, (options, storedParameters) =>
      stripe.subscriptions.create(storedParameters, options),
    );
    const started = (await reread()).copy?.subscription ?? null;
    if (started === null) throw subscriptionMissingError();
    return this.#payFirstInvoice(input, started, { method, account });
  }

  /** `account`: state before the requested payment method became the default. */
  async #payFirstInvoice(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    { method, account }: { readonly method: string | null; readonly account: BillingAccount },
  ): Promise<PaymentOutcome> {
    const { payments } = this.#options;
    const { organizationId } = input.organization;
    const { openInvoice } = subscription;
    if (openInvoice === null) return isServing(subscription) ? 'paid' : 'requires_payment_method';
    if (method === null) return 'requires_payment_method';
    try {
      return await payments.payInvoice(organizationId, openInvoice.id, method);
    } catch (error) {
      await this.#recordDecline(input, account, error);
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      await this.#cancelUnpaidSubscription(organizationId, subscription.id);
      await this.#restoreDefaultPaymentMethod(input, account, null);
      throw paymentDeclinedError(error.stripeMessage);
    }
  }

  async #recordDecline(input: SubscribeInput, account: BillingAccount, error: unknown): Promise<void> {
    const charged = chargedMethodId(input, account);
    if (charged === null || !(error instanceof StripeRejectedError && error.isCardError)) return;
    await this.#options.sync.recordCharge(input.organization.organizationId, charged, true);
  }

  /** Restores the default payment method after a declined payment, which must change nothing. */
  async #restoreDefaultPaymentMethod(
    { organization: { organizationId }, paymentMethodId }: SubscribeInput,
    { customerId, copy }: BillingAccount,
    subscriptionId: string | null,
  ): Promise<void> {
    const defaultMethodId = copy?.defaultPaymentMethodId ?? null;
    if (
      paymentMethodId === null ||
      defaultMethodId === null ||
      defaultMethodId === paymentMethodId ||
      customerId === null
    )
      return;
    const { customers } = this.#options;
    await customers.setDefaultPaymentMethod(organizationId, customerId, defaultMethodId);
    if (subscriptionId !== null)
      await customers.setSubscriptionPaymentMethod(organizationId, subscriptionId, defaultMethodId);
  }

  /**
   * Charges an open invoice of an existing subscription. Errors: 402 for a decline, which changes nothing.
   */
  async #payOpenInvoice(
    input: SubscribeInput,
    { account }: BillingChange,
    charge: {
      readonly invoiceId: string;
      readonly method: string | null;
      /** Restores the previous default payment method. */
      readonly restore: () => Promise<unknown>;
    },
  ): Promise<PaymentOutcome> {
    const { organizationId } = input.organization;
    try {
      return await this.#options.payments.payInvoice(organizationId, charge.invoiceId, charge.method);
    } catch (error) {
      await this.#recordDecline(input, account, error);
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      await charge.restore();
      throw paymentDeclinedError(error.stripeMessage);
    }
  }

  /** Cancels a subscription that was never paid and voids its invoice. */
  async #cancelUnpaidSubscription(organizationId: string, subscriptionId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `cancel:${subscriptionId}` }, (options) =>
      stripe.subscriptions.cancel(subscriptionId, {}, options),
    );
  }

  /** Continues a subscription whose first payment is still open. */
  async #continueStart(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { organizationId } = input.organization;
    // A start whose reply was lost has ended: `subscription` is its result.
    await this.#options.calls.forget({ organizationId, name: 'start' });
    if (subscription.tier !== input.tier) {
      await this.#cancelUnpaidSubscription(organizationId, subscription.id);
      return this.#startSubscription(input, { ...change, account: await change.reread() });
    }
    const { customers } = this.#options;
    const customer = await customers.ensureCustomer(input.organization);
    const method = await this.#paymentMethodFor(input, customer, change.account);
    checkNotGranted(this.#options.tiers, organizationId, input.tier);
    const isConfirmationPending =
      input.paymentMethodId === null && subscription.openInvoice?.needsAction === true;
    if (isConfirmationPending) return 'requires_action';
    return this.#payFirstInvoice(input, subscription, { method, account: change.account });
  }

  /**
   * Resumes a paused subscription. Charges the remainder of the month now, using credit first. The billing
   * date stays on the first of the month.
   */
  async #resumeSubscription(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { stripe, calls } = this.#options;
    const { organizationId } = input.organization;
    checkResumeTier(subscription, input.tier);
    await checkNotMeteredByMarketplace(this.#options, organizationId);
    checkNotGranted(this.#options.tiers, organizationId, input.tier);
    const parameters: Stripe.SubscriptionResumeParams = {
      billing_cycle_anchor: { type: 'unchanged' },
      proration_behavior: 'always_invoice',
      payment_behavior: 'resume_on_payment_success',
      ...this.#prorationFrom(input, subscription.pausedAt),
    };
    if (subscription.openInvoice !== null) {
      const paid = await this.#payWhilePaused(input, subscription, change);
      const current = (await change.reread()).copy?.subscription ?? null;
      // The paid invoice was that of the pause, which precedes that of the resume.
      const isStillPaused = current?.status === 'paused' && current.openInvoice === null;
      if (paid !== 'resumed' || !isStillPaused) return paid;
    }
    await this.#usePaymentMethod(input, subscription, change.account);
    try {
      await calls.run(
        {
          organizationId,
          name: `resume:${subscription.id}:${subscription.pausedAt}`,
          purpose: pausePurpose(subscription.id),
          parameters,
        },
        (options, storedParameters) =>
          stripe.subscriptions.resume(subscription.id, storedParameters, options),
      );
    } catch (error) {
      // A bank that requires authentication, or declined, leaves the invoice open.
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      const current = (await change.reread()).copy?.subscription?.openInvoice ?? null;
      if (current === null || !requiresAction(error)) {
        await this.#restoreDefaultPaymentMethod(input, change.account, subscription.id);
        return this.#voidAndDecline(input, change, {
          invoiceId: current?.id ?? null,
          message: error.stripeMessage,
        });
      }
    }
    return this.#readChargeOutcome(input, change, 'resumed');
  }

  async #payWhilePaused(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const method = await this.#usePaymentMethod(input, subscription, change.account);
    const { openInvoice } = subscription;
    if (openInvoice === null) return 'resumed';
    if (openInvoice.needsAction && input.paymentMethodId === null) return 'requires_action';
    const paid = await this.#payOpenInvoice(input, change, {
      ...{ invoiceId: openInvoice.id, method },
      restore: () => this.#restoreDefaultPaymentMethod(input, change.account, subscription.id),
    });
    return paid === 'paid' ? 'resumed' : paid;
  }

  /** Pays an overdue invoice, which must be paid before any other change. */
  async #payPastDue(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    if (subscription.tier !== input.tier) {
      throw new AppError(
        'conflict',
        'This organization has an unpaid invoice. Pay it first, then change the tier.',
      );
    }
    const customer = await this.#options.customers.ensureCustomer(input.organization);
    const method = await this.#paymentMethodFor(input, customer, change.account);
    if (subscription.openInvoice === null) return 'paid';
    if (method === null) return 'requires_payment_method';
    return this.#payOpenInvoice(input, change, {
      ...{ invoiceId: subscription.openInvoice.id, method },
      restore: () => this.#restoreDefaultPaymentMethod(input, change.account, null),
    });
  }

  /**
   * Upgrades to a higher tier. Charges the remainder of the month now; the tier applies once that is paid.
   */
  async #upgrade(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { pendingSchedules } = this.#options;
    const { organizationId } = input.organization;
    const { tier } = input;
    if (tierOfSubscription(subscription) === tier && change.isRepeated) return 'paid';
    checkUpgrade(subscription, tier);
    const { pendingUpgrade, openInvoice } = subscription;
    checkNotGranted(this.#options.tiers, organizationId, tier);
    if (pendingUpgrade?.tier === tier) return this.#payPendingUpgrade(input, subscription, change);
    this.#prorationFrom(input, subscription.periodStart);
    if (pendingUpgrade !== null && openInvoice !== null)
      await this.#options.payments.voidInvoice(organizationId, openInvoice.id);
    const { pendingDowngrade } = subscription;
    await pendingSchedules.save(organizationId, change.account, subscription, input.paymentMethodId);
    // A subscription with a schedule cannot be upgraded.
    await this.#options.downgrades.releaseSchedule(organizationId, subscription);
    try {
      const method = await this.#usePaymentMethod(input, subscription, change.account);
      await this.#updateSubscription(input, subscription, change);
      const outcome = await this.#readChargeOutcome(
        input,
        change,
        method === null ? 'requires_payment_method' : 'paid',
      );
      if (outcome === 'paid') await this.#options.sync.putPendingSchedule(organizationId, null);
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
    const { stripe, calls, catalog } = this.#options;
    const { prices } = await catalog.read();
    const { organization, tier } = input;
    const { organizationId } = organization;
    const parameters: Stripe.SubscriptionUpdateParams = {
      items: [{ id: subscription.itemId, price: prices[tier] }],
      proration_behavior: 'always_invoice',
      payment_behavior: 'pending_if_incomplete',
      ...this.#prorationFrom(input, subscription.periodStart),
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
      await this.#recordDecline(input, account, error);
      throw paymentDeclinedError(error.stripeMessage);
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
    const { openInvoice } = subscription;
    if (openInvoice === null || input.paymentMethodId === null)
      return openInvoice?.needsAction === false && change.account.copy?.paymentMethods.length === 0
        ? 'requires_payment_method'
        : 'requires_action';
    const { pendingSchedules } = this.#options;
    const { organizationId } = input.organization;
    await pendingSchedules.save(organizationId, change.account, subscription, input.paymentMethodId);
    const method = await this.#usePaymentMethod(input, subscription, change.account);
    return this.#payOpenInvoice(input, change, {
      ...{ invoiceId: openInvoice.id, method },
      restore: async () =>
        pendingSchedules.restorePaymentMethod(organizationId, await change.reread(), subscription.id),
    });
  }

  /**
   * Reads from the resulting state whether a charge by Stripe was paid: the call itself succeeds in either
   * case.
   */
  async #readChargeOutcome(
    input: SubscribeInput,
    change: BillingChange,
    paid: SubscribeOutcome,
  ): Promise<SubscribeOutcome> {
    const subscription = (await change.reread()).copy?.subscription ?? null;
    const isServed = subscription !== null && isServing(subscription) && subscription.tier === input.tier;
    if (isServed && subscription.pendingUpgrade === null) return paid === 'resumed' ? 'resumed' : 'paid';
    const open = subscription?.openInvoice ?? null;
    if (open?.needsAction === true) return 'requires_action';
    if (paid === 'requires_payment_method' && open !== null) return paid;
    // For an upgrade, the caller restores the pending schedule.
    if (paid === 'resumed')
      await this.#restoreDefaultPaymentMethod(input, change.account, subscription?.id ?? null);
    return this.#voidAndDecline(input, change, {
      invoiceId: open?.id ?? null,
      message: open?.refusal ?? null,
    });
  }

  /** Voids the invoice, so that nothing remains of the attempt, and throws the decline. */
  async #voidAndDecline(
    input: SubscribeInput,
    { account }: BillingChange,
    { invoiceId, message }: { readonly invoiceId: string | null; readonly message: string | null },
  ): Promise<never> {
    const { payments, sync } = this.#options;
    const { organizationId } = input.organization;
    const charged = chargedMethodId(input, account);
    if (charged !== null) await sync.recordCharge(organizationId, charged, true);
    if (invoiceId !== null) await payments.voidInvoice(organizationId, invoiceId);
    throw paymentDeclinedError(message);
  }

  /** Returns the payment method to charge: the requested one, else the default, else the newest. */
  async #paymentMethodFor(
    input: SubscribeInput,
    customer: string,
    account: BillingAccount,
  ): Promise<string | null> {
    const { copy } = account;
    const { organizationId } = input.organization;
    if (input.paymentMethodId === null) return chargedMethodId(input, account);
    const { customers } = this.#options;
    const { id } = await customers.ensureAttached(organizationId, customer, input.paymentMethodId);
    if (copy?.defaultPaymentMethodId !== id)
      await customers.setDefaultPaymentMethod(organizationId, customer, id);
    return id;
  }

  /**
   * As `#paymentMethodFor`, for a subscription that Stripe charges automatically, which stores its own
   * payment method.
   */
  async #usePaymentMethod(
    input: SubscribeInput,
    { id }: SubscriptionCopy,
    account: BillingAccount,
  ): Promise<string | null> {
    const { customers } = this.#options;
    const { organizationId } = input.organization;
    const customer = await customers.ensureCustomer(input.organization);
    const method = await this.#paymentMethodFor(input, customer, account);
    if (method !== null && input.paymentMethodId !== null)
      await customers.setSubscriptionPaymentMethod(organizationId, id, method);
    return method;
  }
}

/** Payment method that a change charges. */
function chargedMethodId({ paymentMethodId }: SubscribeInput, { copy }: BillingAccount): string | null {
  return paymentMethodId ?? copy?.defaultPaymentMethodId ?? copy?.paymentMethods[0]?.id ?? null;
}

function subscriptionMissingError(): AppError {
  return new AppError(
    'bad_gateway',
    'The payment provider did not create the subscription. Nothing was charged. Try again.',
  );
}

function buildReply({
  before: { account: before, isRepeated },
  account,
  input: { tier },
  outcome,
  tierNow,
}: {
  readonly before: BillingChange;
  readonly account: BillingAccount;
  readonly input: SubscribeInput;
  readonly outcome: SubscribeOutcome;
  readonly tierNow: Organization['tier'];
}): SubscribeResponse {
  const subscription = account.copy?.subscription ?? null;
  const open = subscription?.openInvoice ?? null;
  const isDone = outcome === 'paid' || outcome === 'resumed';
  const newest = account.copy?.invoices[0] ?? null;
  const known = before.copy?.invoices.find(({ id }) => id === newest?.id);
  // A repeated request that charges nothing has no invoice.
  const invoice = open ?? (known?.status !== newest?.status || isRepeated ? newest : null);
  return {
    status: outcome === 'paid' ? 'active' : outcome,
    subscription_tier: tierNow,
    pending_tier: isDone ? null : tier,
    hosted_invoice_url: isDone ? null : (open?.hostedInvoiceUrl ?? null),
    invoice: invoice === null ? null : toBillingInvoice(invoice),
  };
}
