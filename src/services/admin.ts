import type { AuditLog } from '../audit/audit-log.ts';
import { auditPage } from '../audit/audit-page.ts';
import type {
  AddAPIKeyRequest,
  AddAPIKeyResponse,
  APIKeyRestriction,
  CreateOrganizationRequest,
  DeleteAPIKeyRequest,
  DeleteOrganizationRequest,
  GetOrganizationRequest,
  GetOrganizationResponse,
  ListAPIKeysRequest,
  ListAPIKeysResponse,
  ListOrganizationsRequest,
  ListOrganizationsResponse,
  SubscriptionType,
  UpdateAPIKeyRequest,
  UpdateOrganizationRequest,
} from '../schemas/admin.ts';
import type { AuditLogRequest, AuditLogResponse } from '../schemas/audit.ts';
import {
  limitsToShow,
  type OrganizationStorage,
  overridesAsked,
  overridesToShow,
} from '../schemas/organisation-limits.ts';
import type { KeyPermission, KeyRestriction, Principal } from '../schemas/principal.ts';
import { type DefaultResponse, success } from '../schemas/wire.ts';
import type { Call } from './call.ts';

export type AdministratorCall = Call<Extract<Principal, { kind: 'administrator' }>>;

type Overrides = Parameters<typeof overridesToShow>[0];

interface OrganisationRecord {
  readonly organizationId: string;
  readonly name: string;
  readonly tier: SubscriptionType;
  readonly overrides: Overrides;
  readonly zdr: boolean;
  readonly createdAt: number;
  /** Since when it is being deleted. */
  readonly deletedAt?: number;
}

/** What of `accounts/organisation-directory` these use cases need. */
export interface OrganisationsOfAdmin {
  /** 409 when it exists. */
  create(organizationId: string, by: Actor): Promise<unknown>;
  /** 404 when there is none. */
  get(organizationId: string): OrganisationRecord;
  /** Part of the list of all, in the order of their ids. */
  after(organizationId: string | null, limit: number): Promise<readonly OrganisationRecord[]>;
  limitsOf(organizationId: string): Parameters<typeof limitsToShow>[0];
}

/** What an administrator grants applies unless something better is paid for or bought. 404 when there is none. */
export interface TiersOfAdmin {
  grant(
    organizationId: string,
    changes: {
      readonly grantedTier?: SubscriptionType | null | undefined;
      readonly zdr?: boolean | null | undefined;
      readonly overrides: ReturnType<typeof overridesAsked>;
    },
    by: Actor,
  ): Promise<unknown>;
}

/** Who did it, for the audit log. */
interface Actor {
  readonly actor: string;
  readonly address: string;
}

interface KeyPlace {
  readonly organizationId: string;
  readonly keyId: string;
}

/** What of `accounts/key-ring` these use cases need; `update` and `revoke` answer 404 for another's key. */
export interface KeysOfAdmin {
  issue(
    wanted: {
      readonly organizationId: string;
      readonly name: string;
      readonly permission: KeyPermission;
      readonly createdBy: string | null;
      readonly expiresAt?: number;
      readonly restriction: KeyRestriction | null;
    },
    by: Actor,
  ): Promise<{ readonly secret: string }>;
  list(organizationId: string): Promise<
    readonly {
      readonly keyId: string;
      readonly createdAt: number;
      readonly name: string;
      readonly permission: KeyPermission;
      readonly createdBy: string | null;
      readonly expiresAt?: number;
      readonly masked: string;
      /** As JSON text where it has a filter. */
      readonly restriction?: {
        readonly collections: readonly string[] | null;
        readonly filter: string | null;
      };
    }[]
  >;
  update(
    place: KeyPlace,
    changes: {
      readonly name?: string | null | undefined;
      readonly permission?: KeyPermission | null | undefined;
      readonly restriction: KeyRestriction | null;
    },
    by: Actor,
  ): Promise<unknown>;
  /** Milliseconds since the epoch; null for a key that was never used. */
  lastUse(place: KeyPlace): number | null;
  revoke(place: KeyPlace, by: Actor): Promise<void>;
}

/** Errors: 404 when there is none, 409 for the first of the installation. */
type EndOrganisation = (organizationId: string, by: Actor) => Promise<void>;

interface AdminServiceOptions {
  readonly organisations: OrganisationsOfAdmin;
  readonly tiers: TiersOfAdmin;
  readonly keys: KeysOfAdmin;
  readonly audit: Pick<AuditLog, 'list'>;
  readonly end: EndOrganisation;
  readonly storageOf: (organizationId: string) => Promise<OrganizationStorage>;
}

/** Organisations of one reply, when the request does not say how many. */
const listedDefault = 100;

/** The operations of `/v1/admin/*`. All of them answer 404 for an organisation that does not exist. */
export class AdminService {
  readonly #organisations: OrganisationsOfAdmin;
  readonly #tiers: TiersOfAdmin;
  readonly #keys: KeysOfAdmin;
  readonly #audit: Pick<AuditLog, 'list'>;
  readonly #end: EndOrganisation;
  readonly #storageOf: AdminServiceOptions['storageOf'];

  constructor(options: AdminServiceOptions) {
    this.#organisations = options.organisations;
    this.#tiers = options.tiers;
    this.#keys = options.keys;
    this.#audit = options.audit;
    this.#end = options.end;
    this.#storageOf = options.storageOf;
  }

  /** 201; 409 when the id is taken. */
  async createOrganization(
    call: AdministratorCall,
    request: CreateOrganizationRequest,
  ): Promise<DefaultResponse> {
    await this.#organisations.create(idOf(request.organization_id), by(call));
    return success;
  }

