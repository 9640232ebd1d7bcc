import { rateLimits } from '../../core/rate-limits.ts';
import { GenericMessageResponse } from '../../schemas/accounts.ts';
import * as passwords from '../../schemas/passwords.ts';
import * as factors from '../../schemas/second-factors.ts';
import * as wire from '../../schemas/sign-in.ts';
import { Type } from '../../schemas/typebox.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { type AccountRoute, accountRoute, publicRoute, queryTransport } from './account-route.ts';

const passwordsDisabled = 'Sign-in with a password is disabled on this server.';
/** Signed in, or a request for the second factor. */
const PasswordReply = Type.Union([passwords.PasswordSignInResponse, passwords.PasswordCodeRequired]);
const SignInReply = Type.Union([wire.SignInResponse, factors.SecondFactorRequired]);

export const signInRoutes: readonly AccountRoute[] = [
  accountRoute(
    {
      operation: 'get-sign-in-options',
      access: 'none',
      path: '/api/auth/options',
      summary: 'Get the sign-in methods',
      description: 'Returns the sign-in methods that are configured on this server.',
      request: EmptyRequest,
      reply: wire.SignInOptionsResponse,
      example: {},
    },
    queryTransport,
    async ({ signIn, providers }, { client }) => ({
      kind: 'json',
      body: { ...signIn.options(client), ...providers.configuredProviders },
    }),
  ),
  publicRoute({
    operation: 'send-magic-link',
    path: '/api/auth/magic-link/send',
    summary: 'Send a sign-in link',
    description:
      'Sends a single-use sign-in link that is valid for 10 minutes; earlier links stay valid. The reply is the same for every address. Sets a cookie so that the link works in this browser without confirmation.',
    request: wire.SendMagicLinkRequest,
    reply: wire.SendMagicLinkResponse,
    example: { email: 'ada@example.com' },
    errorResponses: {
      429: 'Too many requests from this client: at most 20 per hour.',
      503: 'Email is not configured on this server.',
    },
    serve: (signIn, client, request) => signIn.sendMagicLink(client, request),
  }),
  publicRoute(
    {
      operation: 'verify-magic-link',
      path: '/api/auth/magic-link/verify',
      summary: 'Open a sign-in link',
      description:
        'Target of the link in the email. The browser that requested the link is signed in and redirected (302). Another browser gets a confirmation page, because email scanners follow links. A program that sends `Accept: application/json` gets a session token.',
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
      description: 'Form of the confirmation page. Signs the browser in and redirects it (302).',
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
      access: 'none',
      path: '/api/auth/:provider/login',
      summary: 'Sign in with an identity provider',
      description:
        'Redirects the browser (302) to Google (or another OpenID Connect issuer) or GitHub. A program that sends `Accept: application/json` gets the URL. The sign-in must be completed in the same browser within 10 minutes.',
      request: wire.BeginProviderLoginRequest,
      reply: wire.BeginProviderLoginResponse,
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
      access: 'none',
      path: '/api/auth/:provider/auth',
      summary: 'Return from an identity provider',
      description:
        'Redirect target of the provider. Signs the user in and redirects (302), or returns a session token with `Accept: application/json`.',
      request: wire.FinishProviderLoginRequest,
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
    operation: 'password-sign-in',
    path: '/api/auth/password/sign-in',
    summary: 'Sign in with a password',
    description:
      'Signs in with an email address and a password, as a cookie for a browser or a token for a program. The reply and its time are the same for an unknown address and a wrong password. Failed attempts are delayed with exponential backoff, per client address and account.',
    request: passwords.PasswordSignInRequest,
    reply: PasswordReply,
    example: { email: 'ada@example.com', password: 'correct horse battery staple' },
    errorResponses: {
      401: 'The email address or the password is wrong.',
      403: 'The user is disabled.',
      429: `Too many attempts: at most ${rateLimits.passwordAttempts[0].max} per hour and client.`,
      503: passwordsDisabled,
    },
    serve: (signIn, client, request) => signIn.password.signIn(client, request),
  }),
  publicRoute({
    operation: 'password-join',
    path: '/api/auth/password/join',
    summary: 'Create an account with an invitation',
    description:
      'Creates an account with a password for the address of the invitation, joins the organization and signs in. If the invitation was not sent by email, the address is unverified: the first sign-in by email or with a provider removes the password, the second factor, the passkeys and all sessions.',
    request: passwords.PasswordJoinRequest,
    reply: passwords.PasswordSignInResponse,
    example: { invite_code: 'eyJ...', password: 'correct horse battery staple' },
    errorResponses: {
      400: 'The password is easy to guess.',
      404: 'The invitation does not exist or was used.',
      409: 'The address has an account: sign in to accept the invitation.',
      429: 'Too many attempts.',
      503: passwordsDisabled,
    },
    serve: (signIn, client, request) => signIn.password.join(client, request),
  }),
  publicRoute({
    operation: 'password-reset',
    path: '/api/auth/password/reset',
    summary: 'Choose a new password with a link',
    description:
      'Sets a new password with a link of `create-password-link`, ends all sessions of the user and signs in.',
    request: passwords.PasswordResetRequest,
    reply: PasswordReply,
    example: { token: '', password: 'correct horse battery staple' },
    errorResponses: {
      400: 'The link is invalid, has expired or was used, or the password is easy to guess.',
      429: 'Too many attempts.',
      503: passwordsDisabled,
    },
    serve: (signIn, client, request) => signIn.password.reset(client, request),
  }),
  publicRoute({
    operation: 'login-link',
    path: '/api/auth/login-link',
    summary: 'Create a sign-in link for the operator',
    description:
      'Used by `quarry login-link`, which reads the proof from the data directory. Creates a single-use link, valid for 15 minutes, that signs in as an owner of the first organization.',
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
    reply: GenericMessageResponse,
    example: {},
    serve: (signIn, client) => signIn.logout(client),
  }),
  publicRoute({
    operation: 'admin-login',
    path: '/api/admin/login',
    summary: 'Sign in as the administrator',
    description:
      'Opens a session of 8 hours for `/v1/admin`, as a cookie for a browser or a token for a program. Failed attempts are delayed with exponential backoff.',
    request: wire.AdminLoginRequest,
    reply: wire.AdminStatusResponse,
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
    reply: wire.AdminStatusResponse,
    example: {},
    serve: (signIn, client) => signIn.adminLogout(client),
  }),
];
