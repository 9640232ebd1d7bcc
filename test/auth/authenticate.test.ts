import { bootstrapInstallation } from '../../src/accounts/bootstrap.ts';
import { generateKey } from '../../src/accounts/key-format.ts';
import { Authenticator } from '../../src/auth/authenticate.ts';
import type { RequiredAccess } from '../../src/auth/authorize.ts';
import { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { accountComponents, bearer, credentials, testActor } from '../accounts/account-components.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import t from '../support/tap.ts';

const oldKey = 'the-key-we-always-had';
const adminKey = 'administrators-only-please';

/** Store that counts reads. */
class CountingStore extends MemoryStore {
  reads = 0;

  override get(key: Uint8Array): Uint8Array | undefined {
    this.reads += 1;
    return super.get(key);
  }
}

async function build(options: { adminKey?: string | null; cacheEntriesMax?: number } = {}) {
  const store = new CountingStore();
  const clock = new FakeClock();
  const components = accountComponents(store, { clock });
  const { organizations, keys } = components;
  const { organizationId } = await bootstrapInstallation({
    organizations,
    keys,
    random: systemRandom,
    operatorKey: oldKey,
  });
  const keyInput = { organizationId, name: 'test', permission: 'read_only', createdBy: null } as const;
  const { secret, key } = await keys.issue(keyInput, testActor);
  const authenticator = new Authenticator({
    ...components,
    hasAdminPassword: false,
    adminKey: options.adminKey === undefined ? adminKey : options.adminKey,
    ...(options.cacheEntriesMax === undefined ? {} : { cacheEntriesMax: options.cacheEntriesMax }),
  });
  const statusOf = (header: string | undefined, requiredAccess: RequiredAccess = 'read'): number => {
    try {
      authenticator.authenticate(
        credentials(header === undefined ? {} : { authorization: header }),
        requiredAccess,
      );
      return 200;
    } catch (error) {
      if (error instanceof AppError) return error.status;
      throw error;
    }
  };
  return { ...components, store, clock, organizationId, secret, key, authenticator, statusOf };
}

t.test('a key determines the organization and the permission', async (t) => {
  const { authenticator, organizationId, secret, key } = await build();
  const principal = {
    kind: 'organization',
    organizationId,
    keyId: key.keyId,
    permission: 'read_only',
    zdr: false,
  };
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    t.same(
      authenticator.authenticate(credentials({ authorization: `${scheme} ${secret}` }), 'read'),
      principal,
    );
  }
  t.match(authenticator.authenticate(bearer(oldKey), 'write'), {
    organizationId,
    permission: 'all',
  });
  t.same(authenticator.authenticate(bearer(adminKey), 'administrator'), { kind: 'administrator' });
});

t.test('a missing, malformed or unknown key is rejected with 401 and a hint', async (t) => {
  const { statusOf, authenticator, secret } = await build();
  const headers = [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    secret,
    `Basic ${secret}`,
    `Bearer${secret}`,
    `Bearer ${secret} x`,
    `Bearer ${secret.slice(0, -1)}`,
    `Bearer ${secret}é`,
    `Bearer ${generateKey(systemRandom)}`,
    `Bearer ${'x'.repeat(256)}`,
    `Bearer ${'x'.repeat(257)}`,
    `Bearer ${oldKey}x`,
    `Bearer ${adminKey}x`,
  ];
  for (const header of headers) t.equal(statusOf(header), 401, String(header));
  try {
    authenticator.authenticate(credentials({}), 'read');
    t.fail('an error is expected');
  } catch (error) {
    t.match(error, { options: { headers: { 'www-authenticate': 'Bearer' } }, message: /Bearer <API key>/ });
  }
  const words = (requiredAccess: RequiredAccess) => () =>
    authenticator.authenticate(bearer('nonsense'), requiredAccess);
  t.throws(words('read'), { message: /Invalid API key/ });
  t.throws(words('user'), { message: /expired session.*Sign in again/ }, 'users have no key');
});

t.test('a key with a wrong checksum costs no lookup', async (t) => {
  const { store, statusOf, secret } = await build();
  store.reads = 0;
  const wrong = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0');
  for (const token of [wrong, 'x'.repeat(39), 'ze_', 'some-other-long-secret'])
    t.equal(statusOf(`Bearer ${token}`), 401);
  t.equal(store.reads, 0);
  t.equal(statusOf(`Bearer ${generateKey(systemRandom)}`), 401);
  t.ok(store.reads > 0, 'a well-formed key is looked up');
});

t.test('public operations need no credentials', async (t) => {
  const { authenticator } = await build({ adminKey: null });
  t.equal(authenticator.authenticate(credentials({}), 'none'), null);
  t.equal(authenticator.authenticate(bearer('nonsense'), 'none'), null);
});

