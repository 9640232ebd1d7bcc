import type * as wire from '../schemas/accounts.ts';
import { allRoles, type MembershipAuthorizer, ownerRoles, toActor } from './membership-authorizer.ts';
import type { Memberships } from './memberships.ts';
import { successReply } from './organization-replies.ts';
import type { UserCall } from './user-operations.ts';

export interface MemberOperationsOptions {
  readonly memberships: Memberships;
  readonly authorizer: MembershipAuthorizer;
}

/** Operations of users on the members of their organizations. */
export class MemberOperations {
  readonly #options: MemberOperationsOptions;

  constructor(options: MemberOperationsOptions) {
    this.#options = options;
  }

  async update(call: UserCall, request: wire.UpdateUserRequest): Promise<wire.UpdateUserResponse> {
    const { organization } = this.#options.authorizer.authorize(call, request, ownerRoles);
    const { permission } = request;
    const membershipKey = {
      organizationId: organization.organizationId,
      userId: request.user_id.toLowerCase(),
    };
    await this.#options.memberships.changeRole(membershipKey, permission, toActor(call));
    return { user_id: membershipKey.userId, permission };
  }

  async remove(call: UserCall, request: wire.RemoveUserRequest): Promise<wire.RemoveUserResponse> {
    const userId = request.user_id.toLowerCase();
    const isSelf = userId === call.principal.userId;
    const { organization } = this.#options.authorizer.authorize(
      call,
      request,
      isSelf ? allRoles : ownerRoles,
    );
    const membershipKey = { organizationId: organization.organizationId, userId };
    await this.#options.memberships.remove(membershipKey, toActor(call));
    return successReply;
  }
}
