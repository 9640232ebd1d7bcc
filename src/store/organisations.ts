import { tables, text, uuid } from './keys.ts';
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
}

export const noOverrides: OrganisationOverrides = {
  bytesPerMinuteFast: null,
  bytesPerMinuteSlow: null,
  bytesPerRequestMax: null,
  metadataBytesMax: null,
};

export interface Organisation {
  readonly organizationId: string;
  /** Unique in the installation. */
  readonly name: string;
  readonly tier: Tier;
  /** True for the first organisation of an installation: no rate limit applies. */
  readonly unlimited: boolean;
  readonly overrides: OrganisationOverrides;
  /** Zero data retention: no text of this organisation may reach a log. */
  readonly zdr: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAt: number;
}

const organisations = new Table<readonly [organizationId: string], Organisation>(tables.organisations, [
  uuid,
]);
const names = new Table<readonly [name: string], string>(tables.organisationName, [text]);
/** Organisations by id and by their unique name. */
export class Organisations {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  get(organizationId: string): Organisation | undefined {
    return organisations.get(this.#store, [organizationId]);
  }

  byName(name: string): Organisation | undefined {
    const organizationId = names.get(this.#store, [name]);
    return organizationId === undefined ? undefined : this.get(organizationId);
  }

  /** Every organisation, in the order of their ids. */
  async list(): Promise<Organisation[]> {
    const found: Organisation[] = [];
    for await (const { value } of organisations.range(this.#store, [])) found.push(value);
    return found;
  }

  /** Refused with `ExpectationFailed` when the name or the id is taken at the moment of the write. */
  create(organisation: Organisation): Operation[] {
    const { organizationId, name } = organisation;
    return [
      names.expect([name], (taken) => taken === undefined, 'the organisation name is free'),
      organisations.expect([organizationId], (known) => known === undefined, 'the organisation id is new'),
      organisations.put([organizationId], organisation),
      names.put([name], organizationId),
    ];
  }

  /** Replaces a record; a new name must be free. */
  update(previous: Organisation, next: Organisation): Operation[] {
    const replace = organisations.put([previous.organizationId], next);
    if (previous.name === next.name) return [replace];
    return [
      names.expect([next.name], (taken) => taken === undefined, 'the organisation name is free'),
      names.delete([previous.name]),
      names.put([next.name], next.organizationId),
      replace,
    ];
  }
}
