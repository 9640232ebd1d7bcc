import { bootstrapInstallation } from '../../src/accounts/bootstrap.ts';
import { hashKey } from '../../src/accounts/key-format.ts';
import type { OrganizationLimits, Tiers } from '../../src/admission/tiers.ts';
import type { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { limits } from '../../src/core/limits.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import type { Store } from '../../src/storage/store.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { publishedTiers } from '../admission/tiers.ts';
import t from '../support/tap.ts';
import { accountComponents, testActor } from './account-components.ts';

/** Simulates a start of the server on a store that earlier runs may have used. */
async function runBootstrap(store: Store, operatorKey: string | null = null, tiers: Tiers = publishedTiers) {
  const clock = new FakeClock();
  const { organizations, keys } = accountComponents(store, { clock, tiers });
  const started = await bootstrapInstallation({ organizations, keys, random: systemRandom, operatorKey });
  return { clock, organizations, keys, started };
}

function statusOf(promise: Promise<unknown>): Promise<number> {
  return promise.then(
    () => 200,
    (error: AppError) => error.status,
  );
}

const oldKey = 'the-key-we-always-had';

t.test(
  'the first start creates one organization and one key, shown once; later starts change nothing',
  async (t) => {
    const store = new MemoryStore();
    const first = await runBootstrap(store);
    const secret = first.started.newKey ?? '';
    t.match(secret, /^ze_[0-9A-Za-z]{36}$/);
    for (let i = 0; i < 3; i += 1) {
      const later = await runBootstrap(store);
      t.same(later.started, { organizationId: first.started.organizationId, newKey: null });
      const key = later.keys.findByDigest(hashKey(secret));
      t.match(key, { organizationId: first.started.organizationId, permission: 'all' });
      t.equal((await later.keys.list(first.started.organizationId)).length, 1);
    }
  },
);

t.test('QUARRY_API_KEY is used instead of a random key, on every start', async (t) => {
  const store = new MemoryStore();
  for (let i = 0; i < 3; i += 1) {
    const run = await runBootstrap(store, oldKey);
    t.equal(run.started.newKey, null);
    t.equal(run.keys.findByDigest(hashKey(oldKey))?.organizationId, run.started.organizationId);
    t.equal((await run.keys.list(run.started.organizationId)).length, 1);
  }
});

t.test('a changed QUARRY_API_KEY replaces the old one and no other key', async (t) => {
  const store = new MemoryStore();
  const issued = (await runBootstrap(store)).started.newKey ?? '';
  await runBootstrap(store, oldKey);
  const run = await runBootstrap(store, 'a-completely-new-key');
  t.equal(run.keys.findByDigest(hashKey(oldKey)), undefined);
  t.ok(run.keys.findByDigest(hashKey('a-completely-new-key')));
  t.ok(run.keys.findByDigest(hashKey(issued)));
  t.equal((await run.keys.list(run.started.organizationId)).length, 2);
});

t.test('changes to the name or permission of the configured key survive a restart', async (t) => {
  const store = new MemoryStore();
  const run = await runBootstrap(store, oldKey);
  const { organizationId } = run.started;
  const [key] = await run.keys.list(organizationId);
  await run.keys.update(
    { organizationId, keyId: key?.keyId ?? '' },
    { name: 'Website', permission: 'read_only' },
    testActor,
  );
  const later = await runBootstrap(store, oldKey);
  t.match(await later.keys.list(organizationId), [{ name: 'Website', permission: 'read_only' }]);
});

t.test('a start without QUARRY_API_KEY keeps the earlier key, which can then be deleted', async (t) => {
  const store = new MemoryStore();
  const set = await runBootstrap(store, oldKey);
  const { organizationId } = set.started;
  const keyId = (await set.keys.list(organizationId))[0]?.keyId ?? '';
  t.equal(
    await statusOf(set.keys.revoke({ organizationId, keyId }, testActor)),
    409,
    'the configured key cannot be deleted',
  );
  const unset = await runBootstrap(store);
  t.equal(unset.started.newKey, null);
  t.equal(unset.keys.operatorDigest, hashKey(oldKey));
  await unset.keys.revoke({ organizationId, keyId }, testActor);
  t.equal(unset.keys.operatorDigest, null);
  t.equal(unset.keys.findByDigest(hashKey(oldKey)), undefined);
});

t.test('QUARRY_API_KEY may be the key that the first start printed', async (t) => {
  const store = new MemoryStore();
  const printed = (await runBootstrap(store)).started.newKey ?? '';
  await runBootstrap(store, oldKey);
  const run = await runBootstrap(store, printed);
  t.equal(
    (await run.keys.list(run.started.organizationId)).length,
    1,
    'the key of the earlier setting is removed',
  );
  t.ok(run.keys.findByDigest(hashKey(printed)));
});

t.test('QUARRY_API_KEY cannot be the key of another organization', async (t) => {
  const store = new MemoryStore();
  const { organizations, keys } = await runBootstrap(store);
  const other = systemRandom.uuid();
  await organizations.create(other, testActor);
  const keyInput = { organizationId: other, name: 'a', permission: 'all', createdBy: null } as const;
  const { secret } = await keys.issue(keyInput, testActor);
  t.equal(await statusOf(runBootstrap(store, secret)), 409);
});

t.test('an organization whose last key was deleted gets a new one at the next start', async (t) => {
  const store = new MemoryStore();
  const { keys, started } = await runBootstrap(store);
  const { organizationId } = started;
  const keyId = (await keys.list(organizationId))[0]?.keyId ?? '';
  await keys.revoke({ organizationId, keyId }, testActor);
  const again = await runBootstrap(store);
  t.equal(again.started.organizationId, organizationId);
  t.not(again.started.newKey, null);
});

t.test('the store contains no key in clear text', async (t) => {
  const store = new MemoryStore();
  const issued = (await runBootstrap(store)).started.newKey ?? '';
  await runBootstrap(store, oldKey);
  let dump = '';
  for await (const { key, value } of store.range({})) {
    dump += Buffer.from(key).toString('latin1') + Buffer.from(value).toString('latin1');
  }
  t.ok(dump.includes('QUARRY_API_KEY'), 'the dump is readable');
  for (const secret of [issued, oldKey, issued.slice(7, 33)]) t.notOk(dump.includes(secret));
});

t.test('keys are issued, listed oldest first and masked, renamed, and revoked', async (t) => {
  const { clock, keys, started } = await runBootstrap(new MemoryStore(), oldKey);
  const { organizationId } = started;
  const secrets: string[] = [];
  for (const name of ['b', 'a']) {
    await clock.advance(1_000);
    const keyInput = { organizationId, name, permission: 'read_only', createdBy: 'Ann' } as const;
    secrets.push((await keys.issue(keyInput, testActor)).secret);
  }
  const listed = await keys.list(organizationId);
  t.match(listed, [{ name: 'QUARRY_API_KEY' }, { name: 'b', createdBy: 'Ann' }, { name: 'a' }]);
  for (const key of listed) t.ok(key.masked.includes('…') && !secrets.includes(key.masked));
  const { keyId } = listed[1]!;
  await keys.update({ organizationId, keyId }, { name: 'renamed', permission: null }, testActor);
  t.match(keys.findByDigest(hashKey(secrets[0]!)), { name: 'renamed', permission: 'read_only' });
  await keys.update({ organizationId, keyId }, { permission: 'all' }, testActor);
  t.match(keys.findByDigest(hashKey(secrets[0]!)), { name: 'renamed', permission: 'all' });
  await keys.revoke({ organizationId, keyId }, testActor);
  t.equal(keys.findByDigest(hashKey(secrets[0]!)), undefined);
  t.equal(await statusOf(keys.revoke({ organizationId, keyId }, testActor)), 404);
});

t.test('concurrent changes do not undo each other', async (t) => {
  const { organizations, keys, started } = await runBootstrap(new MemoryStore());
  const { organizationId } = started;
  const keyId = (await keys.list(organizationId))[0]?.keyId ?? '';
  await Promise.all([
    keys.update({ organizationId, keyId }, { name: 'new name' }, testActor),
    keys.update({ organizationId, keyId }, { permission: 'read_only' }, testActor),
    organizations.update(organizationId, { zdr: true }, testActor),
    organizations.update(organizationId, { tier: 'teams' }, testActor),
    organizations.update(organizationId, { overrides: { bytesPerMinuteFast: 5 } }, testActor),
  ]);
  t.match(await keys.list(organizationId), [{ name: 'new name', permission: 'read_only' }]);
  t.match(organizations.get(organizationId), {
    zdr: true,
    tier: 'teams',
    overrides: { bytesPerMinuteFast: 5 },
  });
  const id = systemRandom.uuid();
  const statuses = await Promise.all([1, 2, 3].map(() => statusOf(organizations.create(id, testActor))));
  t.same(statuses, [200, 409, 409]);
});

t.test('the ID of a key of another organization is as unknown as a random one', async (t) => {
  const { organizations, keys, started } = await runBootstrap(new MemoryStore());
  const other = systemRandom.uuid();
  await organizations.create(other, testActor);
  const otherKeyId = (await keys.list(started.organizationId))[0]?.keyId ?? '';
  for (const keyId of [otherKeyId, systemRandom.uuid()]) {
    t.equal(await statusOf(keys.revoke({ organizationId: other, keyId }, testActor)), 404);
    t.equal(await statusOf(keys.update({ organizationId: other, keyId }, { name: 'x' }, testActor)), 404);
  }
  t.same(await keys.list(other), []);
  t.equal((await keys.list(started.organizationId)).length, 1);
});

t.test('invalid key names are rejected and change nothing', async (t) => {
  const { keys, started } = await runBootstrap(new MemoryStore());
  const { organizationId } = started;
  const names: readonly [string, number][] = [
    ['', 400],
    ['x'.repeat(limits.keyNameBytesMax), 200],
    ['x'.repeat(limits.keyNameBytesMax + 1), 400],
    ['ü'.repeat(limits.keyNameBytesMax / 2 + 1), 400],
    ['half \ud800 a pair', 400],
  ];
  for (const [name, status] of names) {
    const issued = keys.issue({ organizationId, name, permission: 'all', createdBy: null }, testActor);
    t.equal(await statusOf(issued), status, JSON.stringify(name.slice(0, 20)));
  }
  const createdBy = 'x'.repeat(limits.keyNameBytesMax + 1);
  t.equal(
    await statusOf(keys.issue({ organizationId, name: 'x', permission: 'all', createdBy }, testActor)),
    400,
  );
  t.equal((await keys.list(organizationId)).length, 2);
});

t.test('a key with an invalid expiry date is not issued', async (t) => {
  const { keys, clock, started } = await runBootstrap(new MemoryStore());
  const { organizationId } = started;
  const keyInput = { organizationId, name: 'k', permission: 'all', createdBy: null } as const;
  const issue = (expiresAt: number) => statusOf(keys.issue({ ...keyInput, expiresAt }, testActor));
  t.equal(await issue(Date.parse('2030-12-31T23:59:60Z')), 400, 'a leap second does not parse to a number');
  t.equal(await issue(clock.now()), 400);
  t.equal(await issue(clock.now() + 1), 200);
  t.equal((await keys.list(organizationId)).length, 2);
  t.equal(
    await statusOf(keys.issue({ ...keyInput, keysMax: 2 }, testActor)),
    400,
    'members can issue fewer keys',
  );
  t.equal(await statusOf(keys.issue({ ...keyInput, keysMax: 3 }, testActor)), 200);
});

t.test('the number of keys of an organization is bounded', async (t) => {
  const store = new MemoryStore();
  const { keys } = accountComponents(store, { keysPerOrganizationMax: 3 });
  const issue = (organizationId: string) =>
    keys.issue({ organizationId, name: 'k', permission: 'all', createdBy: null }, testActor);
  const [one, two] = [systemRandom.uuid(), systemRandom.uuid()];
  for (let i = 0; i < 3; i += 1) await issue(one);
  t.equal(await statusOf(issue(one)), 400);
  t.equal(await statusOf(issue(two)), 200);
});

t.test(
  'limits: an override takes precedence, 0 removes it, the first organization has none, others start on free',
  async (t) => {
    const { organizations, started } = await runBootstrap(new MemoryStore());
    const others = { bytesPerRequestMax: 5_000_000, metadataBytesMax: 65_535 };
    const none: OrganizationLimits = { ...publishedTiers.enterprise, ...others };
    t.same(organizations.limitsOf(started.organizationId), none);
    const id = systemRandom.uuid();
    await organizations.create(id, testActor);
    t.match(organizations.get(id), { name: id, tier: 'free', zdr: false });
    const free = {
      ...none,
      bytesPerMinuteFast: 500_000,
      bytesPerMinuteSlow: 5_000_000,
      rerankRequestsPerMinute: 1_000,
    };
    t.same(organizations.limitsOf(id), free);
    for (const organizationId of [id, started.organizationId]) {
      const bytes = { bytesPerMinuteFast: 1, bytesPerMinuteSlow: 2, bytesPerRequestMax: 3 };
      const overrides = { ...bytes, metadataBytesMax: 4 };
      await organizations.update(organizationId, { overrides }, testActor);
      t.match(organizations.limitsOf(organizationId), overrides);
      await organizations.update(
        organizationId,
        {
          overrides: { bytesPerMinuteFast: 0, bytesPerMinuteSlow: null },
        },
        testActor,
      );
      t.match(organizations.limitsOf(organizationId), { bytesPerMinuteSlow: 2, bytesPerRequestMax: 3 });
    }
    t.equal(organizations.limitsOf(id).bytesPerMinuteFast, 500_000);
    t.equal(organizations.limitsOf(started.organizationId).bytesPerMinuteFast, null);
    await organizations.update(
      id,
      {
        tier: 'enterprise',
        overrides: { bytesPerMinuteSlow: 0, bytesPerRequestMax: 0, metadataBytesMax: 0 },
      },
      testActor,
    );
    t.same(organizations.limitsOf(id), none);
  },
);

t.test('tier limits are configurable', async (t) => {
  const tiers = { ...publishedTiers, free: { ...publishedTiers.free, bytesPerMinuteFast: 7 } };
  const { organizations } = await runBootstrap(new MemoryStore(), null, tiers);
  const id = systemRandom.uuid();
  await organizations.create(id, testActor);
  t.equal(organizations.limitsOf(id).bytesPerMinuteFast, 7);
});

t.test('an unknown organization gets 404', async (t) => {
  const { organizations } = await runBootstrap(new MemoryStore());
  const id = systemRandom.uuid();
  t.equal(await statusOf(organizations.update(id, { zdr: true }, testActor)), 404);
  t.throws(() => organizations.get(id), { code: 'not_found' });
  t.throws(() => organizations.limitsOf(id), { code: 'not_found' });
});

t.test('a rejected write leaves no state behind', async (t) => {
  const store = new MemoryStore();
  const { organizations, keys, started } = await runBootstrap(store);
  const before = keys.revision + organizations.revision;
  await store.close();
  const keyInput = { ...started, name: 'x', permission: 'all', createdBy: null } as const;
  t.equal(await statusOf(keys.issue(keyInput, testActor)), 503);
  t.equal(await statusOf(organizations.create(systemRandom.uuid(), testActor)), 503);
  t.equal(keys.revision + organizations.revision, before);
});
