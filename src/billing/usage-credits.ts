import type Stripe from 'stripe';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type {
  BillingAccount,
  BillingRecords,
  SubscriptionCopy,
  UsageGrant,
  Withdrawal,
} from '../store/billing.ts';
import type { Store } from '../store/store.ts';
import type { StripeCalls } from './calls.ts';
import { type Catalogue, type CatalogueReader, idOf } from './catalogue.ts';
import { firstOfNextMonth } from './lowering.ts';
import type { Reading } from './reading.ts';
import { asking } from './stripe.ts';
import { monthOf } from './usage-reports.ts';

export interface UsageCreditsOptions {
  readonly stripe: Stripe;
  readonly store: Store;
  readonly records: BillingRecords;
  readonly calls: StripeCalls;
  readonly catalogue: CatalogueReader;
  readonly clock: Clock;
  readonly chance: Chance;
}

const invoiceMark = 'quarry_invoice';
/** Of what is left of a withdrawal, and of what came back of it. */
const keptMark = 'quarry_kept';
const returnedMark = 'quarry_returned';

/** What the lines of an invoice say. */
interface Contents {
  /** Cents for tiers, without discounts and taxes; negative where more is given back than charged. */
  readonly forTiers: number;
  readonly charged: NonNullable<UsageGrant['charged']>;
  /** The end of the usage that it charges, in milliseconds; null without usage. */
  readonly usageEnd: number | null;
}

/** What is given back of what was paid for a tier. */
interface GivenBack {
  readonly unused: number;
  /** In milliseconds: of which month. */
  readonly at: number;
  /** The credits that still pay for use. */
  readonly open: readonly Stripe.Billing.CreditGrant[];
  /** Those of them that are of months before. */
  readonly over: readonly Stripe.Billing.CreditGrant[];
}

/**
 * What is paid for subscriptions in a month is deducted from the usage charges of that month: every paid invoice with a
 * tier on it becomes a credit that only metered prices use up, and that ends when the month has been invoiced. What is
 * given back, as a pause does, was paid for no subscription: as much is withdrawn of what is left of that credit, and
 * comes back when the customer's credit pays for a tier again.
 */
export class UsageCredits {
  readonly #options: UsageCreditsOptions;

  constructor(options: UsageCreditsOptions) {
    this.#options = options;
  }

  /** Does for each invoice what follows from it, once. False: nothing that is read again changed by it. */
  async settle(organizationId: string, { customerId }: BillingAccount, reading: Reading): Promise<false> {
    const { records } = this.#options;
    if (customerId === null) return false;
    const isSettled = ({ id }: Stripe.Invoice) => records.grant(organizationId, id) !== undefined;
    for (const invoice of reading.invoices.filter((one) => !isSettled(one)).reverse())
      if (isFinal(invoice)) await this.#settleOne(organizationId, customerId, invoice);
    // An invoice of a pause that is not written yet may still come.
    const isWritten = reading.invoices.every(
      ({ status, billing_reason: reason }) => status !== 'draft' || reason === 'subscription_cycle',
    );
    if (reading.copy.subscription?.status !== 'paused' && isWritten) await this.giveBack(organizationId);
    return false;
  }

  /**
   * Before a pause: as much of this month's credit as that gives back pays for no use any more, nor does what is left of
   * a month that was invoiced. Noted before it is done: a pause that does not come gives it back.
   */
  async withdraw(
    organizationId: string,
    { customerId, copy }: BillingAccount,
    { id, itemId, periodStart }: SubscriptionCopy,
  ): Promise<void> {
    if (customerId === null) return;
    const open = await this.#open(customerId);
    if (open.length === 0) return;
    const now = this.#options.clock.now();
    const isInvoiced = copy?.invoices.every(({ status }) => status !== 'draft') === true;
    const over = open.filter((grant) => isInvoiced && isOver(grant, periodStart ?? 0));
    const [known, preview] = await Promise.all([
      this.#options.catalogue.read(),
      this.#previewWithout(id, itemId),
    ]);
    const unused = Math.max(0, -contentsOf(preview.lines.data, known).forTiers);
    await this.#withdraw(organizationId, customerId, { unused, at: now, open, over });
  }

  /** What was withdrawn for a pause that did not come. */
  async giveBack(organizationId: string): Promise<void> {
    const { store, records } = this.#options;
    const account = records.account(organizationId);
    const { customerId, withdrawal } = account;
    if (withdrawal === null) return;
    if (customerId !== null) {
      await this.#carryOut(organizationId, customerId, withdrawal);
      const { nonce, currency, expiresAt, taken } = withdrawal;
      const mark = { [returnedMark]: nonce };
      await this.#make(organizationId, customerId, { mark, currency, expiresAt, amount: taken });
    }
    const ended = records.putAccount(organizationId, {
      ...records.account(organizationId),
      withdrawal: null,
    });
    await store.write(ended, { mayUseReserve: true });
  }

