import { randomUUID } from 'node:crypto';
import t from 'tap';
import { type ApiKey, ApiKeys } from '../../src/store/api-keys.ts';
import { MemoryStore } from '../../src/store/memory-store.ts';
import { noOverrides, type Organisation, Organisations } from '../../src/store/organisations.ts';
import { ExpectationFailed } from '../../src/store/store.ts';

function organisation(name: string): Organisation {
  return {
    organizationId: randomUUID(),
    name,
    tier: 'free',
    unlimited: false,
    overrides: noOverrides,
    zdr: false,
    createdAt: 1_000,
  };
}

function apiKey(organizationId: string, hash: string): ApiKey {
  return {
    keyId: randomUUID(),
    organizationId,
    hash,
    masked: 'ze_…abcd',
    name: 'first',
    permission: 'all',
    createdBy: null,
    createdAt: 1_000,
  };
}

t.test('organisations are found by id, and several may have one name', async (t) => {
  const store = new MemoryStore();
  const organisations = new Organisations(store);
  const [acme, other] = [organisation('Acme'), organisation('Acme')];
  await store.write([...organisations.create(acme), ...organisations.create(other)]);
  t.same(organisations.get(acme.organizationId), acme);
  t.same(organisations.get(other.organizationId), other);
  t.equal((await organisations.list()).length, 2);
  await t.rejects(store.write(organisations.create({ ...acme, name: 'New' })), ExpectationFailed);
  await store.write(organisations.update({ ...acme, name: 'Acme 2', tier: 'teams' }));
  t.match(organisations.get(acme.organizationId), { name: 'Acme 2', tier: 'teams' });
  await t.rejects(store.write(organisations.update(organisation('Nobody'))), ExpectationFailed);
});

t.test('an organisation of an earlier build has none of the overrides that came later', async (t) => {
  const store = new MemoryStore();
  const organisations = new Organisations(store);
  const { bytesPerMinuteFast, bytesPerMinuteSlow, bytesPerRequestMax, metadataBytesMax } = noOverrides;
  const known = { bytesPerMinuteFast, bytesPerMinuteSlow, bytesPerRequestMax, metadataBytesMax };
  const earlier = { ...organisation('Old'), overrides: { ...known, bytesPerMinuteFast: 7 } } as Organisation;
  await store.write(organisations.create(earlier));
  const overrides = { ...noOverrides, bytesPerMinuteFast: 7 };
  t.same(organisations.get(earlier.organizationId)?.overrides, overrides);
  t.same((await organisations.list())[0]?.overrides, overrides);
});

t.test('keys are found by the hash of their secret until they are deleted', async (t) => {
  const store = new MemoryStore();
  const keys = new ApiKeys(store);
  const [mine, theirs] = [randomUUID(), randomUUID()];
  const first = apiKey(mine, '01'.repeat(32));
  await store.write([...keys.create(first), ...keys.create(apiKey(theirs, '02'.repeat(32)))]);
  t.same(keys.byHash(first.hash), first);
  t.same(await keys.list(mine), [first]);
  await t.rejects(store.write(keys.create(apiKey(theirs, first.hash))), ExpectationFailed);
  await store.write(keys.update({ ...first, permission: 'read_only' }));
  t.equal(keys.byHash(first.hash)?.permission, 'read_only');
  await store.write(keys.delete(first));
  t.equal(keys.byHash(first.hash), undefined);
  t.same(await keys.list(mine), []);
  await t.rejects(store.write(keys.update(first)), ExpectationFailed, 'an update brings no key back');
});
