import * as wire from '../../schemas/accounts.ts';
import { SetPasswordRequest } from '../../schemas/passwords.ts';
import * as factors from '../../schemas/second-factors.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { type AccountRoute, mutationRoute, userRoute } from './account-route.ts';

export const userRoutes: readonly AccountRoute[] = [
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
    errorResponses: { 404: 'Your user account no longer exists.' },
    authorize: 'caller',
    serve: ({ users }, call, request) => users.editUser(call, request),
  }),
  mutationRoute({
    operation: 'delete-own-user',
    path: '/api/users/delete-user',
    summary: 'Delete your account',
    description:
      'Permanently deletes your profile, sessions, memberships, passkeys and identity provider links. API keys that you created remain valid. If you are the last owner of an organization, make another member an owner or delete the organization first.',
    request: wire.DeleteUserRequest,
    reply: wire.GenericMessageResponse,
    example: { confirm_email: 'ada@example.com' },
    errorResponses: {
      400: '`confirm_email` is not your address.',
      404: 'Your user account no longer exists.',
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
      'Creates a key for an authenticator app. It takes effect after `confirm-second-factor` with a first code; every later sign-in requires a code, except with a passkey.',
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
  // Without idempotency records, which would keep a fingerprint of the password.
  userRoute({
    operation: 'set-password',
    path: '/api/users/set-password',
    summary: 'Set or change your password',
    description:
      'Sets the password for signing in with your email address. A change requires the current password. Your other sessions end.',
    request: SetPasswordRequest,
    reply: wire.GenericMessageResponse,
    example: { current_password: 'correct horse battery staple', password: 'seven quiet lamps under rain' },
    errorResponses: {
      400: 'The current password is missing or wrong, or the new one is easy to guess.',
      429: 'Too many changes or wrong passwords in a short time.',
      503: 'Sign-in with a password is disabled on this server.',
    },
    serve: (services, call, request) => {
      services.changeLimiter.consume(call.principal.userId);
      return services.users.setPassword(call, request);
    },
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
