import { amountOf } from './amounts.ts';
import { customerCard } from './cards.ts';
import { customerOf } from './customers.ts';
import { finalizeInvoice, voidInvoice } from './invoice-collection.ts';
import {
  addInvoiceItem,
  addLines,
  draftInvoice,
  type InvoiceLineDraft,
  previewInvoice,
} from './invoicing.ts';
import { paymentErrorOf } from './payments.ts';
import { StripeApiError } from './stripe-error.ts';
import {
  type Handlers,
  mergeMetadata,
  pageOfObjects,
  pickParameters,
  type StripeRequest,
} from './stripe-request.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';
import {
  collectAndUpdate,
  computeItemChanges,
  createSubscriptionItem,
  discardPendingUpdate,
  isMetered,
  nextBoundary,
  periodOf,
  priceOf,
  proratedLine,
  remainderLines,
  renewalLines,
} from './subscription-lifecycle.ts';

function create({ state, parameters }: StripeRequest): StripeObject {
  const customer = customerOf(state, parameters.customer ?? '');
  const subscription =
    parameters.subscription === undefined ? null : state.get('subscription', parameters.subscription);
  const invoice = draftInvoice(state, {
    customer,
    subscription,
    reason: 'manual',
    currency: parameters.currency ?? subscription?.currency ?? customer.currency ?? 'usd',
    period: { start: state.now, end: state.now },
    lines: [],
    autoAdvance: parameters.auto_advance ?? false,
    metadata: mergeMetadata({}, parameters.metadata),
    description: parameters.description ?? null,
  });
  return invoice;
}

function pay({ state, ids, parameters }: StripeRequest): StripeObject {
  const invoice = state.get('invoice', ids[0]!);
  if (invoice.status === 'draft') finalizeInvoice(state, invoice);
  if (invoice.status === 'paid')
    throw new StripeApiError('Invoice is already paid', { code: 'invoice_already_paid' });
  if (parameters.paid_out_of_band === true)
    throw new StripeApiError('The emulator knows no payments outside of it.');
  const customer = state.get('customer', invoice.customer);
  const method =
    parameters.payment_method === undefined
      ? undefined
      : customerCard(state, parameters.payment_method, customer).id;
  const absent = parameters.off_session !== false;
  const outcome = collectAndUpdate(
    state,
    invoice,
    method === undefined ? { isOffSession: absent } : { method, isOffSession: absent },
  );
  if (outcome !== 'paid') throw paymentErrorOf(outcome);
  return invoice;
}

/** Voiding the invoice of a pending update discards the update. */
function voidHandler({ state, ids }: StripeRequest): StripeObject {
  const invoice = state.get('invoice', ids[0]!);
  const subscription = state.find(invoice.parent?.subscription_details?.subscription ?? '');
  voidInvoice(state, invoice);
  if (subscription !== null && subscription.latest_invoice === invoice.id)
    discardPendingUpdate(state, subscription);
  return invoice;
}

function update({ state, ids, parameters }: StripeRequest): StripeObject {
  const invoice = state.get('invoice', ids[0]!);
  invoice.metadata = mergeMetadata(invoice.metadata, parameters.metadata);
  Object.assign(
    invoice,
    pickParameters(parameters, ['auto_advance', 'description', 'default_payment_method']),
  );
  if (invoice.auto_advance === false) invoice.automatically_finalizes_at = null;
  state.recordEvent('invoice.updated', invoice);
  return invoice;
}

function remove({ state, ids }: StripeRequest) {
  const invoice = state.get('invoice', ids[0]!);
  if (invoice.status !== 'draft')
    throw new StripeApiError('You can only delete draft invoices.', { code: 'invoice_not_editable' });
  state.remove(invoice.id);
  return { id: invoice.id, object: 'invoice', deleted: true } as const;
}

