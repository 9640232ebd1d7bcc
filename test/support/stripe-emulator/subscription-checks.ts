import { paymentErrorOf } from './payments.ts';
import { StripeApiError } from './stripe-error.ts';
import type { StripeRequest } from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import { priceOf } from './subscription-lifecycle.ts';

/** Checks that several operations on subscriptions share. */

/** Parameters of Stripe that the emulator does not support; a request with one of them fails. */
const unsupported = [
  ...[
    'add_invoice_items',
    'application_fee_percent',
    'automatic_tax',
    'backdate_start_date',
    'billing_schedules',
  ],
  ...[
    'billing_thresholds',
    'days_until_due',
    'default_source',
    'discounts',
    'on_behalf_of',
    'pending_invoice_item_interval',
  ],
  ...['transfer_data', 'trial_end', 'trial_from_plan', 'trial_period_days', 'pause_collection'],
];

export function checkSupported(parameters: StripeRequest['parameters']): void {
  const found = unsupported.find((name) => parameters[name] !== undefined && parameters[name] !== '');
  if (found !== undefined)
    throw new StripeApiError(`The emulator does not know the parameter ${found}.`, { param: found });
  if (parameters.collection_method === 'send_invoice')
    throw new StripeApiError('The emulator sends no invoices.');
}

/** Checks for one currency, one interval and no repeated price; returns the currency. */
export function checkItems(state: StripeState, items: readonly StripeObject[]): string {
  const prices = items.map((item) => priceOf(state, item));
  const [first] = prices;
  for (const price of prices) {
    if (price.recurring === null)
      throw new StripeApiError(
        'The price specified is set to `type=one_time` but this field only accepts prices with `type=recurring`.',
      );
    if (price.recurring.interval !== 'month' || price.recurring.interval_count !== 1)
      throw new StripeApiError('The emulator bills monthly only.');
    if (!price.active)
      throw new StripeApiError(`The price specified is inactive. This field only accepts active prices.`);
    if (price.currency !== first!.currency)
      throw new StripeApiError('All prices on a subscription must have the same `currency` field.');
  }
  if (new Set(prices.map(({ id }) => id)).size < prices.length)
    throw new StripeApiError('Cannot add multiple subscription items with the same price.');
  return first!.currency;
}

export function checkFirstPayment(state: StripeState, customer: StripeObject, method: string | null): void {
  const card = method ?? customer.invoice_settings.default_payment_method;
  const behavior = card === null ? null : state.cards.get(card);
  if (behavior === null) throw paymentErrorOf('no-method');
  if (behavior === 'declines') throw paymentErrorOf('declined');
  if (behavior !== 'pays')
    throw new StripeApiError(
      'Subscription creation failed because the payment requires additional user action.',
      {
        status: 402,
        type: 'card_error',
        code: 'subscription_payment_intent_requires_action',
      },
    );
}
