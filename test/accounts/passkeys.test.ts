import { Passkeys } from '../../src/accounts/passkeys.ts';
import { applyDeletions } from '../../src/storage/apply-deletions.ts';
import { tables } from '../../src/storage/keys.ts';
import { SoftwareAuthenticator } from '../support/software-authenticator.ts';
import t from '../support/tap.ts';
import { testActor } from './account-components.ts';
import { buildSignIn, statusOf, visitor } from './sign-in-components.ts';

/** Records of passkeys in the store. */

const client = { ...visitor(), origin: () => 'https://quarry.example.com' };

const newPasskey = {
  name: 'Laptop',
  credentialId: 'AAAA',
  publicKey: new Uint8Array(1),
  counter: 0,
  transports: [],
  relyingPartyId: 'quarry.example.com',
  userHandle: 'CCCC',
  isSynced: false,
};

t.test('an anonymous request for a challenge reads and writes nothing', async (t) => {
  const { signIn, store } = await buildSignIn();
  store.trace = [];
  const begun = await signIn.passkey.begin(client, {});
  t.equal(begun.kind, 'json');
  t.same(store.trace, []);
});

t.test('a rejected sign-in writes only an audit entry', async (t) => {
  const { signIn, store, deniedAccessLog } = await buildSignIn();
  const begun = await signIn.passkey.begin(client, {});
  if (begun.kind !== 'json') throw new Error('the reply is JSON');
  const { options, passkey_token } = begun.body;
  const authenticator = new SoftwareAuthenticator('https://quarry.example.com');
  authenticator.create({ rp: { id: options.rpId }, user: { id: 'AAAA' }, challenge: '' });
  const credential = { ...authenticator.sign(options), type: 'public-key' } as const;
  store.trace = [];
  t.equal(await statusOf(signIn.passkey.finish(client, { passkey_token, credential })), 401);
  await deniedAccessLog.close();
  const writes = store.trace.filter((line) => line.startsWith('write'));
  t.same(writes, [`write put ${tables.auditEntries}`]);
});

t.test('joining with a passkey stores nothing before the reply, and all of it in one write', async (t) => {
  const { signIn, store, memberships, invitations, userAccounts } = await buildSignIn();
  const { user: owner } = await userAccounts.signIn({ email: 'ada@example.com' }, testActor, () => ({
    operations: [],
    result: null,
  }));
  const organizationId = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  await store.write(memberships.ownerOperations({ organizationId, userId: owner.userId }));
  const invited = {
    organizationId,
    email: 'bob@example.com',
    role: 'MEMBER',
    invitedBy: owner.userId,
  } as const;
  const code = await invitations.signCode(await invitations.invite(invited, testActor));
  const isWrite = (line: string) => line.startsWith('write');

  store.trace = [];
  const begun = await signIn.passkeyJoin.begin(client, { invite_code: code });
  t.same(store.trace.filter(isWrite), []);
  if (begun.kind !== 'json') throw new Error('the reply is JSON');
  const { options, passkey_token } = begun.body;
  const authenticator = new SoftwareAuthenticator('https://quarry.example.com');
  const wrong = authenticator.create(options, { origin: 'https://evil.example' });
  const request = { passkey_token, credential: { ...wrong, type: 'public-key' } } as const;
  t.equal(await statusOf(signIn.passkeyJoin.finish(client, request)), 400);
  t.same(store.trace.filter(isWrite), [], 'a rejected reply');

  const credential = { ...authenticator.create(options), type: 'public-key' } as const;
  await signIn.passkeyJoin.finish(client, { passkey_token, credential });
  const writes = store.trace.filter(isWrite);
  t.equal(writes.length, 1);
  for (const table of ['users', 'passkeys', 'sessions', 'members'] as const)
    t.match(writes[0], `put ${tables[table]}`, table);
  t.match(writes[0], `delete ${tables.invitations}`);
  const { userId } = userAccounts.findByEmail('bob@example.com')!;
  t.equal(memberships.roleOf({ organizationId, userId }), 'MEMBER');
});

t.test('a deleted passkey is deleted again after a restore of an older backup', async (t) => {
  const { store, clock, random, audit, userAccounts } = await buildSignIn();
  const passkeys = new Passkeys({ store, clock, random, audit });
  const signIn = await userAccounts.signIn({ email: 'ada@example.com' }, testActor, () => ({
    operations: [],
    result: null,
  }));
  const { userId } = signIn.user;
  const kept = { ...newPasskey, userId, credentialId: 'BBBB' };
  const add = (passkey: typeof kept) => passkeys.add(passkey, passkeys.createChallenge(), testActor);
  await add(kept);
  const { passkeyId } = await add({ ...newPasskey, userId });
  const backup: { type: 'put'; key: Uint8Array; value: Uint8Array }[] = [];
  for (const table of [tables.passkeys, tables.passkeyCredentials])
    for await (const { key, value } of store.range({
      gte: Uint8Array.of(table),
      lt: Uint8Array.of(table + 1),
    }))
      backup.push({ type: 'put', key, value });
  await passkeys.delete(userId, passkeyId, testActor);
  await store.write(backup);
  t.equal((await passkeys.list(userId)).length, 2, 'the restored store has it');
  t.match(await applyDeletions(store, clock.now()), { passkeys: 1, users: 0 });
  t.match(await passkeys.list(userId), [{ credentialId: 'BBBB' }]);
  t.equal(passkeys.findByCredential('AAAA'), undefined);
});
