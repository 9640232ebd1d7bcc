import { amountOf, proratedAmount } from './amounts.ts';
import { addMonths, boundaryAfter } from './calendar.ts';
import { collectInvoice, finalizeInvoice, voidInvoice } from './invoice-collection.ts';
import {
  addInvoiceItem,
  draftInvoice,
  type InvoiceInput,
  type InvoiceLineDraft,
  type Period,
  pendingItems,
} from './invoicing.ts';
import { meteredUsageOf } from './meter-usage.ts';
import type { ChargeOutcome, PaymentAttempt } from './payments.ts';
import { hourSeconds, type StripeObject, type StripeState } from './stripe-state.ts';

/** Transitions of a subscription caused by time and by payments; requests are handled in `subscriptions.ts`. */

/** Time limit for a first payment and for the payment of an update. */
export const paymentSecondsMax = 23 * hourSeconds;

export function itemsOf(subscription: StripeObject): StripeObject[] {
  return subscription.items.data;
}

export function priceOf(state: StripeState, item: StripeObject): StripeObject {
  return state.get('price', item.price);
}

export function isMetered(price: StripeObject): boolean {
  return price.recurring?.usage_type === 'metered';
}

/** Day of the month on which periods start, in every month that has it. */
function anchorDay(subscription: StripeObject): number | undefined {
  return subscription.billing_cycle_anchor_config?.day_of_month;
}

export function nextBoundary(subscription: StripeObject, after: number): number {
  return boundaryAfter(after, subscription.billing_cycle_anchor, anchorDay(subscription));
}

/** Whole period that ends at a boundary; a first period may cover only a part of it. */
export function fullPeriodEndingAt(subscription: StripeObject, end: number): Period {
  const day = anchorDay(subscription) ?? new Date(subscription.billing_cycle_anchor * 1_000).getUTCDate();
  return { start: addMonths(end, -1, day), end };
}

export function periodOf(subscription: StripeObject): Period {
  const [item] = itemsOf(subscription);
  return { start: item!.current_period_start, end: item!.current_period_end };
}

export function setPeriod(subscription: StripeObject, { start, end }: Period): void {
  for (const item of itemsOf(subscription)) {
    item.current_period_start = start;
    item.current_period_end = end;
  }
}

/** Charge or credit for an item from a time to the end of the period. */
export function proratedLine(
  state: StripeState,
  subscription: StripeObject,
  item: StripeObject,
  use: { readonly from: number; readonly end: number; readonly sign: 1 | -1 },
): InvoiceLineDraft | null {
  const price = priceOf(state, item);
  if (isMetered(price)) return null;
  const whole = fullPeriodEndingAt(subscription, use.end);
  const amount = proratedAmount(amountOf(price, item.quantity), use.end - use.from, whole.end - whole.start);
  const words = use.sign === 1 ? 'Remaining time on' : 'Unused time on';
  return {
    amount: use.sign * amount,
    description: `${words} ${productNameOf(state, price)}`,
    period: { start: use.from, end: use.end },
    price,
    quantity: item.quantity,
    proration: true,
    item: item.id,
    invoiceItem: null,
  };
}

/** Charges for all items for the rest of a period. */
export function remainderLines(
  state: StripeState,
  subscription: StripeObject,
  { start, end }: Period,
): InvoiceLineDraft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(state, subscription, item, { from: start, end, sign: 1 }))
    .filter((line) => line !== null);
}

/** Charges in advance for the items of the new period, and the usage of the ended period. */
export function renewalLines(
  state: StripeState,
  subscription: StripeObject,
  ended: Period,
  next: Period,
): InvoiceLineDraft[] {
  return itemsOf(subscription).map((item): InvoiceLineDraft => {
    const price = priceOf(state, item);
    const metered = isMetered(price);
    const quantity = metered
      ? meteredUsageOf(state, price.recurring.meter, subscription.customer, ended)
      : item.quantity;
    return {
      amount: amountOf(price, quantity),
      description: `${quantity} × ${productNameOf(state, price)}`,
      period: metered ? ended : next,
      price,
      quantity,
      proration: false,
      item: item.id,
      invoiceItem: null,
    };
  });
}

/** Unbilled usage only, for a subscription that ends or pauses. */
export function usageLines(
  state: StripeState,
  subscription: StripeObject,
  until: number,
): InvoiceLineDraft[] {
  const ended = { start: periodOf(subscription).start, end: until };
  return renewalLines(state, subscription, ended, ended).filter(({ price }) => isMetered(price!));
}

function productNameOf(state: StripeState, price: StripeObject): string {
  const product = state.find(price.product);
  return product === null ? price.id : product.name;
}

