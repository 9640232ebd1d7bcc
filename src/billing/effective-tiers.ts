import type { Actor } from '../audit/audit-log.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { BillingRecords, SubscriptionCopy } from '../storage/billing.ts';
import type { MarketplaceAgreement, MarketplaceRecords } from '../storage/marketplaces.ts';
import type { Organization, Tier } from '../storage/organizations.ts';
import { higherTier } from './plans.ts';

/** What an administrator changes together with the granted tier. */
interface TierGrant {
  readonly grantedTier?: Tier | null | undefined;
}

/** What the effective tier needs of the organizations. */
export interface TieredOrganizations {
  find(organizationId: string): Organization | undefined;
  get(organizationId: string): Organization;
  /** Part of the list of all, in the order of their ids. */
  listAfter(organizationId: string | null, limit: number): Promise<readonly Organization[]>;
  update(
    organizationId: string,
    changes: TierGrant & { readonly tier?: Tier | null | undefined },
    by: Actor,
  ): Promise<Organization>;
}

export interface EffectiveTiersOptions {
  readonly organizations: TieredOrganizations;
  readonly billing: Pick<BillingRecords, 'getAccount'>;
  readonly agreements: Pick<MarketplaceRecords, 'listAgreementsByOrganization'>;
  readonly clock: Clock;
  /** Whether Stripe is read. Without it a subscription counts until the end of the period that was paid for. */
  readonly isBillingEnabled: boolean;
}

/** A subscription that serves: what is overdue is tried again by Stripe for a while. */
const servingStatuses: ReadonlySet<string> = new Set(['active', 'trialing', 'past_due']);
const system: Actor = { actor: 'system', address: null };
const pageSize = 1_000;

/**
 * The tier that applies to an organization is the best of three: what an administrator granted, what a subscription at
 * Stripe pays for, and what was bought at a marketplace. Only this class writes it. Whoever changes one of the three
 * writes that first and calls `apply` after it; the last call of several sees everything.
 */
export class EffectiveTiers {
  readonly #options: EffectiveTiersOptions;
  readonly #mutex = new KeyedMutex();

  constructor(options: EffectiveTiersOptions) {
    this.#options = options;
  }

  /** What an administrator granted, free of charge. */
  grantedTierOf(organizationId: string): Tier {
    return this.#options.organizations.find(organizationId)?.grantedTier ?? 'free';
  }

  /** The highest tier of the agreements that last at marketplaces; null without one. */
  async readMarketplaceTier(organizationId: string): Promise<Tier | null> {
    return highestMarketplaceTier(
      await this.#options.agreements.listAgreementsByOrganization(organizationId),
    );
  }

  /** What an administrator changes of an organization. Errors: 404 when there is none. */
  grant(organizationId: string, changes: TierGrant, by: Actor): Promise<Organization> {
    const { organizations } = this.#options;
    return this.#mutex.run(organizationId, async () => {
      const { grantedTier } = organizations.get(organizationId);
      const granted = changes.grantedTier ?? grantedTier ?? 'free';
      const tier = await this.#computeTier(
        organizationId,
        granted,
        this.#subscriptionTierOf(organizationId) ?? 'free',
      );
      return organizations.update(organizationId, { ...changes, tier }, by);
    });
  }

  /** Makes the tier follow from its three sources. Answers what it was and is; null where nothing changed. */
  apply(organizationId: string, by: Actor): Promise<{ readonly from: Tier; readonly to: Tier } | null> {
    const { organizations } = this.#options;
    return this.#mutex.run(organizationId, async () => {
      const paid = this.#subscriptionTierOf(organizationId);
      const from = organizations.find(organizationId)?.tier;
      // Nobody can say what a price that is none of ours pays for: it changes nothing.
      if (from === undefined || paid === null) return null;
      const to = await this.#computeTier(organizationId, this.grantedTierOf(organizationId), paid);
      if (from === to) return null;
      await organizations.update(organizationId, { tier: to }, by);
      return { from, to };
    });
  }

  /**
   * Records what was granted to organizations that an earlier build wrote: a tier that neither a subscription nor a
   * marketplace decided. Reads all organizations: for the start, before anything changes them.
   */
  async backfillGrantedTiers(): Promise<void> {
    const { organizations } = this.#options;
    for (let last: string | null = null; ; ) {
      const page: readonly Organization[] = await organizations.listAfter(last, pageSize);
      for (const organization of page)
        if (organization.grantedTier === undefined && organization.deletedAt === undefined)
          await this.#backfillGrantedTier(organization);
      last = page.at(-1)?.organizationId ?? null;
      if (last === null) return;
    }
  }

  async #backfillGrantedTier({ organizationId, tier }: Organization): Promise<void> {
    const { organizations, billing } = this.#options;
    const isBought =
      billing.getAccount(organizationId).ownsTier ||
      (await this.readMarketplaceTier(organizationId)) !== null;
    const grantedTier = isBought && tier !== 'enterprise' ? 'free' : tier;
    await organizations.update(organizationId, { grantedTier }, system);
  }

  async #computeTier(organizationId: string, granted: Tier, paid: Tier): Promise<Tier> {
    return higherTier(granted, higherTier(paid, (await this.readMarketplaceTier(organizationId)) ?? 'free'));
  }

  #subscriptionTierOf(organizationId: string): Tier | null {
    const { billing, clock, isBillingEnabled } = this.#options;
    const subscription = billing.getAccount(organizationId).copy?.subscription ?? null;
    const hasEnded = !isBillingEnabled && (subscription?.periodEnd ?? 0) <= clock.now();
    return hasEnded ? 'free' : tierOfSubscription(subscription);
  }
}

/** The highest tier of the agreements that last; null without one. */
export function highestMarketplaceTier(agreements: readonly MarketplaceAgreement[]): Tier | null {
  const tiers = agreements.flatMap(({ endedAt, tier }) => (endedAt === null && tier !== null ? [tier] : []));
  return tiers.reduce<Tier | null>((best, tier) => (best === null ? tier : higherTier(best, tier)), null);
}

/** The tier that a subscription serves; null for a price that is none of ours. */
export function tierOfSubscription(subscription: SubscriptionCopy | null): Tier | null {
  return subscription !== null && isServing(subscription) ? subscription.tier : 'free';
}

/** Whether a subscription serves and is paid for by and by. */
export function isServing({ status }: SubscriptionCopy): boolean {
  return servingStatuses.has(status);
}
