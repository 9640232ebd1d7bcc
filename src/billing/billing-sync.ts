import type { Actor } from '../audit/audit-log.ts';
import { AppError } from '../core/app-error.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import { ReplyDeadline } from '../core/async/reply-deadline.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { BillingAccount, BillingIntent, UpgradeRollbackState } from '../storage/billing-account.ts';
import type { Organization, Tier } from '../storage/organizations.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { AccountWriter } from './account-writer.ts';
import type { CustomerReader } from './customer-reader.ts';
import { UnknownOutcomeError } from './stripe.ts';
import type { StripeSnapshot } from './stripe-reader.ts';

/** The part of the organization directory that billing needs. */
export interface BillingOrganizations {
  find(organizationId: string): Organization | undefined;
}

/**
 * Returns whether usage is metered through a marketplace. Metering it in Stripe as well would charge it
 * twice.
 */
export type MarketplaceMeteringCheck = (organizationId: string) => Promise<boolean>;

/**
 * Repairs half-finished changes. Returns true if it changed something in Stripe, so that the account must be
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
  readonly customers: CustomerReader;
  readonly writer: AccountWriter;
  readonly organizations: BillingOrganizations;
  readonly clock: Clock;
  readonly random: Random;
  readonly repair: AccountRepair;
}

interface ChangeOptions {
  /** Recorded in the audit log for payment methods added or removed by the change. */
  readonly by?: Actor;
  /** Deadline of the reply to the client; absent if the caller waits for any time. */
  readonly deadline?: ReplyDeadline | undefined;
}

/** Input of the work function of a change. */
export interface BillingChange {
  /** State that was stored when the change was requested: the client may have seen it. */
  readonly stored: BillingAccount;
  /** State in Stripe, read for this change. */
  readonly account: BillingAccount;
  /** The same change was requested before and its client received no reply. */
  readonly isRepeated: boolean;
  /** Reads the state from Stripe again. */
  readonly reread: () => Promise<BillingAccount>;
  /** Deadline of the reply to the client. */
  readonly deadline: ReplyDeadline;
}

const system: Actor = { actor: 'system', address: null };

/**
 * Maintains the local copy of the Stripe state and the organization tier derived from it. Reading an
 * organization is one idempotent step: it reads everything again, repairs what a crash left, and writes copy
 * and tier. Operations on one organization run one at a time.
 */
export class BillingSync {
  readonly #options: BillingSyncOptions;
  readonly #mutex = new KeyedMutex();
  /** Reads that are queued but not started, by organization. */
  readonly #queuedReads = new Map<string, Promise<BillingAccount>>();
  readonly #runningChanges = new Set<string>();
  /** Organization ID -> end of the time in which it may change something in Stripe, in milliseconds since the epoch. */
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
   * the organization runs. If the change ends after the deadline, the intent stays, so that a repeated request
   * is recognized. Errors: 409 while another change runs; those of Stripe; those of `work`.
   */
  runChange<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: BillingChange) => Promise<T>,
    { by = system, deadline = new ReplyDeadline() }: ChangeOptions = {},
  ): Promise<T> {
    if (this.#runningChanges.has(organizationId)) {
      throw new AppError(
        'conflict',
        'Another billing change of this organization is in progress. Try again shortly.',
      );
    }
    this.#runningChanges.add(organizationId);
    const stored = this.#options.records.getAccount(organizationId);
    const runWork = (change: Omit<BillingChange, 'stored'>) => work({ ...change, stored });
    return this.#mutex
      .run(organizationId, () => this.#runChangeLocked(organizationId, intent, runWork, { by, deadline }))
      .finally(() => this.#runningChanges.delete(organizationId));
  }

  /** Tier in effect for an organization, as shown in every reply. */
  tierOf(organizationId: string): Tier {
    return this.#options.organizations.find(organizationId)?.tier ?? 'free';
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

  /**
   * Stores the payment method whose removal is about to begin, so that a repeated request is recognized. Null:
   * the client has the reply.
   */
  async putPendingRemoval(organizationId: string, pendingRemovalId: string | null): Promise<void> {
    const { store, records } = this.#options;
    const account = records.getAccount(organizationId);
    if (account.pendingRemovalId === pendingRemovalId) return;
    await store.write(records.putAccount(organizationId, { ...account, pendingRemovalId }), {
      mayUseReserve: true,
    });
  }

  /** Waits for running reads and changes. */
  async close(): Promise<void> {
    await this.#mutex.idle();
  }

  async #runChangeLocked<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: Omit<BillingChange, 'stored'>) => Promise<T>,
    { by, deadline }: { readonly by: Actor; readonly deadline: ReplyDeadline },
  ): Promise<T> {
    const account = await this.#readAndRepair(organizationId, true);
    const { intent: before } = account;
    const isRepeated = intent !== null && before?.kind === intent.kind && before.tier === intent.tier;
    const { store, records, writer, clock, random } = this.#options;
    const reason = random.uuid();
    // The organization is read again if this process ends before the change does.
    const pendingSync = records.putPendingSync(organizationId, reason);
    const ownIntent = intent && { ...intent, at: clock.now(), settled: false };
    // A change without an intent keeps that of an earlier change, whose request may still be repeated.
    if (ownIntent === null) await store.write([pendingSync], { mayUseReserve: true });
    else await this.#putIntent(organizationId, ownIntent, [pendingSync]);
    const reread = () => this.#readNow(organizationId, by);
    const endChange = async (remainingIntent: BillingIntent | null) => {
      if (ownIntent !== null) await this.#putIntent(organizationId, remainingIntent);
      await writer.completePendingSync(organizationId, reason);
    };
    try {
      const result = await work({ account, isRepeated, reread, deadline });
      const isClientWaiting = deadline.meet();
      await endChange(isClientWaiting ? null : ownIntent && { ...ownIntent, settled: true });
      return result;
    } catch (error) {
      // When the outcome is unknown, the intent stays: the next read repairs the state, and a repeated
      // request is recognized.
      if (!(error instanceof UnknownOutcomeError)) await endChange(null);
      throw error;
    }
  }

  async #putIntent(
    organizationId: string,
    intent: BillingIntent | null,
    operations: readonly WriteOperation[] = [],
  ): Promise<void> {
    const { store, records } = this.#options;
    const account = { ...records.getAccount(organizationId), intent };
    await store.write([...records.putAccount(organizationId, account), ...operations], {
      mayUseReserve: true,
    });
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
    const { records, repair, customers, writer } = this.#options;
    const reason = records.getPendingSync(organizationId);
    let reading = await customers.read(organizationId, isChange);
    if (reading !== null && (await repair(organizationId, records.getAccount(organizationId), reading)))
      reading = await customers.read(organizationId, isChange);
    const persisted = await writer.save(organizationId, reading, { reason });
    if (persisted.intent === null || persisted.intent.settled) return persisted;
    await this.#putIntent(organizationId, { ...persisted.intent, settled: true });
    return records.getAccount(organizationId);
  }

  async #readNow(organizationId: string, by: Actor): Promise<BillingAccount> {
    const { customers, writer } = this.#options;
    return writer.save(organizationId, await customers.read(organizationId, true), { by });
  }
}

/** Maximum age in milliseconds of a reading for requests that only show the status. */
export const statusAgeMsMax = limits.billingReadMs;
