import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import { limits } from '../base/limits.ts';
import type { BillingRecords } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import type { Store } from '../store/store.ts';
import type { StripeCalls } from './calls.ts';
import { idOf } from './catalogue.ts';
import { asking, isMissing, StripeRefusal, StripeSilence } from './stripe.ts';

export interface CustomersOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: StripeCalls;
  /** Whom Stripe writes to about invoices. */
  readonly contactOf: (organizationId: string) => Promise<string | null>;
}

/** Organisations as customers of Stripe, and what they pay with. */
export class Customers {
  readonly #options: CustomersOptions;

  constructor(options: CustomersOptions) {
    this.#options = options;
  }

  /** Makes it one where it is none. */
  async customerOf({ organizationId, name }: Organisation): Promise<string> {
    const { store, records, contactOf } = this.#options;
    const { customerId } = records.account(organizationId);
    if (customerId !== null) return customerId;
    const email = await contactOf(organizationId);
    const parameters = { name, metadata: { organization_id: organizationId } };
    const made = this.#make(organizationId, email === null ? parameters : { ...parameters, email });
    const { id } = await made.catch((error: unknown) => {
      // Stripe takes less for an address than mail does, `operator@localhost` for none: then it writes to nobody.
      if (!(error instanceof StripeRefusal && error.stripeCode === 'email_invalid')) throw error;
      return this.#make(organizationId, parameters);
    });
    const account = { ...records.account(organizationId), customerId: id };
    await store.write(records.putAccount(organizationId, account), { mayUseReserve: true });
    return id;
  }

  #make(organizationId: string, parameters: Stripe.CustomerCreateParams): Promise<Stripe.Customer> {
    const { stripe, calls } = this.#options;
    // Renamed after a call that had no answer, the organisation is made a customer under its earlier name: Stripe refuses
    // the same key with other parameters, and with another key would make a second customer.
    const call = { organizationId, name: 'customer', parameters, keepMs: limits.billingCustomerCallMsMax };
    return calls
      .run(call, (options, noted) => stripe.customers.create(noted, options))
      .catch(async (error: unknown) => {
        const made =
          error instanceof StripeSilence && error.answered ? await this.#madeFor(organizationId) : null;
        if (made === null) throw error;
        return made;
      });
  }

  /** The customer that Stripe made although it said that it failed: the newest ones are looked through. */
  async #madeFor(organizationId: string): Promise<Stripe.Customer | null> {
    const { data } = await asking(() => this.#options.stripe.customers.list({ limit: 100 }));
    return data.find(({ metadata }) => metadata?.organization_id === organizationId) ?? null;
  }

  /** The customer's own, attached where it is nobody's. 404 for another customer's, as for one that does not exist. */
  async owned(
    organizationId: string,
    customerId: string,
    paymentMethodId: string,
  ): Promise<Stripe.PaymentMethod> {
    const method = await this.usable(customerId, paymentMethodId);
    if (method.customer) return method;
    return this.#options.calls.run(
      { organizationId, name: `attach:${paymentMethodId}`, about: attachmentOf(paymentMethodId) },
      (options) =>
        this.#options.stripe.paymentMethods.attach(paymentMethodId, { customer: customerId }, options),
    );
  }

  /** One that is this customer's or nobody's yet; `customerId`: null for who is no customer. Changes nothing. */
  async usable(customerId: string | null, paymentMethodId: string): Promise<Stripe.PaymentMethod> {
    const method = await this.#find(paymentMethodId);
    if (method.customer && idOf(method.customer) !== customerId) throw noPaymentMethod(paymentMethodId);
    return method;
  }

  async #find(paymentMethodId: string): Promise<Stripe.PaymentMethod> {
    if (!/^[\w-]{1,255}$/.test(paymentMethodId)) throw noPaymentMethod(paymentMethodId);
    try {
      return await asking(() => this.#options.stripe.paymentMethods.retrieve(paymentMethodId));
    } catch (error) {
      throw isMissing(error) ? noPaymentMethod(paymentMethodId) : error;
    }
  }

  /** A subscription is charged to it from now on: Stripe does that by itself. */
  async chargeTo(organizationId: string, subscriptionId: string, paymentMethodId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    const about = `method:${subscriptionId}`;
    await calls.run({ organizationId, name: `${about}:${paymentMethodId}`, about }, (options) =>
      stripe.subscriptions.update(subscriptionId, { default_payment_method: paymentMethodId }, options),
    );
  }

  /** Invoices are charged to it from now on. */
  async makeUsual(organizationId: string, customerId: string, paymentMethodId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `usual:${paymentMethodId}`, about: 'usual' }, (options) =>
      stripe.customers.update(
        customerId,
        { invoice_settings: { default_payment_method: paymentMethodId } },
        options,
      ),
    );
  }
}

/** What attaching and detaching change. */
export function attachmentOf(paymentMethodId: string): string {
  return `card:${paymentMethodId}`;
}

export function noPaymentMethod(id: string): AppError {
  return new AppError('not_found', `The organisation has no payment method "${id.slice(0, 255)}".`);
}
