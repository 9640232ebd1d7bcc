import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type { Logger } from '../base/logger.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type {
  BillingAccount,
  BillingCopy,
  BillingIntent,
  BillingRecords,
  HeldByUpgrade,
  SubscriptionCopy,
} from '../store/billing.ts';
import type { Organisation, Tier } from '../store/organisations.ts';
import { ExpectationFailed, type Operation, type Store } from '../store/store.ts';
import { timeToShow } from './billing-replies.ts';
import { type EffectiveTiers, isServing, tierOf } from './effective-tier.ts';
import type { Reading, StripeReader } from './reading.ts';
import { StripeSilence } from './stripe.ts';

/** What billing wants of the organisations. */
export interface BillingOrganisations {
  find(organizationId: string): Organisation | undefined;
}

/** Whether use is metered through a marketplace, so that metering it here would charge it twice. */
export type MeteredElsewhere = (organizationId: string) => Promise<boolean>;

/** Puts right what was left half done. True when it changed something at Stripe, so that it is to be read again. */
export type Repair = (organizationId: string, account: BillingAccount, reading: Reading) => Promise<boolean>;

export interface BillingSyncOptions {
  readonly store: Store;
  readonly records: BillingRecords;
  readonly reader: StripeReader;
  readonly organisations: BillingOrganisations;
  readonly audit: AuditLog;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly logger: Logger;
  readonly repair: Repair;
  readonly tiers: Pick<EffectiveTiers, 'apply'>;
  /** A subscription begins to serve, or serves again: use is charged from now on. Idempotent. */
  readonly beginServing: (organizationId: string) => Promise<void>;
}

/** What a change works with. */
export interface Change {
  /** As Stripe is now; it was read for this change. */
  readonly account: BillingAccount;
  /** The same was asked for before, and whoever asked got no answer. */
  readonly isRepeated: boolean;
  /** Reads Stripe again. */
  readonly reread: () => Promise<BillingAccount>;
  /** Whether whoever asked still waits for the answer. */
  readonly isAwaited: () => boolean;
}

const system: Actor = { actor: 'system', address: null };

/**
 * Keeps the copy of what Stripe says, and the tier of the organisation that follows from it. Reading an organisation is
 * one idempotent step, whoever asks for it and however often: it reads everything anew, puts right what a crash left, and
 * writes copy and tier. Nothing else writes them. Per organisation one thing is done at a time.
 */
export class BillingSync {
  readonly #options: BillingSyncOptions;
  readonly #turns = new KeyedMutex();
  /** Readings that have not begun. */
  readonly #waiting = new Map<string, Promise<BillingAccount>>();
  readonly #changing = new Set<string>();
  /** Those of them that nobody waits for any more. */
  readonly #abandoned = new Set<string>();
  /** Organization -> end of the time in which it may change something at Stripe, in milliseconds since 1970. */
  readonly #expectedUntil = new Map<string, number>();

  constructor(options: BillingSyncOptions) {
    this.#options = options;
  }

