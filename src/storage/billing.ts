import { type BillingAccount, emptyBillingAccount, isBilledByStripe } from './billing-account.ts';
import { tables, text, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

/*
 * Records about payments. Times are milliseconds since the epoch, money is in whole numbers of the smallest
 * currency unit.
 */

/** A mutating call to Stripe, recorded before it is made. */
export interface PendingStripeCall {
  /** Part of its idempotency key. */
  readonly nonce: string;
  readonly startedAt: number;
  readonly name: string;
  /** Parameters of the call, if a retry must repeat them unchanged. */
  readonly parameters: unknown;
}

export interface Redemption {
  readonly redemptionId: string;
  readonly promotionCodeId: string;
  readonly couponId: string;
  readonly amount: number;
  readonly currency: string;
  /**
   * `applied`: the credit is granted, but the reply to the requester was interrupted. `told`: the requester
   * has the reply.
   */
  readonly state: 'pending' | 'applied' | 'told';
  readonly at: number;
}

/** A Stripe customer whose organization was deleted. */
export interface OrphanedCustomer {
  readonly organizationId: string;
  /** Milliseconds since the epoch. */
  readonly since: number;
}

/** Effect of an invoice on the usage credit of its month. */
export interface UsageGrant {
  readonly invoiceId: string;
  /** Amount paid for the subscription; negative for a refund. */
  readonly amount: number;
  readonly paidAt: number;
  /** Part of such payments that was spent on usage of its month. */
  readonly spent?: number;
  /** Tokens of its month charged by the invoice. */
  readonly charged?: MeteredTokens;
}

/** Tokens by metric. */
export interface MeteredTokens {
  readonly embed: number;
  readonly rerank: number;
}

/** State of a partially accounted minute; the remainder is reported later. */
export interface PartialMinute {
  /** Tokens reported, or used while no subscription was active. */
  readonly accounted: MeteredTokens;
  readonly reported: MeteredTokens;
}

/**
 * Meter events, recorded before they are sent: they are sent again, unchanged, until Stripe has accepted
 * them.
 */
export interface PendingMeterEvents {
  readonly customerId: string;
  readonly minute: number;
  /** State of the minute before these events; makes their identifiers unique. */
  readonly before: PartialMinute;
  readonly tokens: MeteredTokens;
  /** Timestamp sent to Stripe, in seconds. */
  readonly timestamp: number;
  /** Milliseconds at which they were recorded. */
  readonly notedAt: number;
}

/** Progress of usage reporting to Stripe, with the tokens reported in the current month. */
export interface ReportedUsage extends MeteredTokens {
  /** Minute since the epoch before which all usage is accounted for. */
  readonly minute: number;
  /** Month of the sums, such as `2026-11`. */
  readonly month: string;
  /** State of `minute` itself; absent when nothing of it is accounted for. */
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
/** Redemptions of a promotion code, and of a coupon across all of its codes. */
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

/** Returns the key under which redemptions of a coupon are counted, separate from those of promotion codes. */
export function couponKey(couponId: string): string {
  return `coupon:${couponId}`;
}

/** Access to the billing records. */
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

  /** Rejects a write with `ExpectationFailedError` if usage is charged through Stripe, or is about to be. */
  expectNotBilledByStripe(organizationId: string): WriteOperation {
    const holds = (known: BillingAccount | undefined) =>
      !isBilledByStripe({ ...emptyBillingAccount, ...known });
    return accountsTable.expect([organizationId], holds, 'the organization is not charged through Stripe');
  }

  /** Deletes the customer mapping of an organization and its calls without an outcome. */
  async deleteCustomer(organizationId: string): Promise<WriteOperation[]> {
    const { customerId } = this.getAccount(organizationId);
    const found: WriteOperation[] = customerId === null ? [] : [customersTable.delete([customerId])];
    for await (const key of callsTable.keys(this.#store, [organizationId]))
      found.push({ type: 'delete', key });
    return found;
  }

  /** Lists all billing accounts. */
  async *listAccounts(): AsyncGenerator<{ organizationId: string; account: BillingAccount }, void, void> {
    for await (const { key, value } of accountsTable.range(this.#store, []))
      yield { organizationId: key[0], account: { ...emptyBillingAccount, ...value } };
  }

  findOrganizationId(customerId: string): string | undefined {
    return customersTable.get(this.#store, [customerId]);
  }

  /** Returns the reason for reading an organization's state from Stripe again, as an id unique to the reason. */
  getPendingSync(organizationId: string): string | undefined {
    return pendingSyncsTable.get(this.#store, [organizationId]);
  }

  putPendingSync(organizationId: string, reason: string): WriteOperation {
    return pendingSyncsTable.put([organizationId], reason);
  }

  /** Errors: `ExpectationFailedError` if another reason was stored meanwhile. */
  completePendingSync(organizationId: string, reason: string): WriteOperation[] {
    return [
      pendingSyncsTable.expect(
        [organizationId],
        (known) => known === reason,
        'the pending sync is unchanged',
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

  /** Returns operations that delete up to `limit` calls started before `before`. */
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

  /** Returns operations that delete up to `limit` events received before `before`. */
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

  /** Counts the redemptions of a code, or of a coupon (`couponKey`), up to `countMax`. */
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
   * Deletes all records of a deleted organization and records its Stripe customer for deletion there. The
   * count of redemptions of a code is kept, without any reference to the organization.
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
