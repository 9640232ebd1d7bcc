import { allRoles, managerRoles, ownerRoles } from '../accounts/membership-authorizer.ts';
import type { UserCall } from '../accounts/user-operations.ts';
import * as wire from '../schemas/accounts.ts';
import { AuditLogResponse } from '../schemas/audit.ts';
import * as factors from '../schemas/second-factors.ts';
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
const SignInReply = Type.Union([wire.SignInResponse, factors.SecondFactorRequired]);

const queryTransport = { method: 'GET', inputSource: 'query' } as const;

const organizationExample = { organization_id: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10' } as const;
const memberExample = { ...organizationExample, user_id: '0d0f6a0e-61e3-4b0e-8d4c-0c1c7b0d8a44' } as const;
const keyExample = { ...organizationExample, api_key_id: '7c0d7a35-2f4e-4b57-8a3e-0f6f3f3f5a21' } as const;
const notMemberMessage = 'You belong to no such organisation.';
const wrongRoleMessage = 'Your role does not allow it; the detail says which does.';

const signInRoutes: readonly AccountRoute[] = [
  accountRoute(
    {
      operation: 'get-sign-in-options',
      path: '/api/auth/options',
      summary: 'Ask how people can sign in',
      description: 'Which ways this server is set up for, so that a page offers no other.',
      request: EmptyRequest,
      reply: wire.SignInOptionsResponse,
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
    summary: 'Mail a sign-in link',
    description:
      'Mails a link that signs in once, within 10 minutes; a newer link makes older ones worthless. The reply is the same for every address. It also sets a cookie, so that the link works in this browser without a further question.',
    request: wire.SendMagicLinkRequest,
    reply: wire.SendMagicLinkResponse,
    example: { email: 'ada@example.com' },
    errorResponses: {
      429: 'A mail a minute and five an hour for each address.',
      503: 'The server sends no mail.',
    },
    serve: (signIn, client, request) => signIn.sendMagicLink(client, request),
  }),
  publicRoute(
    {
      operation: 'verify-magic-link',
      path: '/api/auth/magic-link/verify',
      summary: 'Follow a sign-in link',
      description:
        'What the link in the mail leads to. The browser that asked for it is signed in and sent on (302); another one is shown a page with a button, because mail scanners follow links too; a program that sends `Accept: application/json` gets a session token.',
      request: wire.VerifyMagicLinkRequest,
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
      description: 'The form on that page. Signs the browser in and sends it on (302).',
      request: wire.ConfirmMagicLinkRequest,
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
        'Sends the browser to Google (or another issuer of OpenID Connect) or GitHub (302); a program that sends `Accept: application/json` gets the address. The sign-in goes on in the same browser only, within 10 minutes.',
      request: wire.BeginProviderLoginRequest,
      reply: wire.BeginProviderLoginResponse,
      example: { provider: 'google' },
      errorResponses: {
        404: 'There is no such provider, or no such invitation.',
        502: 'The provider does not answer.',
        503: 'It is not set up.',
      },
    },
    queryTransport,
    ({ providers }, { client }, request) => providers.begin(client, request),
  ),
  accountRoute(
    {
      operation: 'finish-provider-login',
      path: '/api/auth/:provider/auth',
      summary: 'Come back from an identity provider',
      description:
        'Where the provider sends the browser back to. Signs in and leads on (302), or answers a session token with `Accept: application/json`.',
      request: wire.FinishProviderLoginRequest,
      reply: SignInReply,
      example: { provider: 'google', state: '', code: '' },
      errorResponses: {
        400: 'The sign-in was refused, is over, or was begun elsewhere.',
        403: 'The provider has not verified the address.',
        404: 'There is no such provider.',
        502: 'The provider does not answer.',
      },
    },
    queryTransport,
    ({ providers }, { client }, request) => providers.finish(client, request),
  ),
  publicRoute({
    operation: 'login-link',
    path: '/api/auth/login-link',
    summary: 'Make a sign-in link for the operator',
    description:
      'For `quarry login-link`, which reads the proof from the data directory: a link that signs in as an owner of the first organisation, once, within 15 minutes.',
    request: wire.LoginLinkRequest,
    reply: wire.LoginLinkResponse,
    example: { proof: '' },
    errorResponses: { 401: 'The proof is wrong.', 429: 'Too many wrong proofs.' },
    serve: (signIn, client, request) => signIn.createLoginLink(client, request),
  }),
  publicRoute({
    operation: 'finish-second-factor',
    path: '/api/auth/second-factor',
    summary: 'Send the code of the second factor',
    description:
      'The second step of a sign-in: where a link, or a provider, leads somebody with a second factor to the page `/app/second-factor`, or answers a program with `second_factor_required`. A recovery code is accepted in the place of a code. Ends the sign-in with a cookie for a browser, a token for a program.',
    request: factors.FinishSecondFactorRequest,
    reply: factors.FinishSecondFactorResponse,
    example: { code: '123456' },
    errorResponses: {
      400: 'No sign-in waits for a code, or its 10 minutes are over.',
      401: 'The code is wrong, too old, or was used already.',
      429: 'Too many wrong codes.',
    },
    serve: (signIn, client, request) => signIn.finishSecondFactor(client, request),
  }),
  publicRoute({
    operation: 'logout',
    path: '/api/auth/logout',
    summary: 'Sign out',
    description: 'Ends the session of the request, at once and everywhere it is used.',
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
      'Opens a session of 8 hours for `/v1/admin`: a cookie for a browser, a token for a program. Wrong tries have to wait longer and longer.',
    request: wire.AdminLoginRequest,
    reply: wire.AdminStatusResponse,
    example: { password: 'correct horse battery staple' },
    errorResponses: {
      401: 'The password is wrong.',
      429: 'Too many wrong tries.',
      503: 'QUARRY_ADMIN_PASSWORD_HASH is not set.',
    },
    serve: (signIn, client, request) => signIn.adminLogin(client, request),
  }),
  publicRoute({
    operation: 'admin-logout',
    path: '/api/admin/logout',
    summary: 'Sign the administrator out',
    description: 'Ends the session of the request. Harmless without one.',
    request: EmptyRequest,
    reply: wire.AdminStatusResponse,
    example: {},
    serve: (signIn, client) => signIn.adminLogout(client),
  }),
];

const userRoutes: readonly AccountRoute[] = [
  userRoute({
    operation: 'get-user',
    path: '/api/users/get-user',
    summary: 'Who am I?',
    description: 'Your profile, your organisations, and the invitations that wait for you.',
    request: EmptyRequest,
    reply: wire.GetUserResponse,
    example: {},
    serve: ({ users }, call) => users.getUser(call),
  }),
  mutationRoute({
    operation: 'edit-user',
    path: '/api/users/edit-user',
    summary: 'Edit your profile',
    description: 'Changes what is given and leaves the rest; null or an empty text clears a field.',
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
      'Deletes your profile, sessions, memberships and links to identity providers at once, for good. API keys that you created stay with their organizations. The last owner of an organization makes another member an owner or deletes the organization first.',
    request: wire.DeleteUserRequest,
    reply: wire.GenericMessageResponse,
    example: { confirm_email: 'ada@example.com' },
    errorResponses: {
      400: 'confirm_email is not your address.',
      404: 'Your user no longer exists.',
      409: 'You are the last owner of an organization.',
    },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.deleteUser(call, request),
  }),
  userRoute({
    operation: 'get-second-factor',
    path: '/api/users/get-second-factor',
    summary: 'Is your second factor on?',
    description: 'Whether your sign-in takes a code, and how many recovery codes are left.',
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
      'Makes a key for an authenticator app. It counts when `confirm-second-factor` got a first code; then every sign-in by mail or with a provider takes a code.',
    request: EmptyRequest,
    reply: factors.BeginSecondFactorResponse,
    example: {},
    errorResponses: { 409: 'It is on already.' },
    authorize: 'caller',
    withheld: () =>
      'The key is shown once and not stored in clear: send the request with a new Idempotency-Key.',
    serve: ({ users }, call) => users.beginSecondFactor(call),
  }),
  mutationRoute({
    operation: 'confirm-second-factor',
    path: '/api/users/confirm-second-factor',
    summary: 'Turn your second factor on',
    description:
      'With the first code of the app. The reply is the only place where the recovery codes are shown.',
    request: factors.SecondFactorCodeRequest,
    reply: factors.ConfirmSecondFactorResponse,
    example: { code: '123456' },
    errorResponses: { 400: 'The code is wrong, or nothing was begun.' },
    authorize: 'caller',
    withheld: () => 'The second factor is on. Its recovery codes are shown once and not stored.',
    serve: ({ users }, call, request) => users.confirmSecondFactor(call, request),
  }),
  mutationRoute({
    operation: 'disable-second-factor',
    path: '/api/users/disable-second-factor',
    summary: 'Turn your second factor off',
    description: 'With a code of the app, or a recovery code.',
    request: factors.SecondFactorCodeRequest,
    reply: wire.GenericMessageResponse,
    example: { code: '123456' },
    errorResponses: { 400: 'The code is wrong, or it is off.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.disableSecondFactor(call, request),
  }),
  userRoute({
    operation: 'list-sessions',
    path: '/api/users/list-sessions',
    summary: 'List your sessions',
    description: 'Where you are signed in, the last used first.',
    request: EmptyRequest,
    reply: wire.ListSessionsResponse,
    example: {},
    serve: ({ users }, call) => users.listSessions(call),
  }),
  mutationRoute({
    operation: 'revoke-session',
    isRevocation: true,
    path: '/api/users/revoke-session',
    summary: 'End a session, or all',
    description: 'Ends the session that is named; without a name all of yours, this one too.',
    request: wire.RevokeSessionRequest,
    reply: wire.GenericMessageResponse,
    example: {},
    errorResponses: { 404: 'You have no such session.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.revokeSession(call, request),
  }),
];

const organizationRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization',
    path: '/api/organizations/add-organization',
    summary: 'Create an organisation of yours',
    description: 'Creates an organisation on the tier `free` and makes you its owner.',
    request: wire.AddOrganizationRequest,
    reply: wire.AddOrganizationResponse,
    example: { name: 'Acme' },
    errorResponses: { 429: 'You own as many organisations as one person may.' },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.add(call, request),
  }),
  userRoute({
    operation: 'get-organization-info',
    path: '/api/organizations/get-info',
    summary: 'Describe an organisation of yours',
    description: 'Its tier, its members, its open invitations and its API keys, masked.',
    request: wire.GetOrganizationInfoRequest,
    reply: wire.GetOrganizationInfoResponse,
    example: organizationExample,
    errorResponses: { 404: notMemberMessage },
    serve: ({ organizations }, call, request) => organizations.getInfo(call, request),
  }),
  mutationRoute({
    operation: 'rename-organization',
    path: '/api/organizations/update-organization',
    summary: 'Rename an organisation',
    description: 'For owners. Several organisations may have the same name.',
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
    summary: 'Delete an organisation',
    description:
      'For owners. Its API keys, members and invitations end at once; its collections are deleted in the background.',
    request: wire.DeleteOrganizationRequest,
    reply: wire.GenericMessageResponse,
    example: { ...organizationExample, confirm_name: 'Acme Inc.' },
    errorResponses: {
      403: wrongRoleMessage,
      404: notMemberMessage,
      409: 'It is the first organisation of the installation, or owes something.',
      502: 'The payment provider failed; nothing was deleted.',
      503: 'The payment provider does not answer in time; nothing was deleted.',
    },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.delete(call, request),
  }),
  userRoute({
    operation: 'get-audit-log',
    path: '/api/organizations/get-audit-log',
    summary: 'Read the audit log',
    description:
      'For owners. Who did or tried what, newest first. Send `next_cursor` as `cursor` for the next page, until it is null.',
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
    summary: 'Invite somebody',
    description:
      'Mails an invitation of 7 days; a newer one for the same address makes the older worthless. Nobody can invite to more than they may do themselves. Where the server sends no mail the reply holds the code.',
    request: wire.InviteUserRequest,
    reply: wire.InviteUserResponse,
    example: { ...organizationExample, email: 'grace@example.com', permission: 'MEMBER' },
    errorResponses: {
      403: 'You may not do so much yourself.',
      404: notMemberMessage,
      429: '20 an hour, one a minute to an address.',
    },
    authorize: requireRole(allRoles),
    withheld: ({ invite_code, invitation }) =>
      invite_code === undefined
        ? null
        : `${invitation?.email} is invited. The code is shown once: invite the address again for a new one.`,
    serve: ({ organizations }, call, request) => organizations.invite(call, request),
  }),
  mutationRoute({
    operation: 'accept-invite',
    path: '/api/organizations/users/accept-invite',
    summary: 'Accept an invitation',
    description: 'With the code of the invitation, signed in with the address that it was sent to.',
    request: wire.AcceptInviteRequest,
    reply: wire.AcceptInviteResponse,
    example: { invite_code: 'eyJ...' },
    errorResponses: { 404: 'The invitation does not exist, was used, or is for another address.' },
    authorize: 'caller',
    serve: ({ organizations }, call, request) => organizations.acceptInvite(call, request),
  }),
  mutationRoute({
    operation: 'update-user',
    path: '/api/organizations/users/update-user',
    summary: 'Change what a member may do',
    description: 'For owners, at once. The last owner stays one.',
    request: wire.UpdateUserRequest,
    reply: wire.UpdateUserResponse,
    example: { ...memberExample, permission: 'ADMIN' },
    errorResponses: {
      403: `${wrongRoleMessage} Also for the last owner.`,
      404: 'No such organisation or member.',
    },
    authorize: requireRole(ownerRoles),
    serve: ({ organizations }, call, request) => organizations.updateUser(call, request),
  }),
  mutationRoute({
    operation: 'remove-user',
    isRevocation: true,
    path: '/api/organizations/users/remove-user',
    summary: 'Remove a member, or leave',
    description: 'Owners remove anybody, everybody can leave. The API keys of who goes stay.',
    request: wire.RemoveUserRequest,
    reply: wire.RemoveUserResponse,
    example: memberExample,
    errorResponses: {
      400: 'The last owner cannot go.',
      403: wrongRoleMessage,
      404: 'No such organisation or member.',
    },
    authorize: authorizeRemoval,
    serve: ({ organizations }, call, request) => organizations.removeUser(call, request),
  }),
  mutationRoute({
    operation: 'delete-invite-user',
    isRevocation: true,
    path: '/api/organizations/users/delete-invite-user',
    summary: 'Delete an invitation',
    description: 'For owners. Its code is worthless at once.',
    request: wire.DeleteInviteUserRequest,
    reply: wire.DeleteInviteUserResponse,
    example: { ...organizationExample, email: 'grace@example.com' },
    errorResponses: { 403: wrongRoleMessage, 404: 'No such organisation or invitation.' },
    authorize: requireRole(ownerRoles),
    serve: ({ organizations }, call, request) => organizations.deleteInvite(call, request),
  }),
];

