import { limits } from '../core/limits.ts';
import type { Organization, Tier } from '../storage/organizations.ts';

/** Model limits of an organization; null is unlimited. Embedding and reranking each get the full amount. */
export interface ModelLimits {
  readonly bytesPerMinuteFast: number | null;
  readonly bytesPerMinuteSlow: number | null;
  /** Counts only fast rerank calls; calls above the limit may still run slow. */
  readonly rerankRequestsPerMinute: number | null;
}

/** Limits of everything else; null is unlimited. */
export interface RetrievalLimits {
  /** Calls of any operation with a key or a session. */
  readonly requestsPerMinute: number | null;
  readonly queriesPerMinute: number | null;
  /** Raw bytes of received documents, regardless of their outcome. */
  readonly documentBytesPerMinute: number | null;
  readonly documentsMax: number | null;
  /** Raw bytes of stored documents. */
  readonly storageBytesMax: number | null;
  /** Maximum documents that are queued for parsing and indexing or in progress. */
  readonly ingestDocumentsMax: number | null;
}

type TierLimits = ModelLimits & RetrievalLimits;

/** Limits of one organization with its overrides applied. */
export interface OrganizationLimits extends TierLimits {
  /** Charged bytes of a single embed or rerank call. */
  readonly bytesPerRequestMax: number;
  /** UTF-8 bytes of the metadata of one document, as compact JSON. */
  readonly metadataBytesMax: number;
}

export type Tiers = Readonly<Record<Tier, TierLimits>>;

/**
 * Configured limits of the tiers that have limits; 0 is unlimited. `config/schema` has the names and
 * defaults.
 */
export type TierSettings = Readonly<
  Record<`${Exclude<Tier, 'enterprise'>}${Capitalize<keyof TierLimits>}`, number>
>;

export const unlimitedTier: TierLimits = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  rerankRequestsPerMinute: null,
  requestsPerMinute: null,
  queriesPerMinute: null,
  documentBytesPerMinute: null,
  documentsMax: null,
  storageBytesMax: null,
  ingestDocumentsMax: null,
};

export function toTiers(settings: TierSettings): Tiers {
  const limited = (tier: Exclude<Tier, 'enterprise'>): TierLimits => {
    const readLimit = (limit: Capitalize<keyof TierLimits>): number | null =>
      settings[`${tier}${limit}`] || null;
    return {
      bytesPerMinuteFast: readLimit('BytesPerMinuteFast'),
      bytesPerMinuteSlow: readLimit('BytesPerMinuteSlow'),
      rerankRequestsPerMinute: readLimit('RerankRequestsPerMinute'),
      requestsPerMinute: readLimit('RequestsPerMinute'),
      queriesPerMinute: readLimit('QueriesPerMinute'),
      documentBytesPerMinute: readLimit('DocumentBytesPerMinute'),
      documentsMax: readLimit('DocumentsMax'),
      storageBytesMax: readLimit('StorageBytesMax'),
      ingestDocumentsMax: readLimit('IngestDocumentsMax'),
    };
  };
  return {
    free: limited('free'),
    starter: limited('starter'),
    teams: limited('teams'),
    enterprise: unlimitedTier,
  };
}

/** Precedence: an override, then the unlimited first organization, then the tier. */
export function effectiveLimits(
  organization: Pick<Organization, 'tier' | 'unlimited' | 'overrides'>,
  tiers: Tiers,
): OrganizationLimits {
  const base = organization.unlimited ? unlimitedTier : tiers[organization.tier];
  const { overrides } = organization;
  return {
    bytesPerMinuteFast: overrides.bytesPerMinuteFast ?? base.bytesPerMinuteFast,
    bytesPerMinuteSlow: overrides.bytesPerMinuteSlow ?? base.bytesPerMinuteSlow,
    rerankRequestsPerMinute: overrides.rerankRequestsPerMinute ?? base.rerankRequestsPerMinute,
    requestsPerMinute: overrides.requestsPerMinute ?? base.requestsPerMinute,
    queriesPerMinute: overrides.queriesPerMinute ?? base.queriesPerMinute,
    documentBytesPerMinute: overrides.documentBytesPerMinute ?? base.documentBytesPerMinute,
    documentsMax: overrides.documentsMax ?? base.documentsMax,
    storageBytesMax: overrides.storageBytesMax ?? base.storageBytesMax,
    ingestDocumentsMax: overrides.ingestDocumentsMax ?? base.ingestDocumentsMax,
    bytesPerRequestMax: overrides.bytesPerRequestMax ?? limits.modelBytesMax,
    metadataBytesMax: overrides.metadataBytesMax ?? limits.metadataBytesMax,
  };
}
