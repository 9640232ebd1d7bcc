import type { ApiKeyRegistry } from '../accounts/api-key-registry.ts';
import type { OrganizationDirectory } from '../accounts/organization-directory.ts';
import type { Actor, AuditLog } from '../audit/audit-log.ts';
import { readAuditPage } from '../audit/audit-page.ts';
import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type {
  AdminAddAPIKeyRequest,
  AdminAddAPIKeyResponse,
  AdminDeleteAPIKeyRequest,
  AdminDeleteOrganizationRequest,
  AdminUpdateAPIKeyRequest,
  AdminUpdateOrganizationRequest,
  APIKeyRestriction,
  CreateOrganizationRequest,
  GetOrganizationRequest,
  GetOrganizationResponse,
  ListAPIKeysRequest,
  ListAPIKeysResponse,
  ListOrganizationsRequest,
  ListOrganizationsResponse,
  SubscriptionType,
} from '../schemas/admin.ts';
import type { AuditLogRequest, AuditLogResponse } from '../schemas/audit.ts';
import {
  fromWireOverrides,
  type OrganizationStorage,
  toWireLimits,
  toWireOverrides,
} from '../schemas/organization-limits.ts';
import type { KeyRestriction, Principal } from '../schemas/principal.ts';
import { type DefaultResponse, successResponse } from '../schemas/wire.ts';
import type { ApiKeyReference, StoredRestriction } from '../storage/api-keys.ts';
import type { ServiceCall } from './call.ts';

export type AdministratorCall = ServiceCall<Extract<Principal, { kind: 'administrator' }>>;

type AdminOrganizations = Pick<OrganizationDirectory, 'create' | 'get' | 'listAfter' | 'limitsOf'>;
type AdminKeys = Pick<ApiKeyRegistry, 'issue' | 'list' | 'update' | 'lastUsedAt' | 'revoke'>;

/**
 * Sets the tier granted by an administrator; a better tier that is paid for or bought takes precedence.
 * Errors: 404 when the organization does not exist.
 */
export interface AdminTiers {
  grant(
    organizationId: string,
    changes: {
      readonly grantedTier?: SubscriptionType | null | undefined;
      readonly zdr?: boolean | null | undefined;
      readonly overrides: ReturnType<typeof fromWireOverrides>;
    },
    by: Actor,
  ): Promise<unknown>;
}

/** Errors: 404 when the organization does not exist, 409 for the first organization of the installation. */
type DeleteOrganization = (organizationId: string, by: Actor) => Promise<void>;

interface AdminServiceOptions {
  readonly organizations: AdminOrganizations;
  readonly tiers: AdminTiers;
  readonly keys: AdminKeys;
  readonly audit: Pick<AuditLog, 'list'>;
  readonly deleteOrganization: DeleteOrganization;
  readonly storageOf: (organizationId: string) => Promise<OrganizationStorage>;
}

/** Organizations per page, unless the request sets a limit. */
const pageSizeDefault = 100;

/** Operations of `/v1/admin/*`. Errors: 404 for an organization that does not exist. */
export class AdminService {
  readonly #organizations: AdminOrganizations;
  readonly #tiers: AdminTiers;
  readonly #keys: AdminKeys;
  readonly #audit: Pick<AuditLog, 'list'>;
  readonly #deleteOrganization: DeleteOrganization;
  readonly #storageOf: AdminServiceOptions['storageOf'];

  constructor(options: AdminServiceOptions) {
    this.#organizations = options.organizations;
    this.#tiers = options.tiers;
    this.#keys = options.keys;
    this.#audit = options.audit;
    this.#deleteOrganization = options.deleteOrganization;
    this.#storageOf = options.storageOf;
  }

  /** Status 201. Errors: 409 when the ID is taken. */
  async createOrganization(
    call: AdministratorCall,
    request: CreateOrganizationRequest,
  ): Promise<DefaultResponse> {
    await this.#organizations.create(normalizeId(request.organization_id), administratorActor(call));
    return successResponse;
  }

