import { amountOf, partOf } from './amounts.ts';
import { addMonths, boundaryAfter } from './calendar.ts';
import {
  addInvoiceItem,
  collect,
  type Draft,
  draftInvoice,
  finalise,
  type InvoiceRequest,
  type Period,
  pendingItems,
  voidInvoice,
} from './invoicing.ts';
import { usageOf } from './metering.ts';
import type { Attempt, Outcome } from './payments.ts';
import { hourSeconds, type Thing, type World } from './world.ts';

/** What happens to a subscription by itself and by its payments; what it is asked for lies in `subscriptions`. */

/** How long a first payment, or the payment of an update, may take. */
export const paymentSecondsMax = 23 * hourSeconds;

export function itemsOf(subscription: Thing): Thing[] {
  return subscription.items.data;
}

export function priceOf(world: World, item: Thing): Thing {
  return world.get('price', item.price);
}

export function isMetered(price: Thing): boolean {
  return price.recurring?.usage_type === 'metered';
}

/** The day of the month that its periods begin on, wherever a month has it. */
function anchorDay(subscription: Thing): number | undefined {
  return subscription.billing_cycle_anchor_config?.day_of_month;
}

export function nextBoundary(subscription: Thing, after: number): number {
  return boundaryAfter(after, subscription.billing_cycle_anchor, anchorDay(subscription));
}

/** The whole period that ends at a boundary, of which a first one may be only a part. */
export function wholePeriod(subscription: Thing, end: number): Period {
  const day = anchorDay(subscription) ?? new Date(subscription.billing_cycle_anchor * 1_000).getUTCDate();
  return { start: addMonths(end, -1, day), end };
}

export function periodOf(subscription: Thing): Period {
  const [item] = itemsOf(subscription);
  return { start: item!.current_period_start, end: item!.current_period_end };
}

export function movePeriod(subscription: Thing, { start, end }: Period): void {
  for (const item of itemsOf(subscription)) {
    item.current_period_start = start;
    item.current_period_end = end;
  }
}

/** What an item costs, or gives back, for the rest of the period from a time on. */
export function proratedLine(
  world: World,
  subscription: Thing,
  item: Thing,
  use: { readonly from: number; readonly end: number; readonly sign: 1 | -1 },
): Draft | null {
  const price = priceOf(world, item);
  if (isMetered(price)) return null;
  const whole = wholePeriod(subscription, use.end);
  const amount = partOf(amountOf(price, item.quantity), use.end - use.from, whole.end - whole.start);
  const words = use.sign === 1 ? 'Remaining time on' : 'Unused time on';
  return {
    amount: use.sign * amount,
    description: `${words} ${nameOf(world, price)}`,
    period: { start: use.from, end: use.end },
    price,
    quantity: item.quantity,
    proration: true,
    item: item.id,
    invoiceItem: null,
  };
}

/** What all its items cost for a part of a period. */
export function restOf(world: World, subscription: Thing, { start, end }: Period): Draft[] {
  return itemsOf(subscription)
    .map((item) => proratedLine(world, subscription, item, { from: start, end, sign: 1 }))
    .filter((line) => line !== null);
}

