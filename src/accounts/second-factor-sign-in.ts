import { RateWindow } from '../admission/rate-window.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Refusals } from '../audit/refusals.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import { openText, sealToText } from '../base/sealed-text.ts';
import type { Sealing } from '../base/sealing.ts';
import type * as wire from '../schemas/second-factors.ts';
import { Identities, type IdentityPlace } from '../store/identities.ts';
import type { Operation, Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import type { InvitationCode } from './invitations.ts';
import type { Mail } from './mail.ts';
import type { People } from './people.ts';
import { type SecondFactors, wrongCode } from './second-factors.ts';
import { tokenDigest } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import { linkedMessage } from './signed-in.ts';
import { timestamp, userInfo } from './user-operations.ts';
import type { Cookie, Outcome, Visitor } from './visitor.ts';

export interface SecondFactorSignInOptions {
  readonly store: Store;
  readonly clock: Clock;
  readonly people: People;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly audit: AuditLog;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly mail: Mail;
  /** Seals what waits for a code. */
  readonly sealing: Sealing;
  /** Accepts the invitation that a sign-in began with; false when it is void. */
  readonly accept: (user: User, invitation: InvitationCode, address: string) => Promise<boolean>;
}

/** What a sign-in does when its code has come. */
export interface PendingSignIn {
  readonly userId: string;
  /** A path of this server. */
  readonly redirect: string;
  /** An account at a provider that leads to this user from then on. */
  readonly identity?: IdentityPlace;
  readonly invitation?: InvitationCode;
}

type SealedSignIn = PendingSignIn & { readonly expiresAt: number };

const context = 'second step of a sign-in';
const triesMax = 5;
/** Page of the dashboard that asks for the code. */
const page = '/app/second-factor';

/**
 * The second step of a sign-in. What waits for the code is sealed in a cookie, or in a token for programs, so that the
 * server stores nothing of it; it is worth nothing without a code, which works once.
 */
export class SecondFactorSignIn {
  readonly #options: SecondFactorSignInOptions;
  readonly #sealing: Sealing;
  readonly #identities: Identities;
  readonly #tries: RateWindow;

  constructor(options: SecondFactorSignInOptions) {
    this.#options = options;
    this.#sealing = options.sealing;
    this.#identities = new Identities(options.store);
    const bounds = [{ ms: limits.secondFactorMsMax, max: triesMax }];
    this.#tries = new RateWindow('codes for one sign-in: start it again', bounds, options.clock);
  }

  /** Instead of a session: where to send the code. */
  begin(pending: PendingSignIn, to: 'browser' | 'program'): Outcome<wire.SecondFactorRequired> {
    const expiresAt = this.#options.clock.now() + limits.secondFactorMsMax;
    const sealed: SealedSignIn = { ...pending, expiresAt };
    const token = sealToText(this.#sealing, sealed, context);
    if (to === 'program') {
      return {
        kind: 'json',
        body: {
          second_factor_required: true,
          second_factor_token: token,
          expires_at: timestamp(expiresAt),
        },
      };
    }
    const cookie: Cookie = {
      name: 'second-factor',
      value: token,
      seconds: limits.secondFactorMsMax / 1_000,
    };
    return { kind: 'redirect', to: page, cookie };
  }

  /** Errors: 400 for a sign-in that is over, 401 for a wrong code, 403 for a disabled user, 429 for too many codes. */
  async finish(
    visitor: Visitor,
    { code, second_factor_token: given }: wire.FinishSecondFactorRequest,
  ): Promise<Outcome<wire.FinishSecondFactorResponse>> {
    const token = given ?? visitor.cookie('second-factor');
    const pending = this.#open(token);
    const { people, sessions, secondFactors, refusals } = this.#options;
    const { address } = visitor;
    const { userId } = pending;
    if (people.find(userId) === undefined || !secondFactors.isOn(userId)) throw isOver();
    this.#tries.take(tokenDigest(token ?? ''));
    if (!(await secondFactors.check(userId, code, { actor: userId, address }))) {
      const fact = { organizationId: null, actor: userId, address, target: 'second factor' };
      refusals.note({ ...fact, action: 'sign_in.failed' });
      throw wrongCode('unauthorised');
    }
    const to = typeof given === 'string' ? 'program' : 'browser';
    const held = to === 'browser' ? visitor.held('session') : undefined;
    const { user, with: opened } = await people.arrive({ userId }, { address }, (user) => {
      const opening = sessions.open(user.userId, visitor, held);
      return { operations: [...opening.operations, ...this.#link(pending, address)], with: opening };
    });
    await sessions.endSurplus(userId, address);
    await this.#completed(user, pending, address);
    const body = {
      expires_at: timestamp(opened.session.expiresAt),
      user: userInfo(user),
      redirect_url: pending.redirect,
    };
    if (to === 'program') {
      return { kind: 'json', body: { ...body, access_token: opened.token, token_type: 'bearer' } };
    }
    const seconds = limits.sessionMsMax / 1_000;
    const earlierCookies = [{ name: 'second-factor', value: null, seconds: 0 }] as const;
    return { kind: 'json', body, cookie: { name: 'session', value: opened.token, seconds }, earlierCookies };
  }

  #link({ identity, userId }: PendingSignIn, address: string): Operation[] {
    if (identity === undefined) return [];
    const { issuer, subject } = identity;
    const fact = { organizationId: null, actor: userId, address, target: `${issuer} ${subject}` };
    return [
      ...this.#identities.link(identity, userId),
      this.#options.audit.entry({ ...fact, action: 'identity.linked' }),
    ];
  }

  async #completed(user: User, { identity, invitation }: PendingSignIn, address: string): Promise<void> {
    const { mail, accept } = this.#options;
    if (identity !== undefined && mail.isOn) mail.post(linkedMessage(user.email, identity.issuer));
    if (invitation !== undefined) await accept(user, invitation, address);
  }

  #open(token: string | undefined | null): SealedSignIn {
    const pending = typeof token === 'string' ? openText<SealedSignIn>(this.#sealing, token, context) : null;
    if (pending === null || pending.expiresAt <= this.#options.clock.now()) throw isOver();
    return pending;
  }
}

function isOver(): AppError {
  return new AppError(
    'bad_request',
    'No sign-in waits for a code here, or its time is over: start it again.',
  );
}
