import { allRoles, managerRoles, ownerRoles } from '../accounts/membership-authorizer.ts';
import type { UserCall } from '../accounts/user-operations.ts';
import * as wire from '../schemas/accounts.ts';
import { AuditLogResponse } from '../schemas/audit.ts';
import * as factors from '../schemas/second-factors.ts';
import * as sessions from '../schemas/sign-in.ts';
import { Type } from '../schemas/typebox.ts';
import { EmptyRequest } from '../schemas/wire.ts';
import { billingRoutes } from './account-billing-routes.ts';
import { marketplaceRoutes } from './account-marketplace-routes.ts';
import {
  type AccountRoute,
  type AccountServices,
  accountRoute,
  mutationRoute,
  publicRoute,
  requireRole,
  userRoute,
} from './account-route.ts';

/** Signed in, or a request for the second factor. */
const SignInReply = Type.Union([sessions.SignInResponse, factors.SecondFactorRequired]);

const queryTransport = { method: 'GET', inputSource: 'query' } as const;

const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
const memberExample = { ...organizationExample, user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44' } as const;
const keyExample = { ...organizationExample, api_key_id: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21' } as const;
const notMemberMessage = 'The organization does not exist, or you are not a member.';
const wrongRoleMessage = 'Your role does not allow this operation. The detail lists the roles that do.';

const signInRoutes: readonly AccountRoute[] = [
  accountRoute(
    {
      operation: 'get-sign-in-options',
      path: '/api/auth/options',
      summary: 'Get the sign-in methods',
      description: 'Returns the sign-in methods that are configured on this server.',
      request: EmptyRequest,
      reply: sessions.SignInOptionsResponse,
      example: {},
    },
    queryTransport,
    async ({ signIn, providers }) => ({
      kind: 'json',
      body: { ...signIn.options, ...providers.configuredProviders },
    }),
  ),
  publicRoute({
    operation: 'send-magic-link',
    path: '/api/auth/magic-link/send',
    summary: 'Send a sign-in link',
    description:
      'Sends a single-use sign-in link that is valid for 10 minutes; a newer link invalidates older ones. The reply is the same for every address. Sets a cookie so that the link works in this browser without confirmation.',
    request: sessions.SendMagicLinkRequest,
    reply: sessions.SendMagicLinkResponse,
    example: { email: 'ada@example.com' },
    errorResponses: {
      429: 'At most one mail per minute and five per hour for each address.',
      503: 'Mail is not configured on this server.',
    },
    serve: (signIn, client, request) => signIn.sendMagicLink(client, request),
  }),
  publicRoute(
    {
      operation: 'verify-magic-link',
      path: '/api/auth/magic-link/verify',
      summary: 'Open a sign-in link',
      description:
        'Target of the link in the mail. The browser that requested the link is signed in and redirected (302). Another browser gets a confirmation page, because mail scanners follow links. A program that sends `Accept: application/json` gets a session token.',
      request: sessions.VerifyMagicLinkRequest,
      reply: SignInReply,
      example: { token: '' },
      errorResponses: { 400: 'The link is invalid or has expired.' },
      serve: (signIn, client, request) => signIn.verifyMagicLink(client, request),
    },
    queryTransport,
  ),
  publicRoute(
    {
      operation: 'confirm-magic-link',
      path: '/api/auth/magic-link/verify',
      summary: 'Confirm a sign-in link',
      description: 'Form of the confirmation page. Signs the browser in and redirects it (302).',
      request: sessions.ConfirmMagicLinkRequest,
      reply: SignInReply,
      example: { token: '', confirmation: '' },
      errorResponses: { 400: 'The link is invalid or has expired, or was opened in another browser.' },
      serve: (signIn, client, request) => signIn.confirmMagicLink(client, request),
    },
    { method: 'POST', inputSource: 'form' },
  ),
  accountRoute(
    {
      operation: 'begin-provider-login',
      path: '/api/auth/:provider/login',
      summary: 'Sign in at an identity provider',
      description:
        'Redirects the browser (302) to Google (or another OpenID Connect issuer) or GitHub. A program that sends `Accept: application/json` gets the URL. The sign-in must be completed in the same browser within 10 minutes.',
      request: sessions.BeginProviderLoginRequest,
      reply: sessions.BeginProviderLoginResponse,
      example: { provider: 'google' },
      errorResponses: {
        404: 'The provider or the invitation does not exist.',
        502: 'The provider does not respond.',
        503: 'The provider is not configured.',
      },
    },
    queryTransport,
    ({ providers }, { client }, request) => providers.begin(client, request),
  ),
  accountRoute(
    {
      operation: 'finish-provider-login',
      path: '/api/auth/:provider/auth',
      summary: 'Return from an identity provider',
      description:
        'Redirect target of the provider. Signs the user in and redirects (302), or returns a session token with `Accept: application/json`.',
      request: sessions.FinishProviderLoginRequest,
      reply: SignInReply,
      example: { provider: 'google', state: '', code: '' },
      errorResponses: {
        400: 'The sign-in was denied, has expired, or was started in another browser.',
        403: 'The provider has not verified the address.',
        404: 'The provider does not exist.',
        502: 'The provider does not respond.',
      },
    },
    queryTransport,
    ({ providers }, { client }, request) => providers.finish(client, request),
  ),
  publicRoute({
    operation: 'login-link',
    path: '/api/auth/login-link',
    summary: 'Create a sign-in link for the operator',
    description:
      'Used by `quarry login-link`, which reads the proof from the data directory. Creates a single-use link, valid for 15 minutes, that signs in as an owner of the first organization.',
    request: sessions.LoginLinkRequest,
    reply: sessions.LoginLinkResponse,
    example: { proof: '' },
    errorResponses: { 401: 'The proof is wrong.', 429: 'Too many wrong proofs.' },
    serve: (signIn, client, request) => signIn.createLoginLink(client, request),
  }),
  publicRoute({
    operation: 'finish-second-factor',
    path: '/api/auth/second-factor',
    summary: 'Send the code of the second factor',
    description:
      'Second step of a sign-in for users with a second factor, after the redirect to `/app/second-factor` or a reply with `second_factor_required`. A recovery code is accepted as well. Completes the sign-in with a cookie for a browser or a token for a program.',
    request: factors.FinishSecondFactorRequest,
    reply: factors.FinishSecondFactorResponse,
    example: { code: '123456' },
    errorResponses: {
      400: 'There is no pending sign-in, or its 10 minutes have expired.',
      401: 'The code is wrong, has expired, or was already used.',
      429: 'Too many wrong codes.',
    },
    serve: (signIn, client, request) => signIn.finishSecondFactor(client, request),
  }),
  publicRoute({
    operation: 'logout',
    path: '/api/auth/logout',
    summary: 'Sign out',
    description: 'Ends the session of the request immediately.',
    request: EmptyRequest,
    reply: wire.GenericMessageResponse,
    example: {},
    serve: (signIn, client) => signIn.logout(client),
  }),
  publicRoute({
    operation: 'admin-login',
    path: '/api/admin/login',
    summary: 'Sign in as the administrator',
    description:
      'Opens a session of 8 hours for `/v1/admin`, as a cookie for a browser or a token for a program. Failed attempts are delayed with exponential backoff.',
    request: sessions.AdminLoginRequest,
    reply: sessions.AdminStatusResponse,
    example: { password: 'correct horse battery staple' },
    errorResponses: {
      401: 'The password is wrong.',
      429: 'Too many failed attempts.',
      503: 'QUARRY_ADMIN_PASSWORD_HASH is not set.',
    },
    serve: (signIn, client, request) => signIn.adminLogin(client, request),
  }),
  publicRoute({
    operation: 'admin-logout',
    path: '/api/admin/logout',
    summary: 'Sign the administrator out',
    description: 'Ends the session of the request, if there is one.',
    request: EmptyRequest,
    reply: sessions.AdminStatusResponse,
    example: {},
    serve: (signIn, client) => signIn.adminLogout(client),
  }),
];

const userRoutes: readonly AccountRoute[] = [
  userRoute({
    operation: 'get-user',
    path: '/api/users/get-user',
    summary: 'Get your profile',
    description: 'Returns your profile, your organizations and your pending invitations.',
    request: EmptyRequest,
    reply: wire.GetUserResponse,
    example: {},
    serve: ({ users }, call) => users.getUser(call),
  }),
  mutationRoute({
    operation: 'edit-user',
    path: '/api/users/edit-user',
    summary: 'Edit your profile',
    description: 'Changes the fields that are present; null or an empty string clears a field.',
    request: wire.EditUserRequest,
    reply: wire.EditUserResponse,
    example: { name: 'Ada Lovelace' },
    errorResponses: { 404: 'Your user no longer exists.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.editUser(call, request),
  }),
  mutationRoute({
    operation: 'delete-own-user',
    path: '/api/users/delete-user',
    summary: 'Delete your account',
    description:
      'Permanently deletes your profile, sessions, memberships and identity provider links. API keys that you created remain valid. If you are the last owner of an organization, make another member an owner or delete the organization first.',
    request: wire.DeleteUserRequest,
    reply: wire.GenericMessageResponse,
    example: { confirm_email: 'ada@example.com' },
    errorResponses: {
      400: '`confirm_email` is not your address.',
      404: 'Your user no longer exists.',
      409: 'You are the last owner of an organization.',
    },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.deleteUser(call, request),
  }),
  userRoute({
    operation: 'get-second-factor',
    path: '/api/users/get-second-factor',
    summary: 'Get your second factor',
    description: 'Returns whether your sign-in requires a code, and the number of unused recovery codes.',
    request: EmptyRequest,
    reply: factors.SecondFactorStatusResponse,
    example: {},
    serve: ({ users }, call) => users.getSecondFactor(call),
  }),
  mutationRoute({
    operation: 'begin-second-factor',
    path: '/api/users/begin-second-factor',
    summary: 'Set up a second factor',
    description:
      'Creates a key for an authenticator app. It takes effect after `confirm-second-factor` with a first code; every later sign-in by mail or with a provider requires a code.',
    request: EmptyRequest,
    reply: factors.BeginSecondFactorResponse,
    example: {},
    errorResponses: { 409: 'The second factor is already enabled.' },
    authorize: 'caller',
    withheld: () =>
      'The key is shown only once and not stored in plain text. Send the request with a new Idempotency-Key.',
    serve: ({ users }, call) => users.beginSecondFactor(call),
  }),
  mutationRoute({
    operation: 'confirm-second-factor',
    path: '/api/users/confirm-second-factor',
    summary: 'Enable your second factor',
    description:
      'Requires the first code of the authenticator app. Recovery codes are shown only in this reply.',
    request: factors.SecondFactorCodeRequest,
    reply: factors.ConfirmSecondFactorResponse,
    example: { code: '123456' },
    errorResponses: { 400: 'The code is wrong, or there is no pending setup.' },
    authorize: 'caller',
    withheld: () => 'The second factor is enabled. Its recovery codes are shown only once and not stored.',
    serve: ({ users }, call, request) => users.confirmSecondFactor(call, request),
  }),
  mutationRoute({
    operation: 'disable-second-factor',
    path: '/api/users/disable-second-factor',
    summary: 'Disable your second factor',
    description: 'Requires a code of the authenticator app or a recovery code.',
    request: factors.SecondFactorCodeRequest,
    reply: wire.GenericMessageResponse,
    example: { code: '123456' },
    errorResponses: { 400: 'The code is wrong, or the second factor is not enabled.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.disableSecondFactor(call, request),
  }),
  userRoute({
    operation: 'list-sessions',
    path: '/api/users/list-sessions',
    summary: 'List your sessions',
    description: 'Lists your sessions, most recently used first.',
    request: EmptyRequest,
    reply: wire.ListSessionsResponse,
    example: {},
    serve: ({ users }, call) => users.listSessions(call),
  }),
  mutationRoute({
    operation: 'revoke-session',
    isRevocation: true,
    path: '/api/users/revoke-session',
    summary: 'End one or all sessions',
    description:
      'Ends the specified session; without `session_id`, ends all your sessions, including this one.',
    request: wire.RevokeSessionRequest,
    reply: wire.GenericMessageResponse,
    example: {},
    errorResponses: { 404: 'The session does not exist.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.revokeSession(call, request),
  }),
];

const organizationRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization',
    path: '/api/organizations/add-organization',
    summary: 'Create an organization of your own',
    description: 'Creates an organization with the tier `free` and makes you its owner.',
    request: wire.AddOrganizationRequest,
    reply: wire.AddOrganizationResponse,
    example: { name: 'Acme' },
    errorResponses: { 429: 'You own the maximum number of organizations.' },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.add(call, request),
  }),
  userRoute({
    operation: 'get-organization-info',
    path: '/api/organizations/get-info',
    summary: 'Describe your organization',
    description: 'Returns the tier, members, open invitations and API keys (masked).',
    request: wire.GetOrganizationInfoRequest,
    reply: wire.GetOrganizationInfoResponse,
    example: organizationExample,
    errorResponses: { 404: notMemberMessage },
    serve: ({ organizations }, call, request) => organizations.getInfo(call, request),
  }),
  mutationRoute({
    operation: 'rename-organization',
    path: '/api/organizations/update-organization',
    summary: 'Rename an organization',
    description: 'For owners. Names need not be unique.',
    request: wire.UpdateOrganizationRequest,
    reply: wire.GenericMessageResponse,
    example: { ...organizationExample, name: 'Acme Inc.' },
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    authorize: requireRole(ownerRoles),
    serve: ({ organizations }, call, request) => organizations.rename(call, request),
  }),
  mutationRoute({
    operation: 'delete-organization',
    path: '/api/organizations/delete-organization',
    summary: 'Delete an organization',
    description:
      'For owners. Revokes its API keys, memberships and invitations immediately; its collections are deleted in the background.',
    request: wire.DeleteOrganizationRequest,
    reply: wire.GenericMessageResponse,
    example: { ...organizationExample, confirm_name: 'Acme Inc.' },
    errorResponses: {
      403: wrongRoleMessage,
      404: notMemberMessage,
      409: 'It is the first organization of the installation, or has unpaid invoices.',
      502: 'The payment provider failed; nothing was deleted.',
      503: 'The payment provider did not respond in time; nothing was deleted.',
    },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.delete(call, request),
  }),
  userRoute({
    operation: 'get-audit-log',
    path: '/api/organizations/get-audit-log',
    summary: 'Read the audit log',
    description:
      'For owners. Returns audit log entries, newest first. For the next page, send `next_cursor` as `cursor`; repeat until it is null.',
    request: wire.OrganizationAuditLogRequest,
    reply: AuditLogResponse,
    example: organizationExample,
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    serve: ({ organizations }, call, request) => organizations.auditLog(call, request),
  }),
];

/** A member who left has no role anymore, but may receive the stored confirmation of leaving again. */
function authorizeRemoval(services: AccountServices, call: UserCall, request: wire.RemoveUserRequest): void {
  if (request.user_id.toLowerCase() === call.principal.userId) return;
  services.authorizer.authorize(call, request, ownerRoles);
}

const memberRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'invite-user',
    path: '/api/organizations/users/invite-user',
    summary: 'Invite a user',
    description:
      'Sends an invitation by mail that is valid for 7 days; a newer invitation for the same address invalidates older ones. You cannot grant a role above your own. If mail is not configured, the reply contains the code.',
    request: wire.InviteUserRequest,
    reply: wire.InviteUserResponse,
    example: { ...organizationExample, email: 'grace@example.com', permission: 'MEMBER' },
    errorResponses: {
      403: 'The role is above your own.',
      404: notMemberMessage,
      429: 'At most 20 invitations per hour, and one per minute for each address.',
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
      403: `${wrongRoleMessage} Also for the last owner.`,
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

const keyRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization-api-key',
    path: '/api/organizations/api-keys/add-api-key',
    summary: 'Create an API key for your organization',
    description: 'For owners and admins. The key is shown only in this reply.',
    request: wire.AddAPIKeyRequest,
    reply: wire.AddAPIKeyResponse,
    example: { ...organizationExample, name: 'Website', permission: 'read_only' },
    successStatus: 201,
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    authorize: requireRole(managerRoles),
    withheld: ({ id }) =>
      `API key ${id} was created by the first request with this Idempotency-Key. Its secret is shown once and not stored: delete that key and create another if it is lost.`,
    serve: ({ apiKeys }, call, request) => apiKeys.add(call, request),
  }),
  mutationRoute({
    operation: 'update-organization-api-key',
    path: '/api/organizations/api-keys/update-api-key',
    summary: 'Change an API key of your organization',
    description: 'For owners and admins. Changes the name, permission or restriction, effective immediately.',
    request: wire.UpdateAPIKeyRequest,
    reply: wire.GenericMessageResponse,
    example: { ...keyExample, permission: 'all' },
    errorResponses: {
      400: 'The request contains no changes.',
      403: wrongRoleMessage,
      404: 'The organization or the key does not exist.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ apiKeys }, call, request) => apiKeys.update(call, request),
  }),
  mutationRoute({
    operation: 'delete-organization-api-key',
    isRevocation: true,
    path: '/api/organizations/api-keys/delete-api-key',
    summary: 'Revoke an API key of your organization',
    description: 'For owners and admins. Requests that use the key return 401.',
    request: wire.DeleteAPIKeyRequest,
    reply: wire.GenericMessageResponse,
    example: keyExample,
    errorResponses: {
      403: wrongRoleMessage,
      404: 'The organization or the key does not exist.',
      409: 'QUARRY_API_KEY sets this key.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ apiKeys }, call, request) => apiKeys.delete(call, request),
  }),
];

export const accountRoutes: readonly AccountRoute[] = [
  ...signInRoutes,
  ...userRoutes,
  ...organizationRoutes,
  ...memberRoutes,
  ...keyRoutes,
  ...billingRoutes,
  ...marketplaceRoutes,
];
