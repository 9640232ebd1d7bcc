import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import type { AccountResponse, ClientInfo, CookieName } from '../../src/accounts/client-info.ts';
import type { IdentityProvider, ProviderIdentity } from '../../src/accounts/identity-providers.ts';
import { hashKey } from '../../src/accounts/key-format.ts';
import { Mailer } from '../../src/accounts/mailer.ts';
import { hashPassword } from '../../src/accounts/password.ts';
import { ProviderOperations } from '../../src/accounts/provider-operations.ts';
import { SecondFactorSignIn } from '../../src/accounts/second-factor-sign-in.ts';
import { SignInOperations } from '../../src/accounts/sign-in-operations.ts';
import type { SignInReply } from '../../src/accounts/sign-in-reply.ts';
import { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { silentLogger } from '../../src/core/logger.ts';
import { Identities } from '../../src/storage/identities.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { RangeOptions, WriteOperation } from '../../src/storage/store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { oneTimeCode } from '../e2e/one-time-code.ts';
import { startMailServer } from '../e2e/people.ts';
import { localEgress } from '../local-egress.ts';
import { waitUntil } from '../timeouts.ts';
import { accountComponents, testActor } from './account-components.ts';

/** Sign-in methods, with a fake clock and identity providers controlled by the tests. */

const password = 'correct horse battery staple';
const passwordHash = hashPassword(password);

function visitor(cookies: Partial<Record<CookieName, string>> = {}): ClientInfo {
  return {
    address: '192.0.2.1',
    userAgent: 'test',
    cookie: (name) => cookies[name],
    sessionToReplace: (name) => cookies[name],
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

async function build() {
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
  const accept = async () => false;
  const secondStep = new SecondFactorSignIn({ ...parts, acceptInvitation: accept });
  const signIn = new SignInOperations({
    ...parts,
    secondFactorSignIn: secondStep,
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
    if (started.kind !== 'json') throw new Error('a program gets JSON');
    const state = new URL(started.body.url).searchParams.get('state')!;
    const back = visitor({ flow: started.cookie!.value! });
    return userOf(await providers.finish(back, { provider: 'google', state, code: 'x' }));
  };
  const setIdentity = (identity: ProviderIdentity) => {
    providerReply = identity;
  };
  return {
    ...components,
    store,
    clock,
    mails,
    mail,
    signIn,
    secondStep,
    providers,
    arrive,
    setIdentity,
  };
}

function userOf(outcome: AccountResponse<SignInReply>) {
  if (outcome.kind !== 'json') throw new Error('a program gets JSON');
  if (!('access_token' in outcome.body)) throw new Error('no second factor is asked for');
  return outcome.body.user;
}

function statusOf(work: Promise<unknown>): Promise<number> {
  return work.then(
    () => 200,
    (error: unknown) => {
      if (error instanceof AppError) return error.status;
      throw error;
    },
  );
}

t.test(
  'the eleventh wrong password in a row is delayed, and after the delay the right one works',
  async (t) => {
    const { signIn, clock } = await build();
    const login = (enteredPassword: string) =>
      statusOf(signIn.adminLogin(visitor(), { password: enteredPassword }));
    let refused = 0;
    for (let wrong = 0; wrong < 10; ) {
      const status = await login('wrong');
      if (status === 401) wrong += 1;
      else {
        t.equal(status, 429);
        refused += 1;
        await clock.advance(60_000);
      }
    }
    t.ok(refused > 0, 'delays start earlier');
    const eleventh = await signIn
      .adminLogin(visitor(), { password: 'wrong' })
      .catch((error: AppError) => error);
    t.ok(
      eleventh instanceof AppError && eleventh.status === 429 && Number(eleventh.options.retryAfterMs) > 0,
    );
    t.equal(await login(password), 429, 'the right one waits too');
    await clock.advance(15 * 60_000);
    t.equal(await login(password), 200);
    t.equal(await login('wrong'), 401, 'and is forgiven the wrong ones');
  },
);

t.test('concurrent wrong passwords are delayed like consecutive ones', async (t) => {
  const { signIn, clock } = await build();
  const login = (enteredPassword: string) =>
    statusOf(signIn.adminLogin(visitor(), { password: enteredPassword }));
  const guesses = await Promise.all(Array.from({ length: 40 }, () => login('wrong')));
  t.equal(guesses.filter((status) => status === 401).length, 3, 'the first three were looked at');
  t.equal(guesses.filter((status) => status === 429).length, 37);
  await clock.advance(1_001);
  const right = await Promise.all([login(password), login(password)]);
  t.same(right, [200, 200]);
});

t.test('failed passwords from one IP address do not lock out others', async (t) => {
  const { signIn } = await build();
  const from = (address: string, enteredPassword: string) =>
    statusOf(signIn.adminLogin({ ...visitor(), address }, { password: enteredPassword }));
  const guesses: number[] = [];
  for (let i = 0; i < 30; i += 1) guesses.push(await from('192.0.2.66', 'wrong'));
  t.same([...new Set(guesses)], [401, 429]);
  t.equal(await from('192.0.2.66', password), 429, 'also the right one, from there');
  const attempts = Array.from({ length: 60 }, (_, i) => from(`198.51.100.${i}`, 'wrong'));
  t.equal(await from('203.0.113.7', password), 200, 'amid guesses of sixty addresses');
  t.same([...new Set(await Promise.all(attempts))], [401]);
  for (let i = 0; i < 30; i += 1) await from('2001:db8:0:1::1', 'wrong');
  t.equal(await from('2001:db8:0:1::2', password), 429, 'one network of IPv6 is one address');
  t.equal(await from('2001:db8:0:2::1', password), 200);
});

t.test('a sign-in link request takes the same work and gets the same reply for every address', async (t) => {
  const { signIn, store, mails, userAccounts: people, clock } = await build();
  const ask = async (email: string) => {
    store.trace = [];
    const outcome = await signIn.sendMagicLink(visitor(), { email });
    const replyText = JSON.stringify(outcome.kind === 'json' ? outcome.body : null).replaceAll(
      email,
      'ADDRESS',
    );
    return { replyText, work: store.trace };
  };
  await people.signIn({ email: 'known@example.com' }, testActor, () => ({ operations: [], result: null }));
  const known = await ask('known@example.com');
  const unknown = await ask('unknown@example.com');
  t.same(known, unknown);
  t.same(
    known.work.filter((line) => !line.startsWith(`write put ${0x61}`)),
    [],
    'nothing but the audit log',
  );
  await clock.advance(1);
  t.equal(mails.length, 2, 'both get mail, after the answer');
});

t.test('sign-in link requests by others neither lock a user out nor flood the mailbox', async (t) => {
  const { signIn, mails, clock } = await build();
  const victim = 'ada@example.com';
  const ask = (address: string) => signIn.sendMagicLink({ ...visitor(), address }, { email: victim });
  const linksOf = () => mails.map((sentMail) => /token=(\S+)/.exec(sentMail)?.[1] ?? '');
  const works = async (token: string) =>
    statusOf(signIn.verifyMagicLink({ ...visitor(), wantsJson: false }, { token }));
  let minutes = 0;
  for (; minutes < 24 * 60; minutes += 1) {
    // Each minute uses other hosts, so that no limit per host applies.
    for (let host = 0; host < 3; host += 1)
      t.equal(await statusOf(ask(`203.0.${minutes % 250}.${host + 3 * Math.floor(minutes / 250)}`)), 200);
    await clock.advance(60_000);
    if (minutes % 60 === 30) {
      t.equal(await statusOf(ask('192.0.2.99')), 200, 'the owner is never rejected');
      t.equal(await works(linksOf().at(-1)!), 200, 'and finds a link in the mailbox that works');
    }
  }
  t.ok(mails.length <= 5 + 12 * 24, `${mails.length} mails in a day`);
});

t.test('an immediate repeated request sends one mail and keeps the cookie of the browser', async (t) => {
  const { signIn, mails, clock } = await build();
  const email = 'ada@example.com';
  const first = await signIn.sendMagicLink(visitor(), { email });
  const held = first.cookie!.value!;
  const again = await signIn.sendMagicLink(visitor({ 'sign-in': held }), { email });
  t.equal(again.cookie?.value, held);
  await clock.advance(1);
  t.equal(mails.length, 1);
  await clock.advance(60_000);
  await signIn.sendMagicLink(visitor({ 'sign-in': held }), { email });
  await clock.advance(1);
  t.equal(mails.length, 2);
  for (const sentMail of mails) {
    const token = /token=(\S+)/.exec(sentMail)?.[1] ?? '';
    const back = { ...visitor({ 'sign-in': held }), wantsJson: false };
    t.equal((await signIn.verifyMagicLink(back, { token })).kind, 'redirect', 'no question in this browser');
  }
  const planted = await signIn.sendMagicLink(visitor({ 'sign-in': 'planted' }), { email });
  t.not(planted.cookie?.value, 'planted');
});

t.test(
  'unauthenticated sign-in requests store nothing, and a browser can start several sign-ins',
  async (t) => {
    const { providers, store, setIdentity } = await build();
    store.trace = [];
    const begin = async (cookies: Partial<Record<CookieName, string>>, redirect_url = '/') => {
      const started = await providers.begin(visitor(cookies), { provider: 'google', redirect_url });
      if (started.kind !== 'json') throw new Error('a program gets JSON');
      return { state: new URL(started.body.url).searchParams.get('state')!, flow: started.cookie!.value! };
    };
    const one = await begin({});
    const two = await begin({ flow: one.flow });
    t.same(store.trace, [], 'no table is read or written');
    setIdentity({ issuer: 'https://i.example', subject: '1', email: 'ada@example.com', emailVerified: true });
    const finish = (state: string, flow: string) =>
      statusOf(providers.finish(visitor({ flow }), { provider: 'google', state, code: 'x' }));
    t.equal(await finish(one.state, two.flow), 200, 'the first tab is not spoiled by the second');
    t.equal(await finish(one.state, two.flow), 400, 'each can be completed once');
    t.equal(await finish(two.state, one.flow), 400, 'another browser');
    t.equal(await finish(two.state, `${two.flow.slice(0, -8)}AAAAAAAA`), 400, 'a cookie that was changed');
    t.equal(await finish(two.state, two.flow), 200);
    let { flow } = two;
    for (let i = 0; i < 30; i += 1) {
      if (i === 20) flow = (await begin({ flow }, `/${'x'.repeat(limits.signInPathUnitsMax - 1)}`)).flow;
      else if (i < 20) ({ flow } = await begin({ flow }));
      t.ok(flow.length <= limits.sealedCookieUnitsMax, 'a browser can store it');
    }
    t.equal(
      await statusOf(begin({}, `/${'x'.repeat(limits.signInPathUnitsMax)}`)),
      400,
      'no longer path is kept',
    );
  },
);

t.test('a completed sign-in keeps the cookie of those still pending', async (t) => {
  const { providers, clock, setIdentity } = await build();
  const begin = async (cookies: Partial<Record<CookieName, string>>) => {
    const started = await providers.begin(visitor(cookies), { provider: 'google' });
    if (started.kind !== 'json') throw new Error('a program gets JSON');
    return { state: new URL(started.body.url).searchParams.get('state')!, flow: started.cookie!.value! };
  };
  setIdentity({ issuer: 'https://i.example', subject: '1', email: 'ada@example.com', emailVerified: true });
  const one = await begin({});
  const two = await begin({ flow: one.flow });
  const finish = async (state: string, flow: string) =>
    (await providers.finish(visitor({ flow }), { provider: 'google', state, code: 'x' })).earlierCookies;
  const [left] = (await finish(one.state, two.flow)) ?? [];
  t.match(left, { name: 'flow', maxAgeSeconds: limits.signInFlowMsMax / 1_000 });
  t.ok(left!.value!.length < two.flow.length, 'without the completed one');
  const gone = [{ name: 'flow', value: null, maxAgeSeconds: 0 }];
  t.same(await finish(two.state, left!.value!), gone, 'the last one takes the cookie away');
  const old = await begin({});
  await clock.advance(limits.signInFlowMsMax / 2);
  const newer = await begin({ flow: old.flow });
  await clock.advance(limits.signInFlowMsMax / 2);
  t.same(await finish(newer.state, newer.flow), gone, 'expired sign-ins are removed');
});

t.test('the largest cookies of all sign-ins fit into the header limit of the server', async (t) => {
  const {
    providers,
    setIdentity,
    userAccounts: people,
    secondFactors,
    clock,
    invitations,
    organizations,
  } = await build();
  const email = `${'e'.repeat(64)}@${'d'.repeat(63)}.${'d'.repeat(63)}.${'d'.repeat(57)}.com`;
  const organizationId = 'aaaaaaaa-1111-4111-8111-111111111111';
  await organizations.create(organizationId, testActor);
  const invited = { organizationId, email, role: 'MEMBER', invitedBy: 'ada' } as const;
  const code = await invitations.signCode(await invitations.invite(invited, testActor));
  const { user } = await people.signIn({ email }, testActor, () => ({ operations: [], result: null }));
  const { secret } = await secondFactors.begin(user.userId, email);
  await secondFactors.confirm(user.userId, oneTimeCode(secret, clock.now()), testActor);
  const redirect_url = `/${'x'.repeat(limits.signInPathUnitsMax - 1)}`;
  const keyInput = { provider: 'google', redirect_url, invite_code: code } as const;
  const cookies: Partial<Record<CookieName, string>> = {};
  for (let i = 0; i < 5; i += 1)
    cookies.flow = (await providers.begin(visitor(cookies), keyInput)).cookie!.value!;
  setIdentity({ issuer: `https://${'i'.repeat(200)}`, subject: 's'.repeat(255), email, emailVerified: true });
  const started = await providers.begin(visitor(), keyInput);
  if (started.kind !== 'json') throw new Error('a program gets JSON');
  const state = new URL(started.body.url).searchParams.get('state')!;
  const back = { ...visitor({ flow: started.cookie!.value! }), wantsJson: false };
  const led = await providers.finish(back, { provider: 'google', state, code: 'x' });
  t.match(led, { kind: 'redirect', to: '/app/second-factor', cookie: { name: 'second-factor' } });
  cookies['second-factor'] = led.cookie!.value!;
  for (const name of ['flow', 'second-factor'] as const)
    t.ok(cookies[name]!.length <= limits.sealedCookieUnitsMax, `${name}: ${cookies[name]!.length}`);
  for (const name of ['session', 'admin', 'sign-in', 'confirmation', 'marketplace'] as const)
    cookies[name] = 'x'.repeat(64);
  const header = Object.entries(cookies).map(([name, value]) => `__Host-${name}=${value}`);
  t.ok(header.join('; ').length <= limits.cookieBytesMax, `${header.join('; ').length} bytes`);
});

t.test('a provider account is linked only after the second factor is verified', async (t) => {
  const {
    providers,
    setIdentity,
    userAccounts: people,
    secondFactors,
    secondStep,
    clock,
    store,
    mails,
  } = await build();
  const email = 'ada@example.com';
  const { user } = await people.signIn({ email }, testActor, () => ({ operations: [], result: null }));
  const { secret } = await secondFactors.begin(user.userId, email);
  await secondFactors.confirm(user.userId, oneTimeCode(secret, clock.now()), testActor);
  await clock.advance(60_000);
  const identity = { issuer: 'https://i.example', subject: '4711' };
  const linked = () => new Identities(store).findUserId(identity);
  setIdentity({ ...identity, email, emailVerified: true });
  const firstStep = async () => {
    const started = await providers.begin(visitor(), { provider: 'google' });
    if (started.kind !== 'json') throw new Error('a program gets JSON');
    const state = new URL(started.body.url).searchParams.get('state')!;
    const back = visitor({ flow: started.cookie!.value! });
    const outcome = await providers.finish(back, { provider: 'google', state, code: 'x' });
    if (outcome.kind !== 'json' || !('second_factor_token' in outcome.body))
      throw new Error('the code is asked for');
    return outcome.body.second_factor_token;
  };
  const second_factor_token = await firstStep();
  t.equal(linked(), undefined, 'not by the first step');
  const wrong = secondStep.finish(visitor(), { code: '000000', second_factor_token });
  t.equal(await statusOf(wrong), 401);
  t.equal(linked(), undefined, 'not by a wrong code');
  await firstStep();
  t.equal(linked(), undefined, 'not by coming again');
  await clock.advance(60_000);
  const code = oneTimeCode(secret, clock.now());
  t.equal(await statusOf(secondStep.finish(visitor(), { code, second_factor_token })), 200);
  t.equal(linked(), user.userId);
  await clock.advance(1);
  t.match(mails.at(-1), /A new sign-in method/, 'and its owner is notified');
});

t.test('overlong account IDs of a provider are rejected', async (t) => {
  const { arrive } = await build();
  const identity = { issuer: 'https://i.example', email: 'ada@example.com', emailVerified: true };
  t.equal(await statusOf(arrive({ ...identity, subject: 's'.repeat(256) })), 502);
  t.equal(await statusOf(arrive({ ...identity, subject: 's'.repeat(255) })), 200);
});

t.test('a sign-in at a provider expires after ten minutes', async (t) => {
  const { providers, clock } = await build();
  const started = await providers.begin(visitor(), { provider: 'google' });
  if (started.kind !== 'json') throw new Error('a program gets JSON');
  const state = new URL(started.body.url).searchParams.get('state')!;
  await clock.advance(limits.signInFlowMsMax);
  const back = visitor({ flow: started.cookie!.value! });
  t.equal(await statusOf(providers.finish(back, { provider: 'google', state, code: 'x' })), 400);
});

t.test('the same subject at another issuer is another user', async (t) => {
  const { arrive } = await build();
  const at = (issuer: string, email: string) =>
    arrive({ issuer: `https://${issuer}.example`, subject: '4711', email, emailVerified: true });
  const ada = await at('one', 'ada@example.com');
  const eve = await at('two', 'eve@example.com');
  t.not(eve.id, ada.id);
  t.equal(eve.email, 'eve@example.com');
  const again = await at('one', 'ada.lovelace@example.com');
  t.equal(again.id, ada.id, 'known users are identified by issuer and subject, regardless of the address');
});

t.test('an unverified provider address neither links an account nor signs in', async (t) => {
  const { arrive, userAccounts: people, invitations, store } = await build();
  await people.signIn({ email: 'ada@example.com' }, testActor, () => ({ operations: [], result: null }));
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const invited = { organizationId, email: 'guest@example.com', role: 'OWNER', invitedBy: 'a' } as const;
  await invitations.invite(invited, testActor);
  const before = JSON.stringify(people.findByEmail('ada@example.com'));
  for (const email of ['ada@example.com', 'guest@example.com', 'nobody@example.com']) {
    const identity = { issuer: 'https://one.example', subject: email, email, emailVerified: false };
    t.equal(await statusOf(arrive(identity)), 403, email);
  }
  t.equal(JSON.stringify(people.findByEmail('ada@example.com')), before);
  t.equal(people.findByEmail('guest@example.com'), undefined, 'no user accepts the invitation');
  let links = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x1e), lt: Uint8Array.of(0x1f) }))
    links += key.length;
  t.equal(links, 0);
});

