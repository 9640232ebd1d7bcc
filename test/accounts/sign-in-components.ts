import type { AccountResponse, ClientInfo, CookieName } from '../../src/accounts/client-info.ts';
import type { IdentityProvider, ProviderIdentity } from '../../src/accounts/identity-providers.ts';
import { InvitedSignUp } from '../../src/accounts/invited-sign-up.ts';
import { Mailer } from '../../src/accounts/mailer.ts';
import { PasskeyJoin, type PasskeyJoinOptions } from '../../src/accounts/passkey-join.ts';
import { PasskeySignIn, type PasskeySignInOptions } from '../../src/accounts/passkey-sign-in.ts';
import { hashPassword } from '../../src/accounts/password.ts';
import { PasswordQueue } from '../../src/accounts/password-queue.ts';
import { PasswordSignIn } from '../../src/accounts/password-sign-in.ts';
import { ProviderOperations } from '../../src/accounts/provider-operations.ts';
import { SecondFactorSignIn } from '../../src/accounts/second-factor-sign-in.ts';
import { SignInOperations } from '../../src/accounts/sign-in-operations.ts';
import type { SignInReply } from '../../src/accounts/sign-in-reply.ts';
import { SlidingWindowLimiter } from '../../src/admission/sliding-window-limiter.ts';
import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { rateLimits } from '../../src/core/rate-limits.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { RangeOptions, WriteOperation } from '../../src/storage/store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { localEgress } from '../local-egress.ts';
import { accountComponents } from './account-components.ts';

/** Sign-in methods, with a fake clock and identity providers controlled by the tests. */

export const password = 'correct horse battery staple';

const passwordHash = hashPassword(password);

export function visitor(cookies: Partial<Record<CookieName, string>> = {}): ClientInfo {
  return {
    address: '192.0.2.1',
    userAgent: 'test',
    cookie: (name) => cookies[name],
    sessionToReplace: (name) => cookies[name],
    origin: () => 'http://127.0.0.1',
    bearer: undefined,
    isBrowser: false,
    wantsJson: true,
    idempotencyKey: undefined,
  };
}

/** Store that records its reads by table. */
class TracingStore extends MemoryStore {
  trace: string[] = [];

  override get(key: Uint8Array): Uint8Array | undefined {
    this.trace.push(`get ${key[0]}`);
    return super.get(key);
  }

  override range(options: RangeOptions): ReturnType<MemoryStore['range']> {
    this.trace.push('range');
    return super.range(options);
  }

  override write(operations: readonly WriteOperation[]): Promise<void> {
    this.trace.push(`write ${operations.map(({ type, key }) => `${type} ${key[0]}`).join(', ')}`);
    return super.write(operations);
  }
}

const accept = async () => false;

function createPasskeyMethods(
  parts: Omit<PasskeySignInOptions & PasskeyJoinOptions, 'limiter' | 'relyingParty'> & {
    readonly clock: FakeClock;
  },
) {
  const limiter = new SlidingWindowLimiter('passkey requests', rateLimits.passkeyRequests, parts.clock);
  const options = { ...parts, limiter, relyingParty: { isEnabled: true, isOriginTrusted: true } };
  return { passkeySignIn: new PasskeySignIn(options), passkeyJoin: new PasskeyJoin(options) };
}

export async function buildSignIn() {
  const store = new TracingStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 10, 21, 8) });
  const components = accountComponents(store, { clock });
  const mails: string[] = [];
  const mail = new Mailer({
    ...components,
    url: 'console:',
    egress: localEgress,
    from: 'quarry@example.com',
    logger: silentLogger,
    print: (text) => mails.push(text),
    closeMsMax: limits.mailCloseMsMax,
  });
  let providerReply: ProviderIdentity | null = null;
  const provider: IdentityProvider = {
    getAuthorizationUrl: async (_back, { state }) => `https://issuer.example/?state=${state}`,
    identify: async () => providerReply!,
  };
  const parts = { ...components, store, mail, publicUrl: () => 'http://127.0.0.1', home: '/docs' };
  const secondStep = new SecondFactorSignIn({ ...parts, acceptInvitation: accept });
  const passwordQueue = new PasswordQueue();
  const invitedSignUp = new InvitedSignUp(parts);
  const passwordSignIn = new PasswordSignIn({
    ...parts,
    invitedSignUp,
    secondFactorSignIn: secondStep,
    queue: passwordQueue,
    isEnabled: true,
  });
  const signIn = new SignInOperations({
    ...parts,
    secondFactorSignIn: secondStep,
    passwordSignIn,
    ...createPasskeyMethods({ ...parts, invitedSignUp }),
    passwordQueue,
    secrets: [new Uint8Array(32)],
    adminPasswordHash: await passwordHash,
    firstOrganizationId: () => '',
  });
  const providers = new ProviderOperations({
    ...parts,
    acceptInvitation: accept,
    secondFactorSignIn: secondStep,
    providers: { google: provider, github: null },
  });
  /** Completes a sign-in at the provider, which reports this identity. */
  const arrive = async (identity: ProviderIdentity) => {
    providerReply = identity;
    const started = await providers.begin(visitor(), { provider: 'google' });
    if (started.kind !== 'json') throw new Error('an API client gets JSON');
    const state = new URL(started.body.url).searchParams.get('state')!;
    const back = visitor({ flow: started.cookie!.value! });
    return userOf(await providers.finish(back, { provider: 'google', state, code: 'x' }));
  };
  const setIdentity = (identity: ProviderIdentity) => {
    providerReply = identity;
  };
  const parties = { mails, mail, signIn, secondStep, providers, arrive, setIdentity };
  return { ...components, store, clock, ...parties };
}

export function userOf(outcome: AccountResponse<SignInReply>) {
  if (outcome.kind !== 'json') throw new Error('an API client gets JSON');
  if (!('access_token' in outcome.body)) throw new Error('no second factor is required');
  return outcome.body.user;
}

export function statusOf(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 200,
    (error: unknown) => {
      if (error instanceof AppError) return error.status;
      throw error;
    },
  );
}
