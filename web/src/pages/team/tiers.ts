import type { SubscriptionType } from '../../../../src/schemas/admin.ts';

const names: Readonly<Record<SubscriptionType, string>> = {
  free: 'Free',
  starter: 'Starter',
  teams: 'Teams',
  enterprise: 'Enterprise',
};

export const tiers = Object.keys(names) as SubscriptionType[];

export function tierName(tier: SubscriptionType): string {
  return names[tier];
}
