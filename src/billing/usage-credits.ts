import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type {
  BillingAccount,
  BillingRecords,
  CreditWithdrawal,
  SubscriptionCopy,
  UsageGrant,
} from '../storage/billing.ts';
import type { Store } from '../storage/store.ts';
import { firstOfNextMonth } from './downgrade-manager.ts';
import { idOf, type PriceCatalog, type PriceCatalogReader } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';
import type { IdempotentStripeCalls } from './stripe-calls.ts';
import type { StripeSnapshot } from './stripe-reader.ts';
import { toMonth } from './usage-reporter.ts';

export interface UsageCreditsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: IdempotentStripeCalls;
  readonly catalog: PriceCatalogReader;
  readonly clock: Clock;
  readonly random: Random;
}

const invoiceMetadataKey = 'quarry_invoice';
/** Metadata keys of the credit that remains after a withdrawal, and of the credit returned from it. */
const keptMetadataKey = 'quarry_kept';
const returnedMetadataKey = 'quarry_returned';

/** Contents of the lines of an invoice. */
interface InvoiceContents {
  /** Cents for tiers, without discounts and taxes; negative if more is refunded than charged. */
  readonly tierCents: number;
  readonly charged: NonNullable<UsageGrant['charged']>;
  /** End of the usage that the invoice charges, in milliseconds since 1970; null without usage. */
  readonly usageEnd: number | null;
}

/** Refund of a payment for a tier. */
interface WithdrawalInput {
  readonly unused: number;
  /** Time in the refunded month, in milliseconds since 1970. */
  readonly at: number;
  /** Grants that still pay for usage. */
  readonly open: readonly Stripe.Billing.CreditGrant[];
  /** Open grants of earlier months. */
  readonly expired: readonly Stripe.Billing.CreditGrant[];
}

/**
 * Deducts the subscription payments of a month from the usage charges of that month. Each paid invoice with a
 * tier becomes a credit grant that applies to metered prices only and expires once the month has been
 * invoiced. A refund, as in a pause, withdraws the same amount from the remaining credit. The withdrawn
 * credit is restored when customer credit pays for a tier again.
 */
export class UsageCredits {
  readonly #options: UsageCreditsOptions;

  constructor(options: UsageCreditsOptions) {
    this.#options = options;
  }

  /** Settles each invoice once. Returns false, because it changes nothing that a read returns. */
  async settleInvoices(
    organizationId: string,
    { customerId }: BillingAccount,
    reading: StripeSnapshot,
  ): Promise<false> {
    const { records } = this.#options;
    if (customerId === null) return false;
    const isSettled = ({ id }: Stripe.Invoice) => records.findGrant(organizationId, id) !== undefined;
    for (const invoice of reading.invoices.filter((one) => !isSettled(one)).reverse())
      if (isFinalized(invoice)) await this.#settleInvoice(organizationId, customerId, invoice);
    // A draft invoice of a pause may still be finalized.
    const isWritten = reading.invoices.every(
      ({ status, billing_reason: reason }) => status !== 'draft' || reason === 'subscription_cycle',
    );
    if (reading.copy.subscription?.status !== 'paused' && isWritten)
      await this.returnWithdrawn(organizationId);
    return false;
  }

  /**
   * Withdraws credit before a pause: the amount of this month's credit that the pause refunds, and the
   * remaining credit of an already invoiced month. The withdrawal is stored first, so that it is returned if
   * the pause does not happen.
   */
  async withdraw(
    organizationId: string,
    { customerId, copy }: BillingAccount,
    { id, itemId, periodStart }: SubscriptionCopy,
  ): Promise<void> {
    if (customerId === null) return;
    const open = await this.#listOpenGrants(customerId);
    if (open.length === 0) return;
    const now = this.#options.clock.now();
    const isInvoiced = copy?.invoices.every(({ status }) => status !== 'draft') === true;
    const expired = open.filter((grant) => isInvoiced && isMonthOver(grant, periodStart ?? 0));
    const [priceCatalog, preview] = await Promise.all([
      this.#options.catalog.read(),
      this.#previewRemoval(id, itemId),
    ]);
    const unused = Math.max(0, -readContents(preview.lines.data, priceCatalog).tierCents);
    await this.#withdrawCredit(organizationId, customerId, { unused, at: now, open, expired });
  }

