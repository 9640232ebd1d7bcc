import { tables, uuid } from './keys.ts';
import type { Store, WriteOperation } from './store.ts';
import { Table } from './table.ts';

export const tiers = ['free', 'starter', 'teams', 'enterprise'] as const;
export type Tier = (typeof tiers)[number];

/** What an administrator set for one organisation; null or 0 means the tier's (or the installation's) value. */
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
  /** For people; several may have the same, so that nobody learns of another's. */
  readonly name: string;
  /** What applies: the best of what is granted, paid for, and bought at a marketplace. */
  readonly tier: Tier;
  /** What an administrator gave, free of charge; absent where that was not recorded yet. */
  readonly grantedTier?: Tier;
  /** True for the first organisation of an installation: no rate limit applies. */
  readonly unlimited: boolean;
  readonly overrides: OrganizationOverrides;
  /** Zero data retention: no text of this organisation may reach a log. */
  readonly zdr: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Since when it is deleted: only its data are still there, until they are gone too. */
  readonly deletedAt?: number;
}

const organizationsTable = new Table<readonly [organizationId: string], Organization>(tables.organisations, [
  uuid,
]);

/** Organisations by id. */
export class Organizations {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  find(organizationId: string): Organization | undefined {
    const stored = organizationsTable.get(this.#store, [organizationId]);
    return stored && withAllOverrides(stored);
  }

  /** Every organisation, in the order of their ids. */
  async list(): Promise<Organization[]> {
    const found: Organization[] = [];
    for await (const { value } of organizationsTable.range(this.#store, []))
      found.push(withAllOverrides(value));
    return found;
  }

  /** At most so many of them behind an id. */
  async listAfter(organizationId: string | null, limit: number): Promise<Organization[]> {
    const range = organizationId === null ? {} : { gt: organizationsTable.keyOf(organizationId) };
    const found: Organization[] = [];
    for await (const { value } of organizationsTable.range(this.#store, [], { ...range, limit })) {
      found.push(withAllOverrides(value));
    }
    return found;
  }

  /** Refused with `ExpectationFailed` when the id is taken at the moment of the write. */
  create(organization: Organization): WriteOperation[] {
    const { organizationId } = organization;
    return [
      organizationsTable.expect(
        [organizationId],
        (known) => known === undefined,
        'the organisation id is new',
      ),
      organizationsTable.put([organizationId], organization),
    ];
  }

  /** Refused with `ExpectationFailed` when it was deleted meanwhile. */
  update(organization: Organization): WriteOperation[] {
    const { organizationId } = organization;
    return [
      organizationsTable.expect([organizationId], (known) => known !== undefined, 'the organisation exists'),
      organizationsTable.put([organizationId], organization),
    ];
  }

  delete(organizationId: string): WriteOperation[] {
    return [organizationsTable.delete([organizationId])];
  }
}

/** Earlier builds knew fewer overrides. */
function withAllOverrides(stored: Organization): Organization {
  return { ...stored, overrides: { ...noOverrides, ...stored.overrides } };
}
