import { UserAccounts } from '../../src/accounts/user-accounts.ts';
import { limits } from '../../src/core/limits.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';
import { accountComponents, testActor } from './account-components.ts';
import { buildUsers, statusOf, visitor } from './user-components.ts';

/** Users and their sessions. */

t.test('signing in creates a user once, and a new session each time', async (t) => {
  const { signIn, sessions, userAccounts: people } = await buildUsers();
  const first = await signIn('ada@example.com');
  const second = await signIn('ada@example.com');
  t.equal(first.userId, second.userId);
  t.not(first.token, second.token);
  t.equal((await sessions.list(first.userId)).length, 2);
  const together = await Promise.all(Array.from({ length: 10 }, () => signIn('bob@example.com')));
  t.equal(new Set(together.map(({ userId }) => userId)).size, 1, 'also for concurrent sign-ins');
  t.equal(people.findByEmail('bob@example.com')?.userId, together[0]?.userId);
});

t.test('a session ends when idle, and at its maximum age regardless of use', async (t) => {
  const { signIn, sessions, clock } = await buildUsers();
  const idle = await signIn('idle@example.com');
  await clock.advance(limits.sessionIdleMsMax - 1);
  t.ok(sessions.find(idle.token));
  await sessions.close();
  await clock.advance(limits.sessionIdleMsMax - 1);
  t.ok(sessions.find(idle.token), 'the session was used meanwhile');
  await sessions.close();
  await clock.advance(limits.sessionIdleMsMax);
  t.equal(sessions.find(idle.token), undefined);

  const busy = await signIn('busy@example.com');
  for (let day = 0; day < 30; day += 1) {
    t.ok(sessions.find(busy.token), `day ${day}`);
    await sessions.close();
    await clock.advance(86_400_000);
  }
  t.equal(sessions.find(busy.token), undefined);
  await sessions.sweep(clock.now());
  t.same(await sessions.list(busy.userId), []);
});

t.test('a clock that jumps back neither ends nor revives a session', async (t) => {
  const { signIn, sessions, clock, store } = await buildUsers();
  const ada = await signIn('ada@example.com');
  const earlier = new FakeClock({ wall: clock.now() - 3_600_000 });
  t.ok(accountComponents(store, { clock: earlier }).sessions.find(ada.token));
  await sessions.revoke(ada.userId, ada.session.sessionId, '192.0.2.1');
  t.equal(accountComponents(store, { clock: earlier }).sessions.find(ada.token), undefined);
});

t.test('sessions end immediately, one or all, and users cannot end those of others', async (t) => {
  const { signIn, sessions } = await buildUsers();
  const [one, two] = [await signIn('ada@example.com'), await signIn('ada@example.com')];
  const eve = await signIn('eve@example.com');
  t.equal(await statusOf(sessions.revoke(eve.userId, one.session.sessionId, '192.0.2.1')), 404);
  await sessions.revoke(one.userId, one.session.sessionId, '192.0.2.1');
  t.equal(sessions.find(one.token), undefined);
  t.ok(sessions.find(two.token));
  t.equal(await sessions.revokeAll(one.userId, { actor: one.userId, address: '192.0.2.1' }), 1);
  t.equal(sessions.find(two.token), undefined);
  t.ok(sessions.find(eve.token));
  for (const token of ['', 'zes_', `zes_${'x'.repeat(43)}`, `${eve.token}x`, eve.token.slice(0, -1)])
    t.equal(sessions.find(token), undefined);
});

t.test('the store contains no usable credential', async (t) => {
  const { store, signIn, links, invitations, organizations } = await buildUsers();
  const ada = await signIn('ada@example.com');
  const browser = 'the browser token of Ada';
  const token = links.issue({ email: 'ada@example.com', redirect: '/', browserToken: browser });
  await store.write(
    links.consume(links.verify(links.issue({ email: null, redirect: '/', browserToken: null }))),
  );
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  await organizations.create(organizationId, testActor);
  const invitationInput = {
    organizationId,
    email: 'bob@example.com',
    role: 'MEMBER',
    invitedBy: ada.userId,
  } as const;
  const code = await invitations.signCode(await invitations.invite(invitationInput, testActor));
  let dump = '';
  for await (const { key, value } of store.range({}))
    dump += Buffer.from(key).toString('latin1') + Buffer.from(value).toString('latin1');
  t.ok(dump.includes('ada@example.com'), 'the dump is readable');
  for (const secret of [ada.token.slice(4), token, browser, code]) t.notOk(dump.includes(secret));
});

