import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import type { AddPaymentResponse } from '../schemas/billing.ts';
import type { BillingAccount, BillingCopy } from '../storage/billing-account.ts';
import type { BillingContext } from './billing.ts';
import { toBillingPaymentMethod } from './billing-replies.ts';
import type { BillingChange, BillingSync } from './billing-sync.ts';
import { planStateOf } from './plan-states.ts';
import type { PortalConfiguration } from './portal-configuration.ts';
import type { PriceCatalogReader } from './price-catalog.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import { attachmentPurpose, paymentMethodNotFoundError, type StripeCustomers } from './stripe-customers.ts';
import { toPaymentMethodCopy } from './stripe-reader.ts';

export interface PaymentMethodsOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly customers: StripeCustomers;
  readonly portal: PortalConfiguration;
  readonly sync: BillingSync;
}

/** Manages payment methods and the billing details on invoices. */
export class PaymentMethods {
  readonly #options: PaymentMethodsOptions;

  constructor(options: PaymentMethodsOptions) {
    this.#options = options;
  }

  /**
   * Attaches the payment method with the given id. Without an id, the reply has the URL of a Stripe form that
   * redirects to `returnUrl`.
   */
  add(
    { organization, by, deadline }: BillingContext,
    { paymentMethodId, returnUrl }: { readonly paymentMethodId: string | null; readonly returnUrl: string },
  ): Promise<AddPaymentResponse> {
    const { organizationId } = organization;
    const work = async ({ account, reread }: BillingChange) => {
      const { customers } = this.#options;
      if (paymentMethodId !== null) await customers.requireUsable(account.customerId, paymentMethodId);
      const customer = await customers.ensureCustomer(organization);
      if (paymentMethodId === null) return this.#openCheckout(organizationId, customer, returnUrl);
      const method = await customers.ensureAttached(organizationId, customer, paymentMethodId);
      const defaultMethodId = await this.#ensureDefault(
        organizationId,
        customer,
        (await reread()).copy,
        method.id,
      );
      await reread();
      return { payment_method: toBillingPaymentMethod(toPaymentMethodCopy(method), defaultMethodId) };
    };
    return this.#options.sync.runChange(organizationId, null, work, { by, deadline });
  }

  /**
   * A repeated request whose first client received no reply succeeds. Errors: 404 if the payment method does
   * not belong to the organization; 400 for the last working one while charges are expected.
   */
  remove(
    { organization: { organizationId }, by, deadline: replyDeadline }: BillingContext,
    paymentMethodId: string,
  ): Promise<void> {
    const { sync } = this.#options;
    const work = async ({ account, reread, deadline }: BillingChange) => {
      const isAttached = account.copy?.paymentMethods.some(({ id }) => id === paymentMethodId) === true;
      if (isAttached) {
        await this.#detach(organizationId, account, paymentMethodId);
        await reread();
      } else if (account.pendingRemovalId !== paymentMethodId)
        throw paymentMethodNotFoundError(paymentMethodId);
      if (deadline.meet()) await sync.putPendingRemoval(organizationId, null);
    };
    return sync.runChange(organizationId, null, work, { by, deadline: replyDeadline });
  }

  /** Opens a Stripe page for editing name, address and tax ids. */
  openPortal(
    { organization, deadline }: BillingContext,
    returnUrl: string,
  ): Promise<{ readonly url: string }> {
    const { stripe, calls, customers, portal, sync } = this.#options;
    const { organizationId } = organization;
    const work = async () => {
      const customer = await customers.ensureCustomer(organization);
      const configuration = await portal.ensureId();
      const { url } = await calls.run(
        { organizationId, name: `portal:${configuration}:${returnUrl}` },
        (options) =>
          stripe.billingPortal.sessions.create({ customer, configuration, return_url: returnUrl }, options),
      );
      sync.expectChangeAtStripe(organizationId);
      return { url };
    };
    return sync.runChange(organizationId, null, work, { deadline });
  }

  async #detach(organizationId: string, account: BillingAccount, paymentMethodId: string): Promise<void> {
    const { stripe, calls, customers, sync } = this.#options;
    const { copy, customerId } = account;
    if (copy === null || customerId === null) throw paymentMethodNotFoundError(paymentMethodId);
    const others = copy.paymentMethods.filter(({ id }) => id !== paymentMethodId);
    const next = others.find(({ id }) => !isDeclined(account, id)) ?? others[0];
    if (hasFutureCharges(copy)) checkNotLastMethod(account, paymentMethodId, next?.id ?? null);
    await sync.putPendingRemoval(organizationId, paymentMethodId);
    if (next !== undefined && copy.defaultPaymentMethodId === paymentMethodId)
      await customers.setDefaultPaymentMethod(organizationId, customerId, next.id);
    const purpose = attachmentPurpose(paymentMethodId);
    await calls.run({ organizationId, name: `detach:${paymentMethodId}`, purpose }, (options) =>
      stripe.paymentMethods.detach(paymentMethodId, {}, options),
    );
  }

  async #openCheckout(
    organizationId: string,
    customer: string,
    returnUrl: string,
  ): Promise<AddPaymentResponse> {
    const { stripe, calls, catalog, sync } = this.#options;
    const { currency } = catalog.plans;
    const session = await calls.run({ organizationId, name: `form:${returnUrl}` }, (options) =>
      stripe.checkout.sessions.create(
        {
          mode: 'setup',
          customer,
          currency,
          // Other methods, such as bank debits, settle days later, and Stripe does not apply an upgrade with
          // them.
          allowed_payment_method_types: ['card'],
          success_url: returnUrl,
          cancel_url: returnUrl,
        },
        options,
      ),
    );
    if (typeof session.url !== 'string')
      throw new AppError('bad_gateway', 'The payment provider returned no URL for its form. Try again.');
    sync.expectChangeAtStripe(organizationId);
    return { url: session.url, session_id: session.id };
  }

  /** The first payment method becomes the default for invoices. */
  async #ensureDefault(
    organizationId: string,
    customer: string,
    copy: BillingCopy | null,
    addedMethodId: string,
  ): Promise<string> {
    const defaultMethodId = copy?.defaultPaymentMethodId ?? null;
    if (defaultMethodId !== null) return defaultMethodId;
    await this.#options.customers.setDefaultPaymentMethod(organizationId, customer, addedMethodId);
    return addedMethodId;
  }
}

