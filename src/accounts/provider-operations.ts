import { rateLimitAddress } from '../admission/address-key.ts';
import { SlidingWindowLimiter } from '../admission/sliding-window-limiter.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { DeniedAccessLog } from '../audit/denied-access-log.ts';
import { AppError } from '../core/app-error.ts';
import type { Clock } from '../core/clock.ts';
import type { Random } from '../core/ids.ts';
import { limits } from '../core/limits.ts';
import { rateLimits } from '../core/rate-limits.ts';
import type * as wire from '../schemas/sign-in.ts';
import { Identities } from '../storage/identities.ts';
import type { Store, WriteOperation } from '../storage/store.ts';
import type { User } from '../storage/users.ts';
import type { AccountResponse, ClientInfo, ResponseCookie } from './client-info.ts';
import { normalizeEmail } from './email-address.ts';
import type {
  AuthorizationChecks,
  IdentityProvider,
  ProviderIdentity,
  ProviderName,
} from './identity-providers.ts';
import { type InvitationClaims, type Invitations, invitationNotFoundError } from './invitations.ts';
import { parseLocalPath } from './local-path.ts';
import type { Mailer } from './mailer.ts';
import type { SecondFactorSignIn } from './second-factor-sign-in.ts';
import { SecondFactorRequiredError, type SecondFactors } from './second-factors.ts';
import { generateToken } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import type { SignInFlow, SignInFlows } from './sign-in-flows.ts';
import { buildIdentityLinkedMail, buildSignInReply, type SignInReply } from './sign-in-reply.ts';
import type { UserAccounts } from './user-accounts.ts';

export interface ProviderOperationsOptions {
  readonly store: Store;
  readonly userAccounts: UserAccounts;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly deniedAccessLog: Pick<DeniedAccessLog, 'record'>;
  readonly mail: Mailer;
  readonly secondFactors: SecondFactors;
  readonly secondFactorSignIn: SecondFactorSignIn;
  readonly flows: SignInFlows;
  readonly clock: Clock;
  readonly random: Random;
  /** Null for a provider that is not configured. */
  readonly providers: Readonly<Record<ProviderName, IdentityProvider | null>>;
  /** `https://host` registered for this server at the providers; never taken from a request. */
  readonly publicUrl: () => string;
  /** Redirect target for requests that name none. */
  readonly home: string;
  readonly invitations: Pick<Invitations, 'verifyCode'>;
  /** Accepts the invitation that a sign-in started with. Returns false if it is void for the user. */
  readonly acceptInvitation: (user: User, invitation: InvitationClaims, address: string) => Promise<boolean>;
}

/** Sign-in through an identity provider: `begin` redirects to it, `finish` handles the callback. */
export class ProviderOperations {
  readonly #options: ProviderOperationsOptions;
  readonly #records: Identities;
  readonly #beginRate: SlidingWindowLimiter;

  constructor(options: ProviderOperationsOptions) {
    this.#options = options;
    this.#records = new Identities(options.store);
    this.#beginRate = new SlidingWindowLimiter('sign-ins', rateLimits.providerSignIns, options.clock);
  }

  /** Whether each provider is configured. */
  get configuredProviders(): Readonly<Record<ProviderName, boolean>> {
    const { google, github } = this.#options.providers;
    return { google: google !== null, github: github !== null };
  }

