import { Refusal } from './refusal.ts';
import type { Thing, World } from './world.ts';

/** The two purses of a customer: the balance, which any invoice draws on, and grants, which only usage draws on. */

/** A change of the balance: negative is credit. Its currency becomes the customer's. */
export function changeBalance(
  world: World,
  customer: Thing,
  change: {
    readonly type: 'adjustment' | 'applied_to_invoice' | 'unapplied_from_invoice';
    readonly amount: number;
    readonly currency: string;
    readonly invoice?: string;
    readonly description?: string;
    readonly metadata?: Record<string, string>;
  },
): Thing {
  checkCurrency(customer, change.currency);
  customer.currency = change.currency;
  customer.balance += change.amount;
  const transaction = world.add({
    id: world.id('cbtxn'),
    object: 'customer_balance_transaction',
    customer: customer.id,
    ending_balance: customer.balance,
    invoice: null,
    description: null,
    metadata: {},
    ...change,
  });
  world.happens('customer.updated', customer);
  return transaction;
}

export function checkCurrency(customer: Thing, currency: string): void {
  if (customer.currency === null || customer.currency === currency) return;
  throw new Refusal(
    `You cannot combine currencies on a single customer. This customer has had a subscription, coupon, or invoice item with currency ${customer.currency}.`,
  );
}

/** What is left of a grant. */
export function remainingOf(world: World, grant: Thing): number {
  const spent = world
    .all('billing.credit_balance_transaction')
    .filter((transaction) => transaction.credit_grant === grant.id && transaction.type === 'debit')
    .reduce((sum, transaction) => sum + transaction.debit.amount.monetary.value, 0);
  return grant.amount.monetary.value - spent;
}

export function usableGrants(world: World, customer: string, currency: string): Thing[] {
  const usable = (grant: Thing) =>
    grant.customer === customer &&
    grant.amount.monetary.currency === currency &&
    grant.voided_at === null &&
    (grant.effective_at ?? grant.created) <= world.now &&
    (grant.expires_at ?? Number.POSITIVE_INFINITY) > world.now &&
    remainingOf(world, grant) > 0;
  const expiry = (grant: Thing) => grant.expires_at ?? Number.POSITIVE_INFINITY;
  return world
    .all('billing.credit_grant')
    .filter(usable)
    .sort(
      (one, other) =>
        one.priority - other.priority || expiry(one) - expiry(other) || one.created - other.created,
    );
}

function covers(grant: Thing, price: Thing): boolean {
  const { scope } = grant.applicability_config;
  const named = (scope.prices ?? []) as { id: string }[];
  return named.length > 0
    ? named.some(({ id }) => id === price.id)
    : price.recurring?.usage_type === 'metered' && price.recurring.meter !== null;
}

/** Spends grants on the metered lines of an invoice that is being finalised; gives what they paid in all. */
export function spendGrants(world: World, invoice: Thing): number {
  let paid = 0;
  for (const line of invoice.lines.data as Thing[]) {
    const priceId = line.pricing?.price_details?.price;
    const price = priceId === undefined ? null : world.find(priceId);
    if (price === null || line.amount <= 0) continue;
    let due: number = line.amount;
    for (const grant of usableGrants(world, invoice.customer, invoice.currency)) {
      const value = Math.min(due, remainingOf(world, grant));
      if (value === 0 || !covers(grant, price)) continue;
      const transaction = debit(world, grant, { value, invoice: invoice.id, line: line.id });
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

function debit(world: World, grant: Thing, use: { value: number; invoice: string; line: string }): Thing {
  return world.add({
    id: world.id('cbtxn'),
    object: 'billing.credit_balance_transaction',
    credit: null,
    credit_grant: grant.id,
    debit: {
      amount: { type: 'monetary', monetary: { currency: grant.amount.monetary.currency, value: use.value } },
      credits_applied: { invoice: use.invoice, invoice_line_item: use.line },
      type: 'credits_applied',
    },
    effective_at: world.now,
    test_clock: null,
    type: 'debit',
  });
}
