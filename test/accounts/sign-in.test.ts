import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import t from 'tap';
import type { Identity, IdentityProvider } from '../../src/accounts/identity-providers.ts';
import { keyDigest } from '../../src/accounts/key-format.ts';
import { Mail } from '../../src/accounts/mail.ts';
import { hashPassword } from '../../src/accounts/password.ts';
import { ProviderOperations } from '../../src/accounts/provider-operations.ts';
import { SignInOperations } from '../../src/accounts/sign-in-operations.ts';
import type { CookieName, Outcome, Visitor } from '../../src/accounts/visitor.ts';
import { AppError } from '../../src/base/app-error.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/logger.ts';
import type { SignInResponse } from '../../src/schemas/accounts.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import type { Operation, RangeOptions } from '../../src/store/store.ts';
import { FakeTime } from '../admission/fake-time.ts';
import { mailServer } from '../e2e/people.ts';
import { accountRooms, byTest } from './rooms.ts';

/** Ways in, with a clock that stands still and providers that say what a test wants. */

const password = 'correct horse battery staple';
const passwordHash = hashPassword(password);

function visitor(cookies: Partial<Record<CookieName, string>> = {}): Visitor {
  return {
    address: '192.0.2.1',
    userAgent: 'test',
    cookie: (name) => cookies[name],
    held: (name) => cookies[name],
    bearer: undefined,
    isBrowser: false,
    wantsJson: true,
    idempotencyKey: undefined,
  };
}

/** What is asked of the store, table by table. */
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

  override write(operations: readonly Operation[]): Promise<void> {
    this.trace.push(`write ${operations.map(({ type, key }) => `${type} ${key[0]}`).join(', ')}`);
    return super.write(operations);
  }
}

async function build() {
  const store = new TracingStore();
  const clock = new FakeTime({ wall: Date.UTC(2026, 10, 21, 8) });
  const rooms = accountRooms(store, { clock });
  const letters: string[] = [];
  const mail = new Mail({
    ...rooms,
    url: 'console:',
    from: 'quarry@example.com',
    logger: silentLogger,
    print: (text) => letters.push(text),
    closeMsMax: limits.mailCloseMsMax,
  });
  let says: Identity | null = null;
  const provider: IdentityProvider = {
    addressFor: async (_back, { state }) => `https://issuer.example/?state=${state}`,
    identify: async () => says!,
  };
  const parts = { ...rooms, store, mail, linkBase: () => 'http://127.0.0.1', home: '/docs' };
  const signIn = new SignInOperations({
    ...parts,
    secret: new Uint8Array(32),
    adminPasswordHash: await passwordHash,
    firstOrganizationId: () => '',
  });
  const accept = async () => false;
  const providers = new ProviderOperations({
    ...parts,
    accept,
    providers: { google: provider, github: null },
  });
  /** Somebody comes back from the provider, which says this of them. */
  const arrive = async (identity: Identity) => {
    says = identity;
    const begun = await providers.begin(visitor(), { provider: 'google' });
    if (begun.kind !== 'json') throw new Error('a program gets JSON');
    const state = new URL(begun.body.url).searchParams.get('state')!;
    const back = visitor({ flow: begun.cookie!.value! });
    return userOf(await providers.finish(back, { provider: 'google', state, code: 'x' }));
  };
  return { ...rooms, store, clock, letters, mail, signIn, arrive };
}

