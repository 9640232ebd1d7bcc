import { StripeApiError } from './stripe-error.ts';
import type { CardBehavior, StripeObject, StripeState } from './stripe-state.ts';

/** Outcome of one attempt to collect an invoice. */
export type ChargeOutcome = 'paid' | 'declined' | 'wants-authentication' | 'wants-customer' | 'no-method';

/** Parameters of a payment attempt. */
export interface PaymentAttempt {
  readonly method: string | null;
  /** Whether the customer has confirmed the payment to the bank. */
  readonly isAuthenticated: boolean;
  /** Whether the customer is absent (`off_session`): a bank that requires authentication declines. */
  readonly isOffSession: boolean;
}

/** Card charged for an invoice unless the request names another. */
export function defaultMethod(state: StripeState, invoice: StripeObject): string | null {
  const subscriptionId = invoice.parent?.subscription_details?.subscription ?? null;
  const subscription = subscriptionId === null ? null : state.find(subscriptionId);
  const customer = state.get('customer', invoice.customer);
  return (
    invoice.default_payment_method ??
    subscription?.default_payment_method ??
    customer.invoice_settings.default_payment_method ??
    null
  );
}

/** Creates the payment intent of a finalized invoice with an amount due. */
export function createPaymentIntent(state: StripeState, invoice: StripeObject): StripeObject {
  const intent = state.add({
    id: state.nextId('pi'),
    object: 'payment_intent',
    amount: invoice.amount_remaining,
    amount_capturable: 0,
    amount_received: 0,
    capture_method: 'automatic',
    client_secret: state.nextId('pi_secret'),
    confirmation_method: 'automatic',
    currency: invoice.currency,
    customer: invoice.customer,
    metadata: {},
    payment_method: null,
    status: 'requires_payment_method',
  });
  state.add({
    id: state.nextId('inpay'),
    object: 'invoice_payment',
    amount_paid: null,
    amount_requested: invoice.amount_remaining,
    currency: invoice.currency,
    invoice: invoice.id,
    is_default: true,
    payment: { type: 'payment_intent', payment_intent: intent.id },
    status: 'open',
    status_transitions: { canceled_at: null, paid_at: null },
  });
  return intent;
}

export function invoicePaymentOf(state: StripeState, invoice: StripeObject): StripeObject | null {
  const payments = state.listObjects('invoice_payment').filter((payment) => payment.invoice === invoice.id);
  return payments.find((payment) => payment.status !== 'canceled') ?? null;
}

export function paymentIntentOf(state: StripeState, invoice: StripeObject): StripeObject | null {
  const payment = invoicePaymentOf(state, invoice);
  return payment === null ? null : state.get('payment_intent', payment.payment.payment_intent);
}

/** Charges the card for the amount due on an open invoice; does not change the invoice. */
export function chargeInvoice(
  state: StripeState,
  invoice: StripeObject,
  { method, isAuthenticated: authenticated, isOffSession: absent }: PaymentAttempt,
): ChargeOutcome {
  const payment = invoicePaymentOf(state, invoice)!;
  const intent = paymentIntentOf(state, invoice)!;
  const behavior: CardBehavior | null = method === null ? null : (state.cards.get(method) ?? 'pays');
  intent.payment_method = method;
  if (behavior === null) {
    intent.status = 'requires_payment_method';
    return 'no-method';
  }
  if (behavior === 'declines') {
    intent.status = 'requires_payment_method';
    intent.last_payment_error = declinedError;
    state.recordEvent('payment_intent.payment_failed', intent);
    return 'declined';
  }
  const needsAuthentication = behavior === 'authenticates-once' || behavior === 'authenticates-always';
  if (needsAuthentication && !authenticated && absent) {
    intent.status = 'requires_payment_method';
    intent.last_payment_error = authenticationError;
    state.recordEvent('payment_intent.payment_failed', intent);
    return 'wants-customer';
  }
  if (needsAuthentication && !authenticated) {
    intent.status = 'requires_action';
    state.recordEvent('payment_intent.requires_action', intent);
    return 'wants-authentication';
  }
  if (behavior === 'authenticates-once') state.cards.set(method!, 'pays');
  intent.status = 'succeeded';
  intent.amount_received = intent.amount;
  intent.last_payment_error = null;
  payment.status = 'paid';
  payment.amount_paid = intent.amount;
  payment.status_transitions = { canceled_at: null, paid_at: state.now };
  state.recordEvent('payment_intent.succeeded', intent);
  state.recordEvent('invoice_payment.paid', payment);
  return 'paid';
}

const declinedError = {
  type: 'card_error',
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
} as const;

const authenticationError = {
  type: 'card_error',
  code: 'authentication_required',
  decline_code: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
} as const;

/** Error returned by `pay` for a failed attempt. */
export function paymentErrorOf(outcome: Exclude<ChargeOutcome, 'paid'>): StripeApiError {
  switch (outcome) {
    case 'declined':
      return new StripeApiError(declinedError.message, { status: 402, ...declinedError });
    case 'wants-customer':
      return new StripeApiError(authenticationError.message, { status: 402, ...authenticationError });
    case 'wants-authentication':
      return new StripeApiError(
        'This payment requires additional user action before it can be completed successfully. Payment can be completed using the PaymentIntent associated with this invoice.',
        { status: 402, type: 'card_error', code: 'invoice_payment_intent_requires_action' },
      );
    case 'no-method':
      return new StripeApiError(
        'There is no `default_payment_method` set on this Customer or Invoice. Please set either a `default_payment_method` on this invoice or a `default_payment_method` or `default_source` on this customer.',
      );
  }
}
