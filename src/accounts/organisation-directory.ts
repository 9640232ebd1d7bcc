import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import {
  noOverrides,
  type Organisation,
  type OrganisationOverrides,
  Organisations,
  type Tier,
} from '../store/organisations.ts';
import type { Store } from '../store/store.ts';
import { OneAtATime } from './one-at-a-time.ts';
import { limitsOf, type OrganisationLimits, type Tiers } from './tiers.ts';

/** What to change; what is absent or null stays. An override of 0 removes it. */
export interface OrganisationChanges {
  readonly tier?: Tier | null | undefined;
  readonly zdr?: boolean | null | undefined;
  readonly overrides?: { readonly [Field in keyof OrganisationOverrides]?: number | null | undefined };
}

export interface OrganisationDirectoryOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly tiers: Tiers;
}

/** The organisations of this installation. Every change is durable when its promise resolves. */
export class OrganisationDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #tiers: Tiers;
  readonly #records: Organisations;
  readonly #changes = new OneAtATime();
  #revision = 0;

  constructor(options: OrganisationDirectoryOptions) {
    this.#store = options.store;
    this.#clock = options.clock;
    this.#tiers = options.tiers;
    this.#records = new Organisations(options.store);
  }

  /** Grows with every change, so that caches know when to forget. */
  get revision(): number {
    return this.#revision;
  }

  find(organizationId: string): Organisation | undefined {
    return this.#records.get(organizationId);
  }

  /** 404 when there is none. */
  get(organizationId: string): Organisation {
    const found = this.find(organizationId);
    if (found !== undefined) return found;
    throw new AppError('not_found', `There is no organisation "${organizationId}".`);
  }

  limitsOf(organizationId: string): OrganisationLimits {
    return limitsOf(this.get(organizationId), this.#tiers);
  }

  /** The organisation an installation begins with, or null before its first start. Reads all of them: for the start. */
  async first(): Promise<Organisation | null> {
    const all = await this.#records.list();
    return all.find((organisation) => organisation.unlimited) ?? null;
  }

  /** A new organisation on the tier `free`, named like its id. 409 when the id is taken. */
  create(organizationId: string): Promise<Organisation> {
    return this.#create({ organizationId, name: organizationId, tier: 'free', unlimited: false });
  }

  /** The organisation of the first start: no rate limit applies to it. */
  createFirst(organizationId: string): Promise<Organisation> {
    return this.#create({ organizationId, name: 'default', tier: 'enterprise', unlimited: true });
  }

  /** 404 when there is none. */
  update(organizationId: string, changes: OrganisationChanges): Promise<Organisation> {
    return this.#changes.run(async () => {
      const before = this.get(organizationId);
      const after: Organisation = {
        ...before,
        tier: changes.tier ?? before.tier,
        zdr: changes.zdr ?? before.zdr,
        overrides: overridden(before.overrides, changes.overrides ?? {}),
      };
      await this.#store.write(this.#records.update(before, after));
      this.#revision += 1;
      return after;
    });
  }

  #create(
    given: Pick<Organisation, 'organizationId' | 'name' | 'tier' | 'unlimited'>,
  ): Promise<Organisation> {
    return this.#changes.run(async () => {
      if (this.find(given.organizationId) !== undefined) {
        throw new AppError('conflict', `The organisation "${given.organizationId}" exists already.`);
      }
      const createdAt = this.#clock.now();
      const organisation: Organisation = { ...given, overrides: noOverrides, zdr: false, createdAt };
      await this.#store.write(this.#records.create(organisation));
      this.#revision += 1;
      return organisation;
    });
  }
}

function overridden(
  before: OrganisationOverrides,
  changes: NonNullable<OrganisationChanges['overrides']>,
): OrganisationOverrides {
  const next = (field: keyof OrganisationOverrides): number | null => {
    const change = changes[field] ?? before[field];
    return change === 0 ? null : change;
  };
  return {
    bytesPerMinuteFast: next('bytesPerMinuteFast'),
    bytesPerMinuteSlow: next('bytesPerMinuteSlow'),
    bytesPerRequestMax: next('bytesPerRequestMax'),
    metadataBytesMax: next('metadataBytesMax'),
  };
}
