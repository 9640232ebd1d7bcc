import { limits } from '../core/limits.ts';
import type * as wire from '../schemas/accounts.ts';
import type { SecondFactorRequired } from '../schemas/second-factors.ts';
import type { Session } from '../storage/sessions.ts';
import type { User } from '../storage/users.ts';
import type { AccountResponse } from './client-info.ts';
import type { MailMessage } from './mail-transports.ts';
import { toTimestamp, toUserInfo } from './user-operations.ts';

/** Signed in, or asked for the second factor. */
export type SignInReply = wire.SignInResponse | SecondFactorRequired;

/** Tells the owner of an address that another way in leads to their account now. */
export function buildIdentityLinkedMail(email: string, issuer: string): MailMessage {
  return {
    to: email,
    subject: 'Another way to sign in to Quarry',
    text: `You can sign in to Quarry with your account at ${issuer} now. If that was not you, end all sessions and tell the operator of the server.`,
  };
}

/** What whoever signed in gets: a browser a cookie, and the way on; a program the token. */
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
