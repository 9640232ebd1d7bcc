import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { BillingAccount, SubscriptionCopy } from '../storage/billing-account.ts';
import type { BillingChange } from './billing-sync.ts';
import { type PaymentOutcome, type Payments, paymentDeclinedError } from './payments.ts';
import { isServing } from './plan-states.ts';
import type { PriceCatalogReader } from './price-catalog.ts';
import { checkNotBoughtAtMarketplace, checkNotGranted, type MarketplaceSales } from './sale-conditions.ts';
import { StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeCustomers } from './stripe-customers.ts';
import type { SubscribeInput, SubscribeOutcome, SubscriptionCharges } from './subscription-charges.ts';

export interface SubscriptionStartOptions extends MarketplaceSales {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly customers: StripeCustomers;
  readonly payments: Payments;
  readonly charges: SubscriptionCharges;
}

/** Effects of `start` and `continue_start`: the first subscription of an organization. */
export class SubscriptionStart {
  readonly #options: SubscriptionStartOptions;

  constructor(options: SubscriptionStartOptions) {
    this.#options = options;
  }

  /**
   * Starts the first subscription. Its first period ends on the first of the next month, and is prorated and
   * charged now.
   */
  async start(input: SubscribeInput, { account, reread }: BillingChange): Promise<SubscribeOutcome> {
    const { stripe, calls, catalog, customers, charges, tiers } = this.#options;
    const { organization, tier } = input;
    const { organizationId } = organization;
    await checkNotBoughtAtMarketplace(this.#options, organizationId);
    checkNotGranted(tiers, organizationId, tier);
    const { prices, meteredPriceIds: metered } = await catalog.read();
    if (input.paymentMethodId !== null)
      await customers.requireUsable(account.customerId, input.paymentMethodId);
    const customer = await customers.ensureCustomer(organization);
    const method = await charges.chooseMethod(input, customer, account);
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

  /** Continues a subscription whose first payment is still open. */
  async continue(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    change: BillingChange,
  ): Promise<SubscribeOutcome> {
    const { calls, customers, charges, tiers } = this.#options;
    const { organizationId } = input.organization;
    // A start whose reply was lost has ended: `subscription` is its result.
    await calls.forget({ organizationId, name: 'start' });
    if (subscription.tier !== input.tier) {
      await this.#cancelUnpaidSubscription(organizationId, subscription.id);
      return this.start(input, { ...change, account: await change.reread() });
    }
    const customer = await customers.ensureCustomer(input.organization);
    const method = await charges.chooseMethod(input, customer, change.account);
    checkNotGranted(tiers, organizationId, input.tier);
    const isConfirmationPending =
      input.paymentMethodId === null && subscription.openInvoice?.needsAction === true;
    if (isConfirmationPending) return 'requires_action';
    return this.#payFirstInvoice(input, subscription, { method, account: change.account });
  }

  /** `account`: state before the requested payment method became the default. */
  async #payFirstInvoice(
    input: SubscribeInput,
    subscription: SubscriptionCopy,
    { method, account }: { readonly method: string | null; readonly account: BillingAccount },
  ): Promise<PaymentOutcome> {
    const { payments, charges } = this.#options;
    const { organizationId } = input.organization;
    const { openInvoice } = subscription;
    if (openInvoice === null) return isServing(subscription) ? 'paid' : 'requires_payment_method';
    if (method === null) return 'requires_payment_method';
    try {
      return await payments.payInvoice(organizationId, openInvoice.id, method);
    } catch (error) {
      await charges.recordDecline(input, account, error);
      if (!(error instanceof StripeRejectedError && error.isCardError)) throw error;
      await this.#cancelUnpaidSubscription(organizationId, subscription.id);
      await charges.restoreDefaultMethod(input, account, null);
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
}

function subscriptionMissingError(): AppError {
  return new AppError(
    'bad_gateway',
    'The payment provider did not create the subscription. Nothing was charged. Try again.',
  );
}