  /** Returns credit withdrawn for a pause that did not happen. */
  async returnWithdrawn(organizationId: string): Promise<void> {
    const { store, records } = this.#options;
    const account = records.getAccount(organizationId);
    const { customerId, withdrawal } = account;
    if (withdrawal === null) return;
    if (customerId !== null) {
      await this.#applyWithdrawal(organizationId, customerId, withdrawal);
      const { nonce, currency, expiresAt, taken } = withdrawal;
      const metadataEntry = { [returnedMetadataKey]: nonce };
      await this.#createGrant(organizationId, customerId, {
        metadataEntry,
        currency,
        expiresAt,
        amount: taken,
      });
    }
    const ended = records.putAccount(organizationId, {
      ...records.getAccount(organizationId),
      withdrawal: null,
    });
    await store.write(ended, { mayUseReserve: true });
  }

  async #settleInvoice(organizationId: string, customerId: string, invoice: Stripe.Invoice): Promise<void> {
    const { store, records, catalog } = this.#options;
    const priceCatalog = await catalog.read();
    const contents = readContents(await this.#listLines(invoice), priceCatalog);
    const { tierCents } = contents;
    if (invoice.status !== 'paid' && tierCents >= 0) return;
    const { amount, paidCredit } =
      tierCents > 0
        ? await this.#grantCredit(organizationId, customerId, { invoice, tierCents, priceCatalog })
        : await this.#reverseCredit(organizationId, customerId, { invoice, tierCents });
    const grant = toUsageGrant(invoice, contents, amount);
    const account = { ...records.getAccount(organizationId), paidCredit };
    await store.write(
      [
        records.putGrant(organizationId, grant),
        ...records.putAccount(organizationId, tierCents < 0 ? { ...account, withdrawal: null } : account),
      ],
      { mayUseReserve: true },
    );
  }

  /**
   * Grants the part of a payment that was for tiers: without usage, taxes, and credit that was never paid
   * for.
   */
  async #grantCredit(
    organizationId: string,
    customerId: string,
    {
      invoice,
      tierCents,
      priceCatalog,
    }: { readonly invoice: Stripe.Invoice; readonly tierCents: number; readonly priceCatalog: PriceCatalog },
  ): Promise<{ readonly amount: number; readonly paidCredit: number }> {
    const { paidCredit } = this.#options.records.getAccount(organizationId);
    const fromCredit = Math.min(paidCredit, Math.max(0, creditUsedBy(invoice)));
    const amount = Math.min(tierCents, invoice.amount_paid + fromCredit);
    const { id, currency } = invoice;
    if (priceCatalog.meteredPriceIds.length > 0)
      await this.#createGrant(organizationId, customerId, {
        ...{ metadataEntry: { [invoiceMetadataKey]: id }, currency, amount },
        expiresAt: expiryOf(paidAtOf(invoice)),
      });
    return { amount, paidCredit: paidCredit - fromCredit };
  }

  /**
   * Reverses credit for a refund. A refunded payment that became customer credit counts as paid again when it
   * pays for a tier.
   */
  async #reverseCredit(
    organizationId: string,
    customerId: string,
    { invoice, tierCents }: { readonly invoice: Stripe.Invoice; readonly tierCents: number },
  ): Promise<{ readonly amount: number; readonly paidCredit: number }> {
    const { records } = this.#options;
    const at = invoice.created * 1_000;
    // Refunds made by hand at Stripe have no prior withdrawal.
    if (tierCents < 0 && records.getAccount(organizationId).withdrawal === null) {
      const open = await this.#listOpenGrants(customerId);
      await this.#withdrawCredit(organizationId, customerId, { unused: -tierCents, at, open, expired: [] });
    }
    const { withdrawal, paidCredit } = records.getAccount(organizationId);
    const used = creditUsedBy(invoice);
    if (tierCents === 0 || withdrawal === null)
      return { amount: 0, paidCredit: Math.max(0, paidCredit - Math.max(0, used)) };
    await this.#applyWithdrawal(organizationId, customerId, withdrawal);
    const { taken } = withdrawal;
    return { amount: -taken, paidCredit: Math.max(0, paidCredit + Math.min(taken, -used)) };
  }

  /** Stores a withdrawal from the credit of a month and applies it. `expired`: further grants to end. */
  async #withdrawCredit(
    organizationId: string,
    customerId: string,
    { unused, at, open, expired }: WithdrawalInput,
  ): Promise<void> {
    const { store, records, random } = this.#options;
    const expiresAt = expiryOf(at);
    const current = open.filter(({ expires_at: end }) => end === expiresAt);
    const rests = await Promise.all(current.map(({ id }) => this.#readRemaining(customerId, id)));
    const left = rests.reduce((sum, rest) => sum + rest, 0);
    const taken = Math.min(left, unused);
    const ended = (taken === 0 ? expired : [...expired, ...current]).map(({ id }) => id);
    if (ended.length === 0) return;
    const currency = current[0]?.amount.monetary?.currency ?? this.#options.catalog.plans.currency;
    const withdrawal: CreditWithdrawal = {
      ...{ nonce: random.uuid(), taken, kept: taken === 0 ? 0 : left - taken },
      ...{ ended, currency, expiresAt },
    };
    const account = { ...records.getAccount(organizationId), withdrawal };
    await store.write(records.putAccount(organizationId, account), { mayUseReserve: true });
    await this.#applyWithdrawal(organizationId, customerId, withdrawal);
  }

  /** Grants the kept amount before the old grants expire, so that a crash in between loses no credit. */
  async #applyWithdrawal(
    organizationId: string,
    customerId: string,
    withdrawal: CreditWithdrawal,
  ): Promise<void> {
    const { stripe, calls } = this.#options;
    const { nonce, kept, ended, currency, expiresAt } = withdrawal;
    const metadataEntry = { [keptMetadataKey]: nonce };
    await this.#createGrant(organizationId, customerId, { metadataEntry, currency, expiresAt, amount: kept });
    const open = await this.#listOpenGrants(customerId);
    for (const { id } of open.filter((grant) => ended.includes(grant.id)))
      await calls.run({ organizationId, name: `expire:${id}` }, (options) =>
        stripe.billing.creditGrants.expire(id, {}, options),
      );
  }

  /**
   * Creates a grant. Idempotent per metadata entry. Does nothing for a month that is over and invoiced, which
   * has no charges left to deduct from.
   */
  async #createGrant(
    organizationId: string,
    customer: string,
    grant: {
      readonly metadataEntry: Readonly<Record<string, string>>;
      readonly currency: string;
      readonly expiresAt: number;
      readonly amount: number;
    },
  ): Promise<void> {
    const { stripe, calls, clock } = this.#options;
    const { metadataEntry, currency, expiresAt, amount } = grant;
    if (amount <= 0 || expiresAt * 1_000 <= clock.now()) return;
    const [[name, value] = ['', '']] = Object.entries(metadataEntry);
    if ((await this.#listGrants(customer)).some(({ metadata }) => metadata?.[name] === value)) return;
    await calls.run({ organizationId, name: `grant:${name}:${value}` }, (options) =>
      stripe.billing.creditGrants.create(
        {
          customer,
          name: 'Subscription payment',
          category: 'paid',
          amount: { type: 'monetary', monetary: { currency, value: amount } },
          applicability_config: { scope: { price_type: 'metered' } },
          expires_at: expiresAt,
          priority: 10,
          metadata: { ...metadataEntry, organization_id: organizationId },
        },
        options,
      ),
    );
  }

  /** Returns grants created by this server that pay for usage until their month expires. */
  async #listOpenGrants(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const now = this.#options.clock.now() / 1_000;
    return (await this.#listGrants(customer)).filter(
      ({ metadata, voided_at: voided, expires_at: end }) =>
        [invoiceMetadataKey, keptMetadataKey, returnedMetadataKey].some(
          (metadataEntry) => metadata?.[metadataEntry] !== undefined,
        ) &&
        !voided &&
        (end ?? 0) > now &&
        expiresWithMonth(end ?? 0),
    );
  }

  async #listGrants(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const { stripe } = this.#options;
    const { data } = await mapStripeErrors(() => stripe.billing.creditGrants.list({ customer, limit: 100 }));
    return data;
  }

  async #readRemaining(customer: string, grant: string): Promise<number> {
    const { stripe } = this.#options;
    const filter = { type: 'credit_grant', credit_grant: grant } as const;
    const { balances } = await mapStripeErrors(() =>
      stripe.billing.creditBalanceSummaries.retrieve({ customer, filter }),
    );
    return balances.reduce((sum, { available_balance: left }) => sum + (left.monetary?.value ?? 0), 0);
  }

  /**
   * Previews the invoice for removing the tier from a subscription now, which shows the unused part of the
   * payment.
   */
  #previewRemoval(subscription: string, item: string): Promise<Stripe.Invoice> {
    const { stripe } = this.#options;
    return mapStripeErrors(() =>
      stripe.invoices.createPreview({
        subscription,
        subscription_details: {
          items: [{ id: item, deleted: true }],
          proration_behavior: 'always_invoice',
        },
      }),
    );
  }

  #listLines({ id, lines }: Stripe.Invoice): Promise<readonly Stripe.InvoiceLineItem[]> {
    if (lines?.has_more === false) return Promise.resolve(lines.data);
    return mapStripeErrors(async () => {
      const found: Stripe.InvoiceLineItem[] = [];
      for await (const line of this.#options.stripe.invoices.listLineItems(id, { limit: 100 })) {
        found.push(line);
        if (found.length >= limits.invoiceLinesMax) break;
      }
      return found;
    });
  }
}

