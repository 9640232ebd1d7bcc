import { clearDeletion } from './deletions.ts';
import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export const tiers = ['free', 'starter', 'teams', 'enterprise'] as const;
export type Tier = (typeof tiers)[number];

/**
 * Limits set by an administrator for one organization; null or 0 means the value of the tier (or the
 * installation).
 */
export interface OrganizationOverrides {
  readonly bytesPerMinuteFast: number | null;
  readonly bytesPerMinuteSlow: number | null;
  readonly bytesPerRequestMax: number | null;
  readonly metadataBytesMax: number | null;
  readonly rerankRequestsPerMinute: number | null;
  readonly requestsPerMinute: number | null;
  readonly queriesPerMinute: number | null;
  readonly documentBytesPerMinute: number | null;
  readonly documentsMax: number | null;
  readonly storageBytesMax: number | null;
  readonly ingestDocumentsMax: number | null;
}

export const noOverrides: OrganizationOverrides = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  bytesPerRequestMax: null,
  metadataBytesMax: null,
  rerankRequestsPerMinute: null,
  requestsPerMinute: null,
  queriesPerMinute: null,
  documentBytesPerMinute: null,
  documentsMax: null,
  storageBytesMax: null,
  ingestDocumentsMax: null,
};

export interface Organization {
  readonly organizationId: string;
  /** Display name; not unique, so that an organization cannot detect the names of others. */
  readonly name: string;
  /** Effective tier: the best of those granted, paid for, and bought at a marketplace. */
  readonly tier: Tier;
  /** Tier granted by an administrator, free of charge; absent in records written before this was stored. */
  readonly grantedTier?: Tier;
  /** True for the first organization of an installation: no rate limit applies. */
  readonly unlimited: boolean;
  readonly overrides: OrganizationOverrides;
  /** Zero data retention: no text of this organization may be logged. */
  readonly zdr: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Time of deletion; only its data remain, until they are deleted, too. */
  readonly deletedAt?: number;
}

const organizationsTable = new Table<readonly [organizationId: string], Organization>(tables.organisations, [
  uuid,
]);

/** Organizations by id. */
export class Organizations {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  find(organizationId: string): Organization | undefined {
    const stored = organizationsTable.get(this.#store, [organizationId]);
    return stored && withAllOverrides(stored);
  }

  /** Returns all organizations, ordered by id. */
  async list(): Promise<Organization[]> {
    const found: Organization[] = [];
    for await (const { value } of organizationsTable.range(this.#store, []))
      found.push(withAllOverrides(value));
    return found;
  }

  /** Returns up to `limit` organizations after an id (null: from the first). */
  async listAfter(organizationId: string | null, limit: number): Promise<Organization[]> {
    const range = organizationId === null ? {} : { gt: organizationsTable.keyOf(organizationId) };
    const found: Organization[] = [];
    for await (const { value } of organizationsTable.range(this.#store, [], { ...range, limit })) {
      found.push(withAllOverrides(value));
    }
    return found;
  }

  /** Errors: `ExpectationFailedError` if the id exists when the write is applied. */
  create(organization: Organization): WriteOperation[] {
    const { organizationId } = organization;
    return [
      organizationsTable.expect(
        [organizationId],
        (known) => known === undefined,
        'the organization id is unused',
      ),
      organizationsTable.put([organizationId], organization),
      clearDeletion('organization', organizationId),
    ];
  }

  /** Errors: `ExpectationFailedError` if it was deleted meanwhile. */
  update(organization: Organization): WriteOperation[] {
    const { organizationId } = organization;
    return [
      organizationsTable.expect([organizationId], (known) => known !== undefined, 'the organization exists'),
      organizationsTable.put([organizationId], organization),
    ];
  }

  delete(organizationId: string): WriteOperation[] {
    return [organizationsTable.delete([organizationId])];
  }
}

/** Adds overrides that earlier builds did not store. */
function withAllOverrides(stored: Organization): Organization {
  return { ...stored, overrides: { ...noOverrides, ...stored.overrides } };
}