/** Starts the next period; its invoice stays a draft for an hour. */
export function renewSubscription(state: StripeState, subscription: StripeObject): void {
  const ended = periodOf(subscription);
  const next = { start: ended.end, end: nextBoundary(subscription, ended.end) };
  discardPendingUpdate(state, subscription);
  if (
    subscription.cancel_at_period_end ||
    (subscription.cancel_at ?? Number.POSITIVE_INFINITY) <= ended.end
  ) {
    endSubscription(state, subscription, 'cancellation_requested');
    return;
  }
  const lines = renewalLines(state, subscription, ended, next);
  setPeriod(subscription, next);
  draftInvoice(state, {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_cycle',
    currency: subscription.currency,
    period: ended,
    lines,
    autoAdvance: true,
  });
  state.recordEvent('customer.subscription.updated', subscription);
}

/**
 * Ends the subscription now. Unbilled usage and pending invoice items are billed; prepaid amounts are not
 * refunded.
 */
export function endSubscription(state: StripeState, subscription: StripeObject, reason: string): void {
  if (subscription.status === 'canceled') return;
  discardPendingUpdate(state, subscription);
  const until = Math.min(state.now, periodOf(subscription).end);
  const running = ['active', 'past_due', 'trialing'].includes(subscription.status);
  const usage = running ? usageLines(state, subscription, until).filter(({ amount }) => amount !== 0) : [];
  subscription.status = 'canceled';
  subscription.canceled_at ??= state.now;
  subscription.ended_at = state.now;
  subscription.cancellation_details = { ...subscription.cancellation_details, reason };
  const invoice: InvoiceInput = {
    customer: state.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_cycle',
    currency: subscription.currency,
    period: { start: periodOf(subscription).start, end: until },
    lines: usage,
    autoAdvance: true,
  };
  if (usage.length > 0 || pendingItems(state, invoice).length > 0) draftInvoice(state, invoice);
  state.recordEvent('customer.subscription.deleted', subscription);
}

/** The payment of an update has timed out: its invoice is voided and the subscription stays unchanged. */
export function discardPendingUpdate(state: StripeState, subscription: StripeObject): void {
  if (subscription.pending_update === null) return;
  subscription.pending_update = null;
  const invoice = state.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(state, invoice);
  state.recordEvent('customer.subscription.pending_update_expired', subscription);
}

/** The first payment has timed out. */
export function expireFirstPayment(state: StripeState, subscription: StripeObject): void {
  subscription.status = 'incomplete_expired';
  subscription.ended_at = state.now;
  const invoice = state.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(state, invoice);
  state.recordEvent('customer.subscription.updated', subscription);
}

/** Attempts to collect the invoice and updates the subscription with the outcome. */
export function collectAndUpdate(
  state: StripeState,
  invoice: StripeObject,
  attempt: Partial<PaymentAttempt> = {},
): ChargeOutcome {
  const outcome = collectInvoice(state, invoice, attempt);
  const subscriptionId = invoice.parent?.subscription_details?.subscription ?? null;
  const subscription = subscriptionId === null ? null : state.find(subscriptionId);
  if (subscription === null) return outcome;
  if (outcome === 'paid') onInvoicePaid(state, subscription, invoice);
  else onInvoiceUnpaid(state, subscription, invoice);
  return outcome;
}

function onInvoicePaid(state: StripeState, subscription: StripeObject, invoice: StripeObject): void {
  const before = subscription.status;
  const method = paymentMethodOf(state, invoice);
  if (subscription.payment_settings?.save_default_payment_method === 'on_subscription' && method !== null)
    subscription.default_payment_method = method;
  if (subscription.pending_update !== null && subscription.latest_invoice === invoice.id) {
    applyPendingUpdate(state, subscription);
    return;
  }
  if (before === 'incomplete') subscription.status = 'active';
  if (before === 'past_due' && openInvoices(state, subscription).length === 0) subscription.status = 'active';
  if (before === 'paused' && state.resumeInvoices.has(invoice.id)) resumeSubscription(state, subscription);
  if (subscription.status !== before)
    state.recordEvent('customer.subscription.updated', subscription, { status: before });
}

function paymentMethodOf(state: StripeState, invoice: StripeObject): string | null {
  const payment = state
    .listObjects('invoice_payment')
    .find((one) => one.invoice === invoice.id && one.status === 'paid');
  if (payment === undefined) return null;
  return state.get('payment_intent', payment.payment.payment_intent).payment_method;
}

function openInvoices(state: StripeState, subscription: StripeObject): StripeObject[] {
  return state
    .listObjects('invoice')
    .filter((invoice) => invoice.parent?.subscription_details?.subscription === subscription.id)
    .filter((invoice) => invoice.status === 'open');
}

