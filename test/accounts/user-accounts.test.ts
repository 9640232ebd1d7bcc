import { SignJWT } from 'jose';
import t from 'tap';
import type { ClientInfo } from '../../src/accounts/client-info.ts';
import { UserAccounts } from '../../src/accounts/user-accounts.ts';
import type { AppError } from '../../src/core/app-error.ts';
import { limits } from '../../src/core/limits.ts';
import { roles } from '../../src/schemas/principal.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { createTestRandom } from '../storage/test-random.ts';
import { accountComponents, testActor } from './account-components.ts';

const visitor: ClientInfo = {
  address: '192.0.2.1',
  userAgent: 'test',
  cookie: () => undefined,
  sessionToReplace: () => undefined,
  bearer: undefined,
  isBrowser: false,
  wantsJson: true,
  idempotencyKey: undefined,
};

function statusOf(promise: Promise<unknown>): Promise<number> {
  return promise.then(
    () => 200,
    (error: AppError) => error.status,
  );
}

async function build() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 10, 21, 8) });
  const components = accountComponents(store, { clock });
  const signIn = async (email: string) => {
    const { user, result: opened } = await components.userAccounts.signIn(
      { email },
      testActor,
      ({ userId }) => {
        const session = components.sessions.create(userId, visitor);
        return { operations: session.operations, result: session };
      },
    );
    return { ...user, token: opened.token, session: opened.session };
  };
  return { ...components, store, clock, signIn };
}

t.test('signing in creates a user once, and a new session each time', async (t) => {
  const { signIn, sessions, userAccounts: people } = await build();
  const first = await signIn('ada@example.com');
  const second = await signIn('ada@example.com');
  t.equal(first.userId, second.userId);
  t.not(first.token, second.token);
  t.equal((await sessions.list(first.userId)).length, 2);
  const together = await Promise.all(Array.from({ length: 10 }, () => signIn('bob@example.com')));
  t.equal(new Set(together.map(({ userId }) => userId)).size, 1, 'also concurrently');
  t.equal(people.findByEmail('bob@example.com')?.userId, together[0]?.userId);
});

t.test('a session ends when idle, and at its maximum age regardless of use', async (t) => {
  const { signIn, sessions, clock } = await build();
  const idle = await signIn('idle@example.com');
  await clock.advance(limits.sessionIdleMsMax - 1);
  t.ok(sessions.find(idle.token));
  await sessions.close();
  await clock.advance(limits.sessionIdleMsMax - 1);
  t.ok(sessions.find(idle.token), 'it was used meanwhile');
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
  const { signIn, sessions, clock, store } = await build();
  const ada = await signIn('ada@example.com');
  const earlier = new FakeClock({ wall: clock.now() - 3_600_000 });
  t.ok(accountComponents(store, { clock: earlier }).sessions.find(ada.token));
  await sessions.revoke(ada.userId, ada.session.sessionId, '192.0.2.1');
  t.equal(accountComponents(store, { clock: earlier }).sessions.find(ada.token), undefined);
});