function userOf(outcome: Outcome<SignInResponse>) {
  if (outcome.kind !== 'json') throw new Error('a program gets JSON');
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

t.test('the eleventh wrong password in a row waits, and after the wait the right one works', async (t) => {
  const { signIn, clock } = await build();
  const login = (given: string) => statusOf(signIn.adminLogin(visitor(), { password: given }));
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
  t.ok(refused > 0, 'waits begin earlier');
  const eleventh = await signIn
    .adminLogin(visitor(), { password: 'wrong' })
    .catch((error: AppError) => error);
  t.ok(eleventh instanceof AppError && eleventh.status === 429 && Number(eleventh.options.retryAfterMs) > 0);
  t.equal(await login(password), 429, 'the right one waits too');
  await clock.advance(15 * 60_000);
  t.equal(await login(password), 200);
  t.equal(await login('wrong'), 401, 'and is forgiven the wrong ones');
});

t.test('wrong passwords at the same moment wait like as many in a row', async (t) => {
  const { signIn, clock } = await build();
  const login = (given: string) => statusOf(signIn.adminLogin(visitor(), { password: given }));
  const guesses = await Promise.all(Array.from({ length: 40 }, () => login('wrong')));
  t.equal(guesses.filter((status) => status === 401).length, 3, 'the first three were looked at');
  t.equal(guesses.filter((status) => status === 429).length, 37);
  await clock.advance(1_001);
  const right = await Promise.all([login(password), login(password)]);
  t.same(right, [200, 200]);
});

t.test('a mail link costs the same work and says the same, whoever the address belongs to', async (t) => {
  const { signIn, store, letters, people, clock } = await build();
  const ask = async (email: string) => {
    store.trace = [];
    const outcome = await signIn.sendMagicLink(visitor(), { email });
    const said = JSON.stringify(outcome.kind === 'json' ? outcome.body : null).replaceAll(email, 'ADDRESS');
    return { said, work: store.trace };
  };
  await people.arrive({ email: 'known@example.com' }, byTest, () => ({ operations: [], with: null }));
  const known = await ask('known@example.com');
  const unknown = await ask('unknown@example.com');
  t.same(known, unknown);
  t.ok(known.work.length > 0);
  await clock.advance(1);
  t.equal(letters.length, 2, 'both get mail, after the answer');
});

t.test('the same subject at another issuer is another person', async (t) => {
  const { arrive } = await build();
  const at = (issuer: string, email: string) =>
    arrive({ issuer: `https://${issuer}.example`, subject: '4711', email, emailVerified: true });
  const ada = await at('one', 'ada@example.com');
  const eve = await at('two', 'eve@example.com');
  t.not(eve.id, ada.id);
  t.equal(eve.email, 'eve@example.com');
  const again = await at('one', 'ada.lovelace@example.com');
  t.equal(again.id, ada.id, 'who is known is known by issuer and subject, whatever the address says');
});

t.test('an address that the provider did not verify neither links nor signs in', async (t) => {
  const { arrive, people, invitations, store } = await build();
  await people.arrive({ email: 'ada@example.com' }, byTest, () => ({ operations: [], with: null }));
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const invited = { organizationId, email: 'guest@example.com', role: 'OWNER', invitedBy: 'a' } as const;
  await invitations.invite(invited, byTest);
  const before = JSON.stringify(people.byEmail('ada@example.com'));
  for (const email of ['ada@example.com', 'guest@example.com', 'nobody@example.com']) {
    const identity = { issuer: 'https://one.example', subject: email, email, emailVerified: false };
    t.equal(await statusOf(arrive(identity)), 403, email);
  }
  t.equal(JSON.stringify(people.byEmail('ada@example.com')), before);
  t.equal(people.byEmail('guest@example.com'), undefined, 'nobody is there to accept the invitation');
  let links = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x1e), lt: Uint8Array.of(0x1f) }))
    links += key.length;
  t.equal(links, 0);
});

t.test('whatever the clock does, what was over stays over and nobody waits for ever', async (t) => {
  const { clock, store, links, keys, organisations, signIn } = await build();
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  await organisations.create(organizationId, byTest);
  const wanted = { organizationId, name: 'k', permission: 'all', createdBy: null } as const;
  const { secret } = await keys.issue({ ...wanted, expiresAt: clock.now() + 60_000 }, byTest);
  const link = await links.issue({ email: 'ada@example.com', redirect: '/' });
  const isLink = (rooms: Pick<ReturnType<typeof accountRooms>, 'links'>) =>
    statusOf(Promise.resolve().then(() => rooms.links.find(link.token)));
  const at = (ms: number) => accountRooms(store, { clock: new FakeTime({ wall: clock.now() + ms }) });
  const isKey = ({ keys: ring }: ReturnType<typeof accountRooms>) =>
    !ring.hasExpired(ring.findByDigest(keyDigest(secret))!);
  const day = 86_400_000;
  t.same([await isLink(at(0)), isKey(at(0))], [200, true]);
  t.same([await isLink(at(day)), isKey(at(day))], [400, false], 'forward: both are over');
  t.same([await isLink(at(-day)), isKey(at(-day))], [200, true], 'back: neither ends early');
  const used = links.find(link.token);
  await store.write(links.consume(used));
  t.equal(await isLink(at(-day)), 400, 'what was used is used, whatever day it is');
  // Waits go by a clock that no jump moves.
  for (let i = 0; i < 3; i += 1) await statusOf(signIn.adminLogin(visitor(), { password: 'wrong' }));
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 429);
  await clock.advance(1_001);
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 200);
});