  async #settleOne(organizationId: string, customerId: string, invoice: Stripe.Invoice): Promise<void> {
    const { store, records, catalogue } = this.#options;
    const known = await catalogue.read();
    const contents = contentsOf(await this.#linesOf(invoice), known);
    const { forTiers } = contents;
    if (invoice.status !== 'paid' && forTiers >= 0) return;
    const { amount, paidCredit } =
      forTiers > 0
        ? await this.#grant(organizationId, customerId, { invoice, forTiers, known })
        : await this.#takeBack(organizationId, customerId, { invoice, forTiers });
    const grant = grantOf(invoice, contents, amount);
    const account = { ...records.account(organizationId), paidCredit };
    await store.write(
      [
        records.putGrant(organizationId, grant),
        ...records.putAccount(organizationId, forTiers < 0 ? { ...account, withdrawal: null } : account),
      ],
      { mayUseReserve: true },
    );
  }

  /** The part for tiers of what an invoice was paid with: without use, taxes, and credit that was never paid. */
  async #grant(
    organizationId: string,
    customerId: string,
    {
      invoice,
      forTiers,
      known,
    }: { readonly invoice: Stripe.Invoice; readonly forTiers: number; readonly known: Catalogue },
  ): Promise<{ readonly amount: number; readonly paidCredit: number }> {
    const { paidCredit } = this.#options.records.account(organizationId);
    const fromCredit = Math.min(paidCredit, Math.max(0, creditUsedBy(invoice)));
    const amount = Math.min(forTiers, invoice.amount_paid + fromCredit);
    const { id, currency } = invoice;
    if (known.metered.length > 0)
      await this.#make(organizationId, customerId, {
        ...{ mark: { [invoiceMark]: id }, currency, amount },
        expiresAt: expiryOf(paidAtOf(invoice)),
      });
    return { amount, paidCredit: paidCredit - fromCredit };
  }

  /** What became credit of the customer and was paid once counts as paid again, where it pays for a tier. */
  async #takeBack(
    organizationId: string,
    customerId: string,
    { invoice, forTiers }: { readonly invoice: Stripe.Invoice; readonly forTiers: number },
  ): Promise<{ readonly amount: number; readonly paidCredit: number }> {
    const { records } = this.#options;
    const at = invoice.created * 1_000;
    // Of what was given back by hand at Stripe nothing was withdrawn before.
    if (forTiers < 0 && records.account(organizationId).withdrawal === null) {
      const open = await this.#open(customerId);
      await this.#withdraw(organizationId, customerId, { unused: -forTiers, at, open, over: [] });
    }
    const { withdrawal, paidCredit } = records.account(organizationId);
    const used = creditUsedBy(invoice);
    if (forTiers === 0 || withdrawal === null)
      return { amount: 0, paidCredit: Math.max(0, paidCredit - Math.max(0, used)) };
    await this.#carryOut(organizationId, customerId, withdrawal);
    const { taken } = withdrawal;
    return { amount: -taken, paidCredit: Math.max(0, paidCredit + Math.min(taken, -used)) };
  }

  /** Notes what is withdrawn of the credit of a month, and does it; `over`: what ends besides. */
  async #withdraw(
    organizationId: string,
    customerId: string,
    { unused, at, open, over }: GivenBack,
  ): Promise<void> {
    const { store, records, chance } = this.#options;
    const expiresAt = expiryOf(at);
    const current = open.filter(({ expires_at: end }) => end === expiresAt);
    const rests = await Promise.all(current.map(({ id }) => this.#remainingOf(customerId, id)));
    const left = rests.reduce((sum, rest) => sum + rest, 0);
    const taken = Math.min(left, unused);
    const ended = (taken === 0 ? over : [...over, ...current]).map(({ id }) => id);
    if (ended.length === 0) return;
    const currency = current[0]?.amount.monetary?.currency ?? this.#options.catalogue.plans.currency;
    const withdrawal: Withdrawal = {
      ...{ nonce: chance.uuid(), taken, kept: taken === 0 ? 0 : left - taken },
      ...{ ended, currency, expiresAt },
    };
    const account = { ...records.account(organizationId), withdrawal };
    await store.write(records.putAccount(organizationId, account), { mayUseReserve: true });
    await this.#carryOut(organizationId, customerId, withdrawal);
  }

  /** What is kept is granted before what there was ends, so that a crash between them takes nothing. */
  async #carryOut(organizationId: string, customerId: string, withdrawal: Withdrawal): Promise<void> {
    const { stripe, calls } = this.#options;
    const { nonce, kept, ended, currency, expiresAt } = withdrawal;
    const mark = { [keptMark]: nonce };
    await this.#make(organizationId, customerId, { mark, currency, expiresAt, amount: kept });
    const open = await this.#open(customerId);
    for (const { id } of open.filter((grant) => ended.includes(grant.id)))
      await calls.run({ organizationId, name: `expire:${id}` }, (options) =>
        stripe.billing.creditGrants.expire(id, {}, options),
      );
  }

  /** One credit for each mark, however often. Of a month that is over and invoiced nothing is left to deduct from. */
  async #make(
    organizationId: string,
    customer: string,
    grant: {
      readonly mark: Readonly<Record<string, string>>;
      readonly currency: string;
      readonly expiresAt: number;
      readonly amount: number;
    },
  ): Promise<void> {
    const { stripe, calls, clock } = this.#options;
    const { mark, currency, expiresAt, amount } = grant;
    if (amount <= 0 || expiresAt * 1_000 <= clock.now()) return;
    const [[name, value] = ['', '']] = Object.entries(mark);
    if ((await this.#all(customer)).some(({ metadata }) => metadata?.[name] === value)) return;
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
          metadata: { ...mark, organization_id: organizationId },
        },
        options,
      ),
    );
  }

  /** Those made here that pay for use until their month lapses. */
  async #open(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const now = this.#options.clock.now() / 1_000;
    return (await this.#all(customer)).filter(
      ({ metadata, voided_at: voided, expires_at: end }) =>
        [invoiceMark, keptMark, returnedMark].some((mark) => metadata?.[mark] !== undefined) &&
        !voided &&
        (end ?? 0) > now &&
        lapsesWithMonth(end ?? 0),
    );
  }

  async #all(customer: string): Promise<Stripe.Billing.CreditGrant[]> {
    const { stripe } = this.#options;
    const { data } = await asking(() => stripe.billing.creditGrants.list({ customer, limit: 100 }));
    return data;
  }

  async #remainingOf(customer: string, grant: string): Promise<number> {
    const { stripe } = this.#options;
    const filter = { type: 'credit_grant', credit_grant: grant } as const;
    const { balances } = await asking(() =>
      stripe.billing.creditBalanceSummaries.retrieve({ customer, filter }),
    );
    return balances.reduce((sum, { available_balance: left }) => sum + (left.monetary?.value ?? 0), 0);
  }

  /** What would be invoiced if the tier were taken from a subscription now: what of it is unused. */
  #previewWithout(subscription: string, item: string): Promise<Stripe.Invoice> {
    const { stripe } = this.#options;
    return asking(() =>
      stripe.invoices.createPreview({
        subscription,
        subscription_details: {
          items: [{ id: item, deleted: true }],
          proration_behavior: 'always_invoice',
        },
      }),
    );
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

