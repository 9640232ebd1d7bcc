import { randomUUID } from 'node:crypto';
import { type ApiKey, ApiKeys } from '../../src/storage/api-keys.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { noOverrides, type Organization, Organizations } from '../../src/storage/organizations.ts';
import { ExpectationFailedError } from '../../src/storage/store.ts';
import t from '../support/tap.ts';

function organization(name: string): Organization {
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

t.test('organizations are found by id, and names need not be unique', async (t) => {
  const store = new MemoryStore();
  const organizations = new Organizations(store);
  const [acme, other] = [organization('Acme'), organization('Acme')];
  await store.write([...organizations.create(acme), ...organizations.create(other)]);
  t.same(organizations.find(acme.organizationId), acme);
  t.same(organizations.find(other.organizationId), other);
  t.equal((await organizations.list()).length, 2);
  await t.rejects(store.write(organizations.create({ ...acme, name: 'New' })), ExpectationFailedError);
  await store.write(organizations.update({ ...acme, name: 'Acme 2', tier: 'teams' }));
  t.match(organizations.find(acme.organizationId), { name: 'Acme 2', tier: 'teams' });
  await t.rejects(store.write(organizations.update(organization('Nobody'))), ExpectationFailedError);
});

t.test('an organization of an earlier build has no later overrides', async (t) => {
  const store = new MemoryStore();
  const organizations = new Organizations(store);
  const { bytesPerMinuteFast, bytesPerMinuteSlow, bytesPerRequestMax, metadataBytesMax } = noOverrides;
  const known = { bytesPerMinuteFast, bytesPerMinuteSlow, bytesPerRequestMax, metadataBytesMax };
  const earlier = { ...organization('Old'), overrides: { ...known, bytesPerMinuteFast: 7 } } as Organization;
  await store.write(organizations.create(earlier));
  const overrides = { ...noOverrides, bytesPerMinuteFast: 7 };
  t.same(organizations.find(earlier.organizationId)?.overrides, overrides);
  t.same((await organizations.list())[0]?.overrides, overrides);
});

t.test('keys are found by the hash of their secret until they are deleted', async (t) => {
  const store = new MemoryStore();
  const keys = new ApiKeys(store);
  const [mine, theirs] = [randomUUID(), randomUUID()];
  const first = apiKey(mine, '01'.repeat(32));
  await store.write([...keys.create(first), ...keys.create(apiKey(theirs, '02'.repeat(32)))]);
  t.same(keys.findByHash(first.hash), first);
  t.same(await keys.list(mine), [first]);
  await t.rejects(store.write(keys.create(apiKey(theirs, first.hash))), ExpectationFailedError);
  await store.write(keys.update({ ...first, permission: 'read_only' }));
  t.equal(keys.findByHash(first.hash)?.permission, 'read_only');
  await store.write(keys.delete(first));
  t.equal(keys.findByHash(first.hash), undefined);
  t.same(await keys.list(mine), []);
  await t.rejects(
    store.write(keys.update(first)),
    ExpectationFailedError,
    'an update does not restore a deleted key',
  );
});
