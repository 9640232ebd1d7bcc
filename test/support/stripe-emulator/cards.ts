import { missingObjectError, StripeApiError } from './stripe-error.ts';
import type { CardBehavior, StripeObject, StripeState } from './stripe-state.ts';

/** Test cards of Stripe by their documented names. */
const testCards: Readonly<Record<string, CardBehavior | 'refused'>> = {
  visa: 'pays',
  mastercard: 'pays',
  amex: 'pays',
  chargeCustomerFail: 'declines',
  authenticationRequired: 'authenticates-always',
  authenticationRequiredOnSetup: 'authenticates-once',
  threeDSecure2Required: 'authenticates-once',
  chargeDeclined: 'refused',
};

/** Last four digits of test cards that differ from those of Visa. */
const lastDigits: Readonly<Record<string, string>> = {
  mastercard: '4444',
  amex: '8431',
  chargeCustomerFail: '0341',
  authenticationRequired: '3184',
  authenticationRequiredOnSetup: '3155',
  threeDSecure2Required: '3220',
};

/** Creates a card of a named kind; `pm_card_visa` and `tok_visa` are synonyms. */
export function createCard(state: StripeState, name: string): StripeObject {
  const kind = name.replace(/^(pm_card_|tok_)/, '');
  const behavior = testCards[kind];
  if (behavior === undefined) throw missingObjectError('payment_method', name);
  if (behavior === 'refused') {
    const code = 'card_declined';
    throw new StripeApiError('Your card was declined.', {
      status: 402,
      type: 'card_error',
      code,
      decline_code: 'generic_decline',
    });
  }
  const card = state.add({
    id: state.nextId('pm'),
    object: 'payment_method',
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    card: {
      brand: kind === 'mastercard' || kind === 'amex' ? kind : 'visa',
      checks: null,
      country: 'DE',
      display_brand: 'visa',
      exp_month: 12,
      exp_year: 2040,
      fingerprint: state.nextId('fp'),
      funding: 'credit',
      generated_from: null,
      last4: lastDigits[kind] ?? '4242',
      networks: null,
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
    customer: null,
    metadata: {},
    type: 'card',
  });
  state.cards.set(card.id, behavior);
  return card;
}

/** Card with this id, or a new card if the id is the name of a test card. */
export function findCard(state: StripeState, id: string): StripeObject {
  return id.startsWith('pm_card_') ? createCard(state, id) : state.get('payment_method', id);
}

export function attachCard(state: StripeState, card: StripeObject, customer: StripeObject): StripeObject {
  if (card.customer !== null && card.customer !== customer.id)
    throw new StripeApiError('The payment method you provided has already been attached to a customer.');
  if (!state.cards.has(card.id))
    throw new StripeApiError(
      'This PaymentMethod was previously used without being attached to a Customer or was detached from a Customer, and may not be used again.',
    );
  if (card.customer === null) {
    card.customer = customer.id;
    state.recordEvent('payment_method.attached', card);
  }
  return card;
}

/** Card of this customer. The name of a test card creates and attaches a card. */
export function customerCard(state: StripeState, id: string, customer: StripeObject): StripeObject {
  const card = findCard(state, id);
  if (id.startsWith('pm_card_')) return attachCard(state, card, customer);
  if (card.customer !== customer.id)
    throw new StripeApiError(
      `The customer does not have a payment method with the ID ${id}. The payment method must be attached to the customer.`,
      { code: 'resource_missing', param: 'payment_method' },
    );
  return card;
}