/** What the items of a new period cost in advance, and the usage of the period that ended. */
export function renewalLines(world: World, subscription: Thing, ended: Period, next: Period): Draft[] {
  return itemsOf(subscription).map((item): Draft => {
    const price = priceOf(world, item);
    const metered = isMetered(price);
    const quantity = metered
      ? usageOf(world, price.recurring.meter, subscription.customer, ended)
      : item.quantity;
    return {
      amount: amountOf(price, quantity),
      description: `${quantity} × ${nameOf(world, price)}`,
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
export function usageLines(world: World, subscription: Thing, until: number): Draft[] {
  const ended = { start: periodOf(subscription).start, end: until };
  return renewalLines(world, subscription, ended, ended).filter(({ price }) => isMetered(price!));
}

function nameOf(world: World, price: Thing): string {
  const product = world.find(price.product);
  return product === null ? price.id : product.name;
}

/** The period ended: the next begins, and its invoice is a draft for an hour. */
export function renew(world: World, subscription: Thing): void {
  const ended = periodOf(subscription);
  const next = { start: ended.end, end: nextBoundary(subscription, ended.end) };
  discardPendingUpdate(world, subscription);
  if (
    subscription.cancel_at_period_end ||
    (subscription.cancel_at ?? Number.POSITIVE_INFINITY) <= ended.end
  ) {
    end(world, subscription, 'cancellation_requested');
    return;
  }
  const lines = renewalLines(world, subscription, ended, next);
  movePeriod(subscription, next);
  draftInvoice(world, {
    customer: world.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_cycle',
    currency: subscription.currency,
    period: ended,
    lines,
    autoAdvance: true,
  });
  world.happens('customer.subscription.updated', subscription);
}

/**
 * Ends it now. Usage that was not billed and what waited for the next invoice are billed; what was paid in advance is not
 * given back.
 */
export function end(world: World, subscription: Thing, reason: string): void {
  if (subscription.status === 'canceled') return;
  discardPendingUpdate(world, subscription);
  const until = Math.min(world.now, periodOf(subscription).end);
  const running = ['active', 'past_due', 'trialing'].includes(subscription.status);
  const usage = running ? usageLines(world, subscription, until).filter(({ amount }) => amount !== 0) : [];
  subscription.status = 'canceled';
  subscription.canceled_at ??= world.now;
  subscription.ended_at = world.now;
  subscription.cancellation_details = { ...subscription.cancellation_details, reason };
  const invoice: InvoiceRequest = {
    customer: world.get('customer', subscription.customer),
    subscription,
    reason: 'subscription_cycle',
    currency: subscription.currency,
    period: { start: periodOf(subscription).start, end: until },
    lines: usage,
    autoAdvance: true,
  };
  if (usage.length > 0 || pendingItems(world, invoice).length > 0) draftInvoice(world, invoice);
  world.happens('customer.subscription.deleted', subscription);
}

/** Nobody paid for what was asked: the invoice is void and nothing has changed. */
export function discardPendingUpdate(world: World, subscription: Thing): void {
  if (subscription.pending_update === null) return;
  subscription.pending_update = null;
  const invoice = world.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(world, invoice);
  world.happens('customer.subscription.pending_update_expired', subscription);
}

/** The first payment never came. */
export function giveUpFirstPayment(world: World, subscription: Thing): void {
  subscription.status = 'incomplete_expired';
  subscription.ended_at = world.now;
  const invoice = world.get('invoice', subscription.latest_invoice);
  if (invoice.status === 'open') voidInvoice(world, invoice);
  world.happens('customer.subscription.updated', subscription);
}

/** Tries to collect, and lets the subscription feel how it ended. */
export function collectAndReact(world: World, invoice: Thing, how: Partial<Attempt> = {}): Outcome {
  const outcome = collect(world, invoice, how);
  const subscriptionId = invoice.parent?.subscription_details?.subscription ?? null;
  const subscription = subscriptionId === null ? null : world.find(subscriptionId);
  if (subscription === null) return outcome;
  if (outcome === 'paid') paidFor(world, subscription, invoice);
  else unpaidFor(world, subscription, invoice);
  return outcome;
}

function paidFor(world: World, subscription: Thing, invoice: Thing): void {
  const before = subscription.status;
  const method = methodThatPaid(world, invoice);
  if (subscription.payment_settings?.save_default_payment_method === 'on_subscription' && method !== null)
    subscription.default_payment_method = method;
  if (subscription.pending_update !== null && subscription.latest_invoice === invoice.id) {
    applyPendingUpdate(world, subscription);
    return;
  }
  if (before === 'incomplete') subscription.status = 'active';
  if (before === 'past_due' && openInvoices(world, subscription).length === 0) subscription.status = 'active';
  if (before === 'paused' && world.resumptions.has(invoice.id)) resumed(world, subscription);
  if (subscription.status !== before)
    world.happens('customer.subscription.updated', subscription, { status: before });
}

function methodThatPaid(world: World, invoice: Thing): string | null {
  const payment = world
    .all('invoice_payment')
    .find((one) => one.invoice === invoice.id && one.status === 'paid');
  if (payment === undefined) return null;
  return world.get('payment_intent', payment.payment.payment_intent).payment_method;
}

function openInvoices(world: World, subscription: Thing): Thing[] {
  return world
    .all('invoice')
    .filter((invoice) => invoice.parent?.subscription_details?.subscription === subscription.id)
    .filter((invoice) => invoice.status === 'open');
}

function applyPendingUpdate(world: World, subscription: Thing): void {
  subscription.items.data = subscription.pending_update.subscription_items;
  subscription.pending_update = null;
  world.happens('customer.subscription.pending_update_applied', subscription);
  world.happens('customer.subscription.updated', subscription);
}

function unpaidFor(world: World, subscription: Thing, invoice: Thing): void {
  const isUpdate = subscription.pending_update !== null && subscription.latest_invoice === invoice.id;
  const before = subscription.status;
  if (isUpdate || before !== 'active') {
    giveUpRenewal(world, subscription, invoice);
    return;
  }
  subscription.status = 'past_due';
  world.happens('customer.subscription.updated', subscription, { status: before });
}

/** After the last try the subscription ends. */
function giveUpRenewal(world: World, subscription: Thing, invoice: Thing): void {
  if (subscription.status !== 'past_due' || invoice.billing_reason !== 'subscription_cycle') return;
  if (invoice.next_payment_attempt === null) end(world, subscription, 'payment_failed');
}

/** Back from a pause: the rest of the period counts again. */
export function resumed(world: World, subscription: Thing): void {
  const before = subscription.status;
  subscription.status = 'active';
  delete subscription.status_details;
  world.happens('customer.subscription.resumed', subscription);
  world.happens('customer.subscription.updated', subscription, { status: before });
}

/** Finalises an invoice at once and tries to collect it. */
export function invoiceNow(
  world: World,
  invoice: Thing,
  how: { readonly method?: string | null } = {},
): Outcome {
  finalise(world, invoice);
  return collectAndReact(world, invoice, how);
}

/** Changes items, with the prorations that the change asks for; gives the new items and their lines. */
export function changeOf(
  world: World,
  subscription: Thing,
  wanted: readonly ItemChange[],
  from: number,
): { items: Thing[]; lines: Draft[] } {
  const before = itemsOf(subscription);
  const { start, end: until } = periodOf(subscription);
  const items = before.map((item) => ({ ...item }));
  for (const change of wanted) applyItemChange(world, subscription, items, change, { start, end: until });
  const kept = items.filter((item) => item.deleted !== true);
  const same = (one: Thing, other: Thing) => one.price === other.price && one.quantity === other.quantity;
  const gone = before.filter((item) => !kept.some((other) => other.id === item.id && same(item, other)));
  const come = kept.filter((item) => !before.some((other) => other.id === item.id && same(item, other)));
  const lines = [
    ...gone.map((item) => proratedLine(world, subscription, item, { from, end: until, sign: -1 })),
    ...come.map((item) => proratedLine(world, subscription, item, { from, end: until, sign: 1 })),
  ].filter((line) => line !== null);
  return { items: kept, lines };
}

export interface ItemChange {
  readonly id?: string;
  readonly price?: string;
  readonly quantity?: number;
  readonly deleted?: boolean;
  readonly metadata?: Record<string, string>;
}

function applyItemChange(
  world: World,
  subscription: Thing,
  items: Thing[],
  change: ItemChange,
  period: Period,
): void {
  const item = items.find(({ id }) => id === change.id);
  if (item === undefined) {
    items.push(newItem(world, subscription, change, period));
    return;
  }
  if (change.deleted === true) item.deleted = true;
  if (change.price !== undefined) item.price = change.price;
  if (change.quantity !== undefined) item.quantity = change.quantity;
  if (isMetered(priceOf(world, item))) delete item.quantity;
  else item.quantity ??= 1;
}

export function newItem(
  world: World,
  subscription: { readonly id: string },
  change: ItemChange,
  period: Period,
): Thing {
  const price = world.get('price', change.price ?? '');
  return {
    id: world.id('si'),
    object: 'subscription_item',
    billing_thresholds: null,
    created: world.now,
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
export function keepForNextInvoice(world: World, subscription: Thing, lines: readonly Draft[]): void {
  const customer = world.get('customer', subscription.customer);
  for (const line of lines)
    addInvoiceItem(world, { customer, subscription, currency: subscription.currency, line });
}
