import { AppError } from '../core/app-error.ts';
import type { SubscriptionCopy } from '../storage/billing-account.ts';
import type { Organization } from '../storage/organizations.ts';
import type { MarketplaceMeteringCheck } from './billing-sync.ts';
import { type EffectiveTiers, tierOfSubscription } from './effective-tiers.ts';
import { isPaidTier, type PaidTier, tierRank } from './plans.ts';

/** Conditions of sale, shared by subscriptions and their previews. */

/** Tiers and metering from sources other than Stripe. */
export interface MarketplaceSales {
  readonly tiers: Pick<EffectiveTiers, 'readMarketplaceTier' | 'grantedTierOf'>;
  readonly isMeteredByMarketplace: MarketplaceMeteringCheck;
}

/** Returns the requested tier if it can be sold to this organization. Errors: 400. */
export function requirePaidTier({ tier: current }: Organization, requested: Organization['tier']): PaidTier {
  if (current === 'enterprise' || requested === 'enterprise')
    throw new AppError(
      'bad_request',
      'The enterprise tier is not self-service. Contact the operator of this server.',
    );
  if (!isPaidTier(requested))
    throw new AppError('bad_request', 'The free tier needs no subscription. Use downgrade instead.');
  return requested;
}

/** Errors: 409 if the organization pays through a marketplace, because it must not pay twice. */
export async function checkNotBoughtAtMarketplace(
  sales: MarketplaceSales,
  organizationId: string,
): Promise<void> {
  if ((await sales.tiers.readMarketplaceTier(organizationId)) !== null)
    throw new AppError('conflict', 'This organization pays through a marketplace. End that purchase first.');
  await checkNotMeteredByMarketplace(sales, organizationId);
}

/** Errors: 409 if usage is metered through a marketplace, because it would be charged twice. */
export async function checkNotMeteredByMarketplace(
  { isMeteredByMarketplace }: Pick<MarketplaceSales, 'isMeteredByMarketplace'>,
  organizationId: string,
): Promise<void> {
  if (await isMeteredByMarketplace(organizationId))
    throw new AppError(
      'conflict',
      'The usage of this organization is metered through AWS Marketplace and would be charged twice. End that purchase first.',
    );
}

/**
 * Errors: 409 if an administrator granted this tier or a higher one, because the charge would have no effect.
 */
export function checkNotGranted(
  tiers: Pick<EffectiveTiers, 'grantedTierOf'>,
  organizationId: string,
  tier: PaidTier,
): void {
  const granted = tiers.grantedTierOf(organizationId);
  if (tierRank(tier) <= tierRank(granted))
    throw new AppError(
      'conflict',
      `The administrator has granted this organization the ${granted} tier free of charge. A subscription to ${tier} would be charged and have no effect.`,
    );
}

/** Errors: 409 if the tier differs from the paused one. */
export function checkResumeTier({ tier: paused }: SubscriptionCopy, tier: PaidTier): void {
  if (paused !== tier)
    throw new AppError(
      'conflict',
      `The subscription to ${paused} is paused. Subscribe to that tier to resume it, then change it.`,
    );
}

/**
 * Returns the current tier. Errors: 400 if `tier` is not higher; 409 if the subscription has a price unknown
 * to this server.
 */
export function checkUpgrade(subscription: SubscriptionCopy, tier: PaidTier): Organization['tier'] {
  const from = tierOfSubscription(subscription);
  if (from === null) throw unknownPriceError();
  if (tierRank(tier) <= tierRank(from)) throw notAnUpgradeError(from, tier);
  return from;
}

export function unknownPriceError(): AppError {
  return new AppError(
    'conflict',
    'The price of this subscription is not in the plans of this server. Ask the operator to correct it in Stripe.',
  );
}

function notAnUpgradeError(from: Organization['tier'], to: PaidTier): AppError {
  return new AppError(
    'bad_request',
    from === to
      ? `The organization is already subscribed to ${from}.`
      : `${to} is lower than ${from}. Use downgrade, which takes effect on the 1st of next month.`,
  );
}