function list(call: StripeRequest) {
  const { customer, subscription, status } = call.parameters;
  const found = call.state
    .listObjects('invoice')
    .filter((invoice) => customer === undefined || invoice.customer === customer)
    .filter(
      (invoice) =>
        subscription === undefined || invoice.parent?.subscription_details?.subscription === subscription,
    )
    .filter((invoice) => status === undefined || invoice.status === status);
  return pageOfObjects(call, found, '/v1/invoices');
}

function createInvoiceItem({ state, parameters }: StripeRequest): StripeObject {
  const customer = customerOf(state, parameters.customer);
  const subscription =
    parameters.subscription === undefined ? null : state.get('subscription', parameters.subscription);
  const invoice = parameters.invoice === undefined ? null : state.get('invoice', parameters.invoice);
  const price = parameters.pricing?.price === undefined ? null : state.get('price', parameters.pricing.price);
  const quantity = parameters.quantity ?? 1;
  const amount = price === null ? parameters.amount : amountOf(price, quantity);
  const line: InvoiceLineDraft = {
    amount,
    description: parameters.description ?? '',
    period: parameters.period ?? { start: state.now, end: state.now },
    price,
    quantity,
    proration: false,
    item: null,
    invoiceItem: null,
  };
  const currency = price?.currency ?? parameters.currency ?? customer.currency ?? 'usd';
  const metadata = mergeMetadata({}, parameters.metadata);
  const item = addInvoiceItem(
    state,
    { customer, subscription, currency, line },
    { metadata, invoice: invoice?.id ?? null },
  );
  if (invoice !== null) addLines(state, invoice, [{ ...line, invoiceItem: item.id }]);
  return item;
}

function removeItem({ state, ids }: StripeRequest) {
  const item = state.get('invoiceitem', ids[0]!);
  if (item.invoice !== null)
    throw new StripeApiError('You can only delete invoice items that are not attached to an invoice.');
  state.remove(item.id);
  return { id: item.id, object: 'invoiceitem', deleted: true } as const;
}

/** Cost of a change of items now, or the content of the next invoice. */
function preview({ state, parameters }: StripeRequest): StripeObject {
  const details = parameters.subscription_details ?? {};
  if (parameters.subscription === undefined)
    return previewNewSubscription(state, parameters.customer, details);
  const subscription = state.get('subscription', parameters.subscription);
  const customer = state.get('customer', subscription.customer);
  if (details.resume_at === 'now') return previewResume(state, subscription);
  const from = details.proration_date ?? state.now;
  const changed = computeItemChanges(state, subscription, details.items ?? [], from);
  const isNow = details.proration_behavior === 'always_invoice';
  const lines = details.proration_behavior === 'none' ? [] : changed.lines;
  const ended = periodOf(subscription);
  const next = { start: ended.end, end: nextBoundary(subscription, ended.end) };
  const after = { ...subscription, items: { ...subscription.items, data: changed.items } };
  return previewInvoice(
    state,
    {
      customer,
      subscription,
      reason: 'upcoming',
      currency: subscription.currency,
      period: isNow ? ended : next,
      lines: isNow ? lines : [...lines, ...renewalLines(state, after, ended, next)],
      autoAdvance: false,
    },
    true,
  );
}

/** The resumed subscription keeps its billing day of the month. */
function previewResume(state: StripeState, subscription: StripeObject): StripeObject {
  if (subscription.status !== 'paused')
    throw new StripeApiError(`You cannot resume a subscription with status ${subscription.status}.`);
  const period = { start: state.now, end: nextBoundary(subscription, state.now) };
  return previewInvoice(
    state,
    {
      customer: state.get('customer', subscription.customer),
      subscription,
      reason: 'upcoming',
      currency: subscription.currency,
      period,
      lines: remainderLines(state, subscription, period),
      autoAdvance: false,
    },
    true,
  );
}

const anonymousCustomer = {
  id: null,
  object: 'customer',
  balance: 0,
  email: null,
  name: null,
} as unknown as StripeObject;