/** Whether it says for good what is charged. */
function isFinal({ status }: Stripe.Invoice): boolean {
  return status === 'paid' || status === 'open' || status === 'uncollectible';
}

function contentsOf(lines: readonly Stripe.InvoiceLineItem[], known: Catalogue): Contents {
  const tierPrices = new Set<string>(Object.values(known.prices));
  let forTiers = 0;
  const charged = { embed: 0, rerank: 0 };
  let usageEnd: number | null = null;
  for (const { amount, discount_amounts: discounts, period, pricing, quantity } of lines) {
    const { price, product } = pricing?.price_details ?? {};
    const priceId = price === undefined || price === null ? '' : idOf(price);
    const metric = known.meteredBy.get(priceId);
    if (metric !== undefined) {
      charged[metric] += quantity ?? 0;
      usageEnd = period.end * 1_000;
    } else if (tierPrices.has(priceId) || known.tierProducts.has(product ?? '')) {
      forTiers += amount - (discounts ?? []).reduce((all, one) => all + one.amount, 0);
    }
  }
  return { forTiers, charged, usageEnd };
}

/** What is remembered of an invoice. The invoice of a month that ended is of the next, and charges no use of that. */
function grantOf(
  invoice: Stripe.Invoice,
  { forTiers, charged, usageEnd }: Contents,
  amount: number,
): UsageGrant {
  const created = invoice.created * 1_000;
  const grant = { invoiceId: invoice.id, amount, paidAt: forTiers > 0 ? paidAtOf(invoice) : created };
  if (usageEnd === null || monthOf(usageEnd - 1) !== monthOf(created)) return grant;
  const spent = (invoice.total_pretax_credit_amounts ?? [])
    .filter(({ type }) => type === 'credit_balance_transaction')
    .reduce((sum, one) => sum + one.amount, 0);
  return { ...grant, spent, charged };
}

function paidAtOf({ status_transitions: { paid_at: paidAt }, created }: Stripe.Invoice): number {
  return (paidAt ?? created) * 1_000;
}

/** What of the customer's credit an invoice used; negative for what it added. */
function creditUsedBy({ starting_balance: before, ending_balance: after }: Stripe.Invoice): number {
  return (after ?? before) - before;
}

/** In seconds: what is granted in a month lapses when the usage of it has been invoiced. */
function expiryOf(paidAt: number): number {
  return Math.floor((firstOfNextMonth(paidAt) + limits.grantGraceMs) / 1_000);
}

/** What was ended earlier has ended, although the clock of Stripe may be ahead. */
function lapsesWithMonth(end: number): boolean {
  return expiryOf(end * 1_000 - limits.grantGraceMs - 1) === end;
}

/** Whether the month of a grant was over when the period that runs began, by milliseconds. */
function isOver({ expires_at: end }: Stripe.Billing.CreditGrant, periodStart: number): boolean {
  return (end ?? 0) * 1_000 - limits.grantGraceMs <= periodStart;
}
