import { passkeyLimits } from '../core/passkey-limits.ts';
import { toOptionalTimestamp, toTimestamp } from '../core/timestamps.ts';
import { optionalText } from './accounts.ts';
import { signedInFields } from './second-factors.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, Timestamp, Uuid } from './wire.ts';

/** Schemas of passkeys. Names inside of options and credentials are those of WebAuthn Level 3. */

const passkeyId = Uuid('ID of the passkey.');
const name = Type.String({ description: 'Name of the passkey, 1 to 255 characters.' });
const challenge = Type.String({ description: 'Random bytes to be signed, in base64url.' });
const timeout = Type.Integer({ description: 'Milliseconds after which the challenge expires.' });
const passkeyToken = Type.String({
  description: 'Token to be sent with the reply of the authenticator, valid once.',
});
const sentToken = Type.String({ description: '`passkey_token` of the options.', maxLength: 4_096 });
/** Base64url has four characters for three bytes. */
const idUnitsMax = Math.ceil((passkeyLimits.credentialIdBytesMax * 4) / 3);
const credentialId = Type.String({
  description: 'ID of the credential, in base64url.',
  maxLength: idUnitsMax,
});
const binary = (maxLength: number) => Type.String({ description: 'In base64url.', maxLength });

const credentialFields = {
  id: credentialId,
  rawId: credentialId,
  type: Type.Literal('public-key'),
};

const NewPasskeyCredential = Component(
  'NewPasskeyCredential',
  'Result of `navigator.credentials.create()`, as `PublicKeyCredential.toJSON()` returns it.',
  {
    ...credentialFields,
    response: Type.Object({
      clientDataJSON: binary(4_096),
      attestationObject: binary(16_384),
      transports: Type.Optional(
        Type.Array(Type.String({ maxLength: 32 }), {
          description: 'How the browser reaches the authenticator.',
          maxItems: 8,
        }),
      ),
    }),
  },
);
export type NewPasskeyCredential = Static<typeof NewPasskeyCredential>;

const PasskeyAssertion = Component(
  'PasskeyAssertion',
  'Result of `navigator.credentials.get()`, as `PublicKeyCredential.toJSON()` returns it.',
  {
    ...credentialFields,
    response: Type.Object({
      clientDataJSON: binary(4_096),
      authenticatorData: binary(4_096),
      signature: binary(2_048),
      userHandle: Type.Optional(Nullable(binary(128))),
    }),
  },
);
export type PasskeyAssertion = Static<typeof PasskeyAssertion>;

const PasskeyCreationOptions = Component(
  'PasskeyCreationOptions',
  'Options for `PublicKeyCredential.parseCreationOptionsFromJSON()`.',
  {
    rp: Type.Object({
      id: Type.String({ description: 'Host name to which the passkey is bound.' }),
      name: Type.String(),
    }),
    user: Type.Object({
      id: Type.String({ description: 'Random bytes that identify the account, in base64url.' }),
      name: Type.String({ description: 'The email address.' }),
      displayName: Type.String(),
    }),
    challenge,
    pubKeyCredParams: Type.Array(
      Type.Object({
        type: Type.Literal('public-key'),
        alg: Type.Integer({ description: 'COSE algorithm.' }),
      }),
    ),
    timeout,
    excludeCredentials: Type.Array(
      Type.Object({
        type: Type.Literal('public-key'),
        id: Type.String(),
        transports: Type.Array(Type.String()),
      }),
      { description: 'Passkeys that the account already has.' },
    ),
    authenticatorSelection: Type.Object({
      residentKey: Type.Literal('required'),
      requireResidentKey: Type.Literal(true),
      userVerification: Type.Literal('required'),
    }),
    attestation: Type.Literal('none'),
  },
);
export type PasskeyCreationOptions = Static<typeof PasskeyCreationOptions>;

const PasskeyRequestOptions = Component(
  'PasskeyRequestOptions',
  'Options for `PublicKeyCredential.parseRequestOptionsFromJSON()`.',
  {
    rpId: Type.String({ description: 'Host name to which the passkey is bound.' }),
    challenge,
    timeout,
    userVerification: Type.Literal('required'),
  },
);
export type PasskeyRequestOptions = Static<typeof PasskeyRequestOptions>;

export const PasskeyInfo = Component('PasskeyInfo', 'A passkey.', {
  id: passkeyId,
  name: Type.String(),
  host: Type.String({ description: 'Host name at which the passkey works.' }),
  is_synced: Type.Boolean({
    description: 'Whether the authenticator copies the passkey to other devices of its owner.',
  }),
  created_at: Timestamp('Creation time.'),
  last_used_at: Nullable(Type.String({ format: 'date-time' }), {
    description: 'Time of the last sign-in; null before the first.',
  }),
});
export type PasskeyInfo = Static<typeof PasskeyInfo>;

