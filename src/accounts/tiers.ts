import { limits } from '../base/limits.ts';
import type { Organisation, Tier } from '../store/organisations.ts';

/** What one organisation may use of the models; null is no limit. Embedding and reranking each get the whole of it. */
export interface ModelLimits {
  readonly bytesPerMinuteFast: number | null;
  readonly bytesPerMinuteSlow: number | null;
  /** Counts rerank calls only, and only fast ones: what exceeds it may still run slow. */
  readonly rerankRequestsPerMinute: number | null;
}

/** The limits of one organisation with its overrides applied. */
export interface OrganisationLimits extends ModelLimits {
  /** Charged bytes of a single embed or rerank call. */
  readonly bytesPerRequestMax: number;
}

export type Tiers = Readonly<Record<Tier, ModelLimits>>;

/** What the tiers allow unless the operator configured something else. */
export const defaultTiers: Tiers = {
  free: { bytesPerMinuteFast: 500_000, bytesPerMinuteSlow: 5_000_000, rerankRequestsPerMinute: 1_000 },
  starter: { bytesPerMinuteFast: 2_500_000, bytesPerMinuteSlow: 20_000_000, rerankRequestsPerMinute: 5_000 },
  teams: { bytesPerMinuteFast: 10_000_000, bytesPerMinuteSlow: 100_000_000, rerankRequestsPerMinute: 20_000 },
  enterprise: { bytesPerMinuteFast: null, bytesPerMinuteSlow: null, rerankRequestsPerMinute: null },
};

/** An override wins over everything, then the first organisation's freedom, then the tier. */
export function limitsOf(organisation: Organisation, tiers: Tiers): OrganisationLimits {
  const base = organisation.unlimited ? defaultTiers.enterprise : tiers[organisation.tier];
  const { overrides } = organisation;
  return {
    bytesPerMinuteFast: overrides.bytesPerMinuteFast ?? base.bytesPerMinuteFast,
    bytesPerMinuteSlow: overrides.bytesPerMinuteSlow ?? base.bytesPerMinuteSlow,
    rerankRequestsPerMinute: base.rerankRequestsPerMinute,
    bytesPerRequestMax: overrides.bytesPerRequestMax ?? limits.modelBytesMax,
  };
}
