import { limits } from '../core/limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { FinishSecondFactorResponse, SecondFactorRequired } from '../schemas/second-factors.ts';
import type * as wire from '../schemas/sign-in.ts';
import type { Session } from '../storage/sessions.ts';
import type { User } from '../storage/users.ts';
import type { AccountResponse, ClientInfo } from './client-info.ts';
import type { MailMessage } from './mail-transports.ts';
import { toUserInfo } from './user-operations.ts';

/** Completed sign-in, or request for the second factor. */
export type SignInReply = wire.SignInResponse | SecondFactorRequired;

/** Notifies the owner of an address that a provider account was linked to their account. */
export function buildIdentityLinkedMail(email: string, issuer: string): MailMessage {
  return {
    to: email,
    subject: 'A new sign-in method was added to your Quarry account',
    text: `You can now sign in to Quarry with your account at ${issuer}. If you did not add it, sign out of all sessions and contact the operator of the server.`,
  };
}

/** Notifies the owner of an address that a passkey was added to the account. */
export function buildPasskeyAddedMail(email: string, name: string): MailMessage {
  return {
    to: email,
    subject: 'A passkey was added to your Quarry account',
    text: `The passkey "${name}" can now sign in to your Quarry account. If you did not add it, delete it in your settings, sign out of all sessions, and contact the operator of the server.`,
  };
}

/** Notifies the owner of an address that the password of the account was set or changed. */
export function buildPasswordChangedMail(email: string): MailMessage {
  return {
    to: email,
    subject: 'The password of your Quarry account was set or changed',
    text: 'The password of your Quarry account was set or changed. If you did not do this, sign out of all sessions, set a new password, and contact the operator of the server.',
  };
}

/** Reply to a completed sign-in: a cookie and a redirect for a browser, the token for a program. */
export function buildSignInReply({
  user,
  token,
  session,
  redirect,
  clientKind,
}: {
  readonly user: User;
  readonly token: string;
  readonly session: Session;
  readonly redirect: string;
  readonly clientKind: 'browser' | 'program';
}): AccountResponse<wire.SignInResponse> {
  if (clientKind === 'browser') {
    const seconds = limits.sessionMsMax / 1_000;
    return {
      kind: 'redirect',
      to: redirect,
      cookie: { name: 'session', value: token, maxAgeSeconds: seconds },
    };
  }
  const expires_at = toTimestamp(session.expiresAt);
  return {
    kind: 'json',
    body: { access_token: token, token_type: 'bearer', expires_at, user: toUserInfo(user) },
  };
}

/**
 * Reply to a completed sign-in that a script sent, so it gets the redirect target as a field: a cookie for a browser, the
 * token for a program.
 */
export function buildJsonSignInReply(
  { isBrowser }: Pick<ClientInfo, 'isBrowser'>,
  {
    user,
    token,
    session,
    redirect,
  }: {
    readonly user: User;
    readonly token: string;
    readonly session: Session;
    readonly redirect: string;
  },
): AccountResponse<FinishSecondFactorResponse> {
  const expiresAt = toTimestamp(session.expiresAt);
  const body = { expires_at: expiresAt, user: toUserInfo(user), redirect_url: redirect };
  if (!isBrowser) return { kind: 'json', body: { ...body, access_token: token, token_type: 'bearer' } };
  const maxAgeSeconds = limits.sessionMsMax / 1_000;
  return { kind: 'json', body, cookie: { name: 'session', value: token, maxAgeSeconds } };
}