  async listOrganizations(
    _call: AdministratorCall,
    { after, limit }: ListOrganizationsRequest,
  ): Promise<ListOrganizationsResponse> {
    const asked = limit ?? listedDefault;
    const page = await this.#organisations.after(typeof after === 'string' ? idOf(after) : null, asked);
    const last = page.at(-1);
    return {
      organizations: page
        .filter(({ deletedAt }) => deletedAt === undefined)
        .map(({ organizationId, name, tier, createdAt, zdr, overrides }) => ({
          organization_id: organizationId,
          name,
          subscription_tier: tier,
          created_at: new Date(createdAt).toISOString(),
          zdr,
          overridden: Object.values(overridesToShow(overrides)).some((override) => override !== null),
        })),
      next_after: last === undefined || page.length < asked ? null : last.organizationId,
    };
  }

  async getOrganization(
    _call: AdministratorCall,
    request: GetOrganizationRequest,
  ): Promise<GetOrganizationResponse> {
    const found = this.#organisations.get(idOf(request.organization_id));
    return {
      organization_id: found.organizationId,
      name: found.name,
      subscription_tier: found.tier,
      ...overridesToShow(found.overrides),
      rate_limits: limitsToShow(this.#organisations.limitsOf(found.organizationId), found.overrides),
      storage: await this.#storageOf(found.organizationId),
      zdr: found.zdr,
    };
  }

  async updateOrganization(
    call: AdministratorCall,
    request: UpdateOrganizationRequest,
  ): Promise<DefaultResponse> {
    const changes = {
      grantedTier: request.subscription_tier,
      zdr: request.zdr,
      overrides: overridesAsked(request),
    };
    await this.#tiers.grant(idOf(request.organization_id), changes, by(call));
    return success;
  }

  /** 201; the only reply that holds the key in clear. */
  async addApiKey(call: AdministratorCall, request: AddAPIKeyRequest): Promise<AddAPIKeyResponse> {
    const { organizationId } = this.#organisations.get(idOf(request.organization_id));
    const { name, permission } = request;
    const createdBy = request.created_by ?? null;
    const restriction = asked(request.restriction);
    const { expires_at } = request;
    const end = typeof expires_at === 'string' ? { expiresAt: Date.parse(expires_at) } : {};
    const wanted = { organizationId, name, permission, createdBy, restriction, ...end };
    const { secret } = await this.#keys.issue(wanted, by(call));
    return { api_key: secret };
  }

  async listApiKeys(_call: AdministratorCall, request: ListAPIKeysRequest): Promise<ListAPIKeysResponse> {
    const { organizationId } = this.#organisations.get(idOf(request.organization_id));
    const keys = await this.#keys.list(organizationId);
    return {
      api_keys: keys.map((key) => ({
        id: key.keyId,
        created_at: new Date(key.createdAt).toISOString(),
        name: key.name,
        permission: key.permission,
        created_by: key.createdBy,
        expires_at: timeOf(key.expiresAt),
        last_used_at: timeOf(this.#keys.lastUse({ organizationId, keyId: key.keyId })),
        restriction: shown(key.restriction),
        api_key: key.masked,
      })),
    };
  }

  async updateApiKey(call: AdministratorCall, request: UpdateAPIKeyRequest): Promise<DefaultResponse> {
    const { name, permission } = request;
    const restriction = asked(request.restriction);
    await this.#keys.update(this.#placeOf(request), { name, permission, restriction }, by(call));
    return success;
  }

  async deleteApiKey(call: AdministratorCall, request: DeleteAPIKeyRequest): Promise<DefaultResponse> {
    await this.#keys.revoke(this.#placeOf(request), by(call));
    return success;
  }

  async deleteOrganization(
    call: AdministratorCall,
    request: DeleteOrganizationRequest,
  ): Promise<DefaultResponse> {
    await this.#end(idOf(request.organization_id), by(call));
    return success;
  }

  /** Of an organisation, or of what belongs to none. */
  async getAuditLog(_call: AdministratorCall, request: AuditLogRequest): Promise<AuditLogResponse> {
    const { organization_id } = request;
    const whose =
      typeof organization_id === 'string'
        ? this.#organisations.get(idOf(organization_id)).organizationId
        : null;
    return auditPage(this.#audit, whose, request);
  }

  #placeOf(request: { readonly organization_id: string; readonly api_key_id: string }): KeyPlace {
    const { organizationId } = this.#organisations.get(idOf(request.organization_id));
    return { organizationId, keyId: idOf(request.api_key_id) };
  }
}

function asked(restriction: APIKeyRestriction | null | undefined): KeyRestriction | null {
  return restriction ? { collections: restriction.collection_names, filter: restriction.filter } : null;
}

function shown(
  restriction: { readonly collections: readonly string[] | null; readonly filter: string | null } | undefined,
): APIKeyRestriction | null {
  if (restriction === undefined) return null;
  const { collections, filter } = restriction;
  return {
    collection_names: collections && [...collections],
    filter: filter === null ? null : (JSON.parse(filter) as APIKeyRestriction['filter']),
  };
}

export function timeOf(milliseconds: number | null | undefined): string | null {
  return typeof milliseconds === 'number' ? new Date(milliseconds).toISOString() : null;
}

/** Whoever holds the administrator's key, or signed in as the administrator. */
export function by(call: AdministratorCall): Actor {
  return { actor: 'administrator', address: call.address() };
}

/** Ids compare in small letters, as the store writes them. */
export function idOf(uuid: string): string {
  return uuid.toLowerCase();
}
