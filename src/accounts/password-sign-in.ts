import { rateLimitAddress } from '../admission/address-key.ts';
import { ExponentialBackoff } from '../admission/exponential-backoff.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import { rateLimits } from '../core/rate-limits.ts';
import type * as wire from '../schemas/passwords.ts';
import { checkPasswordStrength } from './check-password-strength.ts';
import type { AccountResponse, ClientInfo } from './client-info.ts';
import { normalizeEmail } from './email-address.ts';
import type { InvitedSignUp } from './invited-sign-up.ts';
import { parseLocalPath } from './local-path.ts';
import type { Mailer } from './mailer.ts';
import type { PasswordQueue } from './password-queue.ts';
import type { Passwords } from './passwords.ts';
import { codePagePath, type SecondFactorSignIn } from './second-factor-sign-in.ts';
import { SecondFactorRequiredError, type SecondFactors } from './second-factors.ts';
import type { Sessions } from './sessions.ts';
import { buildJsonSignInReply, buildPasswordChangedMail } from './sign-in-reply.ts';
import { checkDisplayText, operatorEmail, type UserAccounts } from './user-accounts.ts';
import type { UserCall } from './user-operations.ts';

export interface PasswordSignInOptions {
  readonly passwords: Passwords;
  readonly queue: PasswordQueue;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly secondFactors: SecondFactors;
  readonly secondFactorSignIn: SecondFactorSignIn;
  readonly invitedSignUp: InvitedSignUp;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  readonly mail: Mailer;
  readonly clock: Clock;
  /** QUARRY_PASSWORD_SIGN_IN */
  readonly isEnabled: boolean;
  /** Redirect target for requests that name none. */
  readonly home: string;
}

type SignInReply = AccountResponse<wire.PasswordSignInResponse | wire.PasswordCodeRequired>;

/**
 * Sign-in with email address and password. Needs neither mail nor an identity provider: an invitation lets a
 * new user choose a password. Wrong passwords delay only the address of the client, so that an attacker cannot
 * lock a user out, and an unknown address takes as long and gets the same reply as a wrong password.
 */
export class PasswordSignIn {
  readonly #options: PasswordSignInOptions;
  readonly #backoff: ExponentialBackoff;
  readonly #attemptsByClient: SlidingWindowLimiter;

