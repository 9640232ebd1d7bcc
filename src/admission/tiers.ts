import { limits } from '../core/limits.ts';
import type { Organization, Tier } from '../storage/organizations.ts';

/** What one organisation may use of the models; null is no limit. Embedding and reranking each get the whole of it. */
export interface ModelLimits {
  readonly bytesPerMinuteFast: number | null;
  readonly bytesPerMinuteSlow: number | null;
  /** Counts rerank calls only, and only fast ones: what exceeds it may still run slow. */
  readonly rerankRequestsPerMinute: number | null;
}

/** What it may use of everything else; null is no limit. */
export interface RetrievalLimits {
  /** Calls of any operation with a key or a session. */
  readonly requestsPerMinute: number | null;
  readonly queriesPerMinute: number | null;
  /** Raw bytes of documents that come in, whatever becomes of them. */
  readonly documentBytesPerMinute: number | null;
  readonly documentsMax: number | null;
  /** Raw bytes of the documents that are stored. */
  readonly storageBytesMax: number | null;
  /** Documents that wait for parsing and indexing or are worked on, at one time. */
  readonly ingestDocumentsMax: number | null;
}

type TierLimits = ModelLimits & RetrievalLimits;

/** The limits of one organisation with its overrides applied. */
export interface OrganizationLimits extends TierLimits {
  /** Charged bytes of a single embed or rerank call. */
  readonly bytesPerRequestMax: number;
  /** UTF-8 bytes of the metadata of one document, as compact JSON. */
  readonly metadataBytesMax: number;
}

export type Tiers = Readonly<Record<Tier, TierLimits>>;

/**
 * What the operator configured for the tiers that have limits, 0 for none; `config/schema` holds the names and the
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

/** An override wins over everything, then the first organisation's freedom, then the tier. */
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
