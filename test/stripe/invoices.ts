import { amountOf } from './amounts.ts';
import { type Call, given, type Handlers, mergedMetadata, pageOf } from './calls.ts';
import { cardOfCustomer } from './cards.ts';
import { customerOf } from './customers.ts';
import {
  addInvoiceItem,
  addLines,
  type Draft,
  draftInvoice,
  finalise,
  previewInvoice,
  voidInvoice,
} from './invoicing.ts';
import { refusalOf } from './payments.ts';
import { Refusal } from './refusal.ts';
import {
  changeOf,
  collectAndReact,
  discardPendingUpdate,
  isMetered,
  newItem,
  nextBoundary,
  periodOf,
  priceOf,
  proratedLine,
  renewalLines,
  restOf,
} from './subscription-life.ts';
import type { Thing, World } from './world.ts';

function create({ world, parameters }: Call): Thing {
  const customer = customerOf(world, parameters.customer ?? '');
  const subscription =
    parameters.subscription === undefined ? null : world.get('subscription', parameters.subscription);
  const invoice = draftInvoice(world, {
    customer,
    subscription,
    reason: 'manual',
    currency: parameters.currency ?? subscription?.currency ?? customer.currency ?? 'usd',
    period: { start: world.now, end: world.now },
    lines: [],
    autoAdvance: parameters.auto_advance ?? false,
    metadata: mergedMetadata({}, parameters.metadata),
    description: parameters.description ?? null,
  });
  return invoice;
}

function pay({ world, ids, parameters }: Call): Thing {
  const invoice = world.get('invoice', ids[0]!);
  if (invoice.status === 'draft') finalise(world, invoice);
  if (invoice.status === 'paid')
    throw new Refusal('Invoice is already paid', { code: 'invoice_already_paid' });
  if (parameters.paid_out_of_band === true)
    throw new Refusal('The emulator knows no payments outside of it.');
  const customer = world.get('customer', invoice.customer);
  const method =
    parameters.payment_method === undefined
      ? undefined
      : cardOfCustomer(world, parameters.payment_method, customer).id;
  const absent = parameters.off_session !== false;
  const outcome = collectAndReact(world, invoice, method === undefined ? { absent } : { method, absent });
  if (outcome !== 'paid') throw refusalOf(outcome);
  return invoice;
}

/** Giving up the invoice of a pending update gives up the update. */
function giveUp({ world, ids }: Call): Thing {
  const invoice = world.get('invoice', ids[0]!);
  const subscription = world.find(invoice.parent?.subscription_details?.subscription ?? '');
  voidInvoice(world, invoice);
  if (subscription !== null && subscription.latest_invoice === invoice.id)
    discardPendingUpdate(world, subscription);
  return invoice;
}

function update({ world, ids, parameters }: Call): Thing {
  const invoice = world.get('invoice', ids[0]!);
  invoice.metadata = mergedMetadata(invoice.metadata, parameters.metadata);
  Object.assign(invoice, given(parameters, ['auto_advance', 'description', 'default_payment_method']));
  if (invoice.auto_advance === false) invoice.automatically_finalizes_at = null;
  world.happens('invoice.updated', invoice);
  return invoice;
}

function remove({ world, ids }: Call) {
  const invoice = world.get('invoice', ids[0]!);
  if (invoice.status !== 'draft')
    throw new Refusal('You can only delete draft invoices.', { code: 'invoice_not_editable' });
  world.remove(invoice.id);
  return { id: invoice.id, object: 'invoice', deleted: true } as const;
}

function list(call: Call) {
  const { customer, subscription, status } = call.parameters;
  const found = call.world
    .all('invoice')
    .filter((invoice) => customer === undefined || invoice.customer === customer)
    .filter(
      (invoice) =>
        subscription === undefined || invoice.parent?.subscription_details?.subscription === subscription,
    )
    .filter((invoice) => status === undefined || invoice.status === status);
  return pageOf(call, found, '/v1/invoices');
}

function createItem({ world, parameters }: Call): Thing {
  const customer = customerOf(world, parameters.customer);
  const subscription =
    parameters.subscription === undefined ? null : world.get('subscription', parameters.subscription);
  const invoice = parameters.invoice === undefined ? null : world.get('invoice', parameters.invoice);
  const price = parameters.pricing?.price === undefined ? null : world.get('price', parameters.pricing.price);
  const quantity = parameters.quantity ?? 1;
  const amount = price === null ? parameters.amount : amountOf(price, quantity);
  const line: Draft = {
    amount,
    description: parameters.description ?? '',
    period: parameters.period ?? { start: world.now, end: world.now },
    price,
    quantity,
    proration: false,
    item: null,
    invoiceItem: null,
  };
  const currency = price?.currency ?? parameters.currency ?? customer.currency ?? 'usd';
  const metadata = mergedMetadata({}, parameters.metadata);
  const item = addInvoiceItem(
    world,
    { customer, subscription, currency, line },
    { metadata, invoice: invoice?.id ?? null },
  );
  if (invoice !== null) addLines(world, invoice, [{ ...line, invoiceItem: item.id }]);
  return item;
}

function removeItem({ world, ids }: Call) {
  const item = world.get('invoiceitem', ids[0]!);
  if (item.invoice !== null)
    throw new Refusal('You can only delete invoice items that are not attached to an invoice.');
  world.remove(item.id);
  return { id: item.id, object: 'invoiceitem', deleted: true } as const;
}