/** Whether the amounts of the invoice are final. */
function isFinalized({ status }: Stripe.Invoice): boolean {
  return status === 'paid' || status === 'open' || status === 'uncollectible';
}

function readContents(lines: readonly Stripe.InvoiceLineItem[], priceCatalog: PriceCatalog): InvoiceContents {
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
function toUsageGrant(
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

function paidAtOf({ status_transitions: { paid_at: paidAt }, created }: Stripe.Invoice): number {
  return (paidAt ?? created) * 1_000;
}

/** Customer credit used by an invoice; negative if the invoice added credit. */
function creditUsedBy({ starting_balance: before, ending_balance: after }: Stripe.Invoice): number {
  return (after ?? before) - before;
}

/**
 * Expiry in seconds since 1970: the grant of a month expires once the usage of that month has been invoiced.
 */
function expiryOf(paidAt: number): number {
  return Math.floor((firstOfNextMonth(paidAt) + limits.grantGraceMs) / 1_000);
}

/**
 * Whether a grant expires with its month. One that was ended earlier does not, even if the clock of Stripe is
 * ahead.
 */
function expiresWithMonth(end: number): boolean {
  return expiryOf(end * 1_000 - limits.grantGraceMs - 1) === end;
}

/**
 * Whether the month of a grant ended before the current period started. `periodStart`: milliseconds since
 * 1970.
 */
function isMonthOver({ expires_at: end }: Stripe.Billing.CreditGrant, periodStart: number): boolean {
  return (end ?? 0) * 1_000 - limits.grantGraceMs <= periodStart;
}