  /** What is known, read anew when it is older than `ageMsMax` or something happened. */
  read(organizationId: string, ageMsMax = 0): Promise<BillingAccount> {
    const { records, clock } = this.#options;
    const account = records.account(organizationId);
    const now = clock.now();
    const age = now - (account.copy?.readAt ?? 0);
    const isDue =
      records.dueOf(organizationId) !== undefined || now < (this.#expectedUntil.get(organizationId) ?? 0);
    const isFresh = age >= 0 && age < ageMsMax && !isDue;
    return isFresh ? Promise.resolve(account) : this.#readSoon(organizationId);
  }

  /**
   * Runs a change of what an organisation pays for: after Stripe was read, with its intent noted, while nothing else is
   * changed. `by`: whose cards come and go with it. Errors: 409 while another change runs; those of Stripe; those of `work`.
   */
  change<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: Change) => Promise<T>,
    by = system,
  ): Promise<T> {
    if (this.#changing.has(organizationId)) {
      throw new AppError('conflict', 'Another change of the billing of this organisation is under way.');
    }
    this.#changing.add(organizationId);
    return this.#turns
      .run(organizationId, () => this.#change(organizationId, intent, work, by))
      .finally(() => {
        this.#changing.delete(organizationId);
        this.#abandoned.delete(organizationId);
      });
  }

  /** What applies to an organization, as every reply shows it. */
  tierOf(organizationId: string): Tier {
    return this.#options.organisations.find(organizationId)?.tier ?? 'free';
  }

  /** Nobody gets the answer of the change that runs: its intent outlives it, so that a repetition is known. */
  abandon(organizationId: string): void {
    if (this.#changing.has(organizationId)) this.#abandoned.add(organizationId);
  }

  /**
   * A page of Stripe was opened where payment methods or details change. Stripe sends the browser back before its event
   * arrives, so every reading of the next hour asks Stripe, however new the last copy is.
   */
  expectChangeAtStripe(organizationId: string): void {
    const now = this.#options.clock.now();
    for (const [id, until] of this.#expectedUntil) if (until <= now) this.#expectedUntil.delete(id);
    this.#expectedUntil.set(organizationId, now + limits.billingFormMs);
  }

  /** Notes what an upgrade puts aside before it does, so that no crash forgets it; with null, that it is settled. */
  async hold(organizationId: string, held: HeldByUpgrade | null): Promise<void> {
    const { store, records } = this.#options;
    const account = records.account(organizationId);
    if (account.held === held) return;
    await store.write(records.putAccount(organizationId, { ...account, held }), { mayUseReserve: true });
  }

  /** Notes whether a bank declined a payment method, or took it. */
  async noteCharge(organizationId: string, paymentMethodId: string, isDeclined: boolean): Promise<void> {
    const { store, records } = this.#options;
    const account = records.account(organizationId);
    const known = account.declinedMethodIds;
    if (known.includes(paymentMethodId) === isDeclined) return;
    const declinedMethodIds = isDeclined
      ? [...known, paymentMethodId]
      : known.filter((id) => id !== paymentMethodId);
    const changed = records.putAccount(organizationId, { ...account, declinedMethodIds });
    await store.write(changed, { mayUseReserve: true });
  }

  /** Waits for what runs. */
  async close(): Promise<void> {
    await this.#turns.settled();
  }

  async #change<T>(
    organizationId: string,
    intent: Pick<BillingIntent, 'kind' | 'tier'> | null,
    work: (change: Change) => Promise<T>,
    by: Actor,
  ): Promise<T> {
    const account = await this.#settle(organizationId, true);
    const { intent: before } = account;
    const isRepeated = intent !== null && before?.kind === intent.kind && before.tier === intent.tier;
    const { clock, chance } = this.#options;
    const reason = chance.uuid();
    const begun = intent && { ...intent, at: clock.now(), settled: false };
    await this.#putIntent(organizationId, begun, reason);
    const reread = () => this.#readNow(organizationId, by);
    const isAwaited = () => !this.#abandoned.has(organizationId);
    try {
      const result = await work({ account, isRepeated, reread, isAwaited });
      await this.#endChange(
        organizationId,
        reason,
        isAwaited() ? null : begun && { ...begun, settled: true },
      );
      return result;
    } catch (error) {
      // Of what nobody knows the end of, the intent stays: the next reading puts it right, and a repetition is known.
      if (!(error instanceof StripeSilence)) await this.#endChange(organizationId, reason, null);
      throw error;
    }
  }

  async #endChange(organizationId: string, reason: string, left: BillingIntent | null): Promise<void> {
    await this.#putIntent(organizationId, left);
    await this.#endDue(organizationId, reason);
  }

  /** With a `reason` the organisation is read when this process ends before the change does. */
  async #putIntent(organizationId: string, intent: BillingIntent | null, reason?: string): Promise<void> {
    const { store, records } = this.#options;
    const account = records.account(organizationId);
    const isSame = account.intent === null && intent === null;
    const operations = [
      ...(isSame ? [] : records.putAccount(organizationId, { ...account, intent })),
      ...(reason === undefined ? [] : [records.putDue(organizationId, reason)]),
    ];
    if (operations.length > 0) await store.write(operations, { mayUseReserve: true });
  }

  #readSoon(organizationId: string): Promise<BillingAccount> {
    const waiting = this.#waiting.get(organizationId);
    if (waiting !== undefined) return waiting;
    const reading = this.#turns.run(organizationId, () => {
      this.#waiting.delete(organizationId);
      return this.#settle(organizationId, false);
    });
    this.#waiting.set(organizationId, reading);
    return reading;
  }

  /** Nothing else runs for the organisation: what is still intended was left by a crash or by silence. */
  async #settle(organizationId: string, isChange: boolean): Promise<BillingAccount> {
    const { records, repair } = this.#options;
    const reason = records.dueOf(organizationId);
    let reading = await this.#readingOf(organizationId, isChange);
    if (reading !== null && (await repair(organizationId, records.account(organizationId), reading)))
      reading = await this.#readingOf(organizationId, isChange);
    const kept = await this.#keep(organizationId, reading, { reason });
    if (kept.intent === null || kept.intent.settled) return kept;
    await this.#putIntent(organizationId, { ...kept.intent, settled: true });
    return records.account(organizationId);
  }

  async #readNow(organizationId: string, by: Actor): Promise<BillingAccount> {
    return this.#keep(organizationId, await this.#readingOf(organizationId, true), { by });
  }

  /**
   * Null for who is no customer, or none any more. A customer that was deleted at Stripe has no subscription, and is
   * forgotten. One that the account does not know belongs to another account: the secret key is wrong, or a new one. By a
   * wrong key nobody may lose what they pay for, nor subscribe a second time; so until the end of what was paid nothing
   * changes, and an operator who sets the earlier key again has lost nothing. After it, or where nothing is paid for, this
   * account is the one that counts as soon as somebody changes something. Errors: 409 before that.
   */
  async #readingOf(organizationId: string, isChange: boolean): Promise<Reading | null> {
    const { records, reader, clock, logger } = this.#options;
    const { customerId, copy } = records.account(organizationId);
    if (customerId === null) return null;
    const reading = await reader.read(customerId);
    if (typeof reading !== 'string') return reading;
    const subscription = copy?.subscription ?? null;
    const about = { organizationId, customer: customerId, subscription: subscription?.id ?? null };
    if (reading === 'deleted') {
      logger.warn(about, 'a customer was deleted at Stripe');
      return null;
    }
    logger.error(
      about,
      'the Stripe account of QUARRY_STRIPE_SECRET_KEY does not know a customer: wrong key?',
    );
    const paidUntil = subscription !== null && isServing(subscription) ? (subscription.periodEnd ?? 0) : null;
    if (paidUntil !== null && paidUntil > clock.now()) throw paysElsewhere(paidUntil);
    if (paidUntil === null && !isChange) throw isElsewhere();
    return null;
  }

  /** `by`: who did what is seen here first; `reason`: why it was read. */
  async #keep(
    organizationId: string,
    reading: Reading | null,
    { by = system, reason }: { readonly by?: Actor; readonly reason?: string | undefined },
  ): Promise<BillingAccount> {
    const { store, records } = this.#options;
    const before = records.account(organizationId);
    const subscription = reading?.copy.subscription ?? null;
    const account: BillingAccount = {
      ...before,
      customerId: reading === null ? null : before.customerId,
      ownsTier: before.ownsTier || (subscription !== null && isServing(subscription)),
      ...(reading === null ? { held: null, withdrawal: null, paidCredit: 0, declinedMethodIds: [] } : {}),
      servedUntil: this.#servedUntil(subscription, before),
      copy: reading === null ? null : { ...reading.copy, subscription: this.#timed(subscription, before) },
    };
    if (before.customerId !== null) {
      if (servesNow(account.copy) && !servesNow(before.copy))
        await this.#options.beginServing(organizationId);
      await store.write(
        [
          ...(reading === null ? await records.forgetCustomer(organizationId) : []),
          ...records.putAccount(organizationId, account),
          ...this.#methodEntries(organizationId, before.copy, account.copy, by),
        ],
        { mayUseReserve: true },
      );
      await this.#applyTier(organizationId, account);
    }
    if (reason !== undefined) await this.#endDue(organizationId, reason);
    return account;
  }

  /** What people enter or remove at Stripe is only seen here. */
  #methodEntries(
    organizationId: string,
    before: BillingCopy | null,
    after: BillingCopy | null,
    by: Actor,
  ): Operation[] {
    const { audit } = this.#options;
    const entries = (action: string, ids: readonly string[]) =>
      ids.map((payment_method) =>
        audit.entry({ ...by, organizationId, action, target: null, details: { payment_method } }),
      );
    return [
      ...entries('billing.payment_method_added', methodsOnlyOf(after, before)),
      ...entries('billing.payment_method_removed', methodsOnlyOf(before, after)),
    ];
  }

  /** The end of what was served is the end of the period that was known, where nothing ended it earlier. */
  #servedUntil(subscription: SubscriptionCopy | null, before: BillingAccount): number | null {
    if (subscription !== null && isServing(subscription)) return null;
    const served = before.copy?.subscription ?? null;
    if (served === null || !isServing(served)) return before.servedUntil;
    const now = this.#options.clock.now();
    return Math.min(now, subscription?.pausedAt ?? served.periodEnd ?? now);
  }

  /** When a pause began, where Stripe does not say so: when it was first seen. */
  #timed(subscription: SubscriptionCopy | null, before: BillingAccount): SubscriptionCopy | null {
    if (subscription?.status !== 'paused' || subscription.pausedAt !== null) return subscription;
    return { ...subscription, pausedAt: before.copy?.subscription?.pausedAt ?? this.#options.clock.now() };
  }

  async #applyTier(organizationId: string, { ownsTier, copy }: BillingAccount): Promise<void> {
    const { audit, tiers, logger } = this.#options;
    if (!ownsTier) return;
    const subscription = copy?.subscription ?? null;
    if (tierOf(subscription) === null)
      logger.error(
        { organizationId, subscription: subscription?.id },
        'a subscription has a price of no tier',
      );
    const changed = await tiers.apply(organizationId, system);
    if (changed === null) return;
    const entry = { ...system, organizationId, action: 'billing.reconciled', target: null };
    await audit.record({ ...entry, details: changed });
  }

  async #endDue(organizationId: string, reason: string): Promise<void> {
    const { store, records } = this.#options;
    try {
      await store.write(records.endDue(organizationId, reason), { mayUseReserve: true });
    } catch (error) {
      // Something happened meanwhile; whoever noted it reads again.
      if (!(error instanceof ExpectationFailed)) throw error;
    }
  }
}

