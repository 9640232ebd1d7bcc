import { limits } from '../base/limits.ts';
import type * as wire from '../schemas/accounts.ts';
import type { SecondFactorRequired } from '../schemas/second-factors.ts';
import type { Session } from '../store/sessions.ts';
import type { User } from '../store/users.ts';
import type { Letter } from './mail-transports.ts';
import { timestamp, userInfo } from './user-operations.ts';
import type { Outcome } from './visitor.ts';

/** Signed in, or asked for the second factor. */
export type SignInReply = wire.SignInResponse | SecondFactorRequired;

/** Tells the owner of an address that another way in leads to their account now. */
export function linkedMessage(email: string, issuer: string): Letter {
  return {
    to: email,
    subject: 'Another way to sign in to Quarry',
    text: `You can sign in to Quarry with your account at ${issuer} now. If that was not you, end all sessions and tell the operator of the server.`,
  };
}

/** What whoever signed in gets: a browser a cookie, and the way on; a program the token. */
export function signedIn({
  user,
  token,
  session,
  redirect,
  to,
}: {
  readonly user: User;
  readonly token: string;
  readonly session: Session;
  readonly redirect: string;
  readonly to: 'browser' | 'program';
}): Outcome<wire.SignInResponse> {
  if (to === 'browser') {
    const seconds = limits.sessionMsMax / 1_000;
    return { kind: 'redirect', to: redirect, cookie: { name: 'session', value: token, seconds } };
  }
  const expires_at = timestamp(session.expiresAt);
  return {
    kind: 'json',
    body: { access_token: token, token_type: 'bearer', expires_at, user: userInfo(user) },
  };
}
