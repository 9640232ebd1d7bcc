import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { BillingAccount, BillingRecords, UsageGrant } from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import type { StripeCalls } from './calls.ts';
import { type Catalogue, type CatalogueReader, idOf } from './catalogue.ts';
import { firstOfNextMonth } from './lowering.ts';
import type { Reading } from './reading.ts';
import { asking } from './stripe.ts';

export interface UsageCreditsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly clock: Clock;
}

const invoiceMark = 'quarry_invoice';

/**
 * What is paid for subscriptions in a month is deducted from the usage charges of that month: every paid invoice with a
 * tier on it becomes a credit that only metered prices use up, and that ends when the month has been invoiced.
 */
export class UsageCredits {
  readonly #options: UsageCreditsOptions;

  constructor(options: UsageCreditsOptions) {
    this.#options = options;
  }

  /** Grants what is missing; each invoice once. False: nothing that is read again changed by it. */
  async grant(organizationId: string, { customerId }: BillingAccount, { invoices }: Reading): Promise<false> {
    const { records, catalogue } = this.#options;
    const missing = invoices.filter(
      ({ id, status, amount_paid: paid }) =>
        status === 'paid' && paid > 0 && records.grant(organizationId, id) === undefined,
    );
    if (missing.length === 0 || customerId === null) return false;
    const known = await catalogue.read();
    const made = await this.#grantedAlready(customerId);
    for (const invoice of missing.reverse()) {
      const amount = await this.#paidForTier(invoice, known);
      const paidAt = (invoice.status_transitions?.paid_at ?? invoice.created) * 1_000;
      const grant: UsageGrant = { invoiceId: invoice.id, amount, paidAt };
      if (amount > 0 && !made.has(invoice.id) && known.metered.length > 0)
        await this.#make(organizationId, customerId, invoice, grant);
      await this.#options.store.write([records.putGrant(organizationId, grant)], { mayUseReserve: true });
    }
    return false;
  }

  async #make(
    organizationId: string,
    customer: string,
    { id, currency }: Stripe.Invoice,
    { amount, paidAt }: UsageGrant,
  ): Promise<void> {
    const { stripe, calls, clock } = this.#options;
    const expiresAt = Math.floor((firstOfNextMonth(paidAt) + limits.grantGraceMs) / 1_000);
    // Of a month that is over and invoiced nothing is left to deduct from.
    if (expiresAt * 1_000 <= clock.now()) return;
    await calls.run({ organizationId, name: `grant:${id}` }, (options) =>
      stripe.billing.creditGrants.create(
        {
          customer,
          name: 'Subscription payment',
          category: 'paid',
          amount: { type: 'monetary', monetary: { currency, value: amount } },
          applicability_config: { scope: { price_type: 'metered' } },
          expires_at: expiresAt,
          priority: 10,
          metadata: { [invoiceMark]: id, organization_id: organizationId },
        },
        options,
      ),
    );
  }

  /** Invoices whose credit was made, although nobody here saw it. */
  async #grantedAlready(customer: string): Promise<ReadonlySet<string>> {
    const { stripe } = this.#options;
    const { data } = await asking(() => stripe.billing.creditGrants.list({ customer, limit: 100 }));
    return new Set(data.flatMap(({ metadata }) => metadata?.[invoiceMark] ?? []));
  }

  /** Of what an invoice was paid with, the part for tiers: without use, taxes and what credit of the customer paid. */
  async #paidForTier(invoice: Stripe.Invoice, { prices, tierProducts }: Catalogue): Promise<number> {
    const tierPrices = new Set<string>(Object.values(prices));
    let sum = 0;
    for (const line of await this.#linesOf(invoice)) {
      const details = line.pricing?.price_details;
      const [price, product] = [details?.price, details?.product];
      const isTier =
        (price !== undefined && price !== null && tierPrices.has(idOf(price))) ||
        (product !== undefined && product !== null && tierProducts.has(product));
      if (!isTier) continue;
      const discounts = (line.discount_amounts ?? []).reduce((all, { amount }) => all + amount, 0);
      sum += line.amount - discounts;
    }
    return Math.max(0, Math.min(sum, invoice.amount_paid));
  }

  #linesOf({ id, lines }: Stripe.Invoice): Promise<readonly Stripe.InvoiceLineItem[]> {
    if (lines?.has_more === false) return Promise.resolve(lines.data);
    return asking(async () => {
      const found: Stripe.InvoiceLineItem[] = [];
      for await (const line of this.#options.stripe.invoices.listLineItems(id, { limit: 100 })) {
        found.push(line);
        if (found.length >= limits.invoiceLinesMax) break;
      }
      return found;
    });
  }
}
