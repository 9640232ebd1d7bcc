import type Stripe from 'stripe';
import { limits } from '../core/limits.ts';
import type { UsageGrant } from '../storage/billing.ts';
import { toMonth } from './billing-months.ts';
import { idOf, type PriceCatalog } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';

/** Contents of the lines of an invoice. */
export interface InvoiceContents {
  /** Cents for tiers, without discounts and taxes; negative if more is refunded than charged. */
  readonly tierCents: number;
  readonly charged: NonNullable<UsageGrant['charged']>;
  /** End of the usage that the invoice charges, in milliseconds since the epoch; null without usage. */
  readonly usageEnd: number | null;
}

/** Whether the amounts of the invoice are final. */
export function isFinalized({ status }: Stripe.Invoice): boolean {
  return status === 'paid' || status === 'open' || status === 'uncollectible';
}

/** Lists the lines of an invoice, up to `limits.invoiceLinesMax`. */
export function listInvoiceLines(
  stripe: Stripe,
  { id, lines }: Stripe.Invoice,
): Promise<readonly Stripe.InvoiceLineItem[]> {
  if (lines?.has_more === false) return Promise.resolve(lines.data);
  return mapStripeErrors(async () => {
    const found: Stripe.InvoiceLineItem[] = [];
    for await (const line of stripe.invoices.listLineItems(id, { limit: 100 })) {
      found.push(line);
      if (found.length >= limits.invoiceLinesMax) break;
    }
    return found;
  });
}

/** Sums the lines of an invoice by what they charge for. */
export function readContents(
  lines: readonly Stripe.InvoiceLineItem[],
  priceCatalog: PriceCatalog,
): InvoiceContents {
  const tierPrices = new Set<string>(Object.values(priceCatalog.prices));
  let tierCents = 0;
  const charged = { embed: 0, rerank: 0 };
  let usageEnd: number | null = null;
  for (const { amount, discount_amounts: discounts, period, pricing, quantity } of lines) {
    const { price, product } = pricing?.price_details ?? {};
    const priceId = price === undefined || price === null ? '' : idOf(price);
    const metric = priceCatalog.metricByPriceId.get(priceId);
    if (metric !== undefined) {
      charged[metric] += quantity ?? 0;
      usageEnd = period.end * 1_000;
    } else if (tierPrices.has(priceId) || priceCatalog.tierProductIds.has(product ?? '')) {
      tierCents += amount - (discounts ?? []).reduce((all, one) => all + one.amount, 0);
    }
  }
  return { tierCents, charged, usageEnd };
}

/**
 * Local record of an invoice. The invoice of an ended month is created in the next month and charges no usage
 * of that next month.
 */
export function toUsageGrant(
  invoice: Stripe.Invoice,
  { tierCents, charged, usageEnd }: InvoiceContents,
  amount: number,
): UsageGrant {
  const created = invoice.created * 1_000;
  const grant = { invoiceId: invoice.id, amount, paidAt: tierCents > 0 ? paidAtOf(invoice) : created };
  if (usageEnd === null || toMonth(usageEnd - 1) !== toMonth(created)) return grant;
  const spent = (invoice.total_pretax_credit_amounts ?? [])
    .filter(({ type }) => type === 'credit_balance_transaction')
    .reduce((sum, one) => sum + one.amount, 0);
  return { ...grant, spent, charged };
}

/** Milliseconds since the epoch. */
export function paidAtOf({ status_transitions: { paid_at: paidAt }, created }: Stripe.Invoice): number {
  return (paidAt ?? created) * 1_000;
}

/** Customer credit used by an invoice; negative if the invoice added credit. */
export function creditUsedBy({ starting_balance: before, ending_balance: after }: Stripe.Invoice): number {
  return (after ?? before) - before;
}
