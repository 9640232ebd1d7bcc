import { checkCurrency } from './credits.ts';
import { hourSeconds, type StripeObject, type StripeState } from './stripe-state.ts';

/** Drafts of invoices, their lines and totals. */

/** Time during which the draft invoice of a renewal can be changed. */
const draftDurationSeconds = hourSeconds;

export interface Period {
  readonly start: number;
  readonly end: number;
}

/** Line that is not on an invoice yet. */
export interface InvoiceLineDraft {
  readonly amount: number;
  readonly description: string;
  readonly period: Period;
  readonly price: StripeObject | null;
  readonly quantity: number | null;
  readonly proration: boolean;
  /** Id of the subscription item that the line bills. */
  readonly item: string | null;
  readonly invoiceItem: string | null;
}

export interface InvoiceInput {
  readonly customer: StripeObject;
  readonly subscription: StripeObject | null;
  readonly reason:
    | 'manual'
    | 'subscription_create'
    | 'subscription_cycle'
    | 'subscription_update'
    | 'upcoming';
  readonly currency: string;
  readonly period: Period;
  readonly lines: readonly InvoiceLineDraft[];
  readonly autoAdvance: boolean;
  readonly metadata?: Record<string, string>;
  readonly description?: string | null;
}

/** Creates a draft invoice that includes the pending items of the subscription. */
export function draftInvoice(state: StripeState, request: InvoiceInput): StripeObject {
  checkCurrency(request.customer, request.currency);
  request.customer.currency = request.currency;
  const id = state.nextId('in');
  const invoice = state.add(emptyInvoice(state, id, request));
  addLines(state, invoice, [...pendingLineDrafts(state, request, id), ...request.lines]);
  if (request.subscription !== null) request.subscription.latest_invoice = id;
  state.recordEvent('invoice.created', invoice);
  return invoice;
}

/** Builds the same draft without storing anything. */
export function previewInvoice(
  state: StripeState,
  request: InvoiceInput,
  withPending: boolean,
): StripeObject {
  const invoice: StripeObject = {
    created: state.now,
    livemode: false,
    ...emptyInvoice(state, state.nextId('upcoming_in'), request),
  };
  const pending = withPending ? pendingItems(state, request).map(lineDraftOf(state)) : [];
  addLines(state, invoice, [...pending, ...request.lines]);
  const customer = request.customer;
  invoice.starting_balance = customer.balance;
  invoice.ending_balance = Math.min(0, customer.balance + invoice.total);
  invoice.amount_due = Math.max(0, invoice.total + customer.balance);
  invoice.amount_remaining = invoice.amount_due;
  return invoice;
}

function emptyInvoice(state: StripeState, id: string, request: InvoiceInput) {
  const { subscription, customer, period } = request;
  return {
    id,
    object: 'invoice',
    account_country: 'DE',
    account_name: 'Emulated',
    amount_due: 0,
    amount_overpaid: 0,
    amount_paid: 0,
    amount_remaining: 0,
    amount_shipping: 0,
    attempt_count: 0,
    attempted: false,
    auto_advance: request.autoAdvance,
    automatic_tax: { enabled: false, liability: null, provider: null, status: null, disabled_reason: null },
    automatically_finalizes_at: request.autoAdvance ? state.now + draftDurationSeconds : null,
    billing_reason: request.reason,
    collection_method: 'charge_automatically',
    currency: request.currency,
    customer: customer.id,
    customer_email: customer.email,
    customer_name: customer.name,
    default_payment_method: null,
    description: request.description ?? null,
    ending_balance: null,
    hosted_invoice_url: null,
    invoice_pdf: null,
    issuer: { type: 'self' },
    lines: { object: 'list', data: [] as StripeObject[], has_more: false, url: `/v1/invoices/${id}/lines` },
    metadata: request.metadata ?? {},
    next_payment_attempt: null as number | null,
    number: null,
    parent:
      subscription === null
        ? null
        : {
            type: 'subscription_details',
            quote_details: null,
            subscription_details: { metadata: { ...subscription.metadata }, subscription: subscription.id },
          },
    payment_settings: { default_mandate: null, payment_method_options: null, payment_method_types: null },
    period_end: period.end,
    period_start: period.start,
    starting_balance: 0,
    status: 'draft',
    status_transitions: { finalized_at: null, marked_uncollectible_at: null, paid_at: null, voided_at: null },
    subtotal: 0,
    subtotal_excluding_tax: 0,
    total: 0,
    total_discount_amounts: [],
    total_excluding_tax: 0,
    total_pretax_credit_amounts: [],
    total_taxes: [],
  };
}