t.test('clock jumps neither revive expired sign-ins nor cause endless waits', async (t) => {
  const { clock, store, links, keys, organizations, signIn } = await build();
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  await organizations.create(organizationId, testActor);
  const keyInput = { organizationId, name: 'k', permission: 'all', createdBy: null } as const;
  const { secret } = await keys.issue({ ...keyInput, expiresAt: clock.now() + 60_000 }, testActor);
  const token = links.issue({ email: 'ada@example.com', redirect: '/', browserToken: null });
  const isLink = (components: Pick<ReturnType<typeof accountComponents>, 'links'>) =>
    statusOf(Promise.resolve().then(() => components.links.verify(token)));
  const at = (ms: number) => accountComponents(store, { clock: new FakeClock({ wall: clock.now() + ms }) });
  const isKey = ({ keys: ring }: ReturnType<typeof accountComponents>) =>
    !ring.hasExpired(ring.findByDigest(hashKey(secret))!);
  const day = 86_400_000;
  t.same([await isLink(at(0)), isKey(at(0))], [200, true]);
  t.same([await isLink(at(day)), isKey(at(day))], [400, false], 'forward: both are over');
  t.same([await isLink(at(-day)), isKey(at(-day))], [200, true], 'back: neither ends early');
  const used = links.verify(token);
  await store.write(links.consume(used));
  t.equal(await isLink(at(-day)), 400, 'used links stay used, whatever the clock shows');
  // Lockouts use the monotonic clock, which no jump affects.
  for (let i = 0; i < 3; i += 1) await statusOf(signIn.adminLogin(visitor(), { password: 'wrong' }));
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 429);
  await clock.advance(1_001);
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 200);
});

