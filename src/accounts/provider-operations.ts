import { addressKey } from '../admission/address-key.ts';
import { RateWindow } from '../admission/rate-window.ts';
import type { AuditLog } from '../audit/audit-log.ts';
import type { Refusals } from '../audit/refusals.ts';
import { AppError } from '../base/app-error.ts';
import type { Clock } from '../base/clock.ts';
import type { Chance } from '../base/ids.ts';
import { limits } from '../base/limits.ts';
import type * as wire from '../schemas/accounts.ts';
import { Identities } from '../store/identities.ts';
import type { Operation, Store } from '../store/store.ts';
import type { User } from '../store/users.ts';
import { normalisedEmail } from './email-address.ts';
import type { Checks, Identity, IdentityProvider, ProviderName } from './identity-providers.ts';
import { type InvitationCode, type Invitations, noInvitation } from './invitations.ts';
import type { Mail } from './mail.ts';
import type { People } from './people.ts';
import { localPath } from './redirect.ts';
import type { SecondFactorSignIn } from './second-factor-sign-in.ts';
import { SecondFactorNeeded, type SecondFactors } from './second-factors.ts';
import { newToken } from './secret-token.ts';
import type { Sessions } from './sessions.ts';
import type { SignInFlow, SignInFlows } from './sign-in-flows.ts';
import { linkedMessage, type SignInReply, signedIn } from './signed-in.ts';
import type { Cookie, Outcome, Visitor } from './visitor.ts';

export interface ProviderOperationsOptions {
  readonly store: Store;
  readonly people: People;
  readonly sessions: Sessions;
  readonly audit: AuditLog;
  readonly refusals: Pick<Refusals, 'note'>;
  readonly mail: Mail;
  readonly secondFactors: SecondFactors;
  readonly secondStep: SecondFactorSignIn;
  readonly flows: SignInFlows;
  readonly clock: Clock;
  readonly chance: Chance;
  /** Null for a provider that is not configured. */
  readonly providers: Readonly<Record<ProviderName, IdentityProvider | null>>;
  /** `https://host` under which the providers know this server: never what a request says. */
  readonly linkBase: () => string;
  /** Where a browser goes that names no place. */
  readonly home: string;
  readonly invitations: Pick<Invitations, 'read'>;
  /** Accepts the invitation that a sign-in began with; false when it opens nothing for who signed in. */
  readonly accept: (user: User, invitation: InvitationCode, address: string) => Promise<boolean>;
}

/** Sign-in at an identity provider: away with `begin`, back with `finish`. */
export class ProviderOperations {
  readonly #options: ProviderOperationsOptions;
  readonly #records: Identities;
  readonly #beginnings: RateWindow;

  constructor(options: ProviderOperationsOptions) {
    this.#options = options;
    this.#records = new Identities(options.store);
    this.#beginnings = new RateWindow('sign-ins', [{ ms: 60_000, max: 30 }], options.clock);
  }

  /** Which are configured. */
  get configured(): Readonly<Record<ProviderName, boolean>> {
    const { google, github } = this.#options.providers;
    return { google: google !== null, github: github !== null };
  }