t.test('what an attacker writes never becomes a header or a receiver of a mail', async (t) => {
  const folder = t.testdir({});
  const { clock, chance } = await build();
  const mail = new Mail({
    ...{ clock, chance, logger: silentLogger, from: 'quarry@example.com', print: () => {} },
    closeMsMax: limits.mailCloseMsMax,
    url: pathToFileURL(folder).href,
  });
  const evil = '\r\nBcc: eve@example.com\r\n\r\nEvil body';
  for (const end of [evil, '\nBcc: eve@example.com', '\u2028Bcc: eve@example.com', '\rBcc: eve@example.com'])
    mail.post({ to: 'ada@example.com', subject: `You are invited to Acme${end}`, text: `Hello.${evil}` });
  await mail.close();
  const letters = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
  t.equal(letters.length, 4);
  for (const letter of letters) {
    const [head = ''] = letter.split('\r\n\r\n');
    t.notMatch(head, /^bcc:/im);
    t.equal(head.match(/^to: /gim)?.length, 1);
    t.equal(head.match(/^subject: /gim)?.length, 1);
    t.match(head, /^To: ada@example\.com\r$/m);
  }
});

/** Mail by SMTP, and what the log says of it. */
async function notedMail(url: string, closeMsMax: number = limits.mailCloseMsMax) {
  const { clock, chance } = await build();
  const noted: unknown[] = [];
  const note = (fields: object, event: string) => noted.push({ ...fields, event });
  const logger = { ...silentLogger, info: note, warn: note };
  const from = 'quarry@example.com';
  const mail = new Mail({ clock, chance, logger, url, from, print: () => {}, closeMsMax });
  return { mail, noted };
}

t.test('a letter that the mail server refuses for good is given up, and the next one sent', async (t) => {
  const { url, mails } = await mailServer(t, (to) => !to.startsWith('gone@'));
  const { mail, noted } = await notedMail(url);
  for (const to of ['gone@example.com', 'ada@example.com'])
    mail.post({ to, subject: 'Hello', text: 'Hello.' });
  while (noted.length < 2) await new Promise((resolve) => setTimeout(resolve, 10));
  await mail.close();
  t.match(noted, [
    { to: 'g…e@example.com', tries: 1, event: 'mail given up' },
    { to: 'a…a@example.com', event: 'mail sent' },
  ]);
  t.equal(mails().length, 1);
});

t.test(
  'the end waits for no mail server that says nothing, and tells whose letters were not sent',
  async (t) => {
    const sockets: Socket[] = [];
    const silent = createServer((socket) => sockets.push(socket.on('error', () => {}))).listen(
      0,
      '127.0.0.1',
    );
    await once(silent, 'listening');
    t.teardown(() => silent.close());
    const { mail, noted } = await notedMail(`smtp://127.0.0.1:${(silent.address() as AddressInfo).port}`);
    const receivers = ['ada@example.com', 'bob@example.com', 'eve@example.com'];
    for (const to of receivers) mail.post({ to, subject: 'Hello', text: 'Hello.' });
    await mail.close();
    const reason = 'the server stops';
    t.match(
      noted,
      ['a…a', 'b…b', 'e…e'].map((name) => ({ to: `${name}@example.com`, reason, event: 'mail given up' })),
    );
    t.equal(noted.length, receivers.length);
    t.equal(sockets.length, 1, 'and asks it no more');
    await once(sockets[0]!, 'close');
    await mail.close();
  },
);
