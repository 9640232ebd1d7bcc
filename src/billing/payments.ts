import type Stripe from 'stripe';
import { AppError } from '../core/app-error.ts';
import { StripeRejectedError } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';

/** Outcome of a payment. */
export type PaymentOutcome = 'paid' | 'requires_action' | 'requires_payment_method';

export interface PaymentsOptions {
  readonly stripe: Stripe;
  readonly calls: IdempotentStripeCalls;
}

/** Charges and voids invoices. */
export class Payments {
  readonly #options: PaymentsOptions;

  constructor(options: PaymentsOptions) {
    this.#options = options;
  }

  /**
   * Charges an open invoice. Null: Stripe chooses the payment method. Errors: `StripeRejectedError` of a card
   * for a decline.
   */
  async payInvoice(
    organizationId: string,
    invoiceId: string,
    paymentMethodId: string | null,
  ): Promise<PaymentOutcome> {
    const { stripe, calls } = this.#options;
    // The customer is present and can authenticate with the bank. Without this parameter, Stripe has the bank
    // decline instead.
    const parameters = {
      off_session: false,
      ...(paymentMethodId === null ? {} : { payment_method: paymentMethodId }),
    };
    const name = `pay:${invoiceId}:${paymentMethodId ?? ''}`;
    try {
      const invoice = await calls.run({ organizationId, name, purpose: `pay:${invoiceId}` }, (options) =>
        stripe.invoices.pay(invoiceId, parameters, options),
      );
      return invoice.status === 'paid' ? 'paid' : 'requires_action';
    } catch (error) {
      if (!(error instanceof StripeRejectedError)) throw error;
      if (requiresAction(error)) return 'requires_action';
      if (isAlreadyPaid(error)) return 'paid';
      throw error;
    }
  }

  /** Voids an invoice, so that it is no longer owed. */
  async voidInvoice(organizationId: string, invoiceId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `void:${invoiceId}` }, (options) =>
      stripe.invoices.voidInvoice(invoiceId, {}, options),
    );
  }
}

/** Whether the bank requires the customer to authenticate. */
export function requiresAction({ stripeCode, declineCode }: StripeRejectedError): boolean {
  return stripeCode.endsWith('requires_action') || requiresAuthentication(stripeCode, declineCode);
}

/**
 * Whether a bank declined because authentication is required. Banks do so when the charge is marked as
 * off-session.
 */
export function requiresAuthentication(...codes: readonly (string | undefined)[]): boolean {
  return codes.includes('authentication_required');
}

function isAlreadyPaid({ stripeCode, stripeMessage: message }: StripeRejectedError): boolean {
  return stripeCode === 'invoice_already_paid' || /already paid/i.test(message);
}

/** Decline by a bank, with its message. */
export function paymentDeclinedError(message: string | null): AppError {
  return new AppError(
    'payment_declined',
    message ?? 'The payment was declined. Use another payment method.',
    {
      shouldRetry: false,
    },
  );
}
