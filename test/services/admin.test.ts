import { bootstrapInstallation } from '../../src/accounts/bootstrap.ts';
import { Authenticator } from '../../src/auth/authenticate.ts';
import { EffectiveTiers } from '../../src/billing/effective-tiers.ts';
import type { AppError } from '../../src/core/app-error.ts';
import { systemRandom } from '../../src/core/ids.ts';
import { toWireOverrides } from '../../src/schemas/organization-limits.ts';
import type { Principal } from '../../src/schemas/principal.ts';
import { AdminService } from '../../src/services/admin.ts';
import type { ServiceCall } from '../../src/services/call.ts';
import { BillingRecords } from '../../src/storage/billing.ts';
import { MarketplaceRecords } from '../../src/storage/marketplaces.ts';
import { MemoryStore } from '../../src/storage/memory-store.ts';
import { noOverrides } from '../../src/storage/organizations.ts';
import { accountComponents, bearer } from '../accounts/account-components.ts';
import { FakeClock } from '../admission/fake-clock.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import t from '../support/tap.ts';

const call: ServiceCall<Extract<Principal, { kind: 'administrator' }>> = {
  principal: { kind: 'administrator' },
  requestId: 'r',
  baseUrl: 'http://127.0.0.1',
  receivedAt: 0,
  yieldToEventLoop: () => null,
  cancellation: cancellationTokenWith(),
  address: () => '192.0.2.1',
  now: () => Date.now(),
};
const organization_id = 'aaaaaaaa-1111-4111-8111-111111111111';

async function build() {
  const store = new MemoryStore();
  const clock = new FakeClock({ wall: Date.UTC(2026, 10, 21, 8) });
  const components = accountComponents(store, { clock });
  const { organizations, keys } = components;
  const first = await bootstrapInstallation({ organizations, keys, random: systemRandom, operatorKey: null });
  const tiers = new EffectiveTiers({
    organizations,
    clock,
    isBillingEnabled: false,
    billing: new BillingRecords(store),
    agreements: new MarketplaceRecords(store),
  });
  const authenticator = new Authenticator({ ...components, hasAdminPassword: false, adminKey: null });
  return {
    first,
    authenticator,
    admin: new AdminService({
      ...components,
      tiers,
      storageOf,
      deleteOrganization: (id, by) => organizations.delete(id, by, []),
    }),
  };
}

/** Storage of organizations without documents. */
const nothing = { documents: 0, bytes: 0, ingest_documents: 0 } as const;
const storageOf = async () => nothing;

function statusOf(promise: Promise<unknown>): Promise<number> {
  return promise.then(
    () => 200,
    (error: AppError) => error.status,
  );
}

t.test('all organizations are listed in pages without gaps', async (t) => {
  const { admin, first } = await build();
  const ids = Array.from({ length: 7 }, (_, i) => organization_id.replaceAll('a', String(i)));
  for (const id of ids) await admin.createOrganization(call, { organization_id: id });
  await admin.updateOrganization(call, { organization_id: ids[1]!, override_bpm_fast: 7, zdr: true });
  await admin.deleteOrganization(call, { organization_id: ids[2]! });
  const listed = [];
  for (let after: string | null = null, pages = 0; pages === 0 || after !== null; pages += 1) {
    const page = await admin.listOrganizations(call, { after, limit: 3 });
    listed.push(...page.organizations);
    after = page.next_after;
  }
  const there = [...ids.filter((id) => id !== ids[2]), first.organizationId].sort();
  t.same(
    listed.map((each) => each.organization_id),
    there,
  );
  t.match(
    listed.find((each) => each.organization_id === ids[1]),
    { name: ids[1], subscription_tier: 'free', zdr: true, overridden: true },
  );
  t.match(
    listed.find((each) => each.organization_id === first.organizationId),
    { name: 'default', subscription_tier: 'enterprise', zdr: false, overridden: false },
  );
  t.equal((await admin.listOrganizations(call, {})).organizations.length, 7);
});

