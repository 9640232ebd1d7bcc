import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import { type Role, roles } from '../schemas/principal.ts';
import type { Organization } from '../storage/organizations.ts';
import type { Memberships } from './memberships.ts';
import { type OrganizationDirectory, organizationNotFoundError } from './organization-directory.ts';
import type { UserCall } from './user-operations.ts';

export const allRoles: readonly Role[] = roles;
export const ownerRoles: readonly Role[] = ['OWNER'];
export const managerRoles: readonly Role[] = ['OWNER', 'ADMIN'];

/** Request that concerns an organization. */
export interface OrganizationScopedRequest {
  readonly organization_id: string;
}

export interface MembershipAuthorizerOptions {
  readonly organizations: OrganizationDirectory;
  readonly memberships: Memberships;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
}

/**
 * Authorizes users for organizations. A user who is not a member receives 404, which does not reveal whether
 * the organization exists; a member without the required role receives 403.
 */
export class MembershipAuthorizer {
  readonly #options: MembershipAuthorizerOptions;

  constructor(options: MembershipAuthorizerOptions) {
    this.#options = options;
  }

  /**
   * Returns the organization and the role of the caller. Errors: 404 for non-members; 403 for an insufficient
   * role.
   */
  authorize(
    call: UserCall,
    request: OrganizationScopedRequest,
    allowedRoles: readonly Role[],
  ): { organization: Organization; role: Role } {
    const organizationId = request.organization_id.toLowerCase();
    const { organizations, memberships } = this.#options;
    const organization = organizations.find(organizationId);
    const role = memberships.roleOf({ organizationId, userId: call.principal.userId });
    if (organization === undefined || role === null) {
      this.#recordNonMember(call, organization ?? null);
      throw organizationNotFoundError(organizationId);
    }
    if (!allowedRoles.includes(role)) {
      this.recordDenial(call, organizationId, role);
      throw new AppError(
        'forbidden',
        `Your role in this organization is ${role}. This operation requires ${allowedRoles.join(' or ')}.`,
      );
    }
    return { organization, role };
  }

  /** Records access attempts by non-members for the owners of the organization. */
  #recordNonMember(call: UserCall, organization: Organization | null): void {
    this.#options.deniedAccessLog.record({
      ...toActor(call),
      organizationId: organization?.organizationId ?? null,
      action: 'access.denied',
      target: call.name,
    });
  }

  /** Records attempts beyond the caller's role for the owners of the organization. */
  recordDenial(call: UserCall, organizationId: string, role: Role): void {
    this.#options.deniedAccessLog.record({
      ...toActor(call),
      organizationId,
      action: 'access.denied',
      target: call.name,
      details: { permission: role },
    });
  }
}

export function toActor({ principal, client }: UserCall): { actor: string; address: string } {
  return { actor: principal.userId, address: client.address };
}
