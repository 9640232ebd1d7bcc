import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/accounts.ts';
import { toWireOverrides } from '../schemas/organization-limits.ts';
import type { Role } from '../schemas/principal.ts';
import type { ApiKey } from '../storage/api-keys.ts';
import type { Invitation } from '../storage/invitations.ts';
import type { Organization } from '../storage/organizations.ts';
import { restrictionOf } from './api-key-registry.ts';
import { toOrganizationSummary } from './user-operations.ts';

/** Parts of the replies of operations on organizations. */

export const successReply = Object.freeze({ message: 'Success!' });

export function toOrganizationInfo(
  found: Organization,
): Omit<wire.OrganizationInfo, 'rate_limits' | 'storage'> {
  return {
    ...toOrganizationSummary(found),
    zdr: found.zdr,
    ...toWireOverrides(found.overrides),
  };
}

export function toInvitationInfo({
  invitationId,
  email,
  role,
  createdAt,
  expiresAt,
}: Invitation): wire.InvitationInfo {
  return {
    id: invitationId,
    email,
    permission: role,
    status: 'pending',
    created_at: toTimestamp(createdAt),
    expires_at: toTimestamp(expiresAt),
  };
}

export function toApiKeyInfo(key: ApiKey, lastUse: number | null, viewerRole: Role): wire.OrganizationAPIKey {
  return {
    id: key.keyId,
    name: key.name,
    permission: key.permission,
    created_at: toTimestamp(key.createdAt),
    created_by: key.createdBy,
    expires_at: toOptionalTimestamp(key.expiresAt),
    last_used_at: toOptionalTimestamp(lastUse),
    restriction: toApiKeyRestriction(key),
    allowed_origins: [...(key.allowedOrigins ?? [])],
    // Members who may not manage keys see only enough to tell keys apart.
    api_key: viewerRole === 'MEMBER' ? key.masked.replace(/….*$/u, '…') : key.masked,
  };
}

export function toApiKeyRestriction(key: ApiKey): wire.OrganizationAPIKey['restriction'] {
  const restriction = restrictionOf(key);
  if (restriction === null) return null;
  const { collections, filter } = restriction;
  return { collection_names: collections && [...collections], filter: filter && { ...filter } };
}
