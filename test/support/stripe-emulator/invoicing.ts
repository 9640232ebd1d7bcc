import { amountOf } from './amounts.ts';
import { applyGrants, changeBalance, checkCurrency } from './credits.ts';
import { meteredUsageOf } from './meter-usage.ts';
import {
  type ChargeOutcome,
  chargeInvoice,
  createPaymentIntent,
  defaultMethod,
  invoicePaymentOf,
  type PaymentAttempt,
  paymentIntentOf,
} from './payments.ts';
import { StripeApiError } from './stripe-error.ts';
import { daySeconds, hourSeconds, type StripeObject, type StripeState } from './stripe-state.ts';

/** Invoices from draft to paid or void. Effects of a payment on a subscription are in `subscription-lifecycle.ts`. */

/** Time during which the draft invoice of a renewal can be changed. */
const draftDurationSeconds = hourSeconds;
/** Days from the first attempt to each retry of an unpaid renewal. */
const retryDays = [3, 8, 15];

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
function updateTotals(invoice: StripeObject, credits: number): void {
  const sum = (invoice.lines.data as StripeObject[]).reduce((before, line) => before + line.amount, 0);
  invoice.subtotal = sum;
  invoice.subtotal_excluding_tax = sum;
  invoice.total = sum - credits;
  invoice.total_excluding_tax = invoice.total;
  invoice.amount_due = Math.max(0, invoice.total);
  invoice.amount_remaining = invoice.amount_due;
}

/** Adds usage reported while the invoice was a draft, then applies grants and the balance. */
export function finalizeInvoice(state: StripeState, invoice: StripeObject): void {
  if (invoice.status !== 'draft')
    throw new StripeApiError(
      'This invoice is already finalized, you can’t re-finalize a non-draft invoice.',
      {
        code: 'invoice_not_editable',
      },
    );
  updateUsageLines(state, invoice);
  updateTotals(invoice, 0);
  updateTotals(invoice, applyGrants(state, invoice));
  applyBalance(state, invoice);
  const customer = state.get('customer', invoice.customer);
  const count = state
    .listObjects('invoice')
    .filter((other) => other.customer === customer.id && other.number !== null).length;
  invoice.number = `${customer.invoice_prefix}-${String(count + 1).padStart(4, '0')}`;
  invoice.status = 'open';
  invoice.automatically_finalizes_at = null;
  invoice.effective_at = state.now;
  invoice.status_transitions.finalized_at = state.now;
  invoice.hosted_invoice_url = `${state.pagesUrl}/pay/${invoice.id}`;
  invoice.invoice_pdf = `${state.pagesUrl}/pay/${invoice.id}/pdf`;
  if (invoice.amount_remaining > 0) createPaymentIntent(state, invoice);
  state.recordEvent('invoice.finalized', invoice);
}

function updateUsageLines(state: StripeState, invoice: StripeObject): void {
  for (const line of invoice.lines.data as StripeObject[]) {
    const price = line.pricing === null ? null : state.find(line.pricing.price_details.price);
    const details = line.parent.subscription_item_details;
    const isUsage =
      price?.recurring?.usage_type === 'metered' && details !== null && details.invoice_item === null;
    if (!isUsage) continue;
    line.quantity = meteredUsageOf(state, price!.recurring.meter, invoice.customer, line.period);
    line.amount = amountOf(price!, line.quantity);
    line.subtotal = line.amount;
  }
}

/** Credit on the balance pays, debt on it is collected, and a negative invoice becomes credit. */
function applyBalance(state: StripeState, invoice: StripeObject): void {
  const customer = state.get('customer', invoice.customer);
  invoice.starting_balance = customer.balance;
  const applied = invoice.total < 0 ? invoice.total : Math.min(invoice.total, -customer.balance);
  if (applied !== 0) {
    changeBalance(state, customer, {
      type: 'applied_to_invoice',
      amount: applied,
      currency: invoice.currency,
      invoice: invoice.id,
    });
  }
  invoice.ending_balance = customer.balance;
  invoice.amount_due = Math.max(0, invoice.total - applied);
  invoice.amount_remaining = invoice.amount_due;
}

/** Attempts to collect an open invoice. An invoice with nothing to collect counts as paid. */
export function collectInvoice(
  state: StripeState,
  invoice: StripeObject,
  {
    method = defaultMethod(state, invoice),
    isAuthenticated: authenticated = false,
    isOffSession: absent = false,
  }: Partial<PaymentAttempt> = {},
): ChargeOutcome {
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible')
    throw new StripeApiError(`Invoice is already ${invoice.status}`, { code: 'invoice_not_editable' });
  const outcome =
    invoice.amount_remaining === 0
      ? 'paid'
      : chargeInvoice(state, invoice, { method, isAuthenticated: authenticated, isOffSession: absent });
  if (invoice.amount_remaining > 0) {
    invoice.attempted = true;
    invoice.attempt_count += 1;
  }
  if (outcome === 'paid') {
    markPaid(state, invoice);
    return outcome;
  }
  invoice.next_payment_attempt = nextAttemptAt(state, invoice);
  state.recordEvent('invoice.payment_failed', invoice);
  if (outcome === 'wants-authentication' || outcome === 'wants-customer')
    state.recordEvent('invoice.payment_action_required', invoice);
  return outcome;
}

function markPaid(state: StripeState, invoice: StripeObject): void {
  invoice.amount_paid = invoice.amount_remaining;
  invoice.amount_remaining = 0;
  invoice.status = 'paid';
  invoice.next_payment_attempt = null;
  invoice.status_transitions.paid_at = state.now;
  state.recordEvent('invoice.paid', invoice);
  state.recordEvent('invoice.payment_succeeded', invoice);
}

/** Only renewals are retried automatically. */
function nextAttemptAt(state: StripeState, invoice: StripeObject): number | null {
  if (invoice.billing_reason !== 'subscription_cycle') return null;
  const days = retryDays[invoice.attempt_count - 1];
  return days === undefined
    ? null
    : (invoice.status_transitions.finalized_at ?? state.now) + days * daySeconds;
}

/** Voids an invoice; the part paid from the balance is returned to it. */
export function voidInvoice(state: StripeState, invoice: StripeObject): void {
  if (invoice.status !== 'open' && invoice.status !== 'uncollectible')
    throw new StripeApiError(
      `You can only void an open or uncollectible invoice. This invoice is ${invoice.status}.`,
      { code: 'invoice_not_editable' },
    );
  const applied = invoice.starting_balance - invoice.ending_balance;
  if (applied !== 0) {
    changeBalance(state, state.get('customer', invoice.customer), {
      type: 'unapplied_from_invoice',
      amount: applied,
      currency: invoice.currency,
      invoice: invoice.id,
    });
  }
  const payment = invoicePaymentOf(state, invoice);
  const intent = paymentIntentOf(state, invoice);
  if (intent !== null) intent.status = 'canceled';
  if (payment !== null) payment.status = 'canceled';
  invoice.status = 'void';
  invoice.next_payment_attempt = null;
  invoice.amount_remaining = 0;
  invoice.status_transitions.voided_at = state.now;
  state.recordEvent('invoice.voided', invoice);
}
