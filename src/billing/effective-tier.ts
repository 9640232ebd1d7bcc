import type { Actor } from '../audit/audit-log.ts';
import type { Clock } from '../base/clock.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { BillingRecords, SubscriptionCopy } from '../store/billing.ts';
import type { Agreement, MarketplaceRecords } from '../store/marketplaces.ts';
import type { Organisation, Tier } from '../store/organisations.ts';
import { higherTier } from './plans.ts';

/** What an administrator changes together with the granted tier. */
interface Grant {
  readonly grantedTier?: Tier | null | undefined;
}

/** What the effective tier needs of the organizations. */
export interface TieredOrganizations {
  find(organizationId: string): Organisation | undefined;
  get(organizationId: string): Organisation;
  /** Part of the list of all, in the order of their ids. */
  after(organizationId: string | null, limit: number): Promise<readonly Organisation[]>;
  update(
    organizationId: string,
    changes: Grant & { readonly tier?: Tier | null | undefined },
    by: Actor,
  ): Promise<Organisation>;
}

export interface EffectiveTiersOptions {
  readonly organisations: TieredOrganizations;
  readonly billing: Pick<BillingRecords, 'account'>;
  readonly agreements: Pick<MarketplaceRecords, 'agreementsOf'>;
  readonly clock: Clock;
  /** Whether Stripe is read. Without it a subscription counts until the end of the period that was paid for. */
  readonly takesPayments: boolean;
}

/** A subscription that serves: what is overdue is tried again by Stripe for a while. */
const serving: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);
const system: Actor = { actor: 'system', address: null };
const pageSize = 1_000;

/**
 * The tier that applies to an organization is the best of three: what an administrator granted, what a subscription at
 * Stripe pays for, and what was bought at a marketplace. Only this class writes it. Whoever changes one of the three
 * writes that first and calls `apply` after it; the last call of several sees everything.
 */
export class EffectiveTiers {
  readonly #options: EffectiveTiersOptions;
  readonly #turns = new KeyedMutex();

  constructor(options: EffectiveTiersOptions) {
    this.#options = options;
  }

  /** What an administrator granted, free of charge. */
  grantedTo(organizationId: string): Tier {
    return this.#options.organisations.find(organizationId)?.grantedTier ?? 'free';
  }

  /** The highest tier of the agreements that last at marketplaces; null without one. */
  async boughtBy(organizationId: string): Promise<Tier | null> {
    return boughtTier(await this.#options.agreements.agreementsOf(organizationId));
  }

  /** What an administrator changes of an organization. Errors: 404 when there is none. */
  grant(organizationId: string, changes: Grant, by: Actor): Promise<Organisation> {
    const { organisations } = this.#options;
    return this.#turns.run(organizationId, async () => {
      const { grantedTier } = organisations.get(organizationId);
      const granted = changes.grantedTier ?? grantedTier ?? 'free';
      const tier = await this.#best(organizationId, granted, this.#paidBy(organizationId) ?? 'free');
      return organisations.update(organizationId, { ...changes, tier }, by);
    });
  }

  /** Makes the tier follow from its three sources. Answers what it was and is; null where nothing changed. */
  apply(organizationId: string, by: Actor): Promise<{ readonly from: Tier; readonly to: Tier } | null> {
    const { organisations } = this.#options;
    return this.#turns.run(organizationId, async () => {
      const paid = this.#paidBy(organizationId);
      const from = organisations.find(organizationId)?.tier;
      // Nobody can say what a price that is none of ours pays for: it changes nothing.
      if (from === undefined || paid === null) return null;
      const to = await this.#best(organizationId, this.grantedTo(organizationId), paid);
      if (from === to) return null;
      await organisations.update(organizationId, { tier: to }, by);
      return { from, to };
    });
  }

  /**
   * Records what was granted to organizations that an earlier build wrote: a tier that neither a subscription nor a
   * marketplace decided. Reads all organizations: for the start, before anything changes them.
   */
  async recordGrants(): Promise<void> {
    const { organisations } = this.#options;
    for (let last: string | null = null; ; ) {
      const page: readonly Organisation[] = await organisations.after(last, pageSize);
      for (const one of page)
        if (one.grantedTier === undefined && one.deletedAt === undefined) await this.#recordGrant(one);
      last = page.at(-1)?.organizationId ?? null;
      if (last === null) return;
    }
  }

  async #recordGrant({ organizationId, tier }: Organisation): Promise<void> {
    const { organisations, billing } = this.#options;
    const isBought =
      billing.account(organizationId).ownsTier || (await this.boughtBy(organizationId)) !== null;
    const grantedTier = isBought && tier !== 'enterprise' ? 'free' : tier;
    await organisations.update(organizationId, { grantedTier }, system);
  }

  async #best(organizationId: string, granted: Tier, paid: Tier): Promise<Tier> {
    return higherTier(granted, higherTier(paid, (await this.boughtBy(organizationId)) ?? 'free'));
  }

  #paidBy(organizationId: string): Tier | null {
    const { billing, clock, takesPayments } = this.#options;
    const subscription = billing.account(organizationId).copy?.subscription ?? null;
    const isOver = !takesPayments && (subscription?.periodEnd ?? 0) <= clock.now();
    return isOver ? 'free' : tierOf(subscription);
  }
}

/** The highest tier of the agreements that last; null without one. */
export function boughtTier(agreements: readonly Agreement[]): Tier | null {
  const tiers = agreements.flatMap(({ endedAt, tier }) => (endedAt === null && tier !== null ? [tier] : []));
  return tiers.reduce<Tier | null>((best, tier) => (best === null ? tier : higherTier(best, tier)), null);
}

/** The tier that a subscription serves; null for a price that is none of ours. */
export function tierOf(subscription: SubscriptionCopy | null): Tier | null {
  return subscription !== null && isServing(subscription) ? subscription.tier : 'free';
}

/** Whether a subscription serves and is paid for by and by. */
export function isServing({ status }: SubscriptionCopy): boolean {
  return serving.has(status);
}