/** Whether the bank declined the payment method when it was last charged. */
function isDeclined({ declinedMethodIds, copy }: BillingAccount, id: string): boolean {
  const isFailing = copy !== null && (copy.subscription?.openInvoice?.refusal ?? null) !== null;
  return declinedMethodIds.includes(id) || (isFailing && copy.defaultPaymentMethodId === id);
}

/** `nextMethodId`: the best remaining payment method. Errors: 400. */
function checkNotLastMethod(
  account: BillingAccount,
  removedMethodId: string,
  nextMethodId: string | null,
): void {
  if (nextMethodId === null)
    throw new AppError(
      'bad_request',
      'The last payment method of a subscription cannot be removed, because outstanding usage is charged to it. Add another one first.',
    );
  if (isDeclined(account, nextMethodId) && !isDeclined(account, removedMethodId))
    throw new AppError(
      'bad_request',
      'The last working payment method of a subscription cannot be removed: the others were declined. Add another one first.',
    );
}

/**
 * Whether further charges are expected. This includes a subscription whose end is scheduled: usage until then
 * is invoiced with it, and a canceled downgrade continues with the existing card. A first subscription that
 * was never paid is not owed, and a paused one is settled.
 */
function hasFutureCharges({ subscription }: BillingCopy): boolean {
  switch (planStateOf(subscription)) {
    case 'none':
    case 'incomplete':
      return false;
    case 'paused':
      return subscription?.openInvoice !== null;
    default:
      return true;
  }
}
