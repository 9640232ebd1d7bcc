import { Refusal } from './refusal.ts';
import type { CardBehaviour, Thing, World } from './world.ts';

/** How one attempt to collect an invoice ended. */
export type Outcome = 'paid' | 'declined' | 'wants-authentication' | 'wants-customer' | 'no-method';

/** How an attempt is made. */
export interface Attempt {
  readonly method: string | null;
  /** The bank asked the customer, who said yes. */
  readonly authenticated: boolean;
  /** The customer is not there (`off_session`): a bank that wants to ask declines. */
  readonly absent: boolean;
}

/** The card that an invoice is charged to unless another is named. */
export function defaultMethod(world: World, invoice: Thing): string | null {
  const subscriptionId = invoice.parent?.subscription_details?.subscription ?? null;
  const subscription = subscriptionId === null ? null : world.find(subscriptionId);
  const customer = world.get('customer', invoice.customer);
  return (
    invoice.default_payment_method ??
    subscription?.default_payment_method ??
    customer.invoice_settings.default_payment_method ??
    null
  );
}

/** The intent of a finalised invoice that has something to pay. */
export function openIntent(world: World, invoice: Thing): Thing {
  const intent = world.add({
    id: world.id('pi'),
    object: 'payment_intent',
    amount: invoice.amount_remaining,
    amount_capturable: 0,
    amount_received: 0,
    capture_method: 'automatic',
    client_secret: world.id('pi_secret'),
    confirmation_method: 'automatic',
    currency: invoice.currency,
    customer: invoice.customer,
    metadata: {},
    payment_method: null,
    status: 'requires_payment_method',
  });
  world.add({
    id: world.id('inpay'),
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

export function paymentOf(world: World, invoice: Thing): Thing | null {
  const payments = world.all('invoice_payment').filter((payment) => payment.invoice === invoice.id);
  return payments.find((payment) => payment.status !== 'canceled') ?? null;
}

export function intentOf(world: World, invoice: Thing): Thing | null {
  const payment = paymentOf(world, invoice);
  return payment === null ? null : world.get('payment_intent', payment.payment.payment_intent);
}

/** Charges the card for what an open invoice still asks; the invoice itself is not changed. */
export function charge(world: World, invoice: Thing, { method, authenticated, absent }: Attempt): Outcome {
  const payment = paymentOf(world, invoice)!;
  const intent = intentOf(world, invoice)!;
  const behaviour: CardBehaviour | null = method === null ? null : (world.cards.get(method) ?? 'pays');
  intent.payment_method = method;
  if (behaviour === null) {
    intent.status = 'requires_payment_method';
    return 'no-method';
  }
  if (behaviour === 'declines') {
    intent.status = 'requires_payment_method';
    intent.last_payment_error = declined;
    world.happens('payment_intent.payment_failed', intent);
    return 'declined';
  }
  const wantsIt = behaviour === 'authenticates-once' || behaviour === 'authenticates-always';
  if (wantsIt && !authenticated && absent) {
    intent.status = 'requires_payment_method';
    intent.last_payment_error = unauthenticated;
    world.happens('payment_intent.payment_failed', intent);
    return 'wants-customer';
  }
  if (wantsIt && !authenticated) {
    intent.status = 'requires_action';
    world.happens('payment_intent.requires_action', intent);
    return 'wants-authentication';
  }
  if (behaviour === 'authenticates-once') world.cards.set(method!, 'pays');
  intent.status = 'succeeded';
  intent.amount_received = intent.amount;
  intent.last_payment_error = null;
  payment.status = 'paid';
  payment.amount_paid = intent.amount;
  payment.status_transitions = { canceled_at: null, paid_at: world.now };
  world.happens('payment_intent.succeeded', intent);
  world.happens('invoice_payment.paid', payment);
  return 'paid';
}

const declined = {
  type: 'card_error',
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
} as const;

const unauthenticated = {
  type: 'card_error',
  code: 'authentication_required',
  decline_code: 'authentication_required',
  message: 'Your card was declined. This transaction requires authentication.',
} as const;

/** What the caller of `pay` is told of an attempt that did not pay. */
export function refusalOf(outcome: Exclude<Outcome, 'paid'>): Refusal {
  switch (outcome) {
    case 'declined':
      return new Refusal(declined.message, { status: 402, ...declined });
    case 'wants-customer':
      return new Refusal(unauthenticated.message, { status: 402, ...unauthenticated });
    case 'wants-authentication':
      return new Refusal(
        'This payment requires additional user action before it can be completed successfully. Payment can be completed using the PaymentIntent associated with this invoice.',
        { status: 402, type: 'card_error', code: 'invoice_payment_intent_requires_action' },
      );
    case 'no-method':
      return new Refusal(
        'There is no `default_payment_method` set on this Customer or Invoice. Please set either a `default_payment_method` on this invoice or a `default_payment_method` or `default_source` on this customer.',
      );
  }
}
