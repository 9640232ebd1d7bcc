import { limitsOf, type OrganisationLimits, type Tiers } from '../admission/tiers.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { AppError, type Stranger } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { Mutex } from '../core/async/mutex.ts';
import {
  noOverrides,
  type Organisation,
  type OrganisationOverrides,
  Organisations,
  type Tier,
} from '../store/organisations.ts';
import type { Operation, Store, WriteOptions } from '../store/store.ts';

/** What to change; what is absent or null stays. An override of 0 removes it. */
export interface OrganisationChanges {
  readonly name?: string | null | undefined;
  readonly tier?: Tier | null | undefined;
  readonly grantedTier?: Tier | null | undefined;
  readonly zdr?: boolean | null | undefined;
  readonly overrides?: { readonly [Field in keyof OrganisationOverrides]?: number | null | undefined };
}

export interface OrganisationDirectoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly audit: AuditLog;
  readonly tiers: Tiers;
}

type Given = Pick<Organisation, 'organizationId' | 'name' | 'tier' | 'unlimited'>;

const system: Actor = { actor: 'system', address: null };

/** The organisations of this installation. Every change is durable when its promise resolves. */
export class OrganisationDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #audit: AuditLog;
  readonly #tiers: Tiers;
  readonly #records: Organisations;
  readonly #changes = new Mutex();
  readonly #limits = new Map<string, OrganisationLimits>();
  #revision = 0;
  /** Null until all have been read. */
  #private: Set<string> | null = null;

  constructor(options: OrganisationDirectoryOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#audit = options.audit;
    this.#tiers = options.tiers;
    this.#records = new Organisations(options.store);
  }

  /** Grows with every change, so that caches know when to forget. */
  get revision(): number {
    return this.#revision;
  }

  /** False as soon as one organisation wants zero data retention, and until it is known. */
  get mayQuote(): boolean {
    return this.#private?.size === 0;
  }

  /** Undefined also for one that is being deleted. */
  find(organizationId: string): Organisation | undefined {
    const found = this.#records.get(organizationId);
    return found?.deletedAt === undefined ? found : undefined;
  }

  /** Part of the list of all, in the order of their ids, those that are being deleted among them. */
  after(organizationId: string | null, limit: number): Promise<Organisation[]> {
    return this.#records.after(organizationId, limit);
  }

  /** 404 when there is none. */
  get(organizationId: string): Organisation {
    const found = this.find(organizationId);
    if (found !== undefined) return found;
    throw noOrganisation(organizationId);
  }

  /** Asked with every request, so it is kept until an organisation changes. 404 when there is none. */
  limitsOf(organizationId: string): OrganisationLimits {
    const known = this.#limits.get(organizationId);
    if (known !== undefined) return known;
    if (this.#limits.size >= limits.rememberedRecordsMax) this.#limits.clear();
    const found = limitsOf(this.get(organizationId), this.#tiers);
    this.#limits.set(organizationId, found);
    return found;
  }

  /** The organisation an installation begins with, or null before its first start. Reads all of them: for the start. */
  async first(): Promise<Organisation | null> {
    const all = await this.#records.list();
    this.#private = new Set(all.flatMap(({ zdr, organizationId }) => (zdr ? [organizationId] : [])));
    return all.find(({ unlimited, deletedAt }) => unlimited && deletedAt === undefined) ?? null;
  }

  /** Those that are deleted but for their data. Reads all: for the start. */
  async deleted(): Promise<Organisation[]> {
    const all = await this.#records.list();
    return all.filter(({ deletedAt }) => deletedAt !== undefined);
  }

  /** A new organisation on the tier `free`, named like its id. 409 when the id is taken. */
  create(organizationId: string, by: Actor): Promise<Organisation> {
    return this.#create({ organizationId, name: organizationId, tier: 'free', unlimited: false }, by, []);
  }

  /** One that a person creates; `alongside` makes them its owner in the same write. */
  found(
    { organizationId, name }: Pick<Organisation, 'organizationId' | 'name'>,
    by: Actor,
    alongside: readonly Operation[],
  ): Promise<Organisation> {
    return this.#create({ organizationId, name, tier: 'free', unlimited: false }, by, alongside);
  }

  /** The organisation of the first start: no rate limit applies to it. */
  createFirst(organizationId: string): Promise<Organisation> {
    return this.#create({ organizationId, name: 'default', tier: 'enterprise', unlimited: true }, system, []);
  }

  /** 404 when there is none. */
  update(organizationId: string, changes: OrganisationChanges, by: Actor): Promise<Organisation> {
    return this.#changes.run(async () => {
      const before = this.get(organizationId);
      const grantedTier = changes.grantedTier ?? before.grantedTier;
      const after: Organisation = {
        ...before,
        ...(grantedTier === undefined ? {} : { grantedTier }),
        name: changes.name ?? before.name,
        tier: changes.tier ?? before.tier,
        zdr: changes.zdr ?? before.zdr,
        overrides: overridden(before.overrides, changes.overrides ?? {}),
      };
      const entry = { ...by, organizationId, action: 'organization.updated', target: null };
      const granted = changes.grantedTier ? { granted_tier: changes.grantedTier } : {};
      const details = { name: after.name, tier: after.tier, ...granted, zdr: after.zdr };
      // Before it is acknowledged, and after a refusal stricter than need be.
      if (after.zdr) this.#private?.add(organizationId);
      await this.#write([...this.#records.update(after), this.#audit.entry({ ...entry, details })]);
      if (!after.zdr) this.#private?.delete(organizationId);
      return after;
    });
  }

  /**
   * Nobody finds it from now on; `alongside` ends its keys, members and invitations in the same write. Its data are the
   * caller's to delete. 404 when there is none.
   */
  delete(organizationId: string, by: Actor, alongside: readonly Operation[]): Promise<void> {
    return this.#changes.run(async () => {
      const before = this.get(organizationId);
      const entry = { ...by, organizationId, action: 'organization.deleted', target: null };
      const ended = [
        ...this.#records.update({ ...before, deletedAt: this.#clock.now() }),
        ...alongside,
        this.#audit.entry({ ...entry, details: { name: before.name } }),
      ];
      // Also on a full disk, which it makes room on.
      await this.#write(ended, { mayUseReserve: true });
    });
  }

  /** The last of a deleted one; `alongside` is written with it. */
  async purge(organizationId: string, alongside: readonly Operation[]): Promise<void> {
    await this.#write([...this.#records.delete(organizationId), ...alongside], { mayUseReserve: true });
  }

  #create(given: Given, by: Actor, alongside: readonly Operation[]): Promise<Organisation> {
    return this.#changes.run(async () => {
      const { organizationId, name } = given;
      if (this.#records.get(organizationId) !== undefined) {
        throw new AppError('conflict', `The organisation "${organizationId}" exists already.`);
      }
      const createdAt = this.#clock.now();
      const granted = { grantedTier: given.tier, overrides: noOverrides, zdr: false };
      const organisation: Organisation = { ...given, ...granted, createdAt };
      const entry = { ...by, organizationId, action: 'organization.created', target: null };
      await this.#write([
        ...this.#records.create(organisation),
        ...alongside,
        this.#audit.entry({ ...entry, details: { name } }),
      ]);
      return organisation;
    });
  }

  async #write(operations: readonly Operation[], options: WriteOptions = {}): Promise<void> {
    try {
      await this.#store.write(operations, options);
    } finally {
      // Also after a refusal: the store says then what it wants to be asked again for.
      this.#limits.clear();
    }
    this.#revision += 1;
  }
}

/** `stranger`: who asked, for the audit log. */
export function noOrganisation(organizationId: string, stranger?: Stranger): AppError {
  const options = stranger === undefined ? {} : { stranger };
  return new AppError('not_found', `There is no organisation "${organizationId}".`, options);
}

function overridden(
  before: OrganisationOverrides,
  changes: NonNullable<OrganisationChanges['overrides']>,
): OrganisationOverrides {
  const fields = Object.keys(noOverrides) as (keyof OrganisationOverrides)[];
  const next = (field: keyof OrganisationOverrides): number | null => {
    const change = changes[field] ?? before[field];
    return change === 0 ? null : change;
  };
  return Object.fromEntries(fields.map((field) => [field, next(field)])) as unknown as OrganisationOverrides;
}