/** Invoice items that wait for the next invoice of a customer or of one subscription. */
export function pendingItems(state: StripeState, { customer, subscription }: InvoiceInput): StripeObject[] {
  return state
    .listObjects('invoiceitem')
    .filter((item) => item.customer === customer.id && item.invoice === null)
    .filter((item) => (subscriptionOf(item) ?? null) === (subscription?.id ?? null));
}

function pendingLineDrafts(state: StripeState, request: InvoiceInput, invoice: string): InvoiceLineDraft[] {
  const items = pendingItems(state, request);
  for (const item of items) item.invoice = invoice;
  return items.map(lineDraftOf(state));
}

function subscriptionOf(item: StripeObject): string | null {
  return item.parent?.subscription_details?.subscription ?? null;
}

function lineDraftOf(state: StripeState): (item: StripeObject) => InvoiceLineDraft {
  return (item) => ({
    amount: item.amount,
    description: item.description ?? '',
    period: item.period,
    price: item.pricing === null ? null : state.get('price', item.pricing.price_details.price),
    quantity: item.quantity,
    proration: item.proration,
    item: item.parent?.subscription_details?.subscription_item ?? null,
    invoiceItem: item.id,
  });
}

/** Stores a line for the next invoice. */
export function addInvoiceItem(
  state: StripeState,
  item: {
    readonly customer: StripeObject;
    readonly subscription: StripeObject | null;
    readonly currency: string;
    readonly line: InvoiceLineDraft;
  },
  more: { readonly metadata?: Record<string, string>; readonly invoice?: string | null } = {},
): StripeObject {
  const { customer, subscription, currency, line } = item;
  checkCurrency(customer, currency);
  customer.currency = currency;
  const invoiceItem = state.add({
    id: state.nextId('ii'),
    object: 'invoiceitem',
    amount: line.amount,
    currency,
    customer: customer.id,
    date: state.now,
    description: line.description,
    discountable: !line.proration,
    discounts: [],
    invoice: more.invoice ?? null,
    metadata: more.metadata ?? {},
    net_amount: line.amount,
    parent:
      subscription === null
        ? null
        : {
            type: 'subscription_details',
            subscription_details: {
              subscription: subscription.id,
              ...(line.item === null ? {} : { subscription_item: line.item }),
            },
          },
    period: line.period,
    pricing: pricingOf(line.price),
    proration: line.proration,
    quantity: line.quantity ?? 1,
    quantity_decimal: String(line.quantity ?? 1),
    tax_rates: [],
    test_clock: null,
  });
  state.recordEvent('invoiceitem.created', invoiceItem);
  return invoiceItem;
}

function pricingOf(price: StripeObject | null) {
  if (price === null) return null;
  return {
    type: 'price_details',
    price_details: { price: price.id, product: price.product },
    unit_amount_decimal: price.unit_amount_decimal,
  };
}

export function addLines(
  state: StripeState,
  invoice: StripeObject,
  lineDrafts: readonly InvoiceLineDraft[],
): void {
  invoice.lines.data.push(...lineDrafts.map((draft) => lineOf(state, invoice, draft)));
  updateTotals(invoice, 0);
}

function lineOf(state: StripeState, invoice: StripeObject, draft: InvoiceLineDraft): StripeObject {
  const subscription = invoice.parent?.subscription_details?.subscription ?? null;
  const details = {
    invoice_item: draft.invoiceItem,
    proration: draft.proration,
    proration_details: { credited_items: null },
    subscription,
  };
  return {
    id: state.nextId('il'),
    object: 'line_item',
    amount: draft.amount,
    currency: invoice.currency,
    description: draft.description,
    discount_amounts: [],
    discountable: !draft.proration,
    discounts: [],
    invoice: invoice.id,
    livemode: false,
    metadata: {},
    parent:
      draft.item === null
        ? {
            type: 'invoice_item_details',
            invoice_item_details: { ...details, invoice_item: draft.invoiceItem ?? '' },
            subscription_item_details: null,
          }
        : {
            type: 'subscription_item_details',
            invoice_item_details: null,
            subscription_item_details: { ...details, subscription_item: draft.item },
          },
    period: draft.period,
    pretax_credit_amounts: [],
    pricing: pricingOf(draft.price),
    quantity: draft.quantity,
    subscription,
    subtotal: draft.amount,
    taxes: [],
  };
}

/** Sums the lines; `credits` is the amount paid by credit grants. */
export function updateTotals(invoice: StripeObject, credits: number): void {
  const sum = (invoice.lines.data as StripeObject[]).reduce((before, line) => before + line.amount, 0);
  invoice.subtotal = sum;
  invoice.subtotal_excluding_tax = sum;
  invoice.total = sum - credits;
  invoice.total_excluding_tax = invoice.total;
  invoice.amount_due = Math.max(0, invoice.total);
  invoice.amount_remaining = invoice.amount_due;
}
