import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { limits } from '../core/limits.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { openSealedText, sealToText } from '../core/sealed-text.ts';
import type { Sealer } from '../core/sealer.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type * as wire from '../schemas/second-factors.ts';
import { Identities, type IdentityKey } from '../storage/identities.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import type { AccountResponse, ClientInfo, ResponseCookie } from './client-info.ts';
import type { InvitationClaims } from './invitations.ts';
import type { Mailer } from './mailer.ts';
import { type SecondFactors, wrongCodeError } from './second-factors.ts';
import { hashToken } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import { buildIdentityLinkedMail } from './sign-in-reply.ts';
import type { UserAccounts } from './user-accounts.ts';
import { toUserInfo } from './user-operations.ts';

export interface SecondFactorSignInOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly audit: AuditLog;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  readonly mail: Mailer;
  /** Seals sign-ins that wait for a code. */
  readonly sealer: Sealer;
  /** Accepts the invitation that a sign-in started with. Returns false if it is void. */
  readonly acceptInvitation: (user: User, invitation: InvitationClaims, address: string) => Promise<boolean>;
}

/** Sign-in to complete once the code is verified. */
export interface PendingSignIn {
  readonly userId: string;
  /** Path of this server. */
  readonly redirect: string;
  /** Provider account to link to this user. */
  readonly identity?: IdentityKey;
  readonly invitation?: InvitationClaims;
}

type SealedSignIn = PendingSignIn & { readonly expiresAt: number };

const sealingContext = 'second step of a sign-in';
/** Dashboard page that asks for the code. */
export const codePagePath = '/app/second-factor';

/**
 * Second step of a sign-in. The pending sign-in is sealed in a cookie, or in a token for programs, so the
 * server stores nothing for it. It cannot be used without a code, which works once.
 */
export class SecondFactorSignIn {
  readonly #options: SecondFactorSignInOptions;
  readonly #sealer: Sealer;
  readonly #identities: Identities;
  readonly #attempts: SlidingWindowLimiter;

  constructor(options: SecondFactorSignInOptions) {
    this.#options = options;
    this.#sealer = options.sealer;
    this.#identities = new Identities(options.store);
    this.#attempts = new SlidingWindowLimiter(
      'codes for this sign-in',
      rateLimits.codesOfSignIn,
      options.clock,
    );
  }

  /** Returns, instead of a session, where to send the code. */
  begin(
    pending: PendingSignIn,
    clientKind: 'browser' | 'program',
  ): AccountResponse<wire.SecondFactorRequired> {
    const { token, cookie, expiresAt } = this.seal(pending);
    if (clientKind === 'program') {
      return {
        kind: 'json',
        body: {
          second_factor_required: true,
          second_factor_token: token,
          expires_at: toTimestamp(expiresAt),
        },
      };
    }
    return { kind: 'redirect', to: codePagePath, cookie };
  }

  /** Returns the sealed sign-in: the token for a program, and the cookie for a browser. */
  seal(pending: PendingSignIn): {
    readonly token: string;
    readonly cookie: ResponseCookie;
    readonly expiresAt: number;
  } {
    const expiresAt = this.#options.clock.now() + limits.secondFactorMsMax;
    const sealed: SealedSignIn = { ...pending, expiresAt };
    const token = sealToText(this.#sealer, sealed, sealingContext);
    const maxAgeSeconds = limits.secondFactorMsMax / 1_000;
    return { token, cookie: { name: 'second-factor', value: token, maxAgeSeconds }, expiresAt };
  }

  /**
   * Errors: 400 for a sign-in that has expired; 401 for a wrong code; 403 for a disabled user; 429 for too
   * many codes.
   */
  async finish(
    client: ClientInfo,
    { code, second_factor_token: sentToken }: wire.FinishSecondFactorRequest,
  ): Promise<AccountResponse<wire.FinishSecondFactorResponse>> {
    const token = sentToken ?? client.cookie('second-factor');
    const pending = this.#openToken(token);
    const { userAccounts, sessions, secondFactors, deniedAccessLog } = this.#options;
    const { address } = client;
    const { userId } = pending;
    if (userAccounts.find(userId) === undefined || !secondFactors.isEnabled(userId))
      throw signInExpiredError();
    this.#attempts.consume(hashToken(token ?? ''));
    if (!(await secondFactors.check(userId, code, { actor: userId, address }))) {
      const auditEvent = { organizationId: null, actor: userId, address, target: 'second factor' };
      deniedAccessLog.record({ ...auditEvent, action: 'sign_in.failed' });
      throw wrongCodeError('unauthorized');
    }
    const clientKind = typeof sentToken === 'string' ? 'program' : 'browser';
    const previousToken = clientKind === 'browser' ? client.sessionToReplace('session') : undefined;
    const { user, result: newSession } = await userAccounts.signIn({ userId }, { address }, (user) => {
      const newSession = sessions.create(user.userId, client, previousToken);
      return {
        operations: [...newSession.operations, ...this.#linkOperations(pending, address)],
        result: newSession,
      };
    });
    await sessions.enforceSessionLimit(userId, address);
    await this.#completeSignIn(user, pending, address);
    const body = {
      expires_at: toTimestamp(newSession.session.expiresAt),
      user: toUserInfo(user),
      redirect_url: pending.redirect,
    };
    if (clientKind === 'program') {
      return { kind: 'json', body: { ...body, access_token: newSession.token, token_type: 'bearer' } };
    }
    const maxAgeSeconds = limits.sessionMsMax / 1_000;
    const earlierCookies = [{ name: 'second-factor', value: null, maxAgeSeconds: 0 }] as const;
    return {
      kind: 'json',
      body,
      cookie: { name: 'session', value: newSession.token, maxAgeSeconds },
      earlierCookies,
    };
  }

  #linkOperations({ identity, userId }: PendingSignIn, address: string): WriteOperation[] {
    if (identity === undefined) return [];
    const { issuer, subject } = identity;
    const auditEvent = { organizationId: null, actor: userId, address, target: `${issuer} ${subject}` };
    return [
      ...this.#identities.link(identity, userId),
      this.#options.audit.entryOperation({ ...auditEvent, action: 'identity.linked' }),
    ];
  }

  async #completeSignIn(user: User, { identity, invitation }: PendingSignIn, address: string): Promise<void> {
    const { mail, acceptInvitation } = this.#options;
    if (identity !== undefined && mail.isEnabled)
      mail.enqueue(buildIdentityLinkedMail(user.email, identity.issuer));
    if (invitation !== undefined) await acceptInvitation(user, invitation, address);
  }

  #openToken(token: string | undefined | null): SealedSignIn {
    const pending =
      typeof token === 'string' ? openSealedText<SealedSignIn>(this.#sealer, token, sealingContext) : null;
    if (pending === null || pending.expiresAt <= this.#options.clock.now()) throw signInExpiredError();
    return pending;
  }
}

function signInExpiredError(): AppError {
  return new AppError(
    'bad_request',
    'There is no pending sign-in in this browser, or it has expired. Sign in again.',
  );
}