const keyRoutes: readonly AccountRoute[] = [
  mutationRoute({
    operation: 'add-organization-api-key',
    path: '/api/organizations/api-keys/add-api-key',
    summary: 'Issue an API key of your organisation',
    description: 'For owners and admins. The reply is the only place where the key is ever shown.',
    request: wire.AddAPIKeyRequest,
    reply: wire.AddAPIKeyResponse,
    example: { ...organizationExample, name: 'Website', permission: 'read_only' },
    successStatus: 201,
    errorResponses: { 403: wrongRoleMessage, 404: notMemberMessage },
    authorize: requireRole(managerRoles),
    withheld: ({ id }) =>
      `API key ${id} was created by the first request with this Idempotency-Key. Its secret is shown once and not stored: delete that key and create another if it is lost.`,
    serve: ({ organizations }, call, request) => organizations.addKey(call, request),
  }),
  mutationRoute({
    operation: 'update-organization-api-key',
    path: '/api/organizations/api-keys/update-api-key',
    summary: 'Change an API key of your organisation',
    description: 'For owners and admins. Name and permission, at once.',
    request: wire.UpdateAPIKeyRequest,
    reply: wire.GenericMessageResponse,
    example: { ...keyExample, permission: 'all' },
    errorResponses: {
      400: 'Nothing to change is given.',
      403: wrongRoleMessage,
      404: 'No such organisation or key.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ organizations }, call, request) => organizations.updateKey(call, request),
  }),
  mutationRoute({
    operation: 'delete-organization-api-key',
    isRevocation: true,
    path: '/api/organizations/api-keys/delete-api-key',
    summary: 'Revoke an API key of your organisation',
    description: 'For owners and admins. Whoever still sends it gets 401.',
    request: wire.DeleteAPIKeyRequest,
    reply: wire.GenericMessageResponse,
    example: keyExample,
    errorResponses: {
      403: wrongRoleMessage,
      404: 'No such organisation or key.',
      409: 'QUARRY_API_KEY sets this key.',
    },
    authorize: requireRole(managerRoles),
    serve: ({ organizations }, call, request) => organizations.deleteKey(call, request),
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