/** What a change of items would cost now, or what the next invoice will say. */
function preview({ world, parameters }: Call): Thing {
  const details = parameters.subscription_details ?? {};
  if (parameters.subscription === undefined) return previewOfNew(world, parameters.customer, details);
  const subscription = world.get('subscription', parameters.subscription);
  const customer = world.get('customer', subscription.customer);
  if (details.resume_at === 'now') return previewOfResumption(world, subscription);
  const from = details.proration_date ?? world.now;
  const changed = changeOf(world, subscription, details.items ?? [], from);
  const isNow = details.proration_behavior === 'always_invoice';
  const lines = details.proration_behavior === 'none' ? [] : changed.lines;
  const ended = periodOf(subscription);
  const next = { start: ended.end, end: nextBoundary(subscription, ended.end) };
  const after = { ...subscription, items: { ...subscription.items, data: changed.items } };
  return previewInvoice(
    world,
    {
      customer,
      subscription,
      reason: 'upcoming',
      currency: subscription.currency,
      period: isNow ? ended : next,
      lines: isNow ? lines : [...lines, ...renewalLines(world, after, ended, next)],
      autoAdvance: false,
    },
    true,
  );
}

/** With the day of the month that it had. */
function previewOfResumption(world: World, subscription: Thing): Thing {
  if (subscription.status !== 'paused')
    throw new Refusal(`You cannot resume a subscription with status ${subscription.status}.`);
  const period = { start: world.now, end: nextBoundary(subscription, world.now) };
  return previewInvoice(
    world,
    {
      customer: world.get('customer', subscription.customer),
      subscription,
      reason: 'upcoming',
      currency: subscription.currency,
      period,
      lines: restOf(world, subscription, period),
      autoAdvance: false,
    },
    true,
  );
}

const nobody = { id: null, object: 'customer', balance: 0, email: null, name: null } as unknown as Thing;

/** Of somebody who is no customer yet, too: nobody's balance is spent. */
function previewOfNew(world: World, customerId: string | undefined, details: Call['parameters']): Thing {
  if ((details.items ?? []).length === 0)
    throw new Refusal(
      'You must provide at least one of: `subscription`, `schedule`, `subscription_details.items`, `schedule_details.phases`, `invoice_items`.',
    );
  const customer = customerId === undefined ? nobody : customerOf(world, customerId);
  const period = { start: world.now, end: world.now };
  const anchor = details.billing_cycle_anchor?.timestamp ?? world.now;
  const blank: Thing = { id: 'sub_upcoming', object: 'subscription', billing_cycle_anchor: anchor };
  const items = (details.items ?? []).map((item: { price: string }) => newItem(world, blank, item, period));
  const end = anchor > world.now ? anchor : nextBoundary(blank, world.now);
  const lines = (items as Thing[])
    .filter((item) => !isMetered(priceOf(world, item)))
    .map((item) => proratedLine(world, blank, item, { from: world.now, end, sign: 1 }))
    .filter((line) => line !== null);
  const currency = priceOf(world, items[0]).currency;
  return previewInvoice(
    world,
    {
      customer,
      subscription: null,
      reason: 'upcoming',
      currency,
      period: { start: world.now, end },
      lines,
      autoAdvance: false,
    },
    false,
  );
}

export const invoices: Handlers = {
  'Invoices.create': create,
  'Invoices.createPreview': preview,
  'Invoices.retrieve': ({ world, ids }) => world.get('invoice', ids[0]!),
  'Invoices.update': update,
  'Invoices.del': remove,
  'Invoices.list': list,
  'Invoices.listLineItems': (call) =>
    pageOf(
      call,
      [...(call.world.get('invoice', call.ids[0]!).lines.data as Thing[])].reverse(),
      `/v1/invoices/${call.ids[0]}/lines`,
    ),
  'Invoices.finalizeInvoice': ({ world, ids, parameters }) => {
    const invoice = world.get('invoice', ids[0]!);
    finalise(world, invoice);
    if (invoice.amount_remaining === 0 || (parameters.auto_advance ?? invoice.auto_advance))
      collectAndReact(world, invoice);
    return invoice;
  },
  'Invoices.pay': pay,
  'Invoices.voidInvoice': giveUp,
  'Invoices.markUncollectible': ({ world, ids }) => {
    const invoice = world.get('invoice', ids[0]!);
    if (invoice.status !== 'open')
      throw new Refusal('You can only mark open invoices as uncollectible.', {
        code: 'invoice_not_editable',
      });
    invoice.status = 'uncollectible';
    invoice.status_transitions.marked_uncollectible_at = world.now;
    invoice.next_payment_attempt = null;
    world.happens('invoice.marked_uncollectible', invoice);
    return invoice;
  },
  'InvoiceItems.create': createItem,
  'InvoiceItems.retrieve': ({ world, ids }) => world.get('invoiceitem', ids[0]!),
  'InvoiceItems.del': removeItem,
  'InvoiceItems.list': (call) => {
    const { customer, invoice, pending } = call.parameters;
    const found = call.world
      .all('invoiceitem')
      .filter((item) => customer === undefined || item.customer === customer)
      .filter((item) => invoice === undefined || item.invoice === invoice)
      .filter((item) => pending === undefined || (item.invoice === null) === pending);
    return pageOf(call, found, '/v1/invoiceitems');
  },
  'InvoicePayments.list': (call) => {
    const { invoice, status } = call.parameters;
    const found = call.world
      .all('invoice_payment')
      .filter((payment) => invoice === undefined || payment.invoice === invoice)
      .filter((payment) => status === undefined || payment.status === status);
    return pageOf(call, found, '/v1/invoice_payments');
  },
  'InvoicePayments.retrieve': ({ world, ids }) => world.get('invoice_payment', ids[0]!),
};