/** The customer may be absent; no customer's balance is applied. */
function previewNewSubscription(
  state: StripeState,
  customerId: string | undefined,
  details: StripeRequest['parameters'],
): StripeObject {
  if ((details.items ?? []).length === 0)
    throw new StripeApiError(
      'You must provide at least one of: `subscription`, `schedule`, `subscription_details.items`, `schedule_details.phases`, `invoice_items`.',
    );
  const customer = customerId === undefined ? anonymousCustomer : customerOf(state, customerId);
  const period = { start: state.now, end: state.now };
  const anchor = details.billing_cycle_anchor?.timestamp ?? state.now;
  const draftSubscription: StripeObject = {
    id: 'sub_upcoming',
    object: 'subscription',
    billing_cycle_anchor: anchor,
  };
  const items = (details.items ?? []).map((item: { price: string }) =>
    createSubscriptionItem(state, draftSubscription, item, period),
  );
  const end = anchor > state.now ? anchor : nextBoundary(draftSubscription, state.now);
  const lines = (items as StripeObject[])
    .filter((item) => !isMetered(priceOf(state, item)))
    .map((item) => proratedLine(state, draftSubscription, item, { from: state.now, end, sign: 1 }))
    .filter((line) => line !== null);
  const currency = priceOf(state, items[0]).currency;
  return previewInvoice(
    state,
    {
      customer,
      subscription: null,
      reason: 'upcoming',
      currency,
      period: { start: state.now, end },
      lines,
      autoAdvance: false,
    },
    false,
  );
}

export const invoiceHandlers: Handlers = {
  'Invoices.create': create,
  'Invoices.createPreview': preview,
  'Invoices.retrieve': ({ state, ids }) => state.get('invoice', ids[0]!),
  'Invoices.update': update,
  'Invoices.del': remove,
  'Invoices.list': list,
  'Invoices.listLineItems': (call) =>
    pageOfObjects(
      call,
      [...(call.state.get('invoice', call.ids[0]!).lines.data as StripeObject[])].reverse(),
      `/v1/invoices/${call.ids[0]}/lines`,
    ),
  'Invoices.finalizeInvoice': ({ state, ids, parameters }) => {
    const invoice = state.get('invoice', ids[0]!);
    finalizeInvoice(state, invoice);
    if (invoice.amount_remaining === 0 || (parameters.auto_advance ?? invoice.auto_advance))
      collectAndUpdate(state, invoice);
    return invoice;
  },
  'Invoices.pay': pay,
  'Invoices.voidInvoice': voidHandler,
  'Invoices.markUncollectible': ({ state, ids }) => {
    const invoice = state.get('invoice', ids[0]!);
    if (invoice.status !== 'open')
      throw new StripeApiError('You can only mark open invoices as uncollectible.', {
        code: 'invoice_not_editable',
      });
    invoice.status = 'uncollectible';
    invoice.status_transitions.marked_uncollectible_at = state.now;
    invoice.next_payment_attempt = null;
    state.recordEvent('invoice.marked_uncollectible', invoice);
    return invoice;
  },
  'InvoiceItems.create': createInvoiceItem,
  'InvoiceItems.retrieve': ({ state, ids }) => state.get('invoiceitem', ids[0]!),
  'InvoiceItems.del': removeItem,
  'InvoiceItems.list': (call) => {
    const { customer, invoice, pending } = call.parameters;
    const found = call.state
      .listObjects('invoiceitem')
      .filter((item) => customer === undefined || item.customer === customer)
      .filter((item) => invoice === undefined || item.invoice === invoice)
      .filter((item) => pending === undefined || (item.invoice === null) === pending);
    return pageOfObjects(call, found, '/v1/invoiceitems');
  },
  'InvoicePayments.list': (call) => {
    const { invoice, status } = call.parameters;
    const found = call.state
      .listObjects('invoice_payment')
      .filter((payment) => invoice === undefined || payment.invoice === invoice)
      .filter((payment) => status === undefined || payment.status === status);
    return pageOfObjects(call, found, '/v1/invoice_payments');
  },
  'InvoicePayments.retrieve': ({ state, ids }) => state.get('invoice_payment', ids[0]!),
};
