import { tables, uuid } from './keys.ts';
import type { Operation, Store } from './store.ts';
import { Table } from './table.ts';

export const tiers = ['free', 'starter', 'teams', 'enterprise'] as const;
export type Tier = (typeof tiers)[number];

/** What an administrator set for one organisation; null or 0 means the tier's (or the installation's) value. */
export interface OrganisationOverrides {
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

export const noOverrides: OrganisationOverrides = {
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

export interface Organisation {
  readonly organizationId: string;
  /** For people; several may have the same, so that nobody learns of another's. */
  readonly name: string;
  /** What applies: the best of what is granted, paid for, and bought at a marketplace. */
  readonly tier: Tier;
  /** What an administrator gave, free of charge; absent where that was not recorded yet. */
  readonly grantedTier?: Tier;
  /** True for the first organisation of an installation: no rate limit applies. */
  readonly unlimited: boolean;
  readonly overrides: OrganisationOverrides;
  /** Zero data retention: no text of this organisation may reach a log. */
  readonly zdr: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
  /** Since when it is deleted: only its data are still there, until they are gone too. */
  readonly deletedAt?: number;
}

const organisations = new Table<readonly [organizationId: string], Organisation>(tables.organisations, [
  uuid,
]);

/** Organisations by id. */
export class Organisations {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string): Organisation | undefined {
    const found = organisations.get(this.#store, [organizationId]);
    return found && whole(found);
  }

  /** Every organisation, in the order of their ids. */
  async list(): Promise<Organisation[]> {
    const found: Organisation[] = [];
    for await (const { value } of organisations.range(this.#store, [])) found.push(whole(value));
    return found;
  }

  /** At most so many of them behind an id. */
  async after(organizationId: string | null, limit: number): Promise<Organisation[]> {
    const range = organizationId === null ? {} : { gt: organisations.keyOf(organizationId) };
    const found: Organisation[] = [];
    for await (const { value } of organisations.range(this.#store, [], { ...range, limit })) {
      found.push(whole(value));
    }
    return found;
  }

  /** Refused with `ExpectationFailed` when the id is taken at the moment of the write. */
  create(organisation: Organisation): Operation[] {
    const { organizationId } = organisation;
    return [
      organisations.expect([organizationId], (known) => known === undefined, 'the organisation id is new'),
      organisations.put([organizationId], organisation),
    ];
  }

  /** Refused with `ExpectationFailed` when it was deleted meanwhile. */
  update(organisation: Organisation): Operation[] {
    const { organizationId } = organisation;
    return [
      organisations.expect([organizationId], (known) => known !== undefined, 'the organisation exists'),
      organisations.put([organizationId], organisation),
    ];
  }

  delete(organizationId: string): Operation[] {
    return [organisations.delete([organizationId])];
  }
}

/** Earlier builds knew fewer overrides. */
function whole(stored: Organisation): Organisation {
  return { ...stored, overrides: { ...noOverrides, ...stored.overrides } };
}
