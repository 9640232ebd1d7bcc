import { GenericMessageResponse } from '../../schemas/accounts.ts';
import * as passkeys from '../../schemas/passkeys.ts';
import { EmptyRequest } from '../../schemas/wire.ts';
import { type AccountRoute, mutationRoute, publicRoute, userRoute } from './account-route.ts';
import { newPasskeyExample, passkeyAssertionExample, passkeyExample } from './examples.ts';

const notSupported = 'Passkeys are disabled on this server, or not supported at this host name.';
const invitationNotFound = 'The invitation does not exist or was used.';
const addressHasAccount = 'The address has an account: sign in to accept the invitation.';
const passkeyNotFound = 'You have no such passkey.';

export const passkeyRoutes: readonly AccountRoute[] = [
  publicRoute({
    operation: 'begin-passkey-sign-in',
    path: '/api/auth/passkey/begin',
    summary: 'Get a challenge for a sign-in with a passkey',
    description:
      'Returns options for `navigator.credentials.get()` and a token, both valid for 5 minutes. The browser offers all passkeys of this host name, so no email address is needed. Stores nothing.',
    request: passkeys.BeginPasskeySignInRequest,
    reply: passkeys.BeginPasskeySignInResponse,
    example: {},
    errorResponses: { 429: 'Too many requests from this client.', 503: notSupported },
    serve: (signIn, client, request) => signIn.passkey.begin(client, request),
  }),
  publicRoute({
    operation: 'passkey-sign-in',
    path: '/api/auth/passkey/sign-in',
    summary: 'Sign in with a passkey',
    description:
      'Signs in with the reply of the authenticator, as a cookie for a browser or a token for a program. The authenticator must have verified its user, so no code of the second factor is needed. A challenge is accepted once. Every rejected passkey gets the same reply.',
    request: passkeys.PasskeySignInRequest,
    reply: passkeys.PasskeySignInResponse,
    example: { passkey_token: 'eyJ...', credential: passkeyAssertionExample },
    errorResponses: {
      400: 'The challenge is invalid, has expired or was already answered.',
      401: 'The passkey is not accepted.',
      403: 'The user is disabled.',
      429: 'Too many requests from this client.',
      503: notSupported,
    },
    serve: (signIn, client, request) => signIn.passkey.finish(client, request),
  }),
  publicRoute({
    operation: 'begin-passkey-join',
    path: '/api/auth/passkey/begin-join',
    summary: 'Get the options for the passkey of a new account',
    description:
      'Returns options for `navigator.credentials.create()` and a token, both valid for 5 minutes and bound to the invitation. Stores nothing.',
    request: passkeys.BeginPasskeyJoinRequest,
    reply: passkeys.BeginPasskeyResponse,
    example: { invite_code: 'eyJ...', name: 'Ada Lovelace' },
    errorResponses: {
      400: 'The name is not valid.',
      404: invitationNotFound,
      409: addressHasAccount,
      429: 'Too many requests from this client.',
      503: notSupported,
    },
    serve: (signIn, client, request) => signIn.passkeyJoin.begin(client, request),
  }),
  publicRoute({
    operation: 'passkey-join',
    path: '/api/auth/passkey/join',
    summary: 'Create an account with an invitation and a passkey',
    description:
      'Creates an account for the address of the invitation once the reply of the authenticator is verified, joins the organization and signs in. The passkey is named `Passkey`. If the invitation was not sent by email, the address is unverified: the first sign-in by email or with a provider removes the passkeys, the password, the second factor and all sessions.',
    request: passkeys.PasskeyJoinRequest,
    reply: passkeys.PasskeySignInResponse,
    example: { passkey_token: 'eyJ...', credential: newPasskeyExample },
    errorResponses: {
      400: 'The reply of the authenticator is not valid, or the challenge has expired.',
      404: invitationNotFound,
      409: 'The passkey was already added, or the address has an account.',
      429: 'Too many requests from this client.',
      503: notSupported,
    },
    serve: (signIn, client, request) => signIn.passkeyJoin.finish(client, request),
  }),
  userRoute({
    operation: 'list-passkeys',
    path: '/api/users/list-passkeys',
    summary: 'List your passkeys',
    description: 'Lists the passkeys with which you can sign in, oldest first.',
    request: EmptyRequest,
    reply: passkeys.ListPasskeysResponse,
    example: {},
    serve: (services, call) => services.passkeys.list(call),
  }),
  userRoute({
    operation: 'begin-passkey',
    path: '/api/users/begin-passkey',
    summary: 'Get the options for a new passkey',
    description:
      'Returns options for `navigator.credentials.create()` and a token, both valid for 5 minutes. Requires a sign-in within the last 15 minutes. Stores nothing.',
    request: EmptyRequest,
    reply: passkeys.BeginPasskeyResponse,
    example: {},
    errorResponses: {
      400: 'You have the maximum number of passkeys.',
      403: 'Your sign-in is too old.',
      503: notSupported,
    },
    serve: (services, call) => services.passkeys.begin(call),
  }),
  mutationRoute({
    operation: 'add-passkey',
    path: '/api/users/add-passkey',
    summary: 'Add a passkey',
    description:
      'Stores the public key of a new passkey under a name. The passkey can sign in immediately, without a code of the second factor. The owner of a verified address gets an email.',
    request: passkeys.AddPasskeyRequest,
    reply: passkeys.PasskeyResponse,
    example: { passkey_token: 'eyJ...', credential: newPasskeyExample, name: 'Laptop' },
    errorResponses: {
      400: 'The reply of the authenticator or the name is not valid, or the challenge has expired.',
      409: 'The passkey was already added.',
    },
    authorize: 'caller',
    serve: (services, call, request) => services.passkeys.add(call, request),
  }),
  mutationRoute({
    operation: 'update-passkey',
    path: '/api/users/update-passkey',
    summary: 'Rename a passkey',
    description: 'Changes the name of a passkey.',
    request: passkeys.UpdatePasskeyRequest,
    reply: passkeys.PasskeyResponse,
    example: { ...passkeyExample, name: 'Security key' },
    errorResponses: { 404: passkeyNotFound },
    authorize: 'caller',
    serve: (services, call, request) => services.passkeys.update(call, request),
  }),
  mutationRoute({
    operation: 'delete-passkey',
    isRevocation: true,
    path: '/api/users/delete-passkey',
    summary: 'Delete a passkey',
    description:
      'Deletes a passkey, effective immediately. Open sessions are not ended. Also delete the passkey from your device or password manager, which would still offer it.',
    request: passkeys.DeletePasskeyRequest,
    reply: GenericMessageResponse,
    example: passkeyExample,
    errorResponses: { 404: passkeyNotFound },
    authorize: 'caller',
    serve: (services, call, request) => services.passkeys.delete(call, request),
  }),
];
