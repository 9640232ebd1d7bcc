import { type Tiers, toTiers } from '../../src/admission/tiers.ts';

/** All other limits are unlimited in every tier. */
const unlimited = {
  RequestsPerMinute: 0,
  QueriesPerMinute: 0,
  DocumentBytesPerMinute: 0,
  DocumentsMax: 0,
  StorageBytesMax: 0,
  IngestDocumentsMax: 0,
} as const;

type UnlimitedTier<T extends string> = { [Name in keyof typeof unlimited as `${T}${Name}`]: number };

function unlimitedOf<const T extends string>(tier: T): UnlimitedTier<T> {
  const named = Object.entries(unlimited).map(([name, most]) => [`${tier}${name}`, most]);
  return Object.fromEntries(named) as UnlimitedTier<T>;
}

/** Tiers as published. */
export const publishedTiers: Tiers = toTiers({
  ...unlimitedOf('free'),
  ...unlimitedOf('starter'),
  ...unlimitedOf('teams'),
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
