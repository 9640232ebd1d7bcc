import { customerCard } from './cards.ts';
import { finalizeInvoice } from './invoice-collection.ts';
import { draftInvoice, type InvoiceLineDraft } from './invoicing.ts';
import { defaultMethod } from './payments.ts';
import { StripeApiError } from './stripe-error.ts';
import { mergeMetadata, pickParameters, type StripeRequest } from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import { checkFirstPayment, checkItems, checkSupported } from './subscription-checks.ts';
import {
  addPendingLines,
  computeItemChanges,
  discardPendingUpdate,
  finalizeAndCollect,
  itemsOf,
  paymentSecondsMax,
  periodOf,
} from './subscription-lifecycle.ts';

/** Updates of subscriptions and the invoices of changed items. */

/** Parameters allowed together with `pending_if_incomplete`. */
const pendingUpdateParameters = [
  ...['items', 'proration_behavior', 'proration_date', 'payment_behavior', 'billing_cycle_anchor', 'expand'],
  ...['metadata', 'discounts', 'cancel_at_period_end', 'trial_end', 'trial_from_plan', 'add_invoice_items'],
];

export function update({ state, ids, parameters }: StripeRequest): StripeObject {
  checkSupported(parameters);
  const subscription = state.get('subscription', ids[0]!);
  checkStateAllows(subscription, parameters);
  const customer = state.get('customer', subscription.customer);
  if (parameters.default_payment_method !== undefined) {
    const method = parameters.default_payment_method;
    subscription.default_payment_method = method === '' ? null : customerCard(state, method, customer).id;
  }
  const before = { metadata: subscription.metadata };
  subscription.metadata = mergeMetadata(subscription.metadata, parameters.metadata);
  Object.assign(
    subscription,
    pickParameters(parameters, ['cancel_at_period_end', 'description', 'cancel_at']),
  );
  if (parameters.cancel_at_period_end !== undefined) {
    const { cancel_at_period_end: atEnd } = parameters;
    subscription.cancel_at = atEnd ? periodOf(subscription).end : null;
    subscription.canceled_at = atEnd ? state.now : null;
  }
  if (parameters.payment_settings !== undefined)
    Object.assign(subscription.payment_settings, parameters.payment_settings);
  if (parameters.items !== undefined) changeItems(state, subscription, parameters);
  state.recordEvent('customer.subscription.updated', subscription, before);
  return subscription;
}

function checkStateAllows(subscription: StripeObject, parameters: StripeRequest['parameters']): void {
  const named = Object.keys(parameters).filter((name) => name !== 'expand');
  if (subscription.status === 'canceled' || subscription.status === 'incomplete_expired') {
    if (named.some((name) => name !== 'metadata' && name !== 'cancellation_details'))
      throw new StripeApiError(
        'A canceled subscription can only update its cancellation_details and metadata.',
        {
          code: 'resource_missing',
        },
      );
  }
  if (parameters.payment_behavior === 'pending_if_incomplete') {
    const wrong = named.find((name) => !pendingUpdateParameters.includes(name));
    if (wrong !== undefined)
      throw new StripeApiError(
        `Your update includes parameters which are not supported with \`pending_if_incomplete\`: ${wrong}.`,
        { param: wrong },
      );
  }
  const cancels = ['cancel_at', 'cancel_at_period_end'].some((name) => parameters[name] !== undefined);
  if (subscription.schedule !== null && (cancels || parameters.items !== undefined)) {
    const what = cancels ? 'updating any cancelation behavior' : 'updating its items';
    throw new StripeApiError(
      `The subscription is managed by the subscription schedule \`${subscription.schedule}\`, and ${what} directly is not allowed. Please update the schedule instead.`,
    );
  }
  if (parameters.items === undefined) return;
  if (subscription.status === 'incomplete')
    throw new StripeApiError(
      'You cannot update the items of a subscription whose first payment is incomplete.',
    );
  if (subscription.status === 'paused')
    throw new StripeApiError('You cannot update the items of a paused subscription. Resume it first.');
}

function changeItems(
  state: StripeState,
  subscription: StripeObject,
  parameters: StripeRequest['parameters'],
): void {
  const period = periodOf(subscription);
  const from = parameters.proration_date ?? state.now;
  if (from < period.start || from > period.end)
    throw new StripeApiError(
      'Invalid proration_date: it must be within the current period of the subscription.',
      {
        param: 'proration_date',
      },
    );
  for (const { id } of parameters.items)
    if (id !== undefined && !itemsOf(subscription).some((item) => item.id === id))
      throw new StripeApiError(`Invalid subscription_item id: ${id}`, {
        status: 404,
        code: 'resource_missing',
        param: 'items',
      });
  const { items, lines } = computeItemChanges(state, subscription, parameters.items, from);
  if (checkItems(state, items) !== subscription.currency)
    throw new StripeApiError(
      `The price specified supports a currency that is not the subscription's: ${subscription.currency}.`,
    );
  discardPendingUpdate(state, subscription);
  const behavior = parameters.proration_behavior ?? 'create_prorations';
  if (behavior !== 'always_invoice' || lines.length === 0) {
    subscription.items.data = items;
    if (behavior === 'create_prorations') addPendingLines(state, subscription, lines);
    return;
  }
  invoiceItemChange(state, subscription, { items, lines }, parameters.payment_behavior ?? 'allow_incomplete');
}

function invoiceItemChange(
  state: StripeState,
  subscription: StripeObject,
  change: { readonly items: StripeObject[]; readonly lines: readonly InvoiceLineDraft[] },
  behavior: string,
): void {
  const customer = state.get('customer', subscription.customer);
  if (behavior === 'error_if_incomplete')
    checkFirstPayment(state, customer, subscription.default_payment_method);
  const period = periodOf(subscription);
  if (behavior === 'pending_if_incomplete') {
    subscription.pending_update = {
      billing_cycle_anchor: null,
      expires_at: Math.min(state.now + paymentSecondsMax, period.end),
      subscription_items: change.items,
      trial_end: null,
      trial_from_plan: null,
    };
  } else {
    subscription.items.data = change.items;
  }
  addPendingLines(state, subscription, change.lines);
  const invoice = draftInvoice(state, {
    customer,
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: { start: period.start, end: state.now },
    lines: [],
    autoAdvance: false,
  });
  if (behavior !== 'default_incomplete')
    finalizeAndCollect(state, invoice, { method: defaultMethod(state, invoice) });
  else finalizeInvoice(state, invoice);
}
