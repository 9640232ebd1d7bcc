import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { Logger } from '../core/logger.ts';
import type {
  BillingAccount,
  BillingCopy,
  BillingIntent,
  BillingRecords,
  SubscriptionCopy,
  UpgradeRollbackState,
} from '../storage/billing.ts';
import type { Organization, Tier } from '../storage/organizations.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import { toTimestamp } from './billing-replies.ts';
import { type EffectiveTiers, isServing, tierOfSubscription } from './effective-tiers.ts';
import { UnknownOutcomeError } from './stripe.ts';
import type { StripeReader, StripeSnapshot } from './stripe-reader.ts';

/** The part of the organization directory that billing needs. */
export interface BillingOrganizations {
  find(organizationId: string): Organization | undefined;
}

/**
 * Returns whether usage is metered through a marketplace. Metering it at Stripe as well would charge it
 * twice.
 */
export type MarketplaceMeteringCheck = (organizationId: string) => Promise<boolean>;

/**
 * Repairs half-finished changes. Returns true if it changed something at Stripe, so that the account must be
 * read again.
 */
export type AccountRepair = (
  organizationId: string,
  account: BillingAccount,
  reading: StripeSnapshot,
) => Promise<boolean>;

export interface BillingSyncOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly reader: StripeReader;
  readonly organizations: BillingOrganizations;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly repair: AccountRepair;
  readonly tiers: Pick<EffectiveTiers, 'apply'>;
  /** Called when a subscription starts or resumes serving: usage is charged from this time. Idempotent. */
  readonly startServing: (organizationId: string) => Promise<void>;
}

/** Input of the work function of a change. */
export interface BillingChange {
  /** State at Stripe, read for this change. */
  readonly account: BillingAccount;
  /** The same change was requested before and its client received no reply. */
  readonly isRepeated: boolean;
  /** Reads the state from Stripe again. */
  readonly reread: () => Promise<BillingAccount>;
  /** Whether the client still waits for the reply. */
  readonly isClientWaiting: () => boolean;
}

const system: Actor = { actor: 'system', address: null };

/**
 * Maintains the local copy of the Stripe state and the organization tier derived from it. Reading an
 * organization is one idempotent step: it reads everything anew, repairs what a crash left, and writes copy
 * and tier. No other code writes them. Operations on one organization run one at a time.
 */
export class BillingSync {
  readonly #options: BillingSyncOptions;
  readonly #mutex = new KeyedMutex();
  /** Reads that are queued but not started, by organization. */
  readonly #queuedReads = new Map<string, Promise<BillingAccount>>();
  readonly #runningChanges = new Set<string>();
  /** Running changes whose client no longer waits. */
  readonly #abandonedChanges = new Set<string>();
  /** Organization ID -> end of the time in which it may change something at Stripe, in milliseconds since 1970. */
  readonly #expectedUntil = new Map<string, number>();

  constructor(options: BillingSyncOptions) {
    this.#options = options;
  }

