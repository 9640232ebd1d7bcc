import { finalizeInvoice } from './invoice-collection.ts';
import { draftInvoice, type InvoiceLineDraft } from './invoicing.ts';
import { StripeApiError } from './stripe-error.ts';
import type { StripeRequest } from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import {
  addPendingLines,
  collectAndUpdate,
  discardPendingUpdate,
  finalizeAndCollect,
  itemsOf,
  nextBoundary,
  periodOf,
  proratedLine,
  remainderLines,
  resumeSubscription,
  setPeriod,
  usageLines,
} from './subscription-lifecycle.ts';

/** Pauses of subscriptions and their end. */

export function pause({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (subscription.billing_mode.type !== 'flexible')
    throw new StripeApiError('You can only pause subscriptions with billing_mode flexible.');
  if (subscription.schedule !== null)
    throw new StripeApiError('You cannot pause a subscription with an attached schedule.');
  if (subscription.status !== 'active' && subscription.status !== 'past_due')
    throw new StripeApiError(`You cannot pause a subscription with status ${subscription.status}.`);
  discardPendingUpdate(state, subscription);
  const now = state.now;
  const { end: until, start } = periodOf(subscription);
  const unused = parameters.bill_for?.unused_time_from?.type ?? 'now';
  const from = unused === 'item_current_period_start' ? start : now;
  const credit = unused === 'none' ? [] : creditLines(state, subscription, { from, end: until });
  const usage =
    parameters.bill_for?.outstanding_usage_through?.type === 'none'
      ? []
      : usageLines(state, subscription, now);
  addPendingLines(state, subscription, [...credit, ...usage.filter(({ amount }) => amount !== 0)]);
  setPeriod(subscription, { start, end: now });
  subscription.status = 'paused';
  const paused = { subscription: { type: 'pause_requested' }, transitioned_at: now, type: 'subscription' };
  subscription.status_details = { paused };
  if (parameters.invoicing_behavior === 'invoice')
    finalizeAndCollect(state, manualInvoice(state, subscription));
  state.recordEvent('customer.subscription.paused', subscription);
  state.recordEvent('customer.subscription.updated', subscription, { status: 'active' });
  return subscription;
}

function creditLines(
  state: StripeState,
  subscription: StripeObject,
  use: { from: number; end: number },
): InvoiceLineDraft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(state, subscription, item, { ...use, sign: -1 }))
    .filter((line) => line !== null);
}

function manualInvoice(state: StripeState, subscription: StripeObject): StripeObject {
  return draftInvoice(state, {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_update',
    currency: subscription.currency,
    period: periodOf(subscription),
    lines: [],
    autoAdvance: false,
  });
}

export function resume({ state, ids, parameters }: StripeRequest): StripeObject {
  const subscription = state.get('subscription', ids[0]!);
  if (subscription.status !== 'paused')
    throw new StripeApiError(`You cannot resume a subscription with status ${subscription.status}.`);
  const latest = state.find(subscription.latest_invoice ?? '');
  if (latest?.status === 'open')
    throw new StripeApiError(
      `The invoice ${latest.id} of this subscription is open: it must be paid or voided first.`,
    );
  const unchanged = parameters.billing_cycle_anchor?.type === 'unchanged';
  if (!unchanged) {
    subscription.billing_cycle_anchor = state.now;
    subscription.billing_cycle_anchor_config = null;
  }
  setPeriod(subscription, { start: state.now, end: nextBoundary(subscription, state.now) });
  const { start, end: until } = periodOf(subscription);
  const behavior = unchanged ? (parameters.proration_behavior ?? 'create_prorations') : 'always_invoice';
  const from = parameters.proration_date ?? start;
  if (from > until)
    throw new StripeApiError('Invalid proration_date: it must be within the period that begins.', {
      param: 'proration_date',
    });
  const lines = remainderLines(state, subscription, { start: from, end: until });
  if (behavior !== 'none') addPendingLines(state, subscription, lines);
  if (behavior !== 'always_invoice') {
    resumeSubscription(state, subscription);
    return subscription;
  }
  const invoice = manualInvoice(state, subscription);
  state.resumeInvoices.add(invoice.id);
  finalizeInvoice(state, invoice);
  const attempts =
    parameters.payment_behavior === 'resume_on_payment_success' || invoice.amount_remaining === 0;
  if (attempts) collectAndUpdate(state, invoice, { isOffSession: true });
  return subscription;
}
