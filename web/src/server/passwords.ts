import type * as wire from '../../../src/schemas/passwords.ts';
import { callApi } from './api-call.ts';

/** Operations on passwords. */

/** A 401 is a regular error here: it does not mean that the user's session has ended. */
const publicCall = { as: 'public' } as const;

export type PasswordReply = wire.PasswordSignInResponse | wire.PasswordCodeRequired;

export function signInWithPassword(
  email: string,
  password: string,
  redirect: string,
): Promise<PasswordReply> {
  const request = { email, password, redirect_url: redirect };
  return callApi('/api/auth/password/sign-in', request, publicCall);
}

/** Creates the account of an invited user, who is then signed in. */
export function joinWithPassword(
  code: string,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<wire.PasswordSignInResponse> {
  return callApi('/api/auth/password/join', { invite_code: code, name, password }, publicCall);
}

/** Chooses a new password with the token of a link. */
export function resetPassword(token: string, password: string): Promise<PasswordReply> {
  return callApi('/api/auth/password/reset', { token, password }, publicCall);
}

/** `current`: empty if there is no password yet. */
export function setPassword(current: string, password: string): Promise<unknown> {
  const request = current === '' ? { password } : { current_password: current, password };
  return callApi('/api/users/set-password', request);
}
