import { limits } from '../core/limits.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable } from './wire.ts';

/** Limits of an organization, as requests change them and replies show them. */

const safeIntegerMax = Number.MAX_SAFE_INTEGER;

/** Overrides by wire name: the limit, its unit and its range. */
export const overrides = {
  override_bpm_fast: {
    limit: 'bytesPerMinuteFast',
    meaning: 'Bytes per minute of fast model calls',
    most: safeIntegerMax,
  },
  override_bpm_slow: {
    limit: 'bytesPerMinuteSlow',
    meaning: 'Bytes per minute of slow model calls',
    most: safeIntegerMax,
  },
  override_max_bytes_per_request: {
    limit: 'bytesPerRequestMax',
    meaning: 'Charged bytes of one model call',
    most: safeIntegerMax,
  },
  override_max_metadata_bytes: {
    limit: 'metadataBytesMax',
    meaning: 'Bytes of the metadata of one document, as compact JSON',
    most: limits.metadataBytesRaisedMax,
  },
  override_rpm: {
    limit: 'rerankRequestsPerMinute',
    meaning: 'Fast rerank calls per minute',
    most: safeIntegerMax,
  },
  override_requests_per_minute: {
    limit: 'requestsPerMinute',
    meaning: 'Requests of any kind per minute',
    most: safeIntegerMax,
  },
  override_queries_per_minute: {
    limit: 'queriesPerMinute',
    meaning: 'Queries per minute',
    most: safeIntegerMax,
  },
  override_document_bytes_per_minute: {
    limit: 'documentBytesPerMinute',
    meaning: 'Raw bytes of added documents per minute',
    most: safeIntegerMax,
  },
  override_max_documents: { limit: 'documentsMax', meaning: 'Stored documents', most: safeIntegerMax },
  override_max_storage_bytes: {
    limit: 'storageBytesMax',
    meaning: 'Raw bytes of stored documents',
    most: safeIntegerMax,
  },
  override_max_ingest_documents: {
    limit: 'ingestDocumentsMax',
    meaning: 'Documents waiting for parsing and indexing at the same time',
    most: safeIntegerMax,
  },
} as const;

type OverrideName = keyof typeof overrides;
type OverriddenLimit = (typeof overrides)[OverrideName]['limit'];
const names = Object.keys(overrides) as OverrideName[];

function createFields<F>(field: (meaning: string, most: number) => F): { [Name in OverrideName]: F } {
  const entries = names.map((name) => [name, field(overrides[name].meaning, overrides[name].most)]);
  return Object.fromEntries(entries) as { [Name in OverrideName]: F };
}

export const overrideFields = createFields((meaning) =>
  Nullable(Type.Integer(), { description: `${meaning}; null when there is no override.` }),
);
export const overrideChangeFields = createFields((meaning, maximum) =>
  Type.Optional(
    Nullable(Type.Integer({ minimum: 0, maximum }), {
      description: `${meaning}; 0 removes the override, absent or null keeps it.`,
    }),
  ),
);

type ByLimit<V> = { readonly [Limit in OverriddenLimit]: V };
type ByName<V> = { [Name in OverrideName]: V };

/** Converts stored overrides to wire names. */
export function toWireOverrides(stored: ByLimit<number | null>): ByName<number | null> {
  return Object.fromEntries(names.map((name) => [name, stored[overrides[name].limit]])) as ByName<
    number | null
  >;
}

/** Converts the overrides of a request to limit names. */
export function fromWireOverrides(
  request: { readonly [Name in OverrideName]?: number | null },
): ByLimit<number | null | undefined> {
  return Object.fromEntries(names.map((name) => [overrides[name].limit, request[name]])) as ByLimit<
    number | null | undefined
  >;
}

const limitField = (description: string) =>
  Nullable(Type.Integer(), { description: `${description}; null for no limit.` });

export const RateLimits = Component('RateLimits', 'Limits of an organization, including overrides.', {
  bpm_fast: limitField(
    'Bytes per minute of fast model calls; applies separately to embedding and to reranking',
  ),
  bpm_slow: limitField('Bytes per minute of slow model calls'),
  rpm: limitField('Fast rerank calls per minute'),
  max_bytes_per_request: Type.Integer({ description: 'Charged bytes of one model call.' }),
  refresh_seconds: Type.Integer({
    description: 'Refill interval in seconds; each refill adds a quarter of the limit per minute.',
  }),
  overridden: Type.Boolean({ description: 'Whether any limit differs from the tier.' }),
  requests_per_minute: limitField('Requests of any kind per minute'),
  queries_per_minute: limitField('Queries per minute'),
  document_bytes_per_minute: limitField('Raw bytes of added documents per minute'),
  max_documents: limitField('Stored documents'),
  max_storage_bytes: limitField('Raw bytes of stored documents'),
  max_ingest_documents: limitField('Documents waiting for parsing and indexing at the same time'),
});
export type RateLimits = Static<typeof RateLimits>;

/** Returns the effective limits, and whether an administrator overrides the tier. */
export function toWireLimits(
  applied: ByLimit<number | null> & { readonly bytesPerRequestMax: number },
  stored: ByLimit<number | null>,
): RateLimits {
  return {
    bpm_fast: applied.bytesPerMinuteFast,
    bpm_slow: applied.bytesPerMinuteSlow,
    rpm: applied.rerankRequestsPerMinute,
    max_bytes_per_request: applied.bytesPerRequestMax,
    refresh_seconds: limits.bucketRefillMs / 1_000,
    overridden: Object.values(toWireOverrides(stored)).some((override) => override !== null),
    requests_per_minute: applied.requestsPerMinute,
    queries_per_minute: applied.queriesPerMinute,
    document_bytes_per_minute: applied.documentBytesPerMinute,
    max_documents: applied.documentsMax,
    max_storage_bytes: applied.storageBytesMax,
    max_ingest_documents: applied.ingestDocumentsMax,
  };
}

export const OrganizationStorage = Component('OrganizationStorage', 'Current storage of an organization.', {
  documents: Type.Integer(),
  bytes: Type.Integer({ description: 'Raw bytes of the stored files and texts.' }),
  ingest_documents: Type.Integer({ description: 'Documents waiting for parsing and indexing.' }),
});
export type OrganizationStorage = Static<typeof OrganizationStorage>;
