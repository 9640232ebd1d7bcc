import { amountOf } from './amounts.ts';
import { applyGrants, changeBalance } from './credits.ts';
import { updateTotals } from './invoicing.ts';
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
import { daySeconds, type StripeObject, type StripeState } from './stripe-state.ts';

/**
 * Finalization, collection and voiding of invoices. Effects of a payment on a subscription are in
 * `subscription-lifecycle.ts`.
 */

/** Days from the first attempt to each retry of an unpaid renewal. */
const retryDays = [3, 8, 15];

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