  constructor(options: PasswordSignInOptions) {
    this.#options = options;
    this.#backoff = new ExponentialBackoff(options.clock);
    // Bounds guesses at many accounts, and guesses between successful sign-ins to an account of one's own.
    this.#attemptsByClient = new SlidingWindowLimiter(
      'password sign-ins',
      rateLimits.passwordAttempts,
      options.clock,
    );
  }

  get isEnabled(): boolean {
    return this.#options.isEnabled;
  }

  /**
   * Errors: 400 for a redirect to another site; 401 for a wrong address or password; 403 for a disabled user;
   * 429 for too many attempts from one client; 503 if passwords are disabled.
   */
  async signIn(client: ClientInfo, request: wire.PasswordSignInRequest): Promise<SignInReply> {
    const { passwords, queue, userAccounts, home } = this.#options;
    this.#requireEnabled();
    const email = normalizeEmail(request.email);
    const redirect = typeof request.redirect_url === 'string' ? parseLocalPath(request.redirect_url) : home;
    const clientKey = rateLimitAddress(client.address);
    const backoffKeys = [`${clientKey} ${email}`];
    this.#backoff.check(backoffKeys);
    this.#attemptsByClient.consume(clientKey);
    const user = userAccounts.findByEmail(email);
    await queue.run(clientKey, async () => {
      // Checked again after the wait, so that concurrent guesses are delayed like consecutive ones.
      this.#backoff.check(backoffKeys);
      if (await passwords.verify(user?.userId ?? null, request.password)) return;
      this.#backoff.recordFailure(backoffKeys);
      this.#recordFailure(client, email);
      throw new AppError('unauthorized', 'The email address or the password is wrong.');
    });
    this.#backoff.reset(backoffKeys);
    return this.#openSession(client, user!.userId, redirect);
  }

  /**
   * Creates the account of an invited user, who joins the organization. Errors: 400 for a weak password or an
   * invalid name; 404 for an invalid invitation; 409 if the address has an account.
   */
  async join(
    client: ClientInfo,
    request: wire.PasswordJoinRequest,
  ): Promise<AccountResponse<wire.PasswordSignInResponse>> {
    const { passwords, queue, invitedSignUp } = this.#options;
    const { invite_code: inviteCode, password, name } = request;
    this.#requireEnabled();
    const invitation = await invitedSignUp.openCode(inviteCode);
    if (name) checkDisplayText('name', name);
    const clientKey = rateLimitAddress(client.address);
    this.#attemptsByClient.consume(clientKey);
    return queue.run(clientKey, async () => {
      await checkPasswordStrength(password);
      const record = await passwords.hash(password);
      return invitedSignUp.signUp(client, { invitation, name: name || null }, ({ userId }) =>
        passwords.createOperations(userId, record),
      );
    });
  }

  /**
   * Chooses a new password with a link of the administrator; all sessions of the user end. Errors: 400 for an
   * invalid link or a weak password.
   */
  async reset(client: ClientInfo, { token, password }: wire.PasswordResetRequest): Promise<SignInReply> {
    const { passwords, queue, sessions, home } = this.#options;
    this.#requireEnabled();
    const userId = passwords.openLink(token);
    const clientKey = rateLimitAddress(client.address);
    this.#attemptsByClient.consume(clientKey);
    await queue.run(clientKey, async () => {
      await checkPasswordStrength(password);
      const by = { actor: userId, address: client.address };
      await passwords.change(userId, password, by, async () => {
        passwords.openLink(token);
        return sessions.deleteAllOperations(userId, by);
      });
    });
    this.#notify(userId);
    return this.#openSession(client, userId, home);
  }

  /**
   * Sets or changes the password of the caller; the other sessions end. Errors: 400 for a weak password, for a
   * missing or wrong current one, and for the user of the operator.
   */
  async change(call: UserCall, request: wire.SetPasswordRequest): Promise<void> {
    const { passwords, queue, sessions, userAccounts } = this.#options;
    this.#requireEnabled();
    const { userId, sessionId } = call.principal;
    if (userAccounts.find(userId)?.email === operatorEmail) {
      throw new AppError(
        'bad_request',
        'The operator signs in with the link of "quarry login-link", without a password.',
      );
    }
    const { address } = call.client;
    const backoffKeys = [`${rateLimitAddress(address)} ${userId}`];
    await queue.run(rateLimitAddress(address), async () => {
      this.#backoff.check(backoffKeys);
      if (passwords.has(userId) && !(await passwords.verify(userId, request.current_password ?? ''))) {
        this.#backoff.recordFailure(backoffKeys);
        throw new AppError('bad_request', 'The current password is wrong.');
      }
      this.#backoff.reset(backoffKeys);
      await checkPasswordStrength(request.password);
      const by = { actor: userId, address };
      await passwords.change(userId, request.password, by, () =>
        sessions.deleteOtherOperations(userId, sessionId, by),
      );
    });
    this.#notify(userId);
  }

  async #openSession(client: ClientInfo, userId: string, redirect: string): Promise<SignInReply> {
    const { userAccounts, sessions, secondFactors, secondFactorSignIn } = this.#options;
    const { address } = client;
    const outcome = await userAccounts
      .signIn({ userId }, { address }, (user) => {
        secondFactors.assertNotRequired(user);
        const created = sessions.create(userId, client, this.#previousToken(client));
        return { operations: created.operations, result: created };
      })
      .catch((error: unknown) => {
        if (error instanceof SecondFactorRequiredError) return error;
        throw error;
      });
    if (!(outcome instanceof SecondFactorRequiredError)) {
      await sessions.enforceSessionLimit(userId, address);
      return buildJsonSignInReply(client, { user: outcome.user, ...outcome.result, redirect });
    }
    const { token, cookie } = secondFactorSignIn.seal({ userId, redirect });
    const body = { second_factor_required: true, redirect_url: codePagePath } as const;
    if (client.isBrowser) return { kind: 'json', body, cookie };
    return { kind: 'json', body: { ...body, second_factor_token: token } };
  }

  /** Sends no mail to an unverified address, which may belong to another person. */
  #notify(userId: string): void {
    const { mail, userAccounts } = this.#options;
    const user = userAccounts.find(userId);
    if (!mail.isEnabled || user === undefined || user.isEmailUnverified === true) return;
    mail.enqueue(buildPasswordChangedMail(user.email));
  }

  #previousToken(client: ClientInfo): string | undefined {
    return client.isBrowser ? client.sessionToReplace('session') : undefined;
  }

  #recordFailure({ address }: ClientInfo, email: string): void {
    const auditEvent = { organizationId: null, actor: null, address, target: email };
    this.#options.deniedAccessLog.record({ ...auditEvent, action: 'sign_in.failed' });
  }

  #requireEnabled(): void {
    if (this.#options.isEnabled) return;
    throw new AppError(
      'unavailable',
      'Sign-in with a password is disabled on this server (QUARRY_PASSWORD_SIGN_IN=off).',
      { shouldRetry: false },
    );
  }
}
