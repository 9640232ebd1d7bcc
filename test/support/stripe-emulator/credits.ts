import { StripeApiError } from './stripe-error.ts';
import type { StripeObject, StripeState } from './stripe-state.ts';

/** Customer credit: the balance applies to any invoice; credit grants apply only to metered usage. */

/** Changes the balance; a negative amount is credit. Sets the customer's currency to that of the change. */
export function changeBalance(
  state: StripeState,
  customer: StripeObject,
  change: {
    readonly type: 'adjustment' | 'applied_to_invoice' | 'unapplied_from_invoice';
    readonly amount: number;
    readonly currency: string;
    readonly invoice?: string;
    readonly description?: string;
    readonly metadata?: Record<string, string>;
  },
): StripeObject {
  checkCurrency(customer, change.currency);
  customer.currency = change.currency;
  customer.balance += change.amount;
  const transaction = state.add({
    id: state.nextId('cbtxn'),
    object: 'customer_balance_transaction',
    customer: customer.id,
    ending_balance: customer.balance,
    invoice: null,
    description: null,
    metadata: {},
    ...change,
  });
  state.recordEvent('customer.updated', customer);
  return transaction;
}

export function checkCurrency(customer: StripeObject, currency: string): void {
  if (customer.currency === null || customer.currency === currency) return;
  throw new StripeApiError(
    `You cannot combine currencies on a single customer. This customer has had a subscription, coupon, or invoice item with currency ${customer.currency}.`,
  );
}

/** Unspent amount of a grant. */
export function remainingOf(state: StripeState, grant: StripeObject): number {
  const debits = state
    .listObjects('billing.credit_balance_transaction')
    .filter((transaction) => transaction.credit_grant === grant.id && transaction.type === 'debit')
    .reduce((sum, transaction) => sum + transaction.debit.amount.monetary.value, 0);
  return grant.amount.monetary.value - debits;
}

export function applicableGrants(state: StripeState, customer: string, currency: string): StripeObject[] {
  const usable = (grant: StripeObject) =>
    grant.customer === customer &&
    grant.amount.monetary.currency === currency &&
    grant.voided_at === null &&
    (grant.effective_at ?? grant.created) <= state.now &&
    (grant.expires_at ?? Number.POSITIVE_INFINITY) > state.now &&
    remainingOf(state, grant) > 0;
  const expiry = (grant: StripeObject) => grant.expires_at ?? Number.POSITIVE_INFINITY;
  return state
    .listObjects('billing.credit_grant')
    .filter(usable)
    .sort(
      (one, other) =>
        one.priority - other.priority || expiry(one) - expiry(other) || one.created - other.created,
    );
}

function isGrantFor(grant: StripeObject, price: StripeObject): boolean {
  const { scope } = grant.applicability_config;
  const named = (scope.prices ?? []) as { id: string }[];
  return named.length > 0
    ? named.some(({ id }) => id === price.id)
    : price.recurring?.usage_type === 'metered' && price.recurring.meter !== null;
}

/** Applies grants to the metered lines of an invoice during finalization; returns the sum of the credits. */
export function applyGrants(state: StripeState, invoice: StripeObject): number {
  let paid = 0;
  for (const line of invoice.lines.data as StripeObject[]) {
    const priceId = line.pricing?.price_details?.price;
    const price = priceId === undefined ? null : state.find(priceId);
    if (price === null || line.amount <= 0) continue;
    let due: number = line.amount;
    for (const grant of applicableGrants(state, invoice.customer, invoice.currency)) {
      const value = Math.min(due, remainingOf(state, grant));
      if (value === 0 || !isGrantFor(grant, price)) continue;
      const transaction = debitGrant(state, grant, { value, invoice: invoice.id, line: line.id });
      const amount = {
        amount: value,
        credit_balance_transaction: transaction.id,
        type: 'credit_balance_transaction',
      };
      line.pretax_credit_amounts.push(amount);
      invoice.total_pretax_credit_amounts.push(amount);
      due -= value;
      paid += value;
    }
  }
  return paid;
}

function debitGrant(
  state: StripeState,
  grant: StripeObject,
  debitInput: { value: number; invoice: string; line: string },
): StripeObject {
  return state.add({
    id: state.nextId('cbtxn'),
    object: 'billing.credit_balance_transaction',
    credit: null,
    credit_grant: grant.id,
    debit: {
      amount: {
        type: 'monetary',
        monetary: { currency: grant.amount.monetary.currency, value: debitInput.value },
      },
      credits_applied: { invoice: debitInput.invoice, invoice_line_item: debitInput.line },
      type: 'credits_applied',
    },
    effective_at: state.now,
    test_clock: null,
    type: 'debit',
  });
}
