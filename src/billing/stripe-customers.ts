import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { Organization } from '../storage/organizations.ts';
import type { Store } from '../storage/store.ts';
import { idOf } from './price-catalog.ts';
import { isResourceMissing, mapStripeErrors, StripeRejectedError, UnknownOutcomeError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';

export interface StripeCustomersOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: IdempotentStripeCalls;
  /** Returns the address to which Stripe sends invoices. */
  readonly readContactEmail: (organizationId: string) => Promise<string | null>;
}

/** Manages the Stripe customers of organizations and their payment methods. */
export class StripeCustomers {
  readonly #options: StripeCustomersOptions;

  constructor(options: StripeCustomersOptions) {
    this.#options = options;
  }

  /** Returns the customer id. Creates the customer if the organization has none. */
  async ensureCustomer({ organizationId, name }: Organization): Promise<string> {
    const { store, records, readContactEmail } = this.#options;
    const { customerId } = records.getAccount(organizationId);
    if (customerId !== null) return customerId;
    const email = await readContactEmail(organizationId);
    const parameters = { name, metadata: { organization_id: organizationId } };
    const created = this.#create(organizationId, email === null ? parameters : { ...parameters, email });
    const { id } = await created.catch((error: unknown) => {
      // Stripe rejects some valid mail addresses, such as `operator@localhost`. The customer is then created
      // without an address.
      if (!(error instanceof StripeRejectedError && error.stripeCode === 'email_invalid')) throw error;
      return this.#create(organizationId, parameters);
    });
    const account = { ...records.getAccount(organizationId), customerId: id };
    await store.write(records.putAccount(organizationId, account), { mayUseReserve: true });
    return id;
  }

  #create(organizationId: string, parameters: Stripe.CustomerCreateParams): Promise<Stripe.Customer> {
    const { stripe, calls } = this.#options;
    // If the organization was renamed after an unanswered call, the customer is still created under the
    // earlier name: Stripe rejects the same key with other parameters, and another key would create a second
    // customer.
    const call = { organizationId, name: 'customer', parameters, keyTtlMs: limits.billingCustomerCallMsMax };
    return calls
      .run(call, (options, storedParameters) => stripe.customers.create(storedParameters, options))
      .catch(async (error: unknown) => {
        const created =
          error instanceof UnknownOutcomeError && error.hasReplied
            ? await this.#findRecentlyCreated(organizationId)
            : null;
        if (created === null) throw error;
        return created;
      });
  }

  /**
   * Finds a customer that Stripe created although the call reported a failure. Scans the newest customers.
   */
  async #findRecentlyCreated(organizationId: string): Promise<Stripe.Customer | null> {
    const { data } = await mapStripeErrors(() => this.#options.stripe.customers.list({ limit: 100 }));
    return data.find(({ metadata }) => metadata?.organization_id === organizationId) ?? null;
  }

  /**
   * Returns a payment method of the customer; attaches it if it belongs to no customer. Errors: 404 if it
   * belongs to another customer or does not exist.
   */
  async ensureAttached(
    organizationId: string,
    customerId: string,
    paymentMethodId: string,
  ): Promise<Stripe.PaymentMethod> {
    const method = await this.requireUsable(customerId, paymentMethodId);
    if (method.customer) return method;
    return this.#options.calls.run(
      { organizationId, name: `attach:${paymentMethodId}`, purpose: attachmentPurpose(paymentMethodId) },
      (options) =>
        this.#options.stripe.paymentMethods.attach(paymentMethodId, { customer: customerId }, options),
    );
  }

  /**
   * Returns a payment method that belongs to this customer or to none. `customerId`: null if the organization
   * is not a customer. Changes nothing. Errors: 404 if it belongs to another customer or does not exist.
   */
  async requireUsable(customerId: string | null, paymentMethodId: string): Promise<Stripe.PaymentMethod> {
    const method = await this.#retrieve(paymentMethodId);
    if (method.customer && idOf(method.customer) !== customerId)
      throw paymentMethodNotFoundError(paymentMethodId);
    return method;
  }

  async #retrieve(paymentMethodId: string): Promise<Stripe.PaymentMethod> {
    if (!/^[\w-]{1,255}$/.test(paymentMethodId)) throw paymentMethodNotFoundError(paymentMethodId);
    try {
      return await mapStripeErrors(() => this.#options.stripe.paymentMethods.retrieve(paymentMethodId));
    } catch (error) {
      throw isResourceMissing(error) ? paymentMethodNotFoundError(paymentMethodId) : error;
    }
  }

  /** Sets the payment method that Stripe charges automatically for a subscription. */
  async setSubscriptionPaymentMethod(
    organizationId: string,
    subscriptionId: string,
    paymentMethodId: string,
  ): Promise<void> {
    const { stripe, calls } = this.#options;
    const purpose = `method:${subscriptionId}`;
    await calls.run({ organizationId, name: `${purpose}:${paymentMethodId}`, purpose }, (options) =>
      stripe.subscriptions.update(subscriptionId, { default_payment_method: paymentMethodId }, options),
    );
  }

  /** Sets the default payment method for invoices. */
  async setDefaultPaymentMethod(
    organizationId: string,
    customerId: string,
    paymentMethodId: string,
  ): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `usual:${paymentMethodId}`, purpose: 'usual' }, (options) =>
      stripe.customers.update(
        customerId,
        { invoice_settings: { default_payment_method: paymentMethodId } },
        options,
      ),
    );
  }
}

/** Purpose shared by the calls that attach and detach a payment method. */
export function attachmentPurpose(paymentMethodId: string): string {
  return `card:${paymentMethodId}`;
}

export function paymentMethodNotFoundError(id: string): AppError {
  return new AppError('not_found', `The organization has no payment method "${id.slice(0, 255)}".`);
}
