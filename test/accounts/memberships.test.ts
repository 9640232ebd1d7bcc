import { SignJWT } from 'jose';
import { limits } from '../../src/core/limits.ts';
import { roles } from '../../src/schemas/principal.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';
import { testActor } from './account-components.ts';
import { buildUsers, statusOf } from './user-components.ts';

/** Owners, members and invitations of organizations. */

t.test('an organization keeps an owner through 1,000 concurrent changes', async (t) => {
  const random = createTestRandom();
  const { memberships, organizations, store } = await buildUsers();
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
        const member = { organizationId, userId: people[random.below(people.length)]! };
        const by = { actor: people[random.below(people.length)]!, address: null };
        if (random.below(3) === 0) return statusOf(memberships.remove(member, by));
        if (random.below(2) === 0)
          return statusOf(memberships.join(member, { role: 'MEMBER', by, extraOperations: [] }));
        return statusOf(memberships.changeRole(member, roles[random.below(3)]!, by));
      }),
    );
    const members = await memberships.listByOrganization(organizationId);
    if (!members.some(({ role }) => role === 'OWNER'))
      t.fail(`no owner after round ${round} (seed ${random.seed})`);
  }
  const members = await memberships.listByOrganization(organizationId);
  for (const userId of people) {
    const isMember = members.some((each) => each.userId === userId);
    t.equal((await memberships.listByUser(userId)).length, isMember ? 1 : 0, 'both directions agree');
  }
  await store.close();
});

t.test('only an unmodified, unexpired invitation code of this server is accepted', async (t) => {
  const { invitations, memberships, store, clock } = await buildUsers();
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
  const forge = (changes: {
    typ?: string;
    alg?: string;
    audience?: string;
    key?: Uint8Array;
    exp?: number;
  }) =>
    new SignJWT({ email: 'eve@example.com', org: invitationInput.organizationId })
      .setProtectedHeader({ alg: changes.alg ?? 'HS256', typ: changes.typ ?? 'invite+jwt' })
      .setAudience(changes.audience ?? 'quarry invitation')
      .setJti(invitation.invitationId)
      .setExpirationTime(changes.exp ?? Math.floor(clock.now() / 1_000) + 1_000)
      .sign(changes.key ?? secret);
  t.ok(await invitations.verifyCode(await forge({})), 'the unmodified code is valid');
  const [header, payload, signature] = code.split('.') as [string, string, string];
  const tampered = Buffer.from(
    JSON.stringify({ ...JSON.parse(Buffer.from(payload, 'base64url').toString()), email: 'eve@example.com' }),
  ).toString('base64url');
  const none = Buffer.from('{"alg":"none","typ":"invite+jwt"}').toString('base64url');
  const invalidCodes = [
    '',
    'x',
    'a.b.c',
    `${header}.${tampered}.${signature}`,
    `${none}.${payload}.`,
    await forge({ typ: 'JWT' }),
    await forge({ alg: 'HS512', key: new Uint8Array(64).fill(7) }),
    await forge({ audience: 'another' }),
    await forge({ key: new Uint8Array(32).fill(8) }),
    await forge({ exp: Math.floor(clock.now() / 1_000) - 10 }),
  ];
  for (const invalid of invalidCodes)
    t.equal(await invitations.verifyCode(invalid), null, invalid.slice(0, 60));
  await clock.advance(limits.invitationMsMax + 1_000);
  t.equal(await invitations.verifyCode(code), null, 'expired');
  t.same(await invitations.listByEmail('bob@example.com'), []);
});

t.test('a newer invitation invalidates the older one, and so does deleting it', async (t) => {
  const { invitations, memberships, store } = await buildUsers();
  const invitee = { organizationId: '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10', email: 'bob@example.com' };
  const invitedBy = '00000000-0000-4000-8000-000000000001';
  await store.write(
    memberships.ownerOperations({ organizationId: invitee.organizationId, userId: invitedBy }),
  );
  const invite = () => invitations.invite({ ...invitee, role: 'MEMBER', invitedBy }, testActor);
  const [older, newer] = [await invite(), await invite()];
  await t.rejects(store.write(invitations.consume(older)), { name: 'ExpectationFailedError' });
  t.equal(invitations.find(invitee.organizationId, invitee.email)?.invitationId, newer.invitationId);
  await invitations.delete(invitee.organizationId, invitee.email, testActor);
  t.equal(await statusOf(invitations.delete(invitee.organizationId, invitee.email, testActor)), 404);
  await t.rejects(store.write(invitations.consume(newer)), { name: 'ExpectationFailedError' });
});

t.test('an invitation is invalid once its sender lacks the permission to send it', async (t) => {
  const { invitations, memberships, store, clock } = await buildUsers();
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  const [owner, admin] = ['1', '2'].map((n) => `00000000-0000-4000-8000-00000000000${n}`) as [string, string];
  await store.write(memberships.ownerOperations({ organizationId, userId: owner }));
  const sender = { organizationId, userId: admin };
  await memberships.join(sender, { role: 'ADMIN', by: testActor, extraOperations: [] });
  const email = 'eve@example.com';
  await invitations.invite({ organizationId, email, role: 'ADMIN', invitedBy: admin }, testActor);
  const isOpen = async () => {
    const isFound = invitations.find(organizationId, email) !== undefined;
    t.equal((await invitations.listByOrganization(organizationId)).length === 1, isFound, 'the list agrees');
    t.equal((await invitations.listByEmail(email)).length === 1, isFound);
    return isFound;
  };
  t.ok(await isOpen());
  await memberships.changeRole(sender, 'MEMBER', testActor);
  t.notOk(await isOpen(), 'a MEMBER cannot invite an ADMIN');
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
    'a concurrent removal of the sender rejects the join',
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
  t.equal(rows, 0, 'expired invitations are deleted');
});