/** Times are milliseconds since the epoch. */
export function toPasskeyInfo(passkey: {
  readonly passkeyId: string;
  readonly name: string;
  readonly relyingPartyId: string;
  readonly isSynced: boolean;
  readonly createdAt: number;
  readonly lastUsedAt: number | null;
}): PasskeyInfo {
  const { passkeyId: id, name: passkeyName, createdAt, lastUsedAt } = passkey;
  return {
    id,
    name: passkeyName,
    host: passkey.relyingPartyId,
    is_synced: passkey.isSynced,
    created_at: toTimestamp(createdAt),
    last_used_at: toOptionalTimestamp(lastUsedAt),
  };
}

export const ListPasskeysResponse = Component('ListPasskeysResponse', 'Your passkeys.', {
  passkeys: Type.Array(PasskeyInfo, { description: 'Oldest first.' }),
  is_available: Type.Boolean({
    description: 'Whether this server supports passkeys at the host name of the request.',
  }),
  needs_sign_in: Type.Boolean({
    description:
      'Whether you must sign in again before you add a passkey: your sign-in is older than 15 minutes.',
  }),
});
export type ListPasskeysResponse = Static<typeof ListPasskeysResponse>;

export const BeginPasskeyResponse = Component('BeginPasskeyResponse', 'Data for creating a passkey.', {
  options: PasskeyCreationOptions,
  passkey_token: passkeyToken,
});
export type BeginPasskeyResponse = Static<typeof BeginPasskeyResponse>;

export const AddPasskeyRequest = Component('AddPasskeyRequest', 'A new passkey.', {
  passkey_token: sentToken,
  credential: NewPasskeyCredential,
  name,
});
export type AddPasskeyRequest = Static<typeof AddPasskeyRequest>;

export const PasskeyResponse = Component('PasskeyResponse', 'The passkey.', { passkey: PasskeyInfo });
export type PasskeyResponse = Static<typeof PasskeyResponse>;

export const UpdatePasskeyRequest = Component('UpdatePasskeyRequest', 'A new name of a passkey.', {
  passkey_id: passkeyId,
  name,
});
export type UpdatePasskeyRequest = Static<typeof UpdatePasskeyRequest>;

export const DeletePasskeyRequest = Component('DeletePasskeyRequest', 'A passkey to delete.', {
  passkey_id: passkeyId,
});
export type DeletePasskeyRequest = Static<typeof DeletePasskeyRequest>;

export const BeginPasskeySignInRequest = Component(
  'BeginPasskeySignInRequest',
  'A request for a challenge.',
  { redirect_url: optionalText('Redirect target after sign-in: a path on this server.') },
);
export type BeginPasskeySignInRequest = Static<typeof BeginPasskeySignInRequest>;

export const BeginPasskeySignInResponse = Component(
  'BeginPasskeySignInResponse',
  'A challenge for any passkey of this host name.',
  { options: PasskeyRequestOptions, passkey_token: passkeyToken },
);
export type BeginPasskeySignInResponse = Static<typeof BeginPasskeySignInResponse>;

export const PasskeySignInRequest = Component('PasskeySignInRequest', 'Sign-in with a passkey.', {
  passkey_token: sentToken,
  credential: PasskeyAssertion,
});
export type PasskeySignInRequest = Static<typeof PasskeySignInRequest>;

export const PasskeySignInResponse = Component('PasskeySignInResponse', 'Signed in.', signedInFields);
export type PasskeySignInResponse = Static<typeof PasskeySignInResponse>;

export const BeginPasskeyJoinRequest = Component(
  'BeginPasskeyJoinRequest',
  'A request for a passkey of an invited user.',
  {
    invite_code: Type.String({ description: 'Code of the invitation.', maxLength: 4_096 }),
    name: optionalText('Name of the user, 1 to 255 characters.'),
  },
);
export type BeginPasskeyJoinRequest = Static<typeof BeginPasskeyJoinRequest>;

export const PasskeyJoinRequest = Component(
  'PasskeyJoinRequest',
  'A new account for an invited user, with a passkey.',
  { passkey_token: sentToken, credential: NewPasskeyCredential },
);
export type PasskeyJoinRequest = Static<typeof PasskeyJoinRequest>;

export const ListUserPasskeysResponse = Component('ListUserPasskeysResponse', 'Passkeys of a user.', {
  passkeys: Type.Array(PasskeyInfo, { description: 'Oldest first.' }),
});
export type ListUserPasskeysResponse = Static<typeof ListUserPasskeysResponse>;

export const DeleteUserPasskeysRequest = Component(
  'DeleteUserPasskeysRequest',
  'Passkeys of a user to delete.',
  {
    user_id: Uuid('ID of the user.'),
    passkey_id: Type.Optional(
      Nullable(passkeyId, {
        description: 'ID of the passkey; absent or null deletes all passkeys of the user.',
      }),
    ),
  },
);
export type DeleteUserPasskeysRequest = Static<typeof DeleteUserPasskeysRequest>;
