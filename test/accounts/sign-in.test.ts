import { hashKey } from '../../src/accounts/key-format.ts';
import { AppError } from '../../src/core/app-error.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';
import { accountComponents, testActor } from './account-components.ts';
import { buildSignIn, password, statusOf, visitor } from './sign-in-components.ts';

/** Limits on passwords and on sign-in links. */

t.test(
  'the eleventh wrong password in a row is delayed, and after the delay the right one works',
  async (t) => {
    const { signIn, clock } = await buildSignIn();
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
    t.ok(refused > 0, 'some attempts are delayed');
    const eleventh = await signIn
      .adminLogin(visitor(), { password: 'wrong' })
      .catch((error: AppError) => error);
    t.ok(
      eleventh instanceof AppError && eleventh.status === 429 && Number(eleventh.options.retryAfterMs) > 0,
    );
    t.equal(await login(password), 429, 'the right password is delayed too');
    await clock.advance(15 * 60_000);
    t.equal(await login(password), 200);
    t.equal(await login('wrong'), 401, 'a success resets the failures');
  },
);

t.test('concurrent wrong passwords are delayed like consecutive ones', async (t) => {
  const { signIn, clock } = await buildSignIn();
  const login = (enteredPassword: string) =>
    statusOf(signIn.adminLogin(visitor(), { password: enteredPassword }));
  const guesses = await Promise.all(Array.from({ length: 40 }, () => login('wrong')));
  t.equal(guesses.filter((status) => status === 401).length, 3, 'the first three were checked');
  t.equal(guesses.filter((status) => status === 429).length, 37);
  await clock.advance(1_001);
  const right = await Promise.all([login(password), login(password)]);
  t.same(right, [200, 200]);
});

t.test('failed passwords from one IP address do not lock out others', async (t) => {
  const { signIn } = await buildSignIn();
  const from = (address: string, enteredPassword: string) =>
    statusOf(signIn.adminLogin({ ...visitor(), address }, { password: enteredPassword }));
  const guesses: number[] = [];
  for (let i = 0; i < 30; i += 1) guesses.push(await from('192.0.2.66', 'wrong'));
  t.same([...new Set(guesses)], [401, 429]);
  t.equal(await from('192.0.2.66', password), 429, 'the right password from that address is delayed too');
  const attempts = Array.from({ length: 60 }, (_, i) => from(`198.51.100.${i}`, 'wrong'));
  t.equal(
    await from('203.0.113.7', password),
    200,
    'the right password is accepted during guesses from sixty addresses',
  );
  t.same([...new Set(await Promise.all(attempts))], [401]);
  for (let i = 0; i < 30; i += 1) await from('2001:db8:0:1::1', 'wrong');
  t.equal(await from('2001:db8:0:1::2', password), 429, 'an IPv6 network counts as one address');
  t.equal(await from('2001:db8:0:2::1', password), 200);
});

t.test('a sign-in link request takes the same work and gets the same reply for every address', async (t) => {
  const { signIn, store, mails, userAccounts: people, clock } = await buildSignIn();
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
    'only the audit log is written',
  );
  await clock.advance(1);
  t.equal(mails.length, 2, 'both get mail, after the reply');
});

t.test('sign-in link requests by others neither lock a user out nor flood the mailbox', async (t) => {
  const { signIn, mails, clock } = await buildSignIn();
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
      t.equal(await works(linksOf().at(-1)!), 200, 'a link in the mailbox of the owner is valid');
    }
  }
  t.ok(mails.length <= 5 + 12 * 24, `${mails.length} messages in a day`);
});

t.test('an immediate repeated request sends one mail and keeps the cookie of the browser', async (t) => {
  const { signIn, mails, clock } = await buildSignIn();
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
    t.equal(
      (await signIn.verifyMagicLink(back, { token })).kind,
      'redirect',
      'this browser needs no confirmation',
    );
  }
  const planted = await signIn.sendMagicLink(visitor({ 'sign-in': 'planted' }), { email });
  t.not(planted.cookie?.value, 'planted');
});

t.test('clock jumps neither revive expired sign-ins nor cause endless waits', async (t) => {
  const { clock, store, links, keys, organizations, signIn } = await buildSignIn();
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
  t.same([await isLink(at(day)), isKey(at(day))], [400, false], 'forward: both have expired');
  t.same([await isLink(at(-day)), isKey(at(-day))], [200, true], 'back: neither expires early');
  const used = links.verify(token);
  await store.write(links.consume(used));
  t.equal(await isLink(at(-day)), 400, 'used links stay used, regardless of the clock');
  // Lockouts use the monotonic clock, which no jump affects.
  for (let i = 0; i < 3; i += 1) await statusOf(signIn.adminLogin(visitor(), { password: 'wrong' }));
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 429);
  await clock.advance(1_001);
  t.equal(await statusOf(signIn.adminLogin(visitor(), { password })), 200);
});