t.test('sessions end immediately, one or all, and users cannot end those of others', async (t) => {
  const { signIn, sessions } = await build();
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
  const { store, signIn, links, invitations, organizations } = await build();
  const ada = await signIn('ada@example.com');
  const browser = 'what the browser of Ada holds';
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

async function buildLinks() {
  const { links, ...rest } = await build();
  return {
    ...rest,
    links,
    issue: () => links.issue({ email: 'ada@example.com', redirect: '/', browserToken: 'b' }),
    statusOfLink: (token: string) => statusOf(Promise.resolve().then(() => links.verify(token))),
  };
}

t.test('a sign-in link is invalid after it expires, and when its secret is removed', async (t) => {
  const { links, clock, issue, statusOfLink } = await buildLinks();
  t.equal(limits.magicLinkMsMax, 600_000, 'ten minutes');
  const token = issue();
  await clock.advance(limits.magicLinkMsMax - 1);
  t.equal(await statusOfLink(token), 200);
  await clock.advance(1);
  t.equal(await statusOfLink(token), 400, 'too late');
  await clock.advance(60_001);
  await links.sweep(clock.now());
  t.equal(await statusOfLink(token), 400);
});

t.test('a newer link leaves the older one valid, so that a stranger cannot end it', async (t) => {
  const { store, issue, statusOfLink } = await buildLinks();
  const [older, newer] = [issue(), issue()];
  t.same(await Promise.all([older, newer].map(statusOfLink)), [200, 200]);
  for await (const entry of store.range({ gte: Uint8Array.of(0x2b), lt: Uint8Array.of(0x2c) }))
    t.fail(`a link that nobody used is stored: ${entry.key.length} bytes`);
});

t.test('a sign-in link with one changed character is invalid', async (t) => {
  const { issue, statusOfLink } = await buildLinks();
  const token = issue();
  for (let at = 0; at < token.length - 1; at += 7) {
    const forged = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`;
    t.equal(await statusOfLink(forged), 400, `at ${at}`);
  }
  for (const text of ['', 'x', '.', 'A'.repeat(100), 'A'.repeat(10_000)])
    t.equal(await statusOfLink(text), 400);
});

t.test('records of used links are deleted a day after they expire, however many there are', async (t) => {
  const { links, store, clock, issue } = await buildLinks();
  for (let i = 0; i < 2_500; i += 1) await store.write(links.consume(links.verify(issue())));
  const count = async () => {
    let found = 0;
    for await (const { key } of store.range({ gte: Uint8Array.of(0x2b), lt: Uint8Array.of(0x2c) }))
      found += Math.sign(key.length);
    return found;
  };
  await links.sweep(clock.now());
  t.equal(await count(), 2_500);
  await clock.advance(limits.magicLinkMsMax + 86_400_001);
  await links.sweep(clock.now());
  t.equal(await count(), 0);
});

t.test('a used sign-in link is invalid, also for a concurrent request that read it earlier', async (t) => {
  const { links, store, issue, statusOfLink } = await buildLinks();
  const token = issue();
  const link = links.verify(token);
  await store.write(links.consume(link));
  t.equal(await statusOfLink(token), 400);
  await t.rejects(store.write(links.consume(link)), { name: 'ExpectationFailedError' });
});

t.test('an organization keeps an owner through 1,000 concurrent changes', async (t) => {
  const random = createTestRandom();
  const { memberships, organizations, store } = await build();
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const people = Array.from({ length: 8 }, (_, i) => `00000000-0000-4000-8000-00000000000${i}`);
  const first = { organizationId, userId: people[0]! };
  await organizations.createForUser(
    { organizationId, name: 'Acme' },
    testActor,
    memberships.ownerOperations(first),
  );
  for (const userId of people.slice(1))
    await memberships.join({ organizationId, userId }, { role: 'OWNER', by: testActor, extraOperations: [] });
  for (let round = 0; round < 100; round += 1) {
    await Promise.all(
      Array.from({ length: 10 }, () => {
        const place = { organizationId, userId: people[random.below(people.length)]! };
        const by = { actor: people[random.below(people.length)]!, address: null };
        if (random.below(3) === 0) return statusOf(memberships.remove(place, by));
        if (random.below(2) === 0)
          return statusOf(memberships.join(place, { role: 'MEMBER', by, extraOperations: [] }));
        return statusOf(memberships.changeRole(place, roles[random.below(3)]!, by));
      }),
    );
    const members = await memberships.listByOrganization(organizationId);
    if (!members.some(({ role }) => role === 'OWNER'))
      t.fail(`no owner after round ${round} (seed ${random.seed})`);
  }
  const members = await memberships.listByOrganization(organizationId);
  for (const userId of people) {
    const isThere = members.some((member) => member.userId === userId);
    t.equal((await memberships.listByUser(userId)).length, isThere ? 1 : 0, 'both ends agree');
  }
  await store.close();
});

t.test('only an unmodified, unexpired invitation code of this server is accepted', async (t) => {
  const { invitations, memberships, store, clock } = await build();
  const invitationInput = {
    organizationId: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10',
    email: 'bob@example.com',
    role: 'MEMBER',
    invitedBy: '00000000-0000-4000-8000-000000000001',
  } as const;
  const { organizationId, invitedBy: userId } = invitationInput;
  await store.write(memberships.ownerOperations({ organizationId, userId }));
  const invitation = await invitations.invite(invitationInput, testActor);
  const code = await invitations.signCode(invitation);
  t.match(await invitations.verifyCode(code), {
    email: 'bob@example.com',
    invitationId: invitation.invitationId,
  });
  const secret = new Uint8Array(32).fill(7);
  const forged = (how: { typ?: string; alg?: string; audience?: string; key?: Uint8Array; exp?: number }) =>
    new SignJWT({ email: 'eve@example.com', org: invitationInput.organizationId })
      .setProtectedHeader({ alg: how.alg ?? 'HS256', typ: how.typ ?? 'invite+jwt' })
      .setAudience(how.audience ?? 'quarry invitation')
      .setJti(invitation.invitationId)
      .setExpirationTime(how.exp ?? Math.floor(clock.now() / 1_000) + 1_000)
      .sign(how.key ?? secret);
  t.ok(await invitations.verifyCode(await forged({})), 'the forgeries below fail for their own reason');
  const [header, payload, signature] = code.split('.') as [string, string, string];
  const tampered = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), email: 'eve@example.com' }),
  ).toString('base64url');
  const none = Buffer.from('{"alg":"none","typ":"invite+jwt"}').toString('base64url');
  const worthless = [
    '',
    'x',
    'a.b.c',
    `${header}.${tampered}.${signature}`,
    `${none}.${payload}.`,
    await forged({ typ: 'JWT' }),
    await forged({ alg: 'HS512', key: new Uint8Array(64).fill(7) }),
    await forged({ audience: 'another' }),
    await forged({ key: new Uint8Array(32).fill(8) }),
    await forged({ exp: Math.floor(clock.now() / 1_000) - 10 }),
  ];
  for (const each of worthless) t.equal(await invitations.verifyCode(each), null, each.slice(0, 60));
  await clock.advance(limits.invitationMsMax + 1_000);
  t.equal(await invitations.verifyCode(code), null, 'too late');
  t.same(await invitations.listByEmail('bob@example.com'), []);
});

t.test('a newer invitation invalidates the older one, and so does deleting it', async (t) => {
  const { invitations, memberships, store } = await build();
  const place = { organizationId: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10', email: 'bob@example.com' };
  const invitedBy = '00000000-0000-4000-8000-000000000001';
  await store.write(memberships.ownerOperations({ organizationId: place.organizationId, userId: invitedBy }));
  const invite = () => invitations.invite({ ...place, role: 'MEMBER', invitedBy }, testActor);
  const [older, newer] = [await invite(), await invite()];
  await t.rejects(store.write(invitations.consume(older)), { name: 'ExpectationFailedError' });
  t.equal(invitations.find(place.organizationId, place.email)?.invitationId, newer.invitationId);
  await invitations.delete(place.organizationId, place.email, testActor);
  t.equal(await statusOf(invitations.delete(place.organizationId, place.email, testActor)), 404);
  await t.rejects(store.write(invitations.consume(newer)), { name: 'ExpectationFailedError' });
});

t.test('an invitation is invalid once its sender lacks the permission to send it', async (t) => {
  const { invitations, memberships, store, clock } = await build();
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const [owner, admin] = ['1', '2'].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, string];
  await store.write(memberships.ownerOperations({ organizationId, userId: owner }));
  const sender = { organizationId, userId: admin };
  await memberships.join(sender, { role: 'ADMIN', by: testActor, extraOperations: [] });
  const email = 'eve@example.com';
  await invitations.invite({ organizationId, email, role: 'ADMIN', invitedBy: admin }, testActor);
  const isOpen = async () => {
    const isFound = invitations.find(organizationId, email) !== undefined;
    t.equal(
      (await invitations.listByOrganization(organizationId)).length === 1,
      isFound,
      'lists say the same',
    );
    t.equal((await invitations.listByEmail(email)).length === 1, isFound);
    return isFound;
  };
  t.ok(await isOpen());
  await memberships.changeRole(sender, 'MEMBER', testActor);
  t.notOk(await isOpen(), 'a MEMBER invites no ADMIN');
  await memberships.changeRole(sender, 'OWNER', testActor);
  t.ok(await isOpen());
  const joining = {
    role: 'ADMIN',
    by: testActor,
    extraOperations: [memberships.expectRoleAtLeast(sender, 'ADMIN')],
  } as const;
  const [, late] = await Promise.allSettled([
    memberships.remove(sender, testActor),
    memberships.join({ organizationId, userId: '00000000-0000-4000-8000-000000000003' }, joining),
  ]);
  t.match(
    late,
    { status: 'rejected', reason: { name: 'ExpectationFailedError' } },
    'not even at the same moment',
  );
  t.notOk(await isOpen(), 'the invitation of a deleted user is invalid');
  await invitations.invite(
    { organizationId, email: 'old@example.com', role: 'MEMBER', invitedBy: owner },
    testActor,
  );
  await clock.advance(limits.invitationMsMax);
  await invitations.sweep(clock.now());
  let rows = 0;
  for await (const { key } of store.range({ gte: Uint8Array.of(0x1a), lt: Uint8Array.of(0x1c) }))
    rows += key.byteLength;
  t.equal(rows, 0, 'expired ones are deleted');
});

t.test(
  'the number of sessions per user is bounded, and a restart ends those of the administrator',
  async (t) => {
    const { signIn, sessions, store, clock } = await build();
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
      'those that were used longest ago end',
    );
    t.equal((await sessions.list(ada)).length, limits.sessionsPerUserMax);
    const opened = sessions.create(null, visitor);
    await store.write(opened.operations);
    t.ok(sessions.find(opened.token));
    await sessions.endAdministratorSessions();
    t.equal(sessions.find(opened.token), undefined);
    t.equal((await sessions.list(userId)).length, 1, 'and no others');
  },
);

t.test('with invitation-only sign-up, only invited addresses become users', async (t) => {
  const components = await build();
  const { store, clock, random, audit } = components;
  const invited = new Set(['bob@example.com']);
  const mayJoin = async (email: string) => invited.has(email);
  const people = new UserAccounts({ store, clock, random, audit, canSignUp: mayJoin });
  const arrive = (email: string) =>
    statusOf(people.signIn({ email }, testActor, () => ({ operations: [], result: null })));
  t.same([await arrive('eve@example.com'), await arrive('bob@example.com')], [403, 200]);
  t.equal(people.findByEmail('eve@example.com'), undefined);
  invited.clear();
  t.equal(await arrive('bob@example.com'), 200, 'existing users remain');
});

t.test('names are trimmed and free of control characters, and avatar URLs are validated', async (t) => {
  const { userAccounts: people, signIn } = await build();
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