  /**
   * Errors: 404 for an unknown provider or invitation; 400 for a redirect to another site; 429 for too many
   * attempts; 502; 503 if the provider is not configured.
   */
  async begin(
    client: ClientInfo,
    request: wire.BeginProviderLoginRequest,
  ): Promise<AccountResponse<wire.BeginProviderLoginResponse>> {
    const provider = this.#requireProvider(request.provider);
    const { random, clock, flows } = this.#options;
    const redirect =
      request.redirect_url === undefined ? this.#options.home : parseLocalPath(request.redirect_url);
    this.#beginRate.consume(rateLimitAddress(client.address));
    const invitation = await this.#readInvitation(request.invite_code);
    const checks: AuthorizationChecks = {
      state: generateToken('', random),
      nonce: generateToken('', random),
      verifier: generateToken('', random),
    };
    const url = await provider.getAuthorizationUrl(this.#redirectUri(request.provider), checks);
    const flow: SignInFlow = {
      ...checks,
      provider: request.provider,
      redirect,
      ...(invitation === null ? {} : { invitation }),
      expiresAt: clock.now() + limits.signInFlowMsMax,
    };
    const value = flows.begin(flow, client.cookie('flow'));
    const cookie = flowCookie(value);
    return client.wantsJson ? { kind: 'json', body: { url }, cookie } : { kind: 'redirect', to: url, cookie };
  }

  /**
   * Errors: 400 for a sign-in that was not started in this browser or has expired; 403 for an address that
   * the provider has not verified; 502 if the provider does not answer.
   */
  async finish(
    client: ClientInfo,
    request: wire.FinishProviderLoginRequest,
  ): Promise<AccountResponse<SignInReply>> {
    const provider = this.#requireProvider(request.provider);
    try {
      return await this.#finish(provider, client, request);
    } catch (error) {
      const auditEvent = {
        organizationId: null,
        actor: null,
        address: client.address,
        target: request.provider,
      };
      if (error instanceof AppError)
        this.#options.deniedAccessLog.record({ ...auditEvent, action: 'sign_in.failed' });
      throw error;
    }
  }

  async #finish(
    provider: IdentityProvider,
    client: ClientInfo,
    request: wire.FinishProviderLoginRequest,
  ): Promise<AccountResponse<SignInReply>> {
    const { flows } = this.#options;
    const flow = flows.find(client.cookie('flow'), request);
    if (flow === undefined) throw unknownFlowError();
    const callbackUrl = new URL(this.#redirectUri(request.provider));
    for (const name of ['code', 'state', 'iss', 'error', 'error_description'] as const) {
      const value = request[name];
      if (value !== undefined) callbackUrl.searchParams.set(name, value);
    }
    flows.finish(flow);
    const identity = await provider.identify(callbackUrl, flow);
    if (identity.subject.length > limits.providerSubjectUnitsMax) throw badSubject(identity.issuer);
    const outcome = await this.#signIn(client, identity, flow);
    return { ...outcome, earlierCookies: [flowCookie(flows.remaining(client.cookie('flow')))] };
  }

  async #signIn(
    client: ClientInfo,
    identity: ProviderIdentity,
    { redirect, invitation }: SignInFlow,
  ): Promise<AccountResponse<SignInReply>> {
    const { userAccounts, sessions, audit, acceptInvitation, mail, secondFactors, secondFactorSignIn } =
      this.#options;
    const { issuer, subject } = identity;
    const knownUserId = this.#records.findUserId(identity);
    if (knownUserId === undefined && !identity.emailVerified) throw unverifiedEmailError(issuer);
    const email = knownUserId === undefined ? emailOf(identity) : '';
    const isLinking = knownUserId === undefined && userAccounts.findByEmail(email) !== undefined;
    const { address } = client;
    const previousToken = client.wantsJson ? undefined : client.sessionToReplace('session');
    const clientKind = client.wantsJson ? 'program' : 'browser';
    const signInAttempt = userAccounts.signIn(
      knownUserId === undefined ? { email } : { userId: knownUserId },
      { address },
      (user, { isClaimed }) => {
        if (!isClaimed) secondFactors.assertNotRequired(user);
        const { userId } = user;
        const newSession = sessions.create(userId, client, previousToken);
        const auditEvent = { organizationId: null, actor: userId, address, target: `${issuer} ${subject}` };
        const operations: WriteOperation[] = [
          ...this.#records.link(identity, userId),
          ...newSession.operations,
          ...(isLinking ? [audit.entryOperation({ ...auditEvent, action: 'identity.linked' })] : []),
        ];
        return { operations, result: newSession };
      },
    );
    const outcome = await signInAttempt.catch((error: unknown) => {
      if (error instanceof SecondFactorRequiredError) return error;
      throw error;
    });
    if (outcome instanceof SecondFactorRequiredError) {
      // The identity is linked only after the second factor has proven ownership of the account.
      const identityField = isLinking ? { identity: { issuer, subject } } : {};
      const invitationField = invitation === undefined ? {} : { invitation };
      return secondFactorSignIn.begin(
        { userId: outcome.user.userId, redirect, ...identityField, ...invitationField },
        clientKind,
      );
    }
    const { user, result: newSession } = outcome;
    await sessions.enforceSessionLimit(user.userId, address);
    if (isLinking && mail.isEnabled) mail.enqueue(buildIdentityLinkedMail(user.email, issuer));
    if (invitation !== undefined) await acceptInvitation(user, invitation, address);
    return buildSignInReply({ user, ...newSession, redirect, clientKind });
  }

  async #readInvitation(code: string | undefined): Promise<InvitationClaims | null> {
    if (code === undefined) return null;
    const claims = await this.#options.invitations.verifyCode(code);
    if (claims === null) throw invitationNotFoundError();
    return claims;
  }

  #requireProvider(name: string): IdentityProvider {
    const { providers } = this.#options;
    if (!Object.hasOwn(providers, name)) {
      throw new AppError(
        'not_found',
        `The identity provider "${name.slice(0, 64)}" does not exist. Use google or github.`,
      );
    }
    const provider = providers[name as ProviderName];
    if (provider !== null) return provider;
    throw new AppError(
      'unavailable',
      `Sign-in with ${name} is not configured. Ask the operator to set QUARRY_${name.toUpperCase()}_CLIENT_ID and QUARRY_${name.toUpperCase()}_CLIENT_SECRET.`,
      { shouldRetry: false },
    );
  }

  #redirectUri(provider: string): string {
    return `${this.#options.publicUrl()}/api/auth/${provider}/auth`;
  }
}

/** Cookie of the sign-ins in progress in a browser; null deletes it. */
function flowCookie(value: string | null): ResponseCookie {
  return { name: 'flow', value, maxAgeSeconds: value === null ? 0 : limits.signInFlowMsMax / 1_000 };
}

/** A provider may return text that is not a valid address. */
function emailOf({ email }: ProviderIdentity): string {
  try {
    return normalizeEmail(email);
  } catch (cause) {
    throw new AppError(
      'forbidden',
      'The identity provider did not return a valid email address. Sign in by email instead.',
      {
        cause,
      },
    );
  }
}

function unknownFlowError(): AppError {
  return new AppError(
    'bad_request',
    'This sign-in was not started in this browser, or it has expired. Start again.',
  );
}

function badSubject(issuer: string): AppError {
  return new AppError(
    'bad_gateway',
    `${issuer} returned an account ID of more than ${limits.providerSubjectUnitsMax} characters, which OpenID Connect does not allow. Sign in by email instead.`,
    { shouldRetry: false },
  );
}

function unverifiedEmailError(issuer: string): AppError {
  return new AppError(
    'forbidden',
    `${issuer} has not verified your email address. Verify it there, or sign in by email.`,
  );
}
