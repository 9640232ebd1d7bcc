import type Stripe from 'stripe';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { BillingAccount, CreditWithdrawal, SubscriptionCopy } from '../storage/billing-account.ts';
import type { Store } from '../storage/store.ts';
import {
  type CreditGrants,
  expiryOf,
  invoiceMetadataKey,
  isMonthOver,
  keptMetadataKey,
  returnedMetadataKey,
} from './credit-grants.ts';
import {
  creditUsedBy,
  isFinalized,
  listInvoiceLines,
  paidAtOf,
  readContents,
  toUsageGrant,
} from './invoice-contents.ts';
import { planStateOf } from './plan-states.ts';
import type { PriceCatalog, PriceCatalogReader } from './price-catalog.ts';
import { mapStripeErrors } from './stripe.ts';
import type { StripeSnapshot } from './stripe-reader.ts';

export interface UsageCreditsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly grants: CreditGrants;
  readonly catalog: PriceCatalogReader;
  readonly clock: Clock;
  readonly random: Random;
}

/** Refund of a payment for a tier. */
interface WithdrawalInput {
  readonly unused: number;
  /** Time in the refunded month, in milliseconds since the epoch. */
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
    if (planStateOf(reading.copy.subscription) !== 'paused' && isWritten)
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
    const open = await this.#options.grants.listOpen(customerId);
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
      await this.#options.grants.create(organizationId, customerId, {
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
    const { stripe, store, records, catalog } = this.#options;
    const priceCatalog = await catalog.read();
    const contents = readContents(await listInvoiceLines(stripe, invoice), priceCatalog);
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
      await this.#options.grants.create(organizationId, customerId, {
        metadataEntry: { [invoiceMetadataKey]: id },
        currency,
        amount,
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
    // Refunds made by hand in Stripe have no prior withdrawal.
    if (tierCents < 0 && records.getAccount(organizationId).withdrawal === null) {
      const open = await this.#options.grants.listOpen(customerId);
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
    const { store, records, random, grants, catalog } = this.#options;
    const expiresAt = expiryOf(at);
    const current = open.filter(({ expires_at: end }) => end === expiresAt);
    const remainders = await Promise.all(current.map(({ id }) => grants.readRemaining(customerId, id)));
    const left = remainders.reduce((sum, rest) => sum + rest, 0);
    const taken = Math.min(left, unused);
    const ended = (taken === 0 ? expired : [...expired, ...current]).map(({ id }) => id);
    if (ended.length === 0) return;
    const currency = current[0]?.amount.monetary?.currency ?? catalog.plans.currency;
    const withdrawal: CreditWithdrawal = {
      nonce: random.uuid(),
      taken,
      kept: taken === 0 ? 0 : left - taken,
      ended,
      currency,
      expiresAt,
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
    const { grants } = this.#options;
    const { nonce, kept, ended, currency, expiresAt } = withdrawal;
    const metadataEntry = { [keptMetadataKey]: nonce };
    await grants.create(organizationId, customerId, { metadataEntry, currency, expiresAt, amount: kept });
    const open = await grants.listOpen(customerId);
    for (const { id } of open.filter((grant) => ended.includes(grant.id)))
      await grants.expire(organizationId, id);
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
}
