import { allRoles, ownerRoles } from '../../accounts/membership-authorizer.ts';
import type { UserCall } from '../../accounts/user-operations.ts';
import * as wire from '../../schemas/accounts.ts';
import {
  type AccountRoute,
  type AccountServices,
  mutationRoute,
  notMemberMessage,
  requireRole,
  wrongRoleMessage,
} from './account-route.ts';
import { memberExample, organizationExample } from './examples.ts';

/** A member who left no longer has a role, but may receive the stored confirmation of leaving again. */
function authorizeRemoval(services: AccountServices, call: UserCall, request: wire.RemoveUserRequest): void {
  if (request.user_id.toLowerCase() === call.principal.userId) return;
  services.authorizer.authorize(call, request, ownerRoles);
}

export const memberRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'invite-user',
    path: '/api/organizations/users/invite-user',
    summary: 'Invite a user',
    description:
      'Sends an invitation by email that is valid for 7 days; a newer invitation for the same address invalidates older ones. You cannot grant a role above your own. If email is not configured, the reply contains the code.',
    request: wire.InviteUserRequest,
    reply: wire.InviteUserResponse,
    example: { ...organizationExample, email: 'grace@example.com', permission: 'MEMBER' },
    errorResponses: {
      403: 'The role is higher than your own.',
      404: notMemberMessage,
      429: 'At most 60 invitations per hour and user, 20 per hour and organization, and one per minute and address.',
    },
    authorize: requireRole(allRoles),
    withheld: ({ invite_code, invitation }) =>
      invite_code === undefined
        ? null
        : `${invitation?.email} is invited. The code is shown once: invite the address again for a new one.`,
    serve: ({ invitations }, call, request) => invitations.invite(call, request),
  }),
  mutationRoute({
    operation: 'accept-invite',
    path: '/api/organizations/users/accept-invite',
    summary: 'Accept an invitation',
    description:
      'Requires the code of the invitation. Sign in with the address that the invitation was sent to.',
    request: wire.AcceptInviteRequest,
    reply: wire.AcceptInviteResponse,
    example: { invite_code: 'eyJ...' },
    errorResponses: { 404: 'The invitation does not exist, was used, or is for another address.' },
    authorize: 'caller',
    serve: ({ invitations }, call, request) => invitations.accept(call, request),
  }),
  mutationRoute({
    operation: 'update-user',
    path: '/api/organizations/users/update-user',
    summary: 'Change the role of a member',
    description: 'For owners. Effective immediately. The last owner cannot be demoted.',
    request: wire.UpdateUserRequest,
    reply: wire.UpdateUserResponse,
    example: { ...memberExample, permission: 'ADMIN' },
    errorResponses: {
      403: 'Your role does not allow this operation, or the member is the last owner.',
      404: 'The organization or the member does not exist.',
    },
    authorize: requireRole(ownerRoles),
    serve: ({ members }, call, request) => members.update(call, request),
  }),
  mutationRoute({
    operation: 'remove-user',
    isRevocation: true,
    path: '/api/organizations/users/remove-user',
    summary: 'Remove a member, or leave',
    description:
      'Owners can remove any member; any member can leave. API keys created by the member remain valid.',
    request: wire.RemoveUserRequest,
    reply: wire.RemoveUserResponse,
    example: memberExample,
    errorResponses: {
      400: 'The last owner cannot leave.',
      403: wrongRoleMessage,
      404: 'The organization or the member does not exist.',
    },
    authorize: authorizeRemoval,
    serve: ({ members }, call, request) => members.remove(call, request),
  }),
  mutationRoute({
    operation: 'delete-invite-user',
    isRevocation: true,
    path: '/api/organizations/users/delete-invite-user',
    summary: 'Delete an invitation',
    description: 'For owners. Invalidates its code immediately.',
    request: wire.DeleteInviteUserRequest,
    reply: wire.DeleteInviteUserResponse,
    example: { ...organizationExample, email: 'grace@example.com' },
    errorResponses: { 403: wrongRoleMessage, 404: 'The organization or the invitation does not exist.' },
    authorize: requireRole(ownerRoles),
    serve: ({ invitations }, call, request) => invitations.delete(call, request),
  }),
];
