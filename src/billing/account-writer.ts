import type { Actor, AuditLog } from '../audit/audit-log.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { BillingAccount, BillingCopy, SubscriptionCopy } from '../storage/billing-account.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import { type EffectiveTiers, tierOfSubscription } from './effective-tiers.ts';
import { isServing, planStateOf, transitionsBetween } from './plan-states.ts';
import type { StripeSnapshot } from './stripe-reader.ts';

export interface AccountWriterOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly tiers: Pick<EffectiveTiers, 'apply'>;
  /** Called when a subscription starts or resumes serving: usage is charged from this time. Idempotent. */
  readonly startServing: (organizationId: string) => Promise<void>;
}

const system: Actor = { actor: 'system', address: null };

/** Fields that refer to objects of a customer that no longer exists in Stripe. */
const withoutCustomer = {
  held: null,
  withdrawal: null,
  paidCredit: 0,
  declinedMethodIds: [],
  pendingRemovalId: null,
} as const;

/** Writes the account of an organization from a read of Stripe, and applies the effects of the new state. */
export class AccountWriter {
  readonly #options: AccountWriterOptions;

  constructor(options: AccountWriterOptions) {
    this.#options = options;
  }

  /**
   * `by`: actor of the changes first seen in this read; `reason`: the pending sync that this read completes.
   */
  async save(
    organizationId: string,
    reading: StripeSnapshot | null,
    { by = system, reason }: { readonly by?: Actor; readonly reason?: string | undefined },
  ): Promise<BillingAccount> {
    const { store, records } = this.#options;
    const before = records.getAccount(organizationId);
    const account = this.#accountAfter(before, reading);
    if (before.customerId !== null) {
      await this.#changeState(organizationId, before.copy, account.copy);
      await store.write(
        [
          ...(reading === null ? await records.deleteCustomer(organizationId) : []),
          ...records.putAccount(organizationId, account),
          ...this.#paymentMethodAuditEntries(organizationId, before.copy, account.copy, by),
        ],
        { mayUseReserve: true },
      );
      await this.#applyTier(organizationId, account);
    }
    if (reason !== undefined) await this.completePendingSync(organizationId, reason);
    return account;
  }

  #accountAfter(before: BillingAccount, reading: StripeSnapshot | null): BillingAccount {
    const subscription = reading?.copy.subscription ?? null;
    return {
      ...before,
      customerId: reading === null ? null : before.customerId,
      ownsTier: before.ownsTier || isServing(subscription),
      ...(reading === null ? withoutCustomer : {}),
      servedUntil: this.#servedUntil(subscription, before),
      copy:
        reading === null ? null : { ...reading.copy, subscription: this.#withPausedAt(subscription, before) },
    };
  }

  /** Effects of a changed state, before the new state is stored, so that a crash repeats them. */
  async #changeState(
    organizationId: string,
    before: BillingCopy | null,
    after: BillingCopy | null,
  ): Promise<void> {
    const [left, entered] = [before?.subscription ?? null, after?.subscription ?? null];
    const [from, to] = [planStateOf(left), planStateOf(entered)];
    if (from === to) return;
    const transitions = transitionsBetween(from, to);
    this.#options.logger.info({ organizationId, from, to, transitions }, 'plan state changed');
    if (isServing(entered) && !isServing(left)) await this.#options.startServing(organizationId);
  }

  /**
   * Audit entries for payment methods that users add or remove in Stripe, which are visible only in a read.
   */
  #paymentMethodAuditEntries(
    organizationId: string,
    before: BillingCopy | null,
    after: BillingCopy | null,
    by: Actor,
  ): WriteOperation[] {
    const { audit } = this.#options;
    const entries = (action: string, ids: readonly string[]) =>
      ids.map((payment_method) =>
        audit.entryOperation({ ...by, organizationId, action, target: null, details: { payment_method } }),
      );
    return [
      ...entries('billing.payment_method_added', methodIdsMissingIn(after, before)),
      ...entries('billing.payment_method_removed', methodIdsMissingIn(before, after)),
    ];
  }

  /**
   * Service ends at the end of the known period, unless something ended it earlier. Milliseconds since the epoch;
   * null while the subscription is serving.
   */
  #servedUntil(subscription: SubscriptionCopy | null, before: BillingAccount): number | null {
    if (isServing(subscription)) return null;
    const served = before.copy?.subscription ?? null;
    if (served === null || !isServing(served)) return before.servedUntil;
    const now = this.#options.clock.now();
    return Math.min(now, subscription?.pausedAt ?? served.periodEnd ?? now);
  }

  /** Fills in the start of a pause with the time it was first seen if Stripe does not report it. */
  #withPausedAt(subscription: SubscriptionCopy | null, before: BillingAccount): SubscriptionCopy | null {
    if (planStateOf(subscription) !== 'paused' || subscription?.pausedAt !== null) return subscription;
    return { ...subscription, pausedAt: before.copy?.subscription?.pausedAt ?? this.#options.clock.now() };
  }

  async #applyTier(organizationId: string, { ownsTier, copy }: BillingAccount): Promise<void> {
    const { audit, tiers, logger } = this.#options;
    if (!ownsTier) return;
    const subscription = copy?.subscription ?? null;
    if (tierOfSubscription(subscription) === null)
      logger.error({ organizationId, subscription: subscription?.id }, 'subscription price matches no tier');
    const changed = await tiers.apply(organizationId, system);
    if (changed === null) return;
    const entry = { ...system, organizationId, action: 'billing.reconciled', target: null };
    await audit.record({ ...entry, details: changed });
  }

  /** Ends a pending sync, unless a new event arrived meanwhile. */
  async completePendingSync(organizationId: string, reason: string): Promise<void> {
    const { store, records } = this.#options;
    try {
      await store.write(records.completePendingSync(organizationId, reason), { mayUseReserve: true });
    } catch (error) {
      // A new event arrived meanwhile; the code that recorded it reads again.
      if (!(error instanceof ExpectationFailedError)) throw error;
    }
  }
}

/**
 * Ids in `copy` that are missing in `other`. Ids beyond the end of a full list may only be cut off, so they
 * count as neither added nor removed.
 */
function methodIdsMissingIn(copy: BillingCopy | null, other: BillingCopy | null): string[] {
  const [ids, others] = [methodIdsOf(copy), methodIdsOf(other)];
  const isFull = others.length === limits.billingListMax;
  const known = isFull ? ids.findLastIndex((id) => others.includes(id)) + 1 : ids.length;
  return ids.slice(0, known).filter((id) => !others.includes(id));
}

/** Newest first. */
function methodIdsOf(copy: BillingCopy | null): string[] {
  return copy?.paymentMethods.map(({ id }) => id) ?? [];
}
