import { tables, text, uuid } from './keys.ts';
import type { Tier } from './organizations.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/*
 * What this server remembers of payments. Stripe has the truth; everything about money here is a copy of it, which
 * `billing/billing-sync` alone writes. Times are milliseconds since the epoch, money whole numbers of the smallest unit.
 */

export interface PaymentMethodCopy {
  readonly id: string;
  readonly type: string;
  readonly brand: string | null;
  readonly last4: string | null;
  readonly expMonth: number | null;
  readonly expYear: number | null;
}

export interface InvoiceCopy {
  readonly id: string;
  readonly number: string | null;
  readonly status: string | null;
  readonly amountDue: number;
  readonly amountPaid: number;
  readonly currency: string;
  readonly createdAt: number;
  readonly hostedInvoiceUrl: string | null;
  readonly invoicePdf: string | null;
}

/** An invoice of the subscription that is not paid. */
export interface OpenInvoiceCopy extends InvoiceCopy {
  /** Whether the customer has to confirm the payment. */
  readonly needsAction: boolean;
  /** Why the last attempt to charge it failed, in the words of the bank. */
  readonly refusal: string | null;
}

export interface SubscriptionCopy {
  readonly id: string;
  /** As Stripe says it: `active`, `past_due`, `paused`, `incomplete`, ... */
  readonly status: string;
  /** Null for a price that is none of ours. */
  readonly tier: Tier | null;
  readonly itemId: string;
  /** Of that item. */
  readonly priceId: string;
  readonly startedAt: number;
  readonly periodStart: number | null;
  readonly periodEnd: number | null;
  readonly pausedAt: number | null;
  readonly scheduleId: string | null;
  /** Whether it was told to end with its period; else only a time says when, if at all. */
  readonly endsWithPeriod: boolean;
  readonly pendingDowngrade: { readonly tier: Tier; readonly effectiveAt: number } | null;
  readonly pendingUpgrade: { readonly tier: Tier; readonly expiresAt: number | null } | null;
  readonly openInvoice: OpenInvoiceCopy | null;
  /** Whether an invoice of it is a draft, as that of a new month is for an hour: paid by nobody yet. */
  readonly isInvoiceDrafted: boolean;
}

/** What Stripe said of a customer when it was read. */
export interface BillingCopy {
  readonly readAt: number;
  readonly currency: string | null;
  readonly creditBalance: number;
  readonly defaultPaymentMethodId: string | null;
  readonly paymentMethods: readonly PaymentMethodCopy[];
  /** Newest first. */
  readonly invoices: readonly InvoiceCopy[];
  readonly subscription: SubscriptionCopy | null;
}

/** What somebody asked for and has had no answer to. */
export interface BillingIntent {
  readonly kind: 'subscribe' | 'cancel-upgrade' | 'downgrade' | 'cancel-downgrade' | 'pause';
  readonly tier: Tier | null;
  readonly at: number;
  /** Whether what was left half done of it has been put right. */
  readonly settled: boolean;
}

/** What an upgrade puts aside: it comes back where that is not paid. */
export interface UpgradeRollbackState {
  readonly subscriptionId: string;
  readonly from: Tier;
  /** The downgrade that was planned; null for none. */
  readonly tier: Tier | null;
  /** What invoices were charged to, where the upgrade names something else. */
  readonly usualMethodId?: string | null;
}

/** What a pause takes of the credit for usage, noted before that is done. */
export interface CreditWithdrawal {
  readonly nonce: string;
  /** What was left is two parts: this one is given back, */
  readonly taken: number;
  /** and this one pays for usage as before. */
  readonly kept: number;
  /** The credits that there were. */
  readonly ended: readonly string[];
  readonly currency: string;
  /** When credits of the month lapse, in seconds. */
  readonly expiresAt: number;
}

export interface BillingAccount {
  readonly customerId: string | null;
  /** True as soon as a subscription has decided the tier: from then on the end of it means `free`. */
  readonly ownsTier: boolean;
  readonly intent: BillingIntent | null;
  readonly held: UpgradeRollbackState | null;
  readonly withdrawal: CreditWithdrawal | null;
  /** How much of the credit of the customer was paid for tiers and given back: for a tier it counts as paid again. */
  readonly paidCredit: number;
  /** When the last subscription ceased to serve; null while one serves, and where none did. */
  readonly servedUntil: number | null;
  /** Payment methods that a bank declined last: none of them replaces one that pays. */
  readonly declinedMethodIds: readonly string[];
  readonly copy: BillingCopy | null;
}

