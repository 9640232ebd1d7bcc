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
  /** UTF-8 bytes of the metadata of one document, as compact JSON. */
  readonly metadataBytesMax: number;
}

export type Tiers = Readonly<Record<Tier, ModelLimits>>;

/** What the operator configured for the tiers that have limits; `config/schema` holds the names and the defaults. */
export type TierSettings = Readonly<
  Record<
    `${Exclude<Tier, 'enterprise'>}${'BytesPerMinuteFast' | 'BytesPerMinuteSlow' | 'RerankRequestsPerMinute'}`,
    number
  >
>;

export const noLimits: ModelLimits = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  rerankRequestsPerMinute: null,
};

export function tiersOf(settings: TierSettings): Tiers {
  const limited = (tier: Exclude<Tier, 'enterprise'>): ModelLimits => ({
    bytesPerMinuteFast: settings[`${tier}BytesPerMinuteFast`],
    bytesPerMinuteSlow: settings[`${tier}BytesPerMinuteSlow`],
    rerankRequestsPerMinute: settings[`${tier}RerankRequestsPerMinute`],
  });
  return {
    free: limited('free'),
    starter: limited('starter'),
    teams: limited('teams'),
    enterprise: noLimits,
  };
}

/** An override wins over everything, then the first organisation's freedom, then the tier. */
export function limitsOf(organisation: Organisation, tiers: Tiers): OrganisationLimits {
  const base = organisation.unlimited ? noLimits : tiers[organisation.tier];
  const { overrides } = organisation;
  return {
    bytesPerMinuteFast: overrides.bytesPerMinuteFast ?? base.bytesPerMinuteFast,
    bytesPerMinuteSlow: overrides.bytesPerMinuteSlow ?? base.bytesPerMinuteSlow,
    rerankRequestsPerMinute: base.rerankRequestsPerMinute,
    bytesPerRequestMax: overrides.bytesPerRequestMax ?? limits.modelBytesMax,
    metadataBytesMax: overrides.metadataBytesMax ?? limits.metadataBytesMax,
  };
}
