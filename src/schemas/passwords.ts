import { email, optionalText } from './accounts.ts';
import { signedInFields } from './second-factors.ts';
import { type Static, Type } from './typebox.ts';
import { Component, Nullable, Timestamp } from './wire.ts';

/** Schemas of passwords: signing in, joining, and choosing a new one. */

const password = Type.String({ description: 'The password.', maxLength: 1_024 });
const newPassword = Type.String({
  description: 'The new password: at least 12 characters, and not easy to guess.',
  maxLength: 1_024,
});
const redirectUrl = optionalText('Redirect target after sign-in: a path on this server.');

export const PasswordSignInRequest = Component('PasswordSignInRequest', 'Sign-in with a password.', {
  email,
  password,
  redirect_url: redirectUrl,
});
export type PasswordSignInRequest = Static<typeof PasswordSignInRequest>;

export const PasswordJoinRequest = Component('PasswordJoinRequest', 'A new account for an invited user.', {
  invite_code: Type.String({ description: 'Code of the invitation.', maxLength: 4_096 }),
  password: newPassword,
  name: optionalText('Name of the user, 1 to 255 characters.'),
});
export type PasswordJoinRequest = Static<typeof PasswordJoinRequest>;

export const PasswordResetRequest = Component('PasswordResetRequest', 'A new password.', {
  token: Type.String({ description: 'Token of the password link.', maxLength: 4_096 }),
  password: newPassword,
});
export type PasswordResetRequest = Static<typeof PasswordResetRequest>;

export const SetPasswordRequest = Component('SetPasswordRequest', 'A change of your own password.', {
  current_password: Type.Optional(
    Nullable(Type.String({ maxLength: 1_024 }), {
      description: 'The current password; required if there is one.',
    }),
  ),
  password: newPassword,
});
export type SetPasswordRequest = Static<typeof SetPasswordRequest>;

export const PasswordSignInResponse = Component('PasswordSignInResponse', 'Signed in.', signedInFields);
export type PasswordSignInResponse = Static<typeof PasswordSignInResponse>;

export const PasswordCodeRequired = Component(
  'PasswordCodeRequired',
  'The password is correct; the sign-in continues with a code of the second factor.',
  {
    second_factor_required: Type.Literal(true),
    second_factor_token: Type.Optional(
      Type.String({ description: 'For programs: token for `/api/auth/second-factor`.' }),
    ),
    redirect_url: Type.String({ description: 'Page that asks for the code.' }),
  },
);
export type PasswordCodeRequired = Static<typeof PasswordCodeRequired>;

export const PasswordLinkResponse = Component('PasswordLinkResponse', 'A single-use link.', {
  url: Type.String({ description: 'Page on which the user chooses a new password.' }),
  expires_at: Timestamp('Expiry time.'),
});
export type PasswordLinkResponse = Static<typeof PasswordLinkResponse>;
