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

/** A request about an organisation. */
export interface OrganizationScopedRequest {
  readonly organization_id: string;
}

export interface MembershipAuthorizerOptions {
  readonly organizations: OrganizationDirectory;
  readonly memberships: Memberships;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
}

/**
 * Lets people act for their organisations. Who does not belong to one learns nothing of it, not even that it exists: 404;
 * who belongs to it and may not do something is told so: 403.
 */
export class MembershipAuthorizer {
  readonly #options: MembershipAuthorizerOptions;

  constructor(options: MembershipAuthorizerOptions) {
    this.#options = options;
  }

  /** The organisation and what the caller may do in it. 404 for strangers, 403 for the wrong role. */
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
        `You are ${role} of this organisation; this takes ${allowedRoles.join(' or ')}.`,
      );
    }
    return { organization, role };
  }

  /** The owners of an organization learn which strangers tried to act for it. */
  #recordNonMember(call: UserCall, organization: Organization | null): void {
    this.#options.deniedAccessLog.record({
      ...toActor(call),
      organizationId: organization?.organizationId ?? null,
      action: 'access.denied',
      target: call.name,
    });
  }

  /** Its owners learn who tried more than they may. */
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
