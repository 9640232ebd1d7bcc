import { nextDayOfMonth } from './calendar.ts';
import { customerCard } from './cards.ts';
import { checkCurrency } from './credits.ts';
import { customerOf } from './customers.ts';
import { finalizeInvoice } from './invoice-collection.ts';
import { draftInvoice } from './invoicing.ts';
import { StripeApiError } from './stripe-error.ts';
import { mergeMetadata, type StripeRequest } from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import { checkFirstPayment, checkItems, checkSupported } from './subscription-checks.ts';
import {
  collectAndUpdate,
  createSubscriptionItem,
  itemsOf,
  nextBoundary,
  periodOf,
  proratedLine,
} from './subscription-lifecycle.ts';

/** Creation of subscriptions with their first invoice. */

export function create({ state, parameters }: StripeRequest): StripeObject {
  checkSupported(parameters);
  if (parameters.payment_behavior === 'pending_if_incomplete')
    throw new StripeApiError('`pending_if_incomplete` can only be used when updating a subscription.', {
      param: 'payment_behavior',
    });
  const customer = customerOf(state, parameters.customer);
  const id = state.nextId('sub');
  const anchor = anchorOf(state, parameters);
  const period = {
    start: state.now,
    end: anchor > state.now ? anchor : nextBoundary(emptySubscription(id, anchor, parameters), state.now),
  };
  const items = (parameters.items ?? []).map((item: { price: string }) =>
    createSubscriptionItem(state, { id }, item, period),
  ) as StripeObject[];
  if (items.length === 0)
    throw new StripeApiError('Missing required param: items.', { code: 'parameter_missing', param: 'items' });
  const currency = checkItems(state, items);
  checkCurrency(customer, currency);
  const method = parameters.default_payment_method;
  const subscription = {
    ...emptySubscription(id, anchor, parameters),
    currency,
    customer: customer.id,
    default_payment_method: method === undefined ? null : customerCard(state, method, customer).id,
    description: parameters.description ?? null,
    items: { object: 'list', data: items, has_more: false, url: `/v1/subscription_items?subscription=${id}` },
    metadata: mergeMetadata({}, parameters.metadata),
    start_date: state.now,
  };
  if (parameters.payment_behavior === 'error_if_incomplete')
    checkFirstPayment(state, customer, subscription.default_payment_method);
  const added = state.add(subscription);
  state.recordEvent('customer.subscription.created', added);
  firstInvoice(state, added, parameters);
  return added;
}

function emptySubscription(id: string, anchor: number, parameters: StripeRequest['parameters']) {
  const config = parameters.billing_cycle_anchor_config;
  return {
    id,
    object: 'subscription',
    application: null,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    billing_cycle_anchor: anchor,
    billing_cycle_anchor_config:
      config === undefined ? null : { hour: null, minute: null, month: null, second: null, ...config },
    billing_mode: { flexible: null, type: parameters.billing_mode?.type ?? 'flexible' },
    cancel_at: parameters.cancel_at ?? null,
    cancel_at_period_end: parameters.cancel_at_period_end ?? false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, reason: null },
    collection_method: 'charge_automatically',
    discounts: [],
    ended_at: null,
    invoice_settings: { account_tax_ids: null, issuer: { type: 'self' } },
    latest_invoice: null,
    payment_settings: {
      payment_method_options: null,
      payment_method_types: null,
      save_default_payment_method: 'off',
      ...parameters.payment_settings,
    },
    pending_update: null,
    schedule: null,
    status: 'incomplete',
    test_clock: null,
    trial_settings: { end_behavior: { missing_payment_method: 'create_invoice' } },
  };
}

function anchorOf(state: StripeState, parameters: StripeRequest['parameters']): number {
  const config = parameters.billing_cycle_anchor_config;
  if (config === undefined)
    return typeof parameters.billing_cycle_anchor === 'number' ? parameters.billing_cycle_anchor : state.now;
  if (config.day_of_month < 1 || config.day_of_month > 31)
    throw new StripeApiError('Invalid day_of_month: must be between 1 and 31.');
  const date = new Date(state.now * 1_000);
  const { hour = date.getUTCHours(), minute = date.getUTCMinutes(), second = date.getUTCSeconds() } = config;
  return nextDayOfMonth(state.now, config.day_of_month, hour * 3_600 + minute * 60 + second);
}

function firstInvoice(
  state: StripeState,
  subscription: StripeObject,
  parameters: StripeRequest['parameters'],
): void {
  const { start, end: until } = periodOf(subscription);
  const free = parameters.proration_behavior === 'none' && subscription.billing_cycle_anchor > state.now;
  const lines = free
    ? []
    : itemsOf(subscription)
        .map((item) => proratedLine(state, subscription, item, { from: start, end: until, sign: 1 }))
        .filter((line) => line !== null);
  const invoice = draftInvoice(state, {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_create',
    currency: subscription.currency,
    period: { start, end: start },
    lines,
    autoAdvance: false,
  });
  finalizeInvoice(state, invoice);
  const isPaymentPending =
    parameters.payment_behavior === 'default_incomplete' && invoice.amount_remaining > 0;
  if (!isPaymentPending) collectAndUpdate(state, invoice);
}