t.test('an organization is created, described and changed; absent fields stay', async (t) => {
  const { admin } = await build();
  t.match(await admin.createOrganization(call, { organization_id }), { message: 'Success!' });
  const created = {
    organization_id,
    name: organization_id,
    subscription_tier: 'free',
    ...toWireOverrides(noOverrides),
    storage: nothing,
    zdr: false,
  };
  t.match(await admin.getOrganization(call, { organization_id }), created);
  const changes = [
    [{}, {}],
    [
      { subscription_tier: 'teams', zdr: true },
      { subscription_tier: 'teams', zdr: true },
    ],
    [
      { override_bpm_fast: 7, override_bpm_slow: 8 },
      { override_bpm_fast: 7, override_bpm_slow: 8 },
    ],
    [{ override_max_bytes_per_request: 9 }, { override_max_bytes_per_request: 9 }],
    [{ override_max_metadata_bytes: 100_000 }, { override_max_metadata_bytes: 100_000 }],
    [
      { override_bpm_fast: 0, override_bpm_slow: null, zdr: null, subscription_tier: null },
      { override_bpm_fast: null },
    ],
    [{ zdr: false }, { zdr: false }],
  ] as const;
  let expected: object = created;
  for (const [change, effect] of changes) {
    t.match(await admin.updateOrganization(call, { organization_id, ...change }), { message: 'Success!' });
    expected = { ...expected, ...effect };
    t.match(await admin.getOrganization(call, { organization_id }), expected, JSON.stringify(change));
  }
});

t.test('creating an existing organization is a 409 and changes nothing, also in other case', async (t) => {
  const { admin } = await build();
  await admin.createOrganization(call, { organization_id });
  await admin.updateOrganization(call, { organization_id, zdr: true });
  for (const id of [organization_id, organization_id.toUpperCase()]) {
    t.equal(await statusOf(admin.createOrganization(call, { organization_id: id })), 409);
    t.match(await admin.getOrganization(call, { organization_id: id }), { organization_id, zdr: true });
  }
});

t.test('a key is shown once, works, is listed masked, and is invalid when deleted', async (t) => {
  const { admin, authenticator } = await build();
  await admin.createOrganization(call, { organization_id });
  const request = { organization_id, name: 'Website', permission: 'read_only' } as const;
  const { api_key } = await admin.addApiKey(call, { ...request, created_by: 'Ann' });
  t.match(authenticator.authenticate(bearer(api_key), 'read'), {
    organizationId: organization_id,
    permission: 'read_only',
  });
  const { api_keys } = await admin.listApiKeys(call, { organization_id });
  t.equal(api_keys.length, 1);
  const [listed] = api_keys;
  t.match(listed, {
    name: 'Website',
    permission: 'read_only',
    created_by: 'Ann',
    created_at: '2026-11-21T08:00:00.000Z',
    api_key: `${api_key.slice(0, 7)}…${api_key.slice(-4)}`,
  });
  const api_key_id = listed?.id ?? '';
  await admin.updateApiKey(call, { organization_id, api_key_id, permission: 'all' });
  await admin.updateApiKey(call, { organization_id, api_key_id, name: 'Shop', permission: null });
  t.match(await admin.listApiKeys(call, { organization_id }), {
    api_keys: [{ id: api_key_id, name: 'Shop', permission: 'all' }],
  });
  t.match(authenticator.authenticate(bearer(api_key), 'read'), { permission: 'all' });
  await admin.deleteApiKey(call, { organization_id, api_key_id });
  t.throws(() => authenticator.authenticate(bearer(api_key), 'read'), { code: 'unauthorized' });
  t.same(await admin.listApiKeys(call, { organization_id }), { api_keys: [] });
});

t.test('an unknown organization is a 404 in every operation', async (t) => {
  const { admin } = await build();
  const keyRef = { organization_id, api_key_id: systemRandom.uuid() };
  const operations = {
    get: admin.getOrganization(call, keyRef),
    update: admin.updateOrganization(call, { ...keyRef, zdr: true }),
    add: admin.addApiKey(call, { ...keyRef, name: 'x', permission: 'all' }),
    list: admin.listApiKeys(call, keyRef),
    updateKey: admin.updateApiKey(call, { ...keyRef, name: 'x' }),
    deleteKey: admin.deleteApiKey(call, keyRef),
  };
  for (const [name, operation] of Object.entries(operations)) t.equal(await statusOf(operation), 404, name);
});

t.test('a key ID of another organization is a 404 and the key stays valid', async (t) => {
  const { admin, first } = await build();
  await admin.createOrganization(call, { organization_id });
  const { api_keys } = await admin.listApiKeys(call, { organization_id: first.organizationId });
  const api_key_id = api_keys[0]?.id ?? '';
  t.equal(await statusOf(admin.deleteApiKey(call, { organization_id, api_key_id })), 404);
  t.equal(await statusOf(admin.updateApiKey(call, { organization_id, api_key_id, name: 'mine' })), 404);
  t.same(await admin.listApiKeys(call, { organization_id: first.organizationId }), { api_keys });
});

t.test('an invalid name is a 400', async (t) => {
  const { admin } = await build();
  await admin.createOrganization(call, { organization_id });
  const add = admin.addApiKey(call, { organization_id, name: '', permission: 'all' });
  t.equal(await statusOf(add), 400);
});
