import { timingSafeEqual } from 'node:crypto';
import { addressKey } from '../admission/address-key.ts';
import { BackOff } from '../admission/back-off.ts';
import { RateWindow } from '../admission/rate-window.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Refusals } from '../audit/refusals.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { isOperatorProof } from '../base/installation-secrets.ts';
import { limits } from '../base/limits.ts';
import type * as wire from '../schemas/accounts.ts';
import type { FinishSecondFactorRequest, FinishSecondFactorResponse } from '../schemas/second-factors.ts';
import { ExpectationFailed, type Operation, type Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { AdministratorSignIn } from './administrator-sign-in.ts';
import { confirmationPage } from './confirmation-page.ts';
import { maskedEmail, normalisedEmail } from './email-address.ts';
import { deadLink, isSameBrowser, type MagicLinks, type SignInLink } from './magic-links.ts';
import type { Mail } from './mail.ts';
import type { Memberships } from './memberships.ts';
import { operatorEmail, type People } from './people.ts';
import { localPath } from './redirect.ts';
import type { SecondFactorSignIn } from './second-factor-sign-in.ts';
import { SecondFactorNeeded, type SecondFactors } from './second-factors.ts';
import { newToken, tokenDigest } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import { SignInMailPace } from './sign-in-mail-pace.ts';
import { type SignInReply, signedIn } from './signed-in.ts';
import { timestamp } from './user-operations.ts';
import type { Cookie, Outcome, Visitor } from './visitor.ts';

export interface SignInOperationsOptions {
  readonly store: Store;
  readonly people: People;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly links: MagicLinks;
  readonly audit: AuditLog;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly mail: Mail;
  readonly secondFactors: SecondFactors;
  readonly secondStep: SecondFactorSignIn;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Of the installation, the current one first. */
  readonly secrets: readonly Uint8Array[];
  /** QUARRY_ADMIN_PASSWORD_HASH; null turns the administrator's sign-in off. */
  readonly adminPasswordHash: string | null;
  /** `https://host` that links start with: never what a request says. */
  readonly linkBase: () => string;
  /** Where a browser goes that names no place. */
  readonly home: string;
  readonly firstOrganizationId: () => string;
}

const minute = 60_000;
const mailedLink = 'sign-in link';
/** What a browser holds that asked for a link: 256 bits. */
const browserShape = /^[A-Za-z0-9_-]{43}$/;
const verifyPath = '/api/auth/magic-link/verify';

/** How people come in: by a link in a mail, by a link that the operator prints, by the administrator's password. */
export class SignInOperations {
  readonly #options: SignInOperationsOptions;
  readonly #mailPace: SignInMailPace;
  readonly #requestsFromClient: RateWindow;
  readonly #administrator: AdministratorSignIn;
  readonly #proofs: BackOff;

  constructor(options: SignInOperationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#mailPace = new SignInMailPace(clock);
    this.#requestsFromClient = new RateWindow('sign-in mails', [{ ms: 60 * minute, max: 20 }], clock);
    this.#administrator = new AdministratorSignIn(options);
    this.#proofs = new BackOff(clock);
  }

  /** Which of these ways there are. */
  get options(): Omit<wire.SignInOptionsResponse, 'google' | 'github'> {
    const { mail, adminPasswordHash } = this.#options;
    return {
      mail: mail.isOn,
      administrator: adminPasswordHash !== null,
      resend_seconds: limits.signInMailPauseMs / 1_000,
    };
  }

  /**
   * Answers and does the same for every address, whether somebody has signed in with it or not, and stores nothing.
   * Where no further mail is due, the links that were sent before still work. Errors: 422 no address, 400 a redirection
   * elsewhere, 429 too many from this client, 503 no mail.
   */
  async sendMagicLink(
    visitor: Visitor,
    request: wire.SendMagicLinkRequest,
  ): Promise<Outcome<wire.SendMagicLinkResponse>> {
    const { mail, links, chance, refusals } = this.#options;
    const email = normalisedEmail(request.email);
    const redirect =
      typeof request.redirect_url === 'string' ? localPath(request.redirect_url) : this.#options.home;
    if (!mail.isOn) throw mail.off();
    const { address } = visitor;
    const client = addressKey(address);
    this.#requestsFromClient.take(client);
    // A browser that asks again keeps what it holds, so that the links of all its mails need no confirmation.
    const held = visitor.cookie('sign-in');
    const browser = held !== undefined && browserShape.test(held) ? held : newToken('', chance);
    if (this.#mailPace.isDue(email, client)) {
      mail.post(signInLetter(email, this.#linkOf(links.issue({ email, redirect, browser }))));
      this.#mailPace.sent(email, client);
      refusals.note({ organizationId: null, actor: null, address, action: 'magic_link.sent', target: email });
    }
    const cookie: Cookie = { name: 'sign-in', value: browser, seconds: limits.magicLinkMsMax / 1_000 };
    return { kind: 'json', body: { message: `If ${email} receives mail, a link is on its way.` }, cookie };
  }

  /**
   * What following a link does. In the browser that asked for it, and for a program, it signs in; anywhere else it shows
   * a page to confirm it, because mail scanners follow links too. 400 for a link that opens nothing.
   */
  async verifyMagicLink(
    visitor: Visitor,
    { token }: wire.VerifyMagicLinkRequest,
  ): Promise<Outcome<SignInReply>> {
    const link = this.#link(visitor, token);
    if (visitor.wantsJson) return this.#signIn(visitor, link, 'program');
    if (isSameBrowser(link, visitor.cookie('sign-in'))) return this.#signIn(visitor, link, 'browser');
    const value = newToken('', this.#options.chance);
    const who = link.email === null ? 'the operator of this server' : maskedEmail(link.email);
    return {
      kind: 'page',
      html: confirmationPage({ action: verifyPath, token, confirmation: tokenDigest(value), who }),
      cookie: { name: 'confirmation', value, seconds: limits.magicLinkMsMax / 1_000 },
    };
  }

  /** The form of that page: only the browser that was shown it can send it. */
  async confirmMagicLink(
    visitor: Visitor,
    { token, confirmation }: wire.ConfirmMagicLinkRequest,
  ): Promise<Outcome<SignInReply>> {
    const link = this.#link(visitor, token);
    const shown = visitor.cookie('confirmation');
    if (shown === undefined || !isEqual(tokenDigest(shown), confirmation)) {
      this.#noteFailure(visitor, mailedLink);
      throw new AppError('bad_request', 'Open the link again and confirm it in the same browser.');
    }
    return this.#signIn(visitor, link, 'browser');
  }

  /** A link for the operator, who can read the data directory. 401 for everybody else. */
  async loginLink(
    visitor: Visitor,
    { proof }: wire.LoginLinkRequest,
  ): Promise<Outcome<wire.LoginLinkResponse>> {
    const keys = [addressKey(visitor.address)];
    this.#proofs.check(keys);
    if (!isOperatorProof(proof, this.#options.secrets)) {
      this.#proofs.failed(keys);
      this.#noteFailure(visitor, 'proof of the operator');
      throw new AppError('unauthorised', 'This is not the proof of the operator of this installation.');
    }
    const { url, expiresAt } = this.operatorLink();
    const { address } = visitor;
    const fact = { organizationId: null, actor: 'administrator', address, target: null };
    this.#options.refusals.note({ ...fact, action: 'login_link.created' });
    return { kind: 'json', body: { url, expires_at: timestamp(expiresAt) } };
  }

  /** For the server itself, which prints it at the start. */
  operatorLink(): { readonly url: string; readonly expiresAt: number } {
    const { links, clock, home } = this.#options;
    const token = links.issue({ email: null, redirect: home, browser: null });
    return { url: this.#linkOf(token), expiresAt: clock.now() + limits.loginLinkMsMax };
  }

  /** Ends the session of this request, if it has one. */
  async logout(visitor: Visitor): Promise<Outcome<wire.GenericMessageResponse>> {
    const token = visitor.bearer ?? visitor.cookie('session');
    if (token !== undefined) await this.#options.sessions.end(token, visitor.address);
    return {
      kind: 'json',
      body: { message: 'Signed out.' },
      cookie: { name: 'session', value: null, seconds: 0 },
    };
  }

  /** See `SecondFactorSignIn`. */
  finishSecondFactor(
    visitor: Visitor,
    request: FinishSecondFactorRequest,
  ): Promise<Outcome<FinishSecondFactorResponse>> {
    return this.#options.secondStep.finish(visitor, request);
  }

  /** See `AdministratorSignIn`. */
  adminLogin(visitor: Visitor, request: wire.AdminLoginRequest): Promise<Outcome<wire.AdminStatusResponse>> {
    return this.#administrator.login(visitor, request);
  }

  adminLogout(visitor: Visitor): Promise<Outcome<wire.AdminStatusResponse>> {
    return this.#administrator.logout(visitor);
  }

  async #signIn(
    visitor: Visitor,
    link: SignInLink,
    to: 'browser' | 'program',
  ): Promise<Outcome<SignInReply>> {
    const { store, people, sessions, links, secondFactors, secondStep } = this.#options;
    const { address } = visitor;
    const held = to === 'browser' ? visitor.held('session') : undefined;
    const who = { email: link.email ?? operatorEmail, isOperator: link.email === null };
    const arrived = people.arrive(who, { address }, (user) => {
      // Exempt: the operator reads the secrets of the installation anyway.
      if (link.email !== null) secondFactors.require(user);
      const opened = sessions.open(user.userId, visitor, held);
      const operations = [...links.consume(link), ...opened.operations, ...this.#operatorsPlace(link, user)];
      return { operations, with: opened };
    });
    const outcome = await arrived
      .catch(async (error: unknown) => {
        if (!(error instanceof SecondFactorNeeded)) throw error;
        await store.write(links.consume(link), { mayUseReserve: true });
        return error;
      })
      .catch((error: unknown) => {
        if (error instanceof AppError || error instanceof ExpectationFailed)
          this.#noteFailure(visitor, mailedLink);
        throw error instanceof ExpectationFailed ? deadLink() : error;
      });
    if (outcome instanceof SecondFactorNeeded) {
      return secondStep.begin({ userId: outcome.user.userId, redirect: link.redirect }, to);
    }
    const { user, with: opened } = outcome;
    await sessions.endSurplus(user.userId, address);
    return signedIn({ user, ...opened, redirect: link.redirect, to });
  }

  #link(visitor: Visitor, token: string): SignInLink {
    try {
      return this.#options.links.find(token);
    } catch (error) {
      this.#noteFailure(visitor, mailedLink);
      throw error;
    }
  }

  #noteFailure({ address }: Visitor, target: string): void {
    const fact = { organizationId: null, actor: null, address, target };
    this.#options.refusals.note({ ...fact, action: 'sign_in.failed' });
  }

  /** The operator owns the first organisation. */
  #operatorsPlace(link: SignInLink, { userId }: User): Operation[] {
    if (link.email !== null) return [];
    const { memberships, firstOrganizationId } = this.#options;
    const place = { organizationId: firstOrganizationId(), userId };
    return memberships.roleOf(place) === null ? memberships.founder(place) : [];
  }

  #linkOf(token: string): string {
    return `${this.#options.linkBase()}${verifyPath}?token=${token}`;
  }
}

function isEqual(expected: string, given: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(given)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

function signInLetter(email: string, link: string) {
  const minutes = limits.magicLinkMsMax / minute;
  return {
    to: email,
    subject: 'Sign in to Quarry',
    text: [
      'Open this link to sign in:',
      link,
      '',
      `It works once, within ${minutes} minutes. If you did not ask for it, do nothing: nobody can sign in without it.`,
    ].join('\n'),
  };
}