t.test('attacker-controlled text never becomes a mail header or recipient', async (t) => {
  const folder = t.testdir({});
  const { clock, random } = await build();
  const mail = new Mailer({
    ...{
      clock,
      random,
      logger: silentLogger,
      from: 'quarry@example.com',
      print: () => {},
      egress: localEgress,
    },
    closeMsMax: limits.mailCloseMsMax,
    url: pathToFileURL(folder).href,
  });
  const evil = '\r\nBcc: eve@example.com\r\n\r\nEvil body';
  for (const end of [evil, '\nBcc: eve@example.com', '\u2028Bcc: eve@example.com', '\rBcc: eve@example.com'])
    mail.enqueue({ to: 'ada@example.com', subject: `You are invited to Acme${end}`, text: `Hello.${evil}` });
  await mail.close();
  const mails = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  t.equal(mails.length, 4);
  for (const sentMail of mails) {
    const [head = ''] = sentMail.split('\r\n\r\n');
    t.notMatch(head, /^bcc:/im);
    t.equal(head.match(/^to: /gim)?.length, 1);
    t.equal(head.match(/^subject: /gim)?.length, 1);
    t.match(head, /^To: ada@example\.com\r$/m);
  }
});

/** Mailer over SMTP that records its log events. */
async function recordedMail(url: string, closeMsMax: number = limits.mailCloseMsMax, tryMsMax = 60_000) {
  const { clock, random } = await build();
  const noted: unknown[] = [];
  const note = (fields: object, event: string) => noted.push({ ...fields, event });
  const logger = { ...silentLogger, info: note, warn: note };
  const from = 'quarry@example.com';
  const mail = new Mailer({
    clock,
    random,
    logger,
    url,
    from,
    print: () => {},
    egress: localEgress,
    closeMsMax,
    attemptMsMax: tryMsMax,
  });
  return { mail, noted };
}

