import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { Organization } from '../storage/organizations.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { type PaymentOutcome, type Payments, paymentDeclinedError } from './payments.ts';
import { isServing } from './plan-states.ts';
import type { PaidTier } from './plans.ts';
import { StripeRejectedError } from './stripe.ts';
import type { StripeCustomers } from './stripe-customers.ts';

export interface SubscribeInput {
  readonly organization: Organization;
  readonly tier: PaidTier;
  readonly paymentMethodId: string | null;
  /** Start of the prorated charge in whole seconds since the epoch; null for the time of the charge. */
  readonly asOf: number | null;
}

/** Outcome of a transition of `subscribe`. The reply is built from a subsequent read of Stripe. */
export type SubscribeOutcome = PaymentOutcome | 'resumed';

export interface SubscriptionChargesOptions {
  readonly customers: StripeCustomers;
  readonly payments: Payments;
  readonly sync: Pick<BillingSync, 'recordCharge'>;
}

/** Maximum milliseconds by which the clock of Stripe may be ahead of this server. */
const clockSkewMsMax = 60_000;

/** Charges for subscriptions: the choice of the payment method, payments, and what a decline restores. */
export class SubscriptionCharges {
  readonly #options: SubscriptionChargesOptions;

  constructor(options: SubscriptionChargesOptions) {
    this.#options = options;
  }

  /** Returns the payment method to charge: the requested one, else the default, else the newest. */
  async chooseMethod(
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
   * As `chooseMethod`, for a subscription that Stripe charges automatically, which stores its own
   * payment method.
   */
  async useMethod(
    input: SubscribeInput,
    { id }: SubscriptionCopy,
    account: BillingAccount,
  ): Promise<string | null> {
    const { customers } = this.#options;
    const { organizationId } = input.organization;
    const customer = await customers.ensureCustomer(input.organization);
    const method = await this.chooseMethod(input, customer, account);
    if (method !== null && input.paymentMethodId !== null)
      await customers.setSubscriptionPaymentMethod(organizationId, id, method);
    return method;
  }

  /**
   * Charges an open invoice of an existing subscription. Errors: 402 for a decline, which changes nothing.
   */
  async payOpenInvoice(
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
      await this.recordDecline(input, account, error);
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      await charge.restore();
      throw paymentDeclinedError(error.stripeMessage);
    }
  }

  async recordDecline(input: SubscribeInput, account: BillingAccount, error: unknown): Promise<void> {
    const charged = chargedMethodId(input, account);
    if (charged === null || !(error instanceof StripeRejectedError && error.isCardError)) return;
    await this.#options.sync.recordCharge(input.organization.organizationId, charged, true);
  }

  /** Restores the default payment method after a declined payment, which must change nothing. */
  async restoreDefaultMethod(
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
   * Reads from the resulting state whether a charge by Stripe was paid: the call itself succeeds in either
   * case.
   */
  async readOutcome(
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
    if (paid === 'resumed') await this.restoreDefaultMethod(input, change.account, subscription?.id ?? null);
    return this.voidAndDecline(input, change, {
      invoiceId: open?.id ?? null,
      message: open?.refusal ?? null,
    });
  }

  /** Voids the invoice, so that nothing remains of the attempt, and throws the decline. */
  async voidAndDecline(
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
}

/** Payment method that a change charges. */
export function chargedMethodId(
  { paymentMethodId }: SubscribeInput,
  { copy }: BillingAccount,
): string | null {
  return paymentMethodId ?? copy?.defaultPaymentMethodId ?? copy?.paymentMethods[0]?.id ?? null;
}

/**
 * Proration date of a charge at `now`. Times in milliseconds since the epoch. Errors: 409 if `asOf` is not from a
 * preview of the last hour, or is before `startedAt`.
 */
export function prorationFrom(
  { asOf }: SubscribeInput,
  { now, startedAt }: { readonly now: number; readonly startedAt: number | null },
): { readonly proration_date?: number } {
  if (asOf === null) return {};
  const [at, from] = [asOf * 1_000, Math.max(now - limits.billingPreviewMsMax, startedAt ?? 0)];
  if (at < from || at > now + clockSkewMsMax)
    throw new AppError(
      'conflict',
      'as_of has expired or is not from a preview (valid for 1 hour). Request a new preview.',
    );
  return { proration_date: asOf };
}