function applyPendingUpdate(state: StripeState, subscription: StripeObject): void {
  subscription.items.data = subscription.pending_update.subscription_items;
  subscription.pending_update = null;
  state.recordEvent('customer.subscription.pending_update_applied', subscription);
  state.recordEvent('customer.subscription.updated', subscription);
}

function onInvoiceUnpaid(state: StripeState, subscription: StripeObject, invoice: StripeObject): void {
  const isUpdate = subscription.pending_update !== null && subscription.latest_invoice === invoice.id;
  const before = subscription.status;
  if (isUpdate || before !== 'active') {
    endAfterFailedRenewal(state, subscription, invoice);
    return;
  }
  subscription.status = 'past_due';
  state.recordEvent('customer.subscription.updated', subscription, { status: before });
}

/** Ends the subscription after the last retry. */
function endAfterFailedRenewal(state: StripeState, subscription: StripeObject, invoice: StripeObject): void {
  if (subscription.status !== 'past_due' || invoice.billing_reason !== 'subscription_cycle') return;
  if (invoice.next_payment_attempt === null) endSubscription(state, subscription, 'payment_failed');
}

/** Ends a pause; the caller bills the rest of the period. */
export function resumeSubscription(state: StripeState, subscription: StripeObject): void {
  const before = subscription.status;
  subscription.status = 'active';
  delete subscription.status_details;
  state.recordEvent('customer.subscription.resumed', subscription);
  state.recordEvent('customer.subscription.updated', subscription, { status: before });
}

/** Finalizes an invoice immediately and attempts to collect it. */
export function finalizeAndCollect(
  state: StripeState,
  invoice: StripeObject,
  attempt: { readonly method?: string | null } = {},
): ChargeOutcome {
  finalizeInvoice(state, invoice);
  return collectAndUpdate(state, invoice, attempt);
}

/** Applies item changes; returns the new items and the proration lines. */
export function computeItemChanges(
  state: StripeState,
  subscription: StripeObject,
  itemChanges: readonly ItemChange[],
  from: number,
): { items: StripeObject[]; lines: InvoiceLineDraft[] } {
  const before = itemsOf(subscription);
  const { start, end: until } = periodOf(subscription);
  const items = before.map((item) => ({ ...item }));
  for (const change of itemChanges)
    applyItemChange(state, subscription, items, change, { start, end: until });
  const keptItems = items.filter((item) => item.deleted !== true);
  const same = (one: StripeObject, other: StripeObject) =>
    one.price === other.price && one.quantity === other.quantity;
  const removedItems = before.filter(
    (item) => !keptItems.some((other) => other.id === item.id && same(item, other)),
  );
  const addedItems = keptItems.filter(
    (item) => !before.some((other) => other.id === item.id && same(item, other)),
  );
  const lines = [
    ...removedItems.map((item) => proratedLine(state, subscription, item, { from, end: until, sign: -1 })),
    ...addedItems.map((item) => proratedLine(state, subscription, item, { from, end: until, sign: 1 })),
  ].filter((line) => line !== null);
  return { items: keptItems, lines };
}

export interface ItemChange {
  readonly id?: string;
  readonly price?: string;
  readonly quantity?: number;
  readonly deleted?: boolean;
  readonly metadata?: Record<string, string>;
}

function applyItemChange(
  state: StripeState,
  subscription: StripeObject,
  items: StripeObject[],
  change: ItemChange,
  period: Period,
): void {
  const item = items.find(({ id }) => id === change.id);
  if (item === undefined) {
    items.push(createSubscriptionItem(state, subscription, change, period));
    return;
  }
  if (change.deleted === true) item.deleted = true;
  if (change.price !== undefined) item.price = change.price;
  if (change.quantity !== undefined) item.quantity = change.quantity;
  if (isMetered(priceOf(state, item))) delete item.quantity;
  else item.quantity ??= 1;
}

export function createSubscriptionItem(
  state: StripeState,
  subscription: { readonly id: string },
  change: ItemChange,
  period: Period,
): StripeObject {
  const price = state.get('price', change.price ?? '');
  return {
    id: state.nextId('si'),
    object: 'subscription_item',
    billing_thresholds: null,
    created: state.now,
    current_period_end: period.end,
    current_period_start: period.start,
    discounts: [],
    metadata: change.metadata ?? {},
    price: price.id,
    ...(isMetered(price) ? {} : { quantity: change.quantity ?? 1 }),
    subscription: subscription.id,
    tax_rates: [],
  };
}

/** Stores prorations for the next invoice. */
export function addPendingLines(
  state: StripeState,
  subscription: StripeObject,
  lines: readonly InvoiceLineDraft[],
): void {
  const customer = state.get('customer', subscription.customer);
  for (const line of lines)
    addInvoiceItem(state, { customer, subscription, currency: subscription.currency, line });
}
