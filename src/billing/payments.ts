import type Stripe from 'stripe';
import { AppError } from '../base/app-error.ts';
import type { StripeCalls } from './calls.ts';
import { StripeRefusal } from './stripe.ts';

/** What became of a payment. */
export type Payment = 'paid' | 'requires_action' | 'requires_payment_method';

export interface PaymentsOptions {
  readonly stripe: Stripe;
  readonly calls: StripeCalls;
}

/** Charges and voids invoices. */
export class Payments {
  readonly #options: PaymentsOptions;

  constructor(options: PaymentsOptions) {
    this.#options = options;
  }

  /**
   * Charges an open invoice; with null to what Stripe finds. Errors: `StripeRefusal` of a card for a decline.
   */
  async pay(organizationId: string, invoiceId: string, paymentMethodId: string | null): Promise<Payment> {
    const { stripe, calls } = this.#options;
    // Whoever pays is there to be asked by the bank; without saying so Stripe lets the bank decline instead.
    const given = {
      off_session: false,
      ...(paymentMethodId === null ? {} : { payment_method: paymentMethodId }),
    };
    const name = `pay:${invoiceId}:${paymentMethodId ?? ''}`;
    try {
      const invoice = await calls.run({ organizationId, name, about: `pay:${invoiceId}` }, (options) =>
        stripe.invoices.pay(invoiceId, given, options),
      );
      return invoice.status === 'paid' ? 'paid' : 'requires_action';
    } catch (error) {
      if (!(error instanceof StripeRefusal)) throw error;
      if (needsAction(error)) return 'requires_action';
      if (isPaid(error)) return 'paid';
      throw error;
    }
  }

  /** Nobody owes it any more. */
  async void(organizationId: string, invoiceId: string): Promise<void> {
    const { stripe, calls } = this.#options;
    await calls.run({ organizationId, name: `void:${invoiceId}` }, (options) =>
      stripe.invoices.voidInvoice(invoiceId, {}, options),
    );
  }
}

/** The customer's bank wants to ask the customer. */
export function needsAction({ stripeCode, declineCode }: StripeRefusal): boolean {
  return stripeCode.endsWith('requires_action') || wantsAuthentication(stripeCode, declineCode);
}

/** Where the customer was taken for absent, a bank that wants to ask declines. */
export function wantsAuthentication(...codes: readonly (string | undefined)[]): boolean {
  return codes.includes('authentication_required');
}

function isPaid({ stripeCode, sentence }: StripeRefusal): boolean {
  return stripeCode === 'invoice_already_paid' || /already paid/i.test(sentence);
}

/** The refusal of a bank, in its words. */
export function declined(sentence: string | null): AppError {
  return new AppError(
    'payment_declined',
    sentence ?? 'The payment was declined; use another payment method.',
    {
      shouldRetry: false,
    },
  );
}