  /** Errors: 404 no such provider or invitation, 400 a redirection elsewhere, 429 too many, 502, 503 not configured. */
  async begin(
    visitor: Visitor,
    request: wire.BeginProviderLoginRequest,
  ): Promise<Outcome<wire.BeginProviderLoginResponse>> {
    const provider = this.#provider(request.provider);
    const { chance, clock, flows } = this.#options;
    const redirect =
      request.redirect_url === undefined ? this.#options.home : localPath(request.redirect_url);
    this.#beginnings.take(addressKey(visitor.address));
    const invitation = await this.#invitation(request.invite_code);
    const checks: Checks = {
      state: newToken('', chance),
      nonce: newToken('', chance),
      verifier: newToken('', chance),
    };
    const url = await provider.addressFor(this.#returnUri(request.provider), checks);
    const flow: SignInFlow = {
      ...checks,
      provider: request.provider,
      redirect,
      ...(invitation === null ? {} : { invitation }),
      expiresAt: clock.now() + limits.signInFlowMsMax,
    };
    const value = flows.begin(flow, visitor.cookie('flow'));
    const cookie = flowCookie(value);
    return visitor.wantsJson
      ? { kind: 'json', body: { url }, cookie }
      : { kind: 'redirect', to: url, cookie };
  }

  /**
   * Errors: 400 for whatever was not begun in this browser, or is over; 403 for an address that the provider did not make
   * sure of; 502 when the provider does not answer.
   */
  async finish(visitor: Visitor, request: wire.FinishProviderLoginRequest): Promise<Outcome<SignInReply>> {
    const provider = this.#provider(request.provider);
    try {
      return await this.#finish(provider, visitor, request);
    } catch (error) {
      const fact = { organizationId: null, actor: null, address: visitor.address, target: request.provider };
      if (error instanceof AppError) this.#options.refusals.note({ ...fact, action: 'sign_in.failed' });
      throw error;
    }
  }

  async #finish(
    provider: IdentityProvider,
    visitor: Visitor,
    request: wire.FinishProviderLoginRequest,
  ): Promise<Outcome<SignInReply>> {
    const { flows } = this.#options;
    const flow = flows.find(visitor.cookie('flow'), request);
    if (flow === undefined) throw notBegun();
    const returned = new URL(this.#returnUri(request.provider));
    for (const name of ['code', 'state', 'iss', 'error', 'error_description'] as const) {
      const value = request[name];
      if (value !== undefined) returned.searchParams.set(name, value);
    }
    flows.finish(flow);
    const identity = await provider.identify(returned, flow);
    if (identity.subject.length > limits.providerSubjectUnitsMax) throw badSubject(identity.issuer);
    const outcome = await this.#arrive(visitor, identity, flow);
    return { ...outcome, earlierCookies: [flowCookie(flows.remaining(visitor.cookie('flow')))] };
  }

  async #arrive(
    visitor: Visitor,
    identity: Identity,
    { redirect, invitation }: SignInFlow,
  ): Promise<Outcome<SignInReply>> {
    const { people, sessions, audit, accept, mail, secondFactors, secondStep } = this.#options;
    const { issuer, subject } = identity;
    const knownId = this.#records.userOf(identity);
    if (knownId === undefined && !identity.emailVerified) throw unverified(issuer);
    const email = knownId === undefined ? addressOf(identity) : '';
    const isLinking = knownId === undefined && people.byEmail(email) !== undefined;
    const { address } = visitor;
    const held = visitor.wantsJson ? undefined : visitor.held('session');
    const to = visitor.wantsJson ? 'program' : 'browser';
    const arrived = people.arrive(
      knownId === undefined ? { email } : { userId: knownId },
      { address },
      (arriving) => {
        secondFactors.require(arriving);
        const { userId } = arriving;
        const opening = sessions.open(userId, visitor, held);
        const fact = { organizationId: null, actor: userId, address, target: `${issuer} ${subject}` };
        const operations: Operation[] = [
          ...this.#records.link(identity, userId),
          ...opening.operations,
          ...(isLinking ? [audit.entry({ ...fact, action: 'identity.linked' })] : []),
        ];
        return { operations, with: opening };
      },
    );
    const outcome = await arrived.catch((error: unknown) => {
      if (error instanceof SecondFactorNeeded) return error;
      throw error;
    });
    if (outcome instanceof SecondFactorNeeded) {
      // The identity is linked when the second factor has shown that the account is theirs.
      const link = isLinking ? { identity: { issuer, subject } } : {};
      const invited = invitation === undefined ? {} : { invitation };
      return secondStep.begin({ userId: outcome.user.userId, redirect, ...link, ...invited }, to);
    }
    const { user, with: opened } = outcome;
    await sessions.endSurplus(user.userId, address);
    if (isLinking && mail.isOn) mail.post(linkedMessage(user.email, issuer));
    if (invitation !== undefined) await accept(user, invitation, address);
    return signedIn({ user, ...opened, redirect, to });
  }

  async #invitation(code: string | undefined): Promise<InvitationCode | null> {
    if (code === undefined) return null;
    const read = await this.#options.invitations.read(code);
    if (read === null) throw noInvitation();
    return read;
  }

  #provider(name: string): IdentityProvider {
    const { providers } = this.#options;
    if (!Object.hasOwn(providers, name)) {
      throw new AppError(
        'not_found',
        `There is no identity provider "${name.slice(0, 64)}"; there are google and github.`,
      );
    }
    const provider = providers[name as ProviderName];
    if (provider !== null) return provider;
    throw new AppError(
      'unavailable',
      `Sign-in with ${name} is not set up: its operator has to set QUARRY_${name.toUpperCase()}_CLIENT_ID and QUARRY_${name.toUpperCase()}_CLIENT_SECRET.`,
      { shouldRetry: false },
    );
  }

  #returnUri(provider: string): string {
    return `${this.#options.linkBase()}/api/auth/${provider}/auth`;
  }
}

/** The sign-ins that are under way in a browser; null for none. */
function flowCookie(value: string | null): Cookie {
  return { name: 'flow', value, seconds: value === null ? 0 : limits.signInFlowMsMax / 1_000 };
}

/** Whatever a provider says is somebody's address need not be one. */
function addressOf({ email }: Identity): string {
  try {
    return normalisedEmail(email);
  } catch (cause) {
    throw new AppError('forbidden', 'What the identity provider tells is no e-mail address of yours.', {
      cause,
    });
  }
}

function notBegun(): AppError {
  return new AppError(
    'bad_request',
    'This sign-in was not begun in this browser, or is over: start it again.',
  );
}

function badSubject(issuer: string): AppError {
  return new AppError(
    'bad_gateway',
    `${issuer} names this account by more than ${limits.providerSubjectUnitsMax} characters, which OpenID Connect does not allow: sign in by mail.`,
    { shouldRetry: false },
  );
}

function unverified(issuer: string): AppError {
  return new AppError(
    'forbidden',
    `${issuer} has not verified your e-mail address: verify it there, or sign in by mail.`,
  );
}
