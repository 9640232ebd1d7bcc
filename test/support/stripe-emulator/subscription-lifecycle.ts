import { amountOf, proratedAmount } from './amounts.ts';
import { addMonths, boundaryAfter } from './calendar.ts';
import {
  addInvoiceItem,
  collectInvoice,
  draftInvoice,
  finalizeInvoice,
  type InvoiceInput,
  type InvoiceLineDraft,
  type Period,
  pendingItems,
  voidInvoice,
} from './invoicing.ts';
import { meteredUsageOf } from './meter-usage.ts';
import type { ChargeOutcome, PaymentAttempt } from './payments.ts';
import { hourSeconds, type StripeObject, type StripeState } from './stripe-state.ts';

/** What happens to a subscription by itself and by its payments; what it is asked for lies in `subscriptions`. */

/** How long a first payment, or the payment of an update, may take. */
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

/** The day of the month that its periods begin on, wherever a month has it. */
function anchorDay(subscription: StripeObject): number | undefined {
  return subscription.billing_cycle_anchor_config?.day_of_month;
}

export function nextBoundary(subscription: StripeObject, after: number): number {
  return boundaryAfter(after, subscription.billing_cycle_anchor, anchorDay(subscription));
}

/** The whole period that ends at a boundary, of which a first one may be only a part. */
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

/** What an item costs, or gives back, for the rest of the period from a time on. */
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

/** What all its items cost for a part of a period. */
export function remainderLines(
  state: StripeState,
  subscription: StripeObject,
  { start, end }: Period,
): InvoiceLineDraft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(state, subscription, item, { from: start, end, sign: 1 }))
    .filter((line) => line !== null);
}

/** What the items of a new period cost in advance, and the usage of the period that ended. */
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

/** Only the usage that was not billed yet, for a subscription that ends or pauses. */
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

/** The period ended: the next begins, and its invoice is a draft for an hour. */
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
 * Ends it now. Usage that was not billed and what waited for the next invoice are billed; what was paid in advance is not
 * given back.
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

/** Nobody paid for what was asked: the invoice is void and nothing has changed. */
export function discardPendingUpdate(state: StripeState, subscription: StripeObject): void {
  if (subscription.pending_update === null) return;
  subscription.pending_update = null;
  const invoice = state.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(state, invoice);
  state.recordEvent('customer.subscription.pending_update_expired', subscription);
}

/** The first payment never came. */
export function expireFirstPayment(state: StripeState, subscription: StripeObject): void {
  subscription.status = 'incomplete_expired';
  subscription.ended_at = state.now;
  const invoice = state.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(state, invoice);
  state.recordEvent('customer.subscription.updated', subscription);
}

/** Tries to collect, and lets the subscription feel how it ended. */
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
  if (before === 'paused' && state.resumptions.has(invoice.id)) resumeSubscription(state, subscription);
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

/** After the last try the subscription ends. */
function endAfterFailedRenewal(state: StripeState, subscription: StripeObject, invoice: StripeObject): void {
  if (subscription.status !== 'past_due' || invoice.billing_reason !== 'subscription_cycle') return;
  if (invoice.next_payment_attempt === null) endSubscription(state, subscription, 'payment_failed');
}

/** Back from a pause: the rest of the period counts again. */
export function resumeSubscription(state: StripeState, subscription: StripeObject): void {
  const before = subscription.status;
  subscription.status = 'active';
  delete subscription.status_details;
  state.recordEvent('customer.subscription.resumed', subscription);
  state.recordEvent('customer.subscription.updated', subscription, { status: before });
}

/** Finalises an invoice at once and tries to collect it. */
export function finalizeAndCollect(
  state: StripeState,
  invoice: StripeObject,
  attempt: { readonly method?: string | null } = {},
): ChargeOutcome {
  finalizeInvoice(state, invoice);
  return collectAndUpdate(state, invoice, attempt);
}

/** Changes items, with the prorations that the change asks for; gives the new items and their lines. */
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

/** Prorations that wait for the next invoice. */
export function addPendingLines(
  state: StripeState,
  subscription: StripeObject,
  lines: readonly InvoiceLineDraft[],
): void {
  const customer = state.get('customer', subscription.customer);
  for (const line of lines)
    addInvoiceItem(state, { customer, subscription, currency: subscription.currency, line });
}
