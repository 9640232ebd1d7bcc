import { email, optionalText, UserInfo } from './accounts.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Timestamp } from './wire.ts';

/** Schemas of signing in: methods, links, identity providers, the administrator. */

export const SignInOptionsResponse = Component(
  'SignInOptionsResponse',
  'The sign-in methods of this server.',
  {
    mail: Type.Boolean({ description: 'Sign-in by a link sent by email.' }),
    password: Type.Boolean({ description: 'Sign-in with an email address and a password.' }),
    passkey: Type.Boolean({
      description: 'Sign-in with a passkey, which needs a host name and https, or localhost.',
    }),
    google: Type.Boolean({ description: 'Sign-in with Google or the configured OpenID Connect issuer.' }),
    github: Type.Boolean({ description: 'Sign-in with GitHub.' }),
    administrator: Type.Boolean({ description: 'Sign-in with the administrator password.' }),
    resend_seconds: Type.Integer({
      description: 'Minimum interval between two emails to one address, in seconds.',
    }),
  },
);
export type SignInOptionsResponse = Static<typeof SignInOptionsResponse>;

export const AdminLoginRequest = Component('AdminLoginRequest', 'Sign-in of the administrator.', {
  username: optionalText('Ignored; there is one administrator.'),
  password: Type.String({
    description: 'The password of which QUARRY_ADMIN_PASSWORD_HASH is the hash.',
    maxLength: 1_024,
  }),
  code: optionalText('Code of the second factor, if it is enabled.'),
});
export type AdminLoginRequest = Static<typeof AdminLoginRequest>;

export const AdminStatusResponse = Component(
  'AdminStatusResponse',
  'Whether the administrator is signed in.',
  {
    is_admin: Type.Boolean(),
    expires_at: Type.Optional(Timestamp('Expiry time of the session.')),
    access_token: Type.Optional(
      Type.String({ description: 'The session as a bearer token, shown only in this reply.' }),
    ),
  },
);
export type AdminStatusResponse = Static<typeof AdminStatusResponse>;

export const SendMagicLinkRequest = Component('SendMagicLinkRequest', 'A request for a sign-in link.', {
  email,
  redirect_url: optionalText('Redirect target after sign-in: a path on this server.'),
});
export type SendMagicLinkRequest = Static<typeof SendMagicLinkRequest>;

export const SendMagicLinkResponse = Component(
  'SendMagicLinkResponse',
  'A reply that is the same for every address.',
  {
    message: Type.String(),
  },
);
export type SendMagicLinkResponse = Static<typeof SendMagicLinkResponse>;

export const VerifyMagicLinkRequest = Component('VerifyMagicLinkRequest', 'The token of a link.', {
  token: Type.String({ description: 'Token of the link.' }),
});
export type VerifyMagicLinkRequest = Static<typeof VerifyMagicLinkRequest>;

export const ConfirmMagicLinkRequest = Component(
  'ConfirmMagicLinkRequest',
  'The form of the confirmation page.',
  {
    token: Type.String(),
    confirmation: Type.String(),
  },
);
export type ConfirmMagicLinkRequest = Static<typeof ConfirmMagicLinkRequest>;

export const LoginLinkRequest = Component('LoginLinkRequest', 'Sign-in of the operator.', {
  proof: Type.String({ description: 'Proof of read access to the data directory.' }),
});
export type LoginLinkRequest = Static<typeof LoginLinkRequest>;

export const LoginLinkResponse = Component('LoginLinkResponse', 'A single-use link.', {
  url: Type.String(),
  expires_at: Timestamp('Expiry time.'),
});
export type LoginLinkResponse = Static<typeof LoginLinkResponse>;

const provider = Type.String({ description: '`google` or `github`.', examples: ['google'] });
const optionalString = (description: string) => Type.Optional(Type.String({ description }));

export const BeginProviderLoginRequest = Component(
  'BeginProviderLoginRequest',
  'The identity provider to sign in with.',
  {
    provider,
    redirect_url: optionalString('Redirect target after sign-in: a path on this server.'),
    invite_code: optionalString(
      'Code of an invitation to accept with the sign-in, if it is for the same address.',
    ),
  },
);
export type BeginProviderLoginRequest = Static<typeof BeginProviderLoginRequest>;

export const BeginProviderLoginResponse = Component('BeginProviderLoginResponse', 'The redirect target.', {
  url: Type.String({ description: 'URL of the provider.' }),
});
export type BeginProviderLoginResponse = Static<typeof BeginProviderLoginResponse>;

export const FinishProviderLoginRequest = Component(
  'FinishProviderLoginRequest',
  'Parameters that the provider returns.',
  {
    provider,
    state: Type.String({ description: 'Identifies the sign-in.' }),
    code: optionalString('Single-use code for the server.'),
    iss: optionalString('Issuer of the reply.'),
    error: optionalString('Error code.'),
    error_description: optionalString('Error description.'),
  },
);
export type FinishProviderLoginRequest = Static<typeof FinishProviderLoginRequest>;

export const SignInResponse = Component('SignInResponse', 'Signed in.', {
  access_token: Type.String({
    description: 'The session token for `Authorization: Bearer`, shown only in this reply.',
  }),
  token_type: Type.Literal('bearer'),
  expires_at: Timestamp('Latest expiry time of the session.'),
  user: UserInfo,
});
export type SignInResponse = Static<typeof SignInResponse>;