  /**
   * Returns the stored account. Reads Stripe first if the copy is older than `ageMsMax` or a read is pending.
   */
  read(organizationId: string, ageMsMax = 0): Promise<BillingAccount> {
    const { records, clock } = this.#options;
    const account = records.getAccount(organizationId);
    const now = clock.now();
    const age = now - (account.copy?.readAt ?? 0);
    const isDue =
      records.getPendingSync(organizationId) !== undefined ||
      now < (this.#expectedUntil.get(organizationId) ?? 0);
    const isFresh = age >= 0 && age < ageMsMax && !isDue;
    return isFresh ? Promise.resolve(account) : this.#queueRead(organizationId);
  }

  /**
   * Runs a change of a paid plan: reads Stripe, records the intent, then runs `work` while no other change of
   * the organization runs. `by` is the actor recorded in the audit log for payment methods added or removed
   * by the change. Errors: 409 while another change runs; those of Stripe; those of `work`.
   */
  runChange<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: BillingChange) => Promise<T>,
    by = system,
  ): Promise<T> {
    if (this.#runningChanges.has(organizationId)) {
      throw new AppError(
        'conflict',
        'Another billing change of this organization is in progress. Try again shortly.',
      );
    }
    this.#runningChanges.add(organizationId);
    return this.#mutex
      .run(organizationId, () => this.#runChangeLocked(organizationId, intent, work, by))
      .finally(() => {
        this.#runningChanges.delete(organizationId);
        this.#abandonedChanges.delete(organizationId);
      });
  }

  /** Tier in effect for an organization, as shown in every reply. */
  tierOf(organizationId: string): Tier {
    return this.#options.organizations.find(organizationId)?.tier ?? 'free';
  }

  /**
   * Records that the client of the running change no longer waits. The intent then outlives the change, so
   * that a repeated request is recognized.
   */
  abandon(organizationId: string): void {
    if (this.#runningChanges.has(organizationId)) this.#abandonedChanges.add(organizationId);
  }

  /**
   * Records that a Stripe form was opened in which payment methods or details can change. Stripe redirects
   * the browser back before the event arrives, so every read of the next hour asks Stripe, regardless of the
   * age of the copy.
   */
  expectChangeAtStripe(organizationId: string): void {
    const now = this.#options.clock.now();
    for (const [id, until] of this.#expectedUntil) if (until <= now) this.#expectedUntil.delete(id);
    this.#expectedUntil.set(organizationId, now + limits.billingFormMs);
  }

  /**
   * Stores the state that an upgrade is about to remove, before the removal, so that it survives a crash.
   * Null: the upgrade is settled.
   */
  async putPendingSchedule(
    organizationId: string,
    pendingSchedule: UpgradeRollbackState | null,
  ): Promise<void> {
    const { store, records } = this.#options;
    const account = records.getAccount(organizationId);
    if (account.held === pendingSchedule) return;
    await store.write(records.putAccount(organizationId, { ...account, held: pendingSchedule }), {
      mayUseReserve: true,
    });
  }

  /** Records whether the bank declined or accepted a payment method. */
  async recordCharge(organizationId: string, paymentMethodId: string, isDeclined: boolean): Promise<void> {
    const { store, records } = this.#options;
    const account = records.getAccount(organizationId);
    const known = account.declinedMethodIds;
    if (known.includes(paymentMethodId) === isDeclined) return;
    const declinedMethodIds = isDeclined
      ? [...known, paymentMethodId]
      : known.filter((id) => id !== paymentMethodId);
    const changed = records.putAccount(organizationId, { ...account, declinedMethodIds });
    await store.write(changed, { mayUseReserve: true });
  }

  /** Waits for running reads and changes. */
  async close(): Promise<void> {
    await this.#mutex.idle();
  }

  async #runChangeLocked<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: BillingChange) => Promise<T>,
    by: Actor,
  ): Promise<T> {
    const account = await this.#readAndRepair(organizationId, true);
    const { intent: before } = account;
    const isRepeated = intent !== null && before?.kind === intent.kind && before.tier === intent.tier;
    const { clock, random } = this.#options;
    const reason = random.uuid();
    const pendingIntent = intent && { ...intent, at: clock.now(), settled: false };
    await this.#putIntent(organizationId, pendingIntent, reason);
    const reread = () => this.#readNow(organizationId, by);
    const isClientWaiting = () => !this.#abandonedChanges.has(organizationId);
    try {
      const result = await work({ account, isRepeated, reread, isClientWaiting });
      await this.#endChange(
        organizationId,
        reason,
        isClientWaiting() ? null : pendingIntent && { ...pendingIntent, settled: true },
      );
      return result;
    } catch (error) {
      // When the outcome is unknown, the intent stays: the next read repairs the state, and a repeated
      // request is recognized.
      if (!(error instanceof UnknownOutcomeError)) await this.#endChange(organizationId, reason, null);
      throw error;
    }
  }

  async #endChange(
    organizationId: string,
    reason: string,
    remainingIntent: BillingIntent | null,
  ): Promise<void> {
    await this.#putIntent(organizationId, remainingIntent);
    await this.#completePendingSync(organizationId, reason);
  }

  /** With a `reason`, the organization is read again if this process ends before the change does. */
  async #putIntent(organizationId: string, intent: BillingIntent | null, reason?: string): Promise<void> {
    const { store, records } = this.#options;
    const account = records.getAccount(organizationId);
    const isSame = account.intent === null && intent === null;
    const operations = [
      ...(isSame ? [] : records.putAccount(organizationId, { ...account, intent })),
      ...(reason === undefined ? [] : [records.putPendingSync(organizationId, reason)]),
    ];
    if (operations.length > 0) await store.write(operations, { mayUseReserve: true });
  }

  #queueRead(organizationId: string): Promise<BillingAccount> {
    const queued = this.#queuedReads.get(organizationId);
    if (queued !== undefined) return queued;
    const reading = this.#mutex.run(organizationId, () => {
      this.#queuedReads.delete(organizationId);
      return this.#readAndRepair(organizationId, false);
    });
    this.#queuedReads.set(organizationId, reading);
    return reading;
  }

  /**
   * Runs while nothing else runs for the organization, so an unsettled intent was left by a crash or by a
   * call with an unknown outcome.
   */
  async #readAndRepair(organizationId: string, isChange: boolean): Promise<BillingAccount> {
    const { records, repair } = this.#options;
    const reason = records.getPendingSync(organizationId);
    let reading = await this.#readCustomer(organizationId, isChange);
    if (reading !== null && (await repair(organizationId, records.getAccount(organizationId), reading)))
      reading = await this.#readCustomer(organizationId, isChange);
    const persisted = await this.#persist(organizationId, reading, { reason });
    if (persisted.intent === null || persisted.intent.settled) return persisted;
    await this.#putIntent(organizationId, { ...persisted.intent, settled: true });
    return records.getAccount(organizationId);
  }

  async #readNow(organizationId: string, by: Actor): Promise<BillingAccount> {
    return this.#persist(organizationId, await this.#readCustomer(organizationId, true), { by });
  }

  /**
   * Returns null if the organization is not or no longer a customer. A customer deleted at Stripe has no
   * subscription and is forgotten.
   * A customer unknown to the Stripe account belongs to a different account: the secret key is wrong or new.
   * A wrong key must not take away a paid plan or cause a second subscription. Nothing changes until the end
   * of the paid period, so an operator who restores the previous key loses nothing. After that period, or
   * when nothing is paid for and the organization makes a change, the configured account becomes
   * authoritative. Errors: 409 until then.
   */
  async #readCustomer(organizationId: string, isChange: boolean): Promise<StripeSnapshot | null> {
    const { records, reader, clock, logger } = this.#options;
    const { customerId, copy } = records.getAccount(organizationId);
    if (customerId === null) return null;
    const reading = await reader.read(customerId);
    if (typeof reading !== 'string') return reading;
    const subscription = copy?.subscription ?? null;
    const logFields = { organizationId, customer: customerId, subscription: subscription?.id ?? null };
    if (reading === 'deleted') {
      logger.warn(logFields, 'customer was deleted at Stripe');
      return null;
    }
    logger.error(
      logFields,
      'customer does not exist in the Stripe account of QUARRY_STRIPE_SECRET_KEY; check the key',
    );
    const paidUntil = subscription !== null && isServing(subscription) ? (subscription.periodEnd ?? 0) : null;
    if (paidUntil !== null && paidUntil > clock.now()) throw paidInOtherStripeAccountError(paidUntil);
    if (paidUntil === null && !isChange) throw otherStripeAccountError();
    return null;
  }

  /**
   * `by`: actor of the changes first seen in this read; `reason`: the pending sync that this read completes.
   */
  async #persist(
    organizationId: string,
    reading: StripeSnapshot | null,
    { by = system, reason }: { readonly by?: Actor; readonly reason?: string | undefined },
  ): Promise<BillingAccount> {
    const { store, records } = this.#options;
    const before = records.getAccount(organizationId);
    const subscription = reading?.copy.subscription ?? null;
    const account: BillingAccount = {
      ...before,
      customerId: reading === null ? null : before.customerId,
      ownsTier: before.ownsTier || (subscription !== null && isServing(subscription)),
      ...(reading === null ? { held: null, withdrawal: null, paidCredit: 0, declinedMethodIds: [] } : {}),
      servedUntil: this.#servedUntil(subscription, before),
      copy:
        reading === null ? null : { ...reading.copy, subscription: this.#withPausedAt(subscription, before) },
    };
    if (before.customerId !== null) {
      if (hasServingSubscription(account.copy) && !hasServingSubscription(before.copy))
        await this.#options.startServing(organizationId);
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
    if (reason !== undefined) await this.#completePendingSync(organizationId, reason);
    return account;
  }

  /**
   * Audit entries for payment methods that users add or remove at Stripe, which are visible only in a read.
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
   * Service ends at the end of the known period, unless something ended it earlier. Milliseconds since 1970;
   * null while the subscription is serving.
   */
  #servedUntil(subscription: SubscriptionCopy | null, before: BillingAccount): number | null {
    if (subscription !== null && isServing(subscription)) return null;
    const served = before.copy?.subscription ?? null;
    if (served === null || !isServing(served)) return before.servedUntil;
    const now = this.#options.clock.now();
    return Math.min(now, subscription?.pausedAt ?? served.periodEnd ?? now);
  }

  /** Fills in the start of a pause with the time it was first seen if Stripe does not report it. */
  #withPausedAt(subscription: SubscriptionCopy | null, before: BillingAccount): SubscriptionCopy | null {
    if (subscription?.status !== 'paused' || subscription.pausedAt !== null) return subscription;
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

  async #completePendingSync(organizationId: string, reason: string): Promise<void> {
    const { store, records } = this.#options;
    try {
      await store.write(records.completePendingSync(organizationId, reason), { mayUseReserve: true });
    } catch (error) {
      // A new event arrived meanwhile; the code that recorded it reads again.
      if (!(error instanceof ExpectationFailedError)) throw error;
    }
  }
}

function hasServingSubscription(copy: BillingCopy | null): boolean {
  return copy !== null && copy.subscription !== null && isServing(copy.subscription);
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

function otherStripeAccountError(): AppError {
  return new AppError('conflict', 'The billing data of this organization belongs to another Stripe account.');
}

function paidInOtherStripeAccountError(until: number): AppError {
  return new AppError(
    'conflict',
    `This organization has a paid subscription until ${toTimestamp(until)} in another Stripe account. Ask the operator to restore the secret key of that account.`,
  );
}

/** Maximum age in milliseconds of a reading for requests that only show the status. */
export const statusAgeMsMax = limits.billingReadMs;