function servesNow(copy: BillingCopy | null): boolean {
  return copy !== null && copy.subscription !== null && isServing(copy.subscription);
}

/** Of what one copy has and the other has not: what the end of a full list only hides has neither come nor gone. */
function methodsOnlyOf(copy: BillingCopy | null, other: BillingCopy | null): string[] {
  const [ids, others] = [methodIdsOf(copy), methodIdsOf(other)];
  const isFull = others.length === limits.billingListMax;
  const known = isFull ? ids.findLastIndex((id) => others.includes(id)) + 1 : ids.length;
  return ids.slice(0, known).filter((id) => !others.includes(id));
}

/** Newest first. */
function methodIdsOf(copy: BillingCopy | null): string[] {
  return copy?.paymentMethods.map(({ id }) => id) ?? [];
}

function isElsewhere(): AppError {
  return new AppError(
    'conflict',
    'What is known of this organisation comes from another account of the payment provider.',
  );
}

function paysElsewhere(until: number): AppError {
  return new AppError(
    'conflict',
    `What this organisation pays for until ${timeToShow(until)} was bought in another account of the payment provider: whoever runs this server has to set the secret key of that account again.`,
  );
}

/** How old a reading may be for somebody who only looks. */
export const lookMsMax = limits.billingReadMs;
