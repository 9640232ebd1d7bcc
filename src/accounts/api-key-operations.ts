import { AppError } from '../core/app-error.ts';
import { limits } from '../core/limits.ts';
import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/accounts.ts';
import type { KeyRestriction } from '../schemas/principal.ts';
import type { ApiKeyRegistry } from './api-key-registry.ts';
import { type MembershipAuthorizer, managerRoles, toActor } from './membership-authorizer.ts';
import { successReply, toApiKeyRestriction } from './organization-replies.ts';
import { checkDisplayText } from './user-accounts.ts';
import type { UserCall } from './user-operations.ts';

export interface ApiKeyOperationsOptions {
  readonly keys: ApiKeyRegistry;
  readonly authorizer: MembershipAuthorizer;
}

/** Operations of users on the API keys of their organizations. */
export class ApiKeyOperations {
  readonly #options: ApiKeyOperationsOptions;

  constructor(options: ApiKeyOperationsOptions) {
    this.#options = options;
  }

  async add(call: UserCall, request: wire.AddAPIKeyRequest): Promise<wire.AddAPIKeyResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    checkDisplayText('name', request.name);
    const { organizationId } = organization;
    const { name, permission, expires_at, allowed_origins: allowedOrigins } = request;
    const createdBy = call.principal.userId;
    const expiry = typeof expires_at === 'string' ? { expiresAt: Date.parse(expires_at) } : {};
    const access = { restriction: parseRestriction(request), allowedOrigins };
    const input = { organizationId, name, permission, createdBy, ...access };
    const { secret, key } = await this.#options.keys.issue(
      { ...input, ...expiry, keysMax: limits.memberApiKeysMax },
      toActor(call),
    );
    const times = { created_at: toTimestamp(key.createdAt), expires_at: toOptionalTimestamp(key.expiresAt) };
    const restriction = toApiKeyRestriction(key);
    const allowed_origins = [...(key.allowedOrigins ?? [])];
    return { api_key: secret, id: key.keyId, name, permission, ...times, restriction, allowed_origins };
  }

  async update(call: UserCall, request: wire.UpdateAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    const { name, permission, allowed_origins: allowedOrigins } = request;
    const restriction = parseRestriction(request);
    if ((name ?? permission ?? restriction ?? allowedOrigins ?? null) === null) {
      throw new AppError(
        'bad_request',
        'The request has no changes: send name, permission, restriction or allowed_origins.',
      );
    }
    if (typeof name === 'string') checkDisplayText('name', name);
    const keyReference = {
      organizationId: organization.organizationId,
      keyId: request.api_key_id.toLowerCase(),
    };
    const changes = { name, permission, restriction, allowedOrigins };
    await this.#options.keys.update(keyReference, changes, toActor(call));
    return successReply;
  }

  async delete(call: UserCall, request: wire.DeleteAPIKeyRequest): Promise<wire.GenericMessageResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, managerRoles);
    const keyReference = {
      organizationId: organization.organizationId,
      keyId: request.api_key_id.toLowerCase(),
    };
    await this.#options.keys.revoke(keyReference, toActor(call));
    return successReply;
  }
}

function parseRestriction({
  restriction,
}: Pick<wire.AddAPIKeyRequest, 'restriction'>): KeyRestriction | null {
  return restriction ? { collections: restriction.collection_names, filter: restriction.filter } : null;
}