t.test(
  'without QUARRY_ADMIN_KEY administration returns 503 to all callers; with it, other callers keep their identity',
  async (t) => {
    const off = await build({ adminKey: null });
    for (const header of [undefined, `Bearer ${adminKey}`, `Bearer ${off.secret}`]) {
      t.equal(off.statusOf(header, 'administrator'), 503);
    }
    t.equal(off.statusOf(`Bearer ${adminKey}`), 401);
    const on = await build();
    t.equal(on.statusOf(undefined, 'administrator'), 401);
    t.equal(
      on.statusOf(`Bearer ${on.secret}`, 'administrator'),
      200,
      'authentication succeeds; authorization returns the 403',
    );
  },
);

t.test('a revoked key is rejected immediately even if it was cached', async (t) => {
  const { statusOf, keys, key, secret } = await build();
  t.equal(statusOf(`Bearer ${secret}`), 200);
  await keys.revoke(key, testActor);
  t.equal(statusOf(`Bearer ${secret}`), 401);
});

t.test('a changed permission and zero data retention apply to the next request', async (t) => {
  const { authenticator, organizations, keys, key, secret } = await build();
  t.match(authenticator.authenticate(bearer(secret), 'read'), { permission: 'read_only', zdr: false });
  await keys.update(key, { permission: 'all' }, testActor);
  await organizations.update(key.organizationId, { zdr: true }, testActor);
  t.match(authenticator.authenticate(bearer(secret), 'read'), { permission: 'all', zdr: true });
});

t.test('a cached key costs no lookup for a second, and one lookup afterwards', async (t) => {
  const { store, clock, statusOf, secret } = await build();
  statusOf(`Bearer ${secret}`);
  store.reads = 0;
  for (let i = 0; i < 10; i += 1) t.equal(statusOf(`Bearer ${secret}`), 200);
  t.equal(store.reads, 0);
  await clock.advance(1_000);
  t.equal(statusOf(`Bearer ${secret}`), 200);
  t.ok(store.reads > 0);
});

t.test('a key expires within a second of its expiry time, and its last use is recorded', async (t) => {
  const { clock, keys, organizationId, statusOf, key, store } = await build();
  t.equal(keys.lastUsedAt(key), null);
  const keyInput = { organizationId, name: 'short', permission: 'all', createdBy: null } as const;
  const short = await keys.issue({ ...keyInput, expiresAt: clock.now() + 5_000 }, testActor);
  await t.rejects(keys.issue({ ...keyInput, expiresAt: clock.now() }, testActor), { code: 'bad_request' });
  await clock.advance(4_999);
  t.equal(statusOf(`Bearer ${short.secret}`), 200);
  const used = clock.now();
  await clock.advance(1_001);
  t.equal(statusOf(`Bearer ${short.secret}`), 401);
  t.equal(keys.lastUsedAt(short.key), used);
  await keys.flushUses();
  t.equal(accountComponents(store, { clock }).keys.lastUsedAt(short.key), used, 'also after a restart');
  await keys.revoke(short.key, testActor);
  t.equal(keys.lastUsedAt(short.key), null);
  keys.recordUse(short.key);
  await keys.flushUses();
  t.equal(keys.lastUsedAt(short.key), null, 'a late use record creates no row');
});

t.test('the key cache is bounded and contains no invalid keys', async (t) => {
  const { authenticator, organizationId, keys, statusOf } = await build({ cacheEntriesMax: 5 });
  const secrets: string[] = [];
  for (let i = 0; i < 20; i += 1) {
    const keyInput = { organizationId, name: `${i}`, permission: 'all', createdBy: null } as const;
    secrets.push((await keys.issue(keyInput, testActor)).secret);
  }
  for (const secret of secrets) t.equal(statusOf(`Bearer ${secret}`), 200);
  t.equal(authenticator.cacheSize, 5);
  for (let i = 0; i < 20; i += 1) statusOf(`Bearer ${generateKey(systemRandom)}`);
  t.equal(authenticator.cacheSize, 5);
});

t.test('the operator key remains valid after a start without the setting', async (t) => {
  const { store, clock } = await build();
  const components = accountComponents(store, { clock });
  await bootstrapInstallation({ ...components, operatorKey: null });
  const authenticator = new Authenticator({ ...components, hasAdminPassword: false, adminKey: null });
  t.match(authenticator.authenticate(bearer(oldKey), 'read'), { permission: 'all' });
});

t.test('a rejected credential is answered with the kind that the operation requires', async (t) => {
  const { authenticator } = await build();
  const ask = (requiredAccess: RequiredAccess, header?: string) => () =>
    authenticator.authenticate(
      credentials(header === undefined ? {} : { authorization: header }),
      requiredAccess,
    );
  const cases: readonly (readonly [RequiredAccess, RegExp])[] = [
    ['user', /Bearer <session token>/],
    ['read', /Bearer <API key>/],
    ['administrator', /Bearer <administrator key>/],
  ];
  for (const [access, message] of cases) {
    t.throws(ask(access, 'Basic YTpi'), { message }, `${access} with Basic`);
    t.throws(ask(access), { message }, `${access} with nothing`);
  }
  t.throws(ask('administrator', `Bearer ${'x'.repeat(20)}`), { message: /QUARRY_ADMIN_KEY/ });
  t.throws(ask('user', `Bearer ${'x'.repeat(20)}`), { message: /Sign in again/ });
});
