import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { AddPaymentResponse } from '../schemas/billing.ts';
import type { BillingAccount, BillingCopy } from '../store/billing.ts';
import type { Organisation } from '../store/organisations.ts';
import type { BillingCall } from './billing.ts';
import { paymentMethodToShow } from './billing-replies.ts';
import type { StripeCalls } from './calls.ts';
import type { CatalogueReader } from './catalogue.ts';
import { attachmentOf, type Customers, noPaymentMethod } from './customers.ts';
import type { PortalPage } from './portal-page.ts';
import { paymentMethodCopy } from './reading.ts';
import type { BillingSync, Change } from './sync.ts';

export interface PaymentMethodsOptions {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly customers: Customers;
  readonly portal: PortalPage;
  readonly sync: BillingSync;
}

/** What organisations pay with, and what their invoices say of them. */
export class PaymentMethods {
  readonly #options: PaymentMethodsOptions;

  constructor(options: PaymentMethodsOptions) {
    this.#options = options;
  }

  /** With an id it is attached; without one the reply leads to a form of Stripe. `back`: where that leads back to. */
  add(
    { organisation, by }: BillingCall,
    { paymentMethodId, back }: { readonly paymentMethodId: string | null; readonly back: string },
  ): Promise<AddPaymentResponse> {
    const { organizationId } = organisation;
    const work = async ({ account, reread }: Change) => {
      const { customers } = this.#options;
      if (paymentMethodId !== null) await customers.usable(account.customerId, paymentMethodId);
      const customer = await customers.customerOf(organisation);
      if (paymentMethodId === null) return this.#openForm(organizationId, customer, back);
      const method = await customers.owned(organizationId, customer, paymentMethodId);
      const usual = await this.#haveUsual(organizationId, customer, (await reread()).copy, method.id);
      await reread();
      return { payment_method: paymentMethodToShow(paymentMethodCopy(method), usual) };
    };
    return this.#options.sync.change(organizationId, null, work, by);
  }

  /** Errors: 404 for one that is not theirs, 400 for the last that pays of who will be charged. */
  remove({ organisation: { organizationId }, by }: BillingCall, paymentMethodId: string): Promise<void> {
    const { stripe, calls, customers, sync } = this.#options;
    const work = async ({ account, reread }: Change) => {
      const { copy, customerId } = account;
      if (
        copy === null ||
        customerId === null ||
        !copy.paymentMethods.some(({ id }) => id === paymentMethodId)
      )
        throw noPaymentMethod(paymentMethodId);
      const others = copy.paymentMethods.filter(({ id }) => id !== paymentMethodId);
      const next = others.find(({ id }) => !isDeclined(account, id)) ?? others[0];
      if (mustPay(copy)) refuseLast(account, paymentMethodId, next?.id ?? null);
      if (next !== undefined && copy.defaultPaymentMethodId === paymentMethodId)
        await customers.makeUsual(organizationId, customerId, next.id);
      const about = attachmentOf(paymentMethodId);
      await calls.run({ organizationId, name: `detach:${paymentMethodId}`, about }, (options) =>
        stripe.paymentMethods.detach(paymentMethodId, {}, options),
      );
      await reread();
    };
    return sync.change(organizationId, null, work, by);
  }

  /** A page of Stripe where name, address and tax ids are edited. */
  openPortal(organisation: Organisation, back: string): Promise<{ readonly url: string }> {
    const { stripe, calls, customers, portal, sync } = this.#options;
    const { organizationId } = organisation;
    return sync.change(organizationId, null, async () => {
      const customer = await customers.customerOf(organisation);
      const configuration = await portal.configuration();
      const { url } = await calls.run(
        { organizationId, name: `portal:${configuration}:${back}` },
        (options) =>
          stripe.billingPortal.sessions.create({ customer, configuration, return_url: back }, options),
      );
      sync.expectChangeAtStripe(organizationId);
      return { url };
    });
  }

  async #openForm(organizationId: string, customer: string, back: string): Promise<AddPaymentResponse> {
    const { stripe, calls, catalogue, sync } = this.#options;
    const { currency } = catalogue.plans;
    const session = await calls.run({ organizationId, name: `form:${back}` }, (options) =>
      stripe.checkout.sessions.create(
        {
          mode: 'setup',
          customer,
          currency,
          // What else the account takes, such as debits of banks, is paid days later, and Stripe raises no tier by it.
          allowed_payment_method_types: ['card'],
          success_url: back,
          cancel_url: back,
        },
        options,
      ),
    );
    if (typeof session.url !== 'string')
      throw new AppError('bad_gateway', 'The payment provider gave no address for its form; try again.');
    sync.expectChangeAtStripe(organizationId);
    return { url: session.url, session_id: session.id };
  }

  /** The first one is what invoices are charged to. */
  async #haveUsual(
    organizationId: string,
    customer: string,
    copy: BillingCopy | null,
    added: string,
  ): Promise<string> {
    const usual = copy?.defaultPaymentMethodId ?? null;
    if (usual !== null) return usual;
    await this.#options.customers.makeUsual(organizationId, customer, added);
    return added;
  }
}

/** Whether a bank declined it when it was charged last. */
function isDeclined({ declinedMethodIds, copy }: BillingAccount, id: string): boolean {
  const isFailing = copy !== null && (copy.subscription?.openInvoice?.refusal ?? null) !== null;
  return declinedMethodIds.includes(id) || (isFailing && copy.defaultPaymentMethodId === id);
}

/** `next`: the best of what is left. Errors: 400. */
function refuseLast(account: BillingAccount, removed: string, next: string | null): void {
  if (next === null)
    throw new AppError(
      'bad_request',
      'The last payment method of a subscription cannot be removed, because what is used until its end is charged to it: add another one first.',
    );
  if (isDeclined(account, next) && !isDeclined(account, removed))
    throw new AppError(
      'bad_request',
      'The last payment method that pays for a subscription cannot be removed: the other ones were declined. Add another one first.',
    );
}

/**
 * Whether something will still be charged. Also where the end of a subscription is planned: what is used until then is
 * invoiced with it, and a downgrade that is taken back goes on with the card that there is. A first tier that was never
 * paid is owed by nobody, and a pause is settled.
 */
function mustPay({ subscription }: BillingCopy): boolean {
  if (subscription === null || subscription.status === 'incomplete') return false;
  return subscription.status !== 'paused' || subscription.openInvoice !== null;
}
