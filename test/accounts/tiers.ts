import { type Tiers, tiersOf } from '../../src/accounts/tiers.ts';

/** The tiers as the contract publishes them. */
export const publishedTiers: Tiers = tiersOf({
  freeBytesPerMinuteFast: 500_000,
  freeBytesPerMinuteSlow: 5_000_000,
  freeRerankRequestsPerMinute: 1_000,
  starterBytesPerMinuteFast: 2_500_000,
  starterBytesPerMinuteSlow: 20_000_000,
  starterRerankRequestsPerMinute: 5_000,
  teamsBytesPerMinuteFast: 10_000_000,
  teamsBytesPerMinuteSlow: 100_000_000,
  teamsRerankRequestsPerMinute: 20_000,
});