/** A call that changes something at Stripe, noted before it is made. */
export interface PendingStripeCall {
  /** Part of its idempotency key. */
  readonly nonce: string;
  readonly startedAt: number;
  readonly name: string;
  /** What was sent, where it is to be sent again as it was. */
  readonly parameters: unknown;
}

export interface Redemption {
  readonly redemptionId: string;
  readonly promotionCodeId: string;
  readonly couponId: string;
  readonly amount: number;
  readonly currency: string;
  /** `applied`: the credit is there, but whoever asked for it has not been told, because the answer was cut off. */
  readonly state: 'pending' | 'applied' | 'told';
  readonly at: number;
}

/** A customer at Stripe whose organization was deleted. */
export interface OrphanedCustomer {
  readonly organizationId: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** What an invoice means for the usage of its month. */
export interface UsageGrant {
  readonly invoiceId: string;
  /** What was paid for the subscription; negative for what was given back. */
  readonly amount: number;
  readonly paidAt: number;
  /** What of such payments it used up for usage of its month. */
  readonly spent?: number;
  /** The tokens of its month that it charged. */
  readonly charged?: { readonly embed: number; readonly rerank: number };
}

/** Tokens by metric. */
export interface MeteredTokens {
  readonly embed: number;
  readonly rerank: number;
}

/** What of one minute is accounted for; its remainder is reported later. */
export interface PartialMinute {
  /** Reported, or used while nothing was served. */
  readonly accounted: MeteredTokens;
  readonly reported: MeteredTokens;
}

/** Meter events, noted before they are sent: until Stripe has them they are sent again, unchanged. */
export interface PendingMeterEvents {
  readonly customerId: string;
  readonly minute: number;
  /** What of the minute comes before these events; with it their identifiers are unique. */
  readonly before: PartialMinute;
  readonly tokens: MeteredTokens;
  /** As Stripe is told, in seconds. */
  readonly timestamp: number;
  /** When they were noted, in milliseconds. */
  readonly notedAt: number;
}

/** How far Stripe knows what was used, and how much of it in the current month. */
export interface ReportedUsage extends MeteredTokens {
  /** The minute (since the epoch) before which everything is accounted for. */
  readonly minute: number;
  /** `2026-11`: of the sums. */
  readonly month: string;
  /** Of `minute` itself; absent: nothing is accounted for. */
  readonly partial?: PartialMinute;
  readonly sending?: PendingMeterEvents;
}

const accountsTable = new Table<readonly [organizationId: string], BillingAccount>(tables.billingAccounts, [
  uuid,
]);
const customersTable = new Table<readonly [customerId: string], string>(tables.billingCustomers, [text]);
const pendingSyncsTable = new Table<readonly [organizationId: string], string>(tables.billingDue, [uuid]);
const callsTable = new Table<readonly [organizationId: string, about: string], PendingStripeCall>(
  tables.billingCalls,
  [uuid, text],
);
const eventsTable = new Table<readonly [eventId: string], number>(tables.billingEvents, [text]);
const redemptionsTable = new Table<readonly [organizationId: string, promotionCodeId: string], Redemption>(
  tables.redemptions,
  [uuid, text],
);
/** Of a promotion code, and of a coupon by all of its codes. */
const redeemersTable = new Table<readonly [of: string, redemptionId: string], boolean>(tables.redeemers, [
  text,
  uuid,
]);
const grantsTable = new Table<readonly [organizationId: string, invoiceId: string], UsageGrant>(
  tables.billingGrants,
  [uuid, text],
);
const reportedUsageTable = new Table<readonly [organizationId: string], ReportedUsage>(tables.usageReported, [
  uuid,
]);
const orphanedCustomersTable = new Table<readonly [customerId: string], OrphanedCustomer>(
  tables.departedCustomers,
  [text],
);
const checkpointsTable = new Table<readonly [name: string], number>(tables.billingMarks, [text]);

/** Of who never paid. */
export const emptyBillingAccount: BillingAccount = {
  customerId: null,
  ownsTier: false,
  intent: null,
  held: null,
  withdrawal: null,
  paidCredit: 0,
  servedUntil: null,
  declinedMethodIds: [],
  copy: null,
};

/** Whether use is charged through Stripe, or is about to be. A pause charges none. */
export function isBilledByStripe({ copy, intent }: BillingAccount): boolean {
  const status = copy?.subscription?.status ?? 'paused';
  return status !== 'paused' || (intent?.kind === 'subscribe' && !intent.settled);
}

/** What the uses of a coupon are counted under, apart from those of codes. */
export function couponKey(couponId: string): string {
  return `coupon:${couponId}`;
}

/** The records of billing. */
export class BillingRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  getAccount(organizationId: string): BillingAccount {
    return { ...emptyBillingAccount, ...accountsTable.get(this.#store, [organizationId]) };
  }

  putAccount(organizationId: string, account: BillingAccount): WriteOperation[] {
    const { customerId } = account;
    return [
      accountsTable.put([organizationId], account),
      ...(customerId === null ? [] : [customersTable.put([customerId], organizationId)]),
    ];
  }

  /** Rejects a write with `ExpectationFailed` where use is charged through Stripe, or is about to be. */
  expectNotBilledByStripe(organizationId: string): WriteOperation {
    const holds = (known: BillingAccount | undefined) =>
      !isBilledByStripe({ ...emptyBillingAccount, ...known });
    return accountsTable.expect([organizationId], holds, 'the organization is not charged through Stripe');
  }

  /** Who the customer of an organisation was, and calls about it that had no answer. */
  async deleteCustomer(organizationId: string): Promise<WriteOperation[]> {
    const { customerId } = this.getAccount(organizationId);
    const found: WriteOperation[] = customerId === null ? [] : [customersTable.delete([customerId])];
    for await (const key of callsTable.keys(this.#store, [organizationId]))
      found.push({ type: 'delete', key });
    return found;
  }

  /** Everybody who is a customer. */
  async *listAccounts(): AsyncGenerator<{ organizationId: string; account: BillingAccount }, void, void> {
    for await (const { key, value } of accountsTable.range(this.#store, []))
      yield { organizationId: key[0], account: { ...emptyBillingAccount, ...value } };
  }

  findOrganizationId(customerId: string): string | undefined {
    return customersTable.get(this.#store, [customerId]);
  }

  /** Why an organisation is to be read again, as an id that every reason has of its own. */
  getPendingSync(organizationId: string): string | undefined {
    return pendingSyncsTable.get(this.#store, [organizationId]);
  }

  putPendingSync(organizationId: string, reason: string): WriteOperation {
    return pendingSyncsTable.put([organizationId], reason);
  }

  /** Refused with `ExpectationFailed` when there is another reason by then. */
  completePendingSync(organizationId: string, reason: string): WriteOperation[] {
    return [
      pendingSyncsTable.expect(
        [organizationId],
        (known) => known === reason,
        'nothing happened since it was read',
      ),
      pendingSyncsTable.delete([organizationId]),
    ];
  }

  async *listPendingSyncs(): AsyncGenerator<string, void, void> {
    for await (const { key } of pendingSyncsTable.range(this.#store, [])) yield key[0];
  }

  findCall(organizationId: string, purpose: string): PendingStripeCall | undefined {
    return callsTable.get(this.#store, [organizationId, purpose]);
  }

  putCall(organizationId: string, purpose: string, call: PendingStripeCall): WriteOperation {
    return callsTable.put([organizationId, purpose], call);
  }

  deleteCall(organizationId: string, purpose: string): WriteOperation {
    return callsTable.delete([organizationId, purpose]);
  }

  /** Calls that began before `before`, at most `limit` of them, to be deleted. */
  async deleteCallsBefore(before: number, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { key, value } of callsTable.range(this.#store, [])) {
      if (value.startedAt < before) found.push(callsTable.delete(key));
      if (found.length === limit) break;
    }
    return found;
  }

  hasEvent(eventId: string): boolean {
    return eventsTable.get(this.#store, [eventId]) !== undefined;
  }

  putEvent(eventId: string, at: number): WriteOperation {
    return eventsTable.put([eventId], at);
  }

  /** Events that came in before `before`, at most `limit` of them, to be deleted. */
  async deleteEventsBefore(before: number, limit: number): Promise<WriteOperation[]> {
    const found: WriteOperation[] = [];
    for await (const { key, value } of eventsTable.range(this.#store, [])) {
      if (value < before) found.push(eventsTable.delete(key));
      if (found.length === limit) break;
    }
    return found;
  }

  findRedemption(organizationId: string, promotionCodeId: string): Redemption | undefined {
    return redemptionsTable.get(this.#store, [organizationId, promotionCodeId]);
  }

  async listRedemptions(organizationId: string): Promise<Redemption[]> {
    const found: Redemption[] = [];
    for await (const { value } of redemptionsTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  putRedemption(organizationId: string, redemption: Redemption): WriteOperation[] {
    const { promotionCodeId, couponId, redemptionId } = redemption;
    return [
      redemptionsTable.put([organizationId, promotionCodeId], redemption),
      redeemersTable.put([promotionCodeId, redemptionId], true),
      redeemersTable.put([couponKey(couponId), redemptionId], true),
    ];
  }

  /** How often a code, or a coupon (`couponOf`), was redeemed, counted up to `most`. */
  async countRedemptions(codeOrCoupon: string, countMax: number): Promise<number> {
    let count = 0;
    for await (const _ of redeemersTable.keys(this.#store, [codeOrCoupon], { limit: countMax })) count += 1;
    return count;
  }

  findGrant(organizationId: string, invoiceId: string): UsageGrant | undefined {
    return grantsTable.get(this.#store, [organizationId, invoiceId]);
  }

  putGrant(organizationId: string, grant: UsageGrant): WriteOperation {
    return grantsTable.put([organizationId, grant.invoiceId], grant);
  }

  async listGrants(organizationId: string): Promise<UsageGrant[]> {
    const found: UsageGrant[] = [];
    for await (const { value } of grantsTable.range(this.#store, [organizationId])) found.push(value);
    return found;
  }

  findReportedUsage(organizationId: string): ReportedUsage | undefined {
    return reportedUsageTable.get(this.#store, [organizationId]);
  }

  putReportedUsage(organizationId: string, usage: ReportedUsage): WriteOperation {
    return reportedUsageTable.put([organizationId], usage);
  }

  getCheckpoint(name: string): number | undefined {
    return checkpointsTable.get(this.#store, [name]);
  }

  putCheckpoint(name: string, value: number): WriteOperation {
    return checkpointsTable.put([name], value);
  }

  findOrphanedCustomer(customerId: string): OrphanedCustomer | undefined {
    return orphanedCustomersTable.get(this.#store, [customerId]);
  }

  async *listOrphanedCustomers(): AsyncGenerator<
    { customerId: string; customer: OrphanedCustomer },
    void,
    void
  > {
    for await (const { key, value } of orphanedCustomersTable.range(this.#store, []))
      yield { customerId: key[0], customer: value };
  }

  deleteOrphanedCustomer(customerId: string): WriteOperation {
    return orphanedCustomersTable.delete([customerId]);
  }

  /**
   * Everything of an organisation that is gone, but for its customer at Stripe, which is noted to be deleted there. That a
   * code was redeemed stays, without a word of who did.
   */
  async deleteOrganization(organizationId: string, now: number): Promise<WriteOperation[]> {
    const { customerId } = this.getAccount(organizationId);
    const keys: Uint8Array[] = [];
    for (const table of [redemptionsTable, grantsTable])
      for await (const key of table.keys(this.#store, [organizationId])) keys.push(key);
    return [
      ...keys.map((key): WriteOperation => ({ type: 'delete', key })),
      ...(customerId === null
        ? []
        : [orphanedCustomersTable.put([customerId], { organizationId, since: now })]),
      ...(await this.deleteCustomer(organizationId)),
      accountsTable.delete([organizationId]),
      pendingSyncsTable.delete([organizationId]),
      reportedUsageTable.delete([organizationId]),
    ];
  }
}