t.test(
  'the number of sessions per user is bounded, and a restart ends those of the administrator',
  async (t) => {
    const { signIn, sessions, store, clock } = await buildUsers();
    const tokens: string[] = [];
    for (let i = 0; i < limits.sessionsPerUserMax + 5; i += 1) {
      tokens.push((await signIn('ada@example.com')).token);
      await clock.advance(1);
    }
    const { userId } = await signIn('eve@example.com');
    const ada = sessions.find(tokens.at(-1)!)!.userId!;
    await sessions.enforceSessionLimit(ada, '192.0.2.1');
    t.same(
      [0, 4, 5].map((i) => sessions.find(tokens[i]!) !== undefined),
      [false, false, true],
      'the least recently used sessions end',
    );
    t.equal((await sessions.list(ada)).length, limits.sessionsPerUserMax);
    const opened = sessions.create(null, visitor);
    await store.write(opened.operations);
    t.ok(sessions.find(opened.token));
    await sessions.endAdministratorSessions();
    t.equal(sessions.find(opened.token), undefined);
    t.equal((await sessions.list(userId)).length, 1, 'no other sessions end');
  },
);

t.test('with invitation-only sign-up, only invited addresses become users', async (t) => {
  const components = await buildUsers();
  const { store, clock, random, audit } = components;
  const invited = new Set(['bob@example.com']);
  const mayJoin = async (email: string) => invited.has(email);
  const people = new UserAccounts({
    store,
    clock,
    random,
    audit,
    canSignUp: mayJoin,
    endUnverifiedAccess: async () => [],
  });
  const arrive = (email: string) =>
    statusOf(people.signIn({ email }, testActor, () => ({ operations: [], result: null })));
  t.same([await arrive('eve@example.com'), await arrive('bob@example.com')], [403, 200]);
  t.equal(people.findByEmail('eve@example.com'), undefined);
  invited.clear();
  t.equal(await arrive('bob@example.com'), 200, 'existing users can still sign in');
});

t.test('names are trimmed and free of control characters, and avatar URLs are validated', async (t) => {
  const { userAccounts: people, signIn } = await buildUsers();
  const { userId } = await signIn('ada@example.com');
  const edit = async (changes: Parameters<UserAccounts['updateProfile']>[1]) =>
    people.updateProfile(userId, changes, testActor);
  for (const name of ['Ada', 'آدا', 'O’Brien & Söhne', '日本 太郎', 'क्\u200dष', '👩\u200d🔬 Marie ❤\ufe0f'])
    t.equal((await edit({ name })).name, name);
  const { name } = people.find(userId)!;
  const unseen = [
    '\u200b',
    '\u00ad',
    '\u2060',
    '\ufeff',
    '\u200e',
    '\u202e',
    '\u2066',
    '\u{e0041}',
    '\u3164',
  ];
  const blank = ['', ' ', '\u00a0', '\u200d', '\u2800', '\u3000'];
  const lines = ['a\nb', 'a\r\nBcc: eve@example.com', 'a\u2028b', 'a\0b', 'a\u001bb', 'a\u0085b'];
  const names = [...unseen.map((sign) => `Ac${sign}me`), ...blank, ...lines, 'x'.repeat(256), 'a\ud800'];
  const refused = await Promise.all(names.map((bad) => statusOf(edit({ name: bad }))));
  t.same(refused, Array(names.length).fill(400));
  const picture = 'https://example.com/ada.png';
  await edit({ avatarUrl: picture });
  for (const avatarUrl of [
    'http://x.example/',
    'javascript:x',
    'https://x/a\r\nb',
    ' https://x/',
    'https://ä/',
  ])
    t.equal(await statusOf(edit({ avatarUrl })), 400, JSON.stringify(avatarUrl));
  t.match(people.find(userId), { name, avatarUrl: picture }, 'a rejected change has no effect');
});
