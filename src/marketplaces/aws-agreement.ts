import type { AwsOffer, MarketplaceAgreement } from '../storage/marketplaces.ts';

export type AwsAgreement = MarketplaceAgreement & { readonly offer: AwsOffer };

export const hourMs = 3_600_000;

export function isAwsAgreement(agreement: MarketplaceAgreement): agreement is AwsAgreement {
  return agreement.offer.marketplace === 'aws';
}

/** What else may bill the use of an organization. */
export interface OtherSources {
  /** All AWS agreements of the organization, those that are over among them. */
  readonly agreements: readonly AwsAgreement[];
  /** Until when the use was charged by card, in milliseconds since the epoch: 0 for never, Infinity while it is. */
  readonly chargedUntil: number;
}

/**
 * Whether another source bills the use of an hour. Earlier builds let an organization have several metered sources; one
 * of them bills: its subscription here, whose payments are deducted from usage, else the license that was bound first.
 * When that ends, the next one bills from the following hour on.
 */
export function isBilledElsewhere(
  agreement: AwsAgreement,
  hour: number,
  { agreements, chargedUntil }: OtherSources,
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