  async listOrganizations(
    _call: AdministratorCall,
    { after, limit, include_storage }: ListOrganizationsRequest,
  ): Promise<ListOrganizationsResponse> {
    const pageSize = limit ?? pageSizeDefault;
    const page = await this.#organizations.listAfter(
      typeof after === 'string' ? normalizeId(after) : null,
      pageSize,
    );
    const last = page.at(-1);
    const organizations: ListOrganizationsResponse['organizations'] = [];
    for (const { organizationId, name, tier, createdAt, zdr, overrides, deletedAt } of page) {
      if (deletedAt !== undefined) continue;
      organizations.push({
        organization_id: organizationId,
        name,
        subscription_tier: tier,
        created_at: toTimestamp(createdAt),
        zdr,
        overridden: Object.values(toWireOverrides(overrides)).some((override) => override !== null),
        ...(include_storage === true ? { storage: await this.#storageOf(organizationId) } : {}),
      });
    }
    return {
      organizations,
      next_after: last === undefined || page.length < pageSize ? null : last.organizationId,
    };
  }

  async getOrganization(
    _call: AdministratorCall,
    request: GetOrganizationRequest,
  ): Promise<GetOrganizationResponse> {
    const organization = this.#organizations.get(normalizeId(request.organization_id));
    return {
      organization_id: organization.organizationId,
      name: organization.name,
      subscription_tier: organization.tier,
      ...toWireOverrides(organization.overrides),
      rate_limits: toWireLimits(
        this.#organizations.limitsOf(organization.organizationId),
        organization.overrides,
      ),
      storage: await this.#storageOf(organization.organizationId),
      zdr: organization.zdr,
    };
  }

  async updateOrganization(
    call: AdministratorCall,
    request: AdminUpdateOrganizationRequest,
  ): Promise<DefaultResponse> {
    const changes = {
      grantedTier: request.subscription_tier,
      zdr: request.zdr,
      overrides: fromWireOverrides(request),
    };
    await this.#tiers.grant(normalizeId(request.organization_id), changes, administratorActor(call));
    return successResponse;
  }

  /** Status 201. The only reply that contains the key in plain text. */
  async addApiKey(call: AdministratorCall, request: AdminAddAPIKeyRequest): Promise<AdminAddAPIKeyResponse> {
    const { organizationId } = this.#organizations.get(normalizeId(request.organization_id));
    const { name, permission, allowed_origins: allowedOrigins } = request;
    const createdBy = request.created_by ?? null;
    const restriction = toRestriction(request.restriction);
    const { expires_at } = request;
    const expiry = typeof expires_at === 'string' ? { expiresAt: Date.parse(expires_at) } : {};
    const input = { organizationId, name, permission, createdBy, restriction, allowedOrigins, ...expiry };
    const { secret } = await this.#keys.issue(input, administratorActor(call));
    return { api_key: secret };
  }

  async listApiKeys(_call: AdministratorCall, request: ListAPIKeysRequest): Promise<ListAPIKeysResponse> {
    const { organizationId } = this.#organizations.get(normalizeId(request.organization_id));
    const keys = await this.#keys.list(organizationId);
    return {
      api_keys: keys.map((key) => ({
        id: key.keyId,
        created_at: toTimestamp(key.createdAt),
        name: key.name,
        permission: key.permission,
        created_by: key.createdBy,
        expires_at: toOptionalTimestamp(key.expiresAt),
        last_used_at: toOptionalTimestamp(this.#keys.lastUsedAt({ organizationId, keyId: key.keyId })),
        restriction: toWireRestriction(key.restriction),
        allowed_origins: [...(key.allowedOrigins ?? [])],
        api_key: key.masked,
      })),
    };
  }

  async updateApiKey(call: AdministratorCall, request: AdminUpdateAPIKeyRequest): Promise<DefaultResponse> {
    const { name, permission, allowed_origins: allowedOrigins } = request;
    const restriction = toRestriction(request.restriction);
    await this.#keys.update(
      this.#keyReferenceOf(request),
      { name, permission, restriction, allowedOrigins },
      administratorActor(call),
    );
    return successResponse;
  }

  async deleteApiKey(call: AdministratorCall, request: AdminDeleteAPIKeyRequest): Promise<DefaultResponse> {
    await this.#keys.revoke(this.#keyReferenceOf(request), administratorActor(call));
    return successResponse;
  }

  async deleteOrganization(
    call: AdministratorCall,
    request: AdminDeleteOrganizationRequest,
  ): Promise<DefaultResponse> {
    await this.#deleteOrganization(normalizeId(request.organization_id), administratorActor(call));
    return successResponse;
  }

  /** Returns the audit log of an organization, or the entries that belong to no organization. */
  async getAuditLog(_call: AdministratorCall, request: AuditLogRequest): Promise<AuditLogResponse> {
    const { organization_id } = request;
    const targetOrganizationId =
      typeof organization_id === 'string'
        ? this.#organizations.get(normalizeId(organization_id)).organizationId
        : null;
    return readAuditPage(this.#audit, targetOrganizationId, request);
  }

  #keyReferenceOf(request: {
    readonly organization_id: string;
    readonly api_key_id: string;
  }): ApiKeyReference {
    const { organizationId } = this.#organizations.get(normalizeId(request.organization_id));
    return { organizationId, keyId: normalizeId(request.api_key_id) };
  }
}

function toRestriction(restriction: APIKeyRestriction | null | undefined): KeyRestriction | null {
  return restriction ? { collections: restriction.collection_names, filter: restriction.filter } : null;
}

function toWireRestriction(restriction: StoredRestriction | undefined): APIKeyRestriction | null {
  if (restriction === undefined) return null;
  const { collections, filter } = restriction;
  return {
    collection_names: collections && [...collections],
    filter: filter === null ? null : (JSON.parse(filter) as APIKeyRestriction['filter']),
  };
}

/** Actor for calls with the administrator key or an administrator session. */
export function administratorActor(call: AdministratorCall): Actor {
  return { actor: 'administrator', address: call.address() };
}

/** IDs are compared in lower case, as the store writes them. */
export function normalizeId(uuid: string): string {
  return uuid.toLowerCase();
}
