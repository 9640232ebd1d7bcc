import type { AwsOffer, MarketplaceAgreement } from '../storage/marketplaces.ts';

export type AwsAgreement = MarketplaceAgreement & { readonly offer: AwsOffer };

export const hourMs = 3_600_000;

export function isAwsAgreement(agreement: MarketplaceAgreement): agreement is AwsAgreement {
  return agreement.offer.marketplace === 'aws';
}

/** Other sources that may bill the usage of an organization. */
export interface OtherBillingSources {
  /** All AWS agreements of the organization, including ended ones. */
  readonly agreements: readonly AwsAgreement[];
  /**
   * Time until which usage was charged by card, in milliseconds since the epoch: 0 for never, Infinity while it is
   * charged.
   */
  readonly chargedUntil: number;
}

/**
 * Whether another source bills the usage of an hour. Earlier builds allowed several metered sources per
 * organization, of which exactly one bills: the Stripe subscription, whose payments are deducted from usage,
 * else the license that was bound first. When that source ends, the next one bills from the following hour
 * on.
 */
export function isBilledElsewhere(
  agreement: AwsAgreement,
  hour: number,
  { agreements, chargedUntil }: OtherBillingSources,
): boolean {
  if (chargedUntil > hour * hourMs) return true;
  return agreements.some(
    (other) => isBoundBefore(other, agreement) && (other.endedAt === null || other.hour > hour),
  );
}

function isBoundBefore(one: AwsAgreement, other: AwsAgreement): boolean {
  const [license, otherLicense] = [one.offer.licenseArn, other.offer.licenseArn];
  return one.boundAt === other.boundAt ? license < otherLicense : one.boundAt < other.boundAt;
}
