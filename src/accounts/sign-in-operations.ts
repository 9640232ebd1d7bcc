import { timingSafeEqual } from 'node:crypto';
import { rateLimitAddress } from '../admission/address-key.ts';
import { ExponentialBackoff } from '../admission/exponential-backoff.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { rateLimits } from '../core/rate-limits.ts';
import { toTimestamp } from '../core/timestamps.ts';
import type { GenericMessageResponse } from '../schemas/accounts.ts';
import type { FinishSecondFactorRequest, FinishSecondFactorResponse } from '../schemas/second-factors.ts';
import type * as wire from '../schemas/sign-in.ts';
import { isOperatorProof } from '../storage/installation-secrets.ts';
import { ExpectationFailedError, type Store, type WriteOperation } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import { AdministratorSignIn } from './administrator-sign-in.ts';
import type { AccountResponse, ClientInfo, ResponseCookie } from './client-info.ts';
import { renderConfirmationPage } from './confirmation-page.ts';
import { maskEmail, normalizeEmail } from './email-address.ts';
import { parseLocalPath } from './local-path.ts';
import { invalidLinkError, isSameBrowser, type MagicLink, type MagicLinks } from './magic-links.ts';
import type { Mailer } from './mailer.ts';
import type { Memberships } from './memberships.ts';
import type { PasskeyJoin } from './passkey-join.ts';
import type { PasskeySignIn } from './passkey-sign-in.ts';
import type { PasswordQueue } from './password-queue.ts';
import type { PasswordSignIn } from './password-sign-in.ts';
import type { SecondFactorSignIn } from './second-factor-sign-in.ts';
import { SecondFactorRequiredError, type SecondFactors } from './second-factors.ts';
import { generateToken, hashToken } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import { SignInMailLimiter } from './sign-in-mail-limiter.ts';
import { buildSignInReply, type SignInReply } from './sign-in-reply.ts';
import { operatorEmail, type UserAccounts } from './user-accounts.ts';

export interface SignInOperationsOptions {
  readonly store: Store;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly memberships: Memberships;
  readonly links: MagicLinks;
  readonly audit: AuditLog;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  readonly mail: Mailer;
  readonly secondFactors: SecondFactors;
  readonly secondFactorSignIn: SecondFactorSignIn;
  readonly passwordSignIn: PasswordSignIn;
  readonly passkeySignIn: PasskeySignIn;
  readonly passkeyJoin: PasskeyJoin;
  readonly passwordQueue: PasswordQueue;
  readonly clock: Clock;
  readonly random: Random;
  /** Secrets of the installation, the current one first. */
  readonly secrets: readonly Uint8Array[];
  /** QUARRY_ADMIN_PASSWORD_HASH; null disables the administrator sign-in. */
  readonly adminPasswordHash: string | null;
  /** `https://host` of links; never taken from a request. */
  readonly publicUrl: () => string;
  /** Redirect target for requests that name none. */
  readonly home: string;
  readonly firstOrganizationId: () => string;
}

const minuteMs = 60_000;
const magicLinkTarget = 'sign-in link';
/** Token held by the browser that requested a link: 256 bits. */
const browserTokenPattern = /^[A-Za-z0-9_-]{43}$/;
const verifyPath = '/api/auth/magic-link/verify';

/** Sign-in by a link in a mail, by a link that the operator prints, and by the administrator password. */
export class SignInOperations {
  readonly #options: SignInOperationsOptions;
  readonly #mailLimiter: SignInMailLimiter;
  readonly #requestRateByClient: SlidingWindowLimiter;
  readonly #administratorSignIn: AdministratorSignIn;
  readonly #proofBackoff: ExponentialBackoff;

  constructor(options: SignInOperationsOptions) {
    this.#options = options;
    const { clock } = options;
    this.#mailLimiter = new SignInMailLimiter(clock);
    this.#requestRateByClient = new SlidingWindowLimiter('sign-in emails', rateLimits.signInMails, clock);
    this.#administratorSignIn = new AdministratorSignIn(options);
    this.#proofBackoff = new ExponentialBackoff(clock);
  }

  /** Available sign-in methods. */
  options(client: ClientInfo): Omit<wire.SignInOptionsResponse, 'google' | 'github'> {
    const { mail, adminPasswordHash, passwordSignIn, passkeySignIn } = this.#options;
    return {
      mail: mail.isEnabled,
      password: passwordSignIn.isEnabled,
      passkey: passkeySignIn.isAvailable(client),
      administrator: adminPasswordHash !== null,
      resend_seconds: limits.signInMailIntervalMsMin / 1_000,
    };
  }

