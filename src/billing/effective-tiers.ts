import type { Actor } from '../audit/audit-log.ts';
import { KeyedMutex } from '../core/async/mutex.ts';
import type { Clock } from '../core/clock.ts';
import type { BillingRecords } from '../storage/billing.ts';
import type { SubscriptionCopy } from '../storage/billing-account.ts';
import type { MarketplaceAgreement, MarketplaceRecords } from '../storage/marketplaces.ts';
import type { Organization, Tier } from '../storage/organizations.ts';
import { isServing } from './plan-states.ts';
import { higherTier } from './plans.ts';

/** Part of an organization that an administrator changes together with the granted tier. */
interface TierGrant {
  readonly grantedTier?: Tier | null | undefined;
}

/** The part of the organization directory that tier computation needs. */
export interface TieredOrganizations {
  find(organizationId: string): Organization | undefined;
  get(organizationId: string): Organization;
  /** One page of all organizations, in the order of their ids. */
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
  /** Whether Stripe is read. If false, a subscription counts until the end of its paid period. */
  readonly isBillingEnabled: boolean;
}

const system: Actor = { actor: 'system', address: null };
const pageSize = 1_000;

/**
 * Computes the tier of an organization: the highest of the tier granted by an administrator, the tier of the
 * Stripe subscription, and the tier bought at a marketplace. No other class writes it. Callers that change
 * one of the three sources write that first and then call `apply`; of several concurrent calls, the last one
 * sees every change.
 */
export class EffectiveTiers {
  readonly #options: EffectiveTiersOptions;
  readonly #mutex = new KeyedMutex();

  constructor(options: EffectiveTiersOptions) {
    this.#options = options;
  }

  /** Tier granted by an administrator, free of charge. */
  grantedTierOf(organizationId: string): Tier {
    return this.#options.organizations.find(organizationId)?.grantedTier ?? 'free';
  }

  /** Highest tier of the active marketplace agreements; null without one. */
  async readMarketplaceTier(organizationId: string): Promise<Tier | null> {
    return highestMarketplaceTier(
      await this.#options.agreements.listAgreementsByOrganization(organizationId),
    );
  }

  /** Applies a change by an administrator. Errors: 404 if the organization does not exist. */
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

  /** Recomputes the tier from its three sources. Returns the old and new tier, or null if nothing changed. */
  apply(organizationId: string, by: Actor): Promise<{ readonly from: Tier; readonly to: Tier } | null> {
    const { organizations } = this.#options;
    return this.#mutex.run(organizationId, async () => {
      const paid = this.#subscriptionTierOf(organizationId);
      const from = organizations.find(organizationId)?.tier;
      // The subscription has a price unknown to this server, so its tier is unknown too and the current tier
      // stays.
      if (from === undefined || paid === null) return null;
      const to = await this.#computeTier(organizationId, this.grantedTierOf(organizationId), paid);
      if (from === to) return null;
      await organizations.update(organizationId, { tier: to }, by);
      return { from, to };
    });
  }

  /**
   * Records the granted tier of organizations written by an earlier build: a tier that came from neither a
   * subscription nor a marketplace. Reads all organizations. Runs at startup, before anything changes them.
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

/** Returns the highest tier of the active agreements; null without one. */
export function highestMarketplaceTier(agreements: readonly MarketplaceAgreement[]): Tier | null {
  const tiers = agreements.flatMap(({ endedAt, tier }) => (endedAt === null && tier !== null ? [tier] : []));
  return tiers.reduce<Tier | null>((best, tier) => (best === null ? tier : higherTier(best, tier)), null);
}

/** Returns the tier that a subscription grants; null if its price is unknown to this server. */
export function tierOfSubscription(subscription: SubscriptionCopy | null): Tier | null {
  return subscription !== null && isServing(subscription) ? subscription.tier : 'free';
}
