import type { Refusals } from '../audit/refusals.ts';
import { AppError } from '../base/app-error.ts';
import { type Role, roles } from '../schemas/principal.ts';
import type { Organisation } from '../store/organisations.ts';
import type { Memberships } from './memberships.ts';
import { noOrganisation, type OrganisationDirectory } from './organisation-directory.ts';
import type { PersonCall } from './user-operations.ts';

export const everybody: readonly Role[] = roles;
export const owners: readonly Role[] = ['OWNER'];
export const managers: readonly Role[] = ['OWNER', 'ADMIN'];

/** A request about an organisation. */
export interface Named {
  readonly organization_id: string;
}

export interface MembershipGateOptions {
  readonly organisations: OrganisationDirectory;
  readonly memberships: Memberships;
  readonly refusals: Pick<Refusals, 'note'>;
}

/**
 * Lets people act for their organisations. Who does not belong to one learns nothing of it, not even that it exists: 404;
 * who belongs to it and may not do something is told so: 403.
 */
export class MembershipGate {
  readonly #options: MembershipGateOptions;

  constructor(options: MembershipGateOptions) {
    this.#options = options;
  }

  /** The organisation and what the caller may do in it. 404 for strangers, 403 for the wrong role. */
  enter(
    call: PersonCall,
    request: Named,
    allowed: readonly Role[],
  ): { organisation: Organisation; role: Role } {
    const organizationId = request.organization_id.toLowerCase();
    const { organisations, memberships } = this.#options;
    const organisation = organisations.find(organizationId);
    const role = memberships.roleOf({ organizationId, userId: call.principal.userId });
    if (organisation === undefined || role === null) {
      this.#noteStranger(call, organisation ?? null);
      throw noOrganisation(organizationId);
    }
    if (!allowed.includes(role)) {
      this.deny(call, organizationId, role);
      throw new AppError(
        'forbidden',
        `You are ${role} of this organisation; this takes ${allowed.join(' or ')}.`,
      );
    }
    return { organisation, role };
  }

  /** The owners of an organization learn which strangers tried to act for it. */
  #noteStranger(call: PersonCall, organisation: Organisation | null): void {
    this.#options.refusals.note({
      ...actorOf(call),
      organizationId: organisation?.organizationId ?? null,
      action: 'access.denied',
      target: call.name,
    });
  }

  /** Its owners learn who tried more than they may. */
  deny(call: PersonCall, organizationId: string, role: Role): void {
    this.#options.refusals.note({
      ...actorOf(call),
      organizationId,
      action: 'access.denied',
      target: call.name,
      details: { permission: role },
    });
  }
}

export function actorOf({ principal, visitor }: PersonCall): { actor: string; address: string } {
  return { actor: principal.userId, address: visitor.address };
}