t.test('a permanently rejected message is dropped and the next one sent', async (t) => {
  const { url, mails } = await startMailServer(t, (to) => !to.startsWith('gone@'));
  const { mail, noted } = await recordedMail(url);
  for (const to of ['gone@example.com', 'ada@example.com'])
    mail.enqueue({ to, subject: 'Hello', text: 'Hello.' });
  await waitUntil('both ends', () => noted.length === 2);
  await mail.close();
  noted.sort((a, b) => JSON.stringify(a).localeCompare(JSON.stringify(b)));
  t.match(noted, [
    { to: 'a…a@example.com', event: 'mail sent' },
    { to: 'g…e@example.com', tries: 1, event: 'mail delivery failed, giving up' },
  ]);
  t.equal(mails().length, 1);
});

t.test('shutdown does not wait for an unresponsive mail server and logs unsent messages', async (t) => {
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  t.teardown(() => silent.close());
  const { mail, noted } = await recordedMail(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`);
  const receivers = ['ada@example.com', 'bob@example.com', 'eve@example.com'];
  for (const to of receivers) mail.enqueue({ to, subject: 'Hello', text: 'Hello.' });
  await mail.close();
  const reason = 'server shutdown';
  t.match(
    noted,
    ['a…a', 'b…b', 'e…e'].map((name) => ({
      to: `${name}@example.com`,
      reason,
      event: 'mail delivery failed, giving up',
    })),
  );
  t.equal(noted.length, receivers.length);
  t.equal(sockets.length, limits.mailsRunningPerKeyMax, 'and does not call it again');
  for (const socket of sockets) if (!socket.closed) await once(socket, 'close');
  await mail.close();
});

t.test('mail to an unresponsive domain delays no other mail and times out', async (t) => {
  const held: (() => void)[] = [];
  const release = () => {
    for (const resolve of held.splice(0)) resolve();
  };
  const { url, mails } = await startMailServer(t, () => true, {
    delays: (to) => (to.endsWith('@slow.example') ? new Promise((resolve) => held.push(resolve)) : undefined),
  });
  t.teardown(release);
  // With this timeout, no attempt ends before the other mails are sent, however long that takes.
  const patient = await recordedMail(url, 1_000);
  const post = (to: string, key?: string) =>
    patient.mail.enqueue({ to, subject: 'Hello', text: 'Hello.' }, key);
  for (let i = 0; i < 40; i += 1) post(`nobody${i}@slow.example`);
  for (let i = 0; i < 20; i += 1) post(`ada${i}@example.com`);
  post('bob@slow.example', '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10');
  await waitUntil('the mails to the other domain arrive', () => mails().length === 20);
  t.ok(held.length <= 8, 'few wait for the slow domain');
  release();
  await patient.mail.close();
  const { mail, noted } = await recordedMail(url, 1_000, 500);
  mail.enqueue({ to: 'eve@slow.example', subject: 'Hello', text: 'Hello.' });
  await waitUntil('the attempt ends', () => /abort|no reply within/i.test(JSON.stringify(noted)));
  release();
  await mail.close();
});

t.test('one sender cannot fill the whole mail queue', async (t) => {
  const { url } = await startMailServer(t, () => true, { delays: () => new Promise(() => {}) });
  const { mail } = await recordedMail(url, 1);
  const post = (to: string, key?: string) => {
    try {
      mail.enqueue({ to, subject: 'Hello', text: 'Hello.' }, key);
      return 200;
    } catch (error) {
      return (error as AppError).status;
    }
  };
  let posted = 0;
  while (post(`nobody${posted}@flood.example`) === 200) posted += 1;
  t.ok(posted >= 1_000 && posted < 1_100, `${posted}`);
  t.equal(post('ada@example.com'), 200);
  t.equal(post('bob@flood.example', 'an organization'), 200);
  t.equal(post('one-more@flood.example'), 503);
  await mail.close();
});