  /**
   * Sends a sign-in link. Replies and acts the same for every address, whether it has an account or not, and
   * stores nothing. If no further mail is sent, earlier links still work. Errors: 422 for an invalid address;
   * 400 for a redirect to another site; 429 for too many requests from this client; 503 without mail.
   */
  async sendMagicLink(
    client: ClientInfo,
    request: wire.SendMagicLinkRequest,
  ): Promise<AccountResponse<wire.SendMagicLinkResponse>> {
    const { mail, links, random, deniedAccessLog } = this.#options;
    const email = normalizeEmail(request.email);
    const redirect =
      typeof request.redirect_url === 'string' ? parseLocalPath(request.redirect_url) : this.#options.home;
    if (!mail.isEnabled) throw mail.unavailableError();
    const { address } = client;
    const clientKey = rateLimitAddress(address);
    this.#requestRateByClient.consume(clientKey);
    // A repeated request keeps the token of the browser, so that the links of all its emails work without
    // confirmation.
    const previousToken = client.cookie('sign-in');
    const browserToken =
      previousToken !== undefined && browserTokenPattern.test(previousToken)
        ? previousToken
        : generateToken('', random);
    if (this.#mailLimiter.isAllowed(email, clientKey)) {
      mail.enqueue(buildSignInMail(email, this.#linkUrl(links.issue({ email, redirect, browserToken }))));
      this.#mailLimiter.recordSent(email, clientKey);
      deniedAccessLog.record({
        organizationId: null,
        actor: null,
        address,
        action: 'magic_link.sent',
        target: email,
      });
    }
    const cookie: ResponseCookie = {
      name: 'sign-in',
      value: browserToken,
      maxAgeSeconds: limits.magicLinkMsMax / 1_000,
    };
    return {
      kind: 'json',
      body: { message: `If ${email} can receive email, a sign-in link was sent.` },
      cookie,
    };
  }

  /**
   * Handles a followed link. Signs in the browser that requested it, or a program. Any other browser gets a
   * confirmation page, because mail scanners follow links too. Errors: 400 for an invalid link.
   */
  async verifyMagicLink(
    client: ClientInfo,
    { token }: wire.VerifyMagicLinkRequest,
  ): Promise<AccountResponse<SignInReply>> {
    const link = this.#verifyLink(client, token);
    if (client.wantsJson) return this.#signIn(client, link, 'program');
    if (isSameBrowser(link, client.cookie('sign-in'))) return this.#signIn(client, link, 'browser');
    const value = generateToken('', this.#options.random);
    const accountLabel = link.email === null ? 'the operator of this server' : maskEmail(link.email);
    return {
      kind: 'page',
      html: renderConfirmationPage({
        action: verifyPath,
        token,
        confirmation: hashToken(value),
        accountLabel,
      }),
      cookie: { name: 'confirmation', value, maxAgeSeconds: limits.magicLinkMsMax / 1_000 },
    };
  }

  /** Handles the form of the confirmation page, which only the browser that received the page can send. */
  async confirmMagicLink(
    client: ClientInfo,
    { token, confirmation }: wire.ConfirmMagicLinkRequest,
  ): Promise<AccountResponse<SignInReply>> {
    const link = this.#verifyLink(client, token);
    const cookieToken = client.cookie('confirmation');
    if (cookieToken === undefined || !isEqualConstantTime(hashToken(cookieToken), confirmation)) {
      this.#recordFailure(client, magicLinkTarget);
      throw new AppError('bad_request', 'Open the link again and confirm the sign-in in the same browser.');
    }
    return this.#signIn(client, link, 'browser');
  }

  /**
   * Creates a link for the operator, who proves access to the data directory. Errors: 401 for a wrong proof.
   */
  async createLoginLink(
    client: ClientInfo,
    { proof }: wire.LoginLinkRequest,
  ): Promise<AccountResponse<wire.LoginLinkResponse>> {
    const keys = [rateLimitAddress(client.address)];
    this.#proofBackoff.check(keys);
    if (!isOperatorProof(proof, this.#options.secrets)) {
      this.#proofBackoff.recordFailure(keys);
      this.#recordFailure(client, 'operator proof');
      throw new AppError('unauthorized', 'The operator proof is not valid for this installation.');
    }
    const { url, expiresAt } = this.createOperatorLink();
    const { address } = client;
    const auditEvent = { organizationId: null, actor: 'administrator', address, target: null };
    this.#options.deniedAccessLog.record({ ...auditEvent, action: 'login_link.created' });
    return { kind: 'json', body: { url, expires_at: toTimestamp(expiresAt) } };
  }

  /** Creates the operator link that the server prints at startup. */
  createOperatorLink(): { readonly url: string; readonly expiresAt: number } {
    const { links, clock, home } = this.#options;
    const token = links.issue({ email: null, redirect: home, browserToken: null });
    return { url: this.#linkUrl(token), expiresAt: clock.now() + limits.loginLinkMsMax };
  }

  /** Ends the session of this request, if it has one. */
  async logout(client: ClientInfo): Promise<AccountResponse<GenericMessageResponse>> {
    const token = client.bearer ?? client.cookie('session');
    if (token !== undefined) await this.#options.sessions.end(token, client.address);
    return {
      kind: 'json',
      body: { message: 'Signed out.' },
      cookie: { name: 'session', value: null, maxAgeSeconds: 0 },
    };
  }

  /** See `SecondFactorSignIn`. */
  finishSecondFactor(
    client: ClientInfo,
    request: FinishSecondFactorRequest,
  ): Promise<AccountResponse<FinishSecondFactorResponse>> {
    return this.#options.secondFactorSignIn.finish(client, request);
  }

  /** See `PasswordSignIn`. */
  get password(): PasswordSignIn {
    return this.#options.passwordSignIn;
  }

  /** See `PasskeySignIn`. */
  get passkey(): PasskeySignIn {
    return this.#options.passkeySignIn;
  }

  /** See `PasskeyJoin`. */
  get passkeyJoin(): PasskeyJoin {
    return this.#options.passkeyJoin;
  }

  /** See `AdministratorSignIn`. */
  adminLogin(
    client: ClientInfo,
    request: wire.AdminLoginRequest,
  ): Promise<AccountResponse<wire.AdminStatusResponse>> {
    return this.#administratorSignIn.login(client, request);
  }

  adminLogout(client: ClientInfo): Promise<AccountResponse<wire.AdminStatusResponse>> {
    return this.#administratorSignIn.logout(client);
  }

  async #signIn(
    client: ClientInfo,
    link: MagicLink,
    clientKind: 'browser' | 'program',
  ): Promise<AccountResponse<SignInReply>> {
    const { store, userAccounts, sessions, links, secondFactors, secondFactorSignIn } = this.#options;
    const { address } = client;
    const previousToken = clientKind === 'browser' ? client.sessionToReplace('session') : undefined;
    const identity = { email: link.email ?? operatorEmail, isOperator: link.email === null };
    const signInAttempt = userAccounts.signIn(identity, { address }, (user, { isClaimed }) => {
      // The operator is exempt, because it has access to the secrets of the installation anyway. The second
      // factor of a claimed account is removed.
      if (link.email !== null && !isClaimed) secondFactors.assertNotRequired(user);
      const newSession = sessions.create(user.userId, client, previousToken);
      const operations = [
        ...links.consume(link),
        ...newSession.operations,
        ...this.#operatorMembershipOperations(link, user),
      ];
      return { operations, result: newSession };
    });
    const outcome = await signInAttempt
      .catch(async (error: unknown) => {
        if (!(error instanceof SecondFactorRequiredError)) throw error;
        await store.write(links.consume(link), { mayUseReserve: true });
        return error;
      })
      .catch((error: unknown) => {
        if (error instanceof AppError || error instanceof ExpectationFailedError)
          this.#recordFailure(client, magicLinkTarget);
        throw error instanceof ExpectationFailedError ? invalidLinkError() : error;
      });
    if (outcome instanceof SecondFactorRequiredError) {
      return secondFactorSignIn.begin({ userId: outcome.user.userId, redirect: link.redirect }, clientKind);
    }
    const { user, result: newSession } = outcome;
    await sessions.enforceSessionLimit(user.userId, address);
    return buildSignInReply({ user, ...newSession, redirect: link.redirect, clientKind });
  }

  #verifyLink(client: ClientInfo, token: string): MagicLink {
    try {
      return this.#options.links.verify(token);
    } catch (error) {
      this.#recordFailure(client, magicLinkTarget);
      throw error;
    }
  }

  #recordFailure({ address }: ClientInfo, target: string): void {
    const auditEvent = { organizationId: null, actor: null, address, target };
    this.#options.deniedAccessLog.record({ ...auditEvent, action: 'sign_in.failed' });
  }

  /** Makes the operator an owner of the first organization. */
  #operatorMembershipOperations(link: MagicLink, { userId }: User): WriteOperation[] {
    if (link.email !== null) return [];
    const { memberships, firstOrganizationId } = this.#options;
    const membershipKey = { organizationId: firstOrganizationId(), userId };
    return memberships.roleOf(membershipKey) === null ? memberships.ownerOperations(membershipKey) : [];
  }

  #linkUrl(token: string): string {
    return `${this.#options.publicUrl()}${verifyPath}?token=${token}`;
  }
}

function isEqualConstantTime(expected: string, actual: string): boolean {
  const [a, b] = [Buffer.from(expected), Buffer.from(actual)];
  return a.byteLength === b.byteLength && timingSafeEqual(a, b);
}

function buildSignInMail(email: string, link: string) {
  const minutes = limits.magicLinkMsMax / minuteMs;
  return {
    to: email,
    subject: 'Sign in to Quarry',
    text: [
      'Open this link to sign in:',
      link,
      '',
      `The link works once and expires in ${minutes} minutes. If you did not request it, ignore this email.`,
    ].join('\n'),
  };
}
