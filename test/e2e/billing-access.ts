import t from '../support/tap.ts';
import type { OrganizationOwner } from './billing-fixture.ts';
import { fixture } from './billing-server.ts';
import { checkTier, subscribedOwner } from './billing-steps.ts';
import { TestUser } from './people.ts';

/** Permissions for payments, and invalid input. */

const { emulator } = fixture;

t.test('bad input changes nothing', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  await fixture.waitUntilSynced();
  const changes = () =>
    emulator.requests
      .map(({ operation }) => operation)
      .filter((operation) => /create|update|cancel|pay/.test(operation));
  const before = changes();
  for (const tier of ['gold', '', 'Teams', 7, null])
    t.equal((await owner.request('subscribe', { tier })).status, 422, `tier ${tier}`);
  for (const tier of ['enterprise', 'free'])
    t.equal((await owner.request('subscribe', { tier })).status >= 400, true, tier);
  t.equal((await owner.request('downgrade', { tier: 'enterprise' })).status >= 400, true);
  const evil = [
    ...[
      '//evil.example',
      '/\\evil.example',
      'https:evil.example',
      'https://evil.example/app',
      'javascript:alert(1)',
    ],
    ...[
      'http://127.0.0.1@evil.example/',
      '/\tevil',
      '/\r\nlocation: x',
      `${fixture.server.url}.evil.example/`,
      'data:text/html,x',
    ],
  ];
  for (const return_url of evil)
    for (const operation of ['add-payment-method', 'manage-billing-details', 'subscribe'])
      t.match(
        (await owner.request(operation, { tier: 'teams', return_url })).status,
        400,
        `${operation} back to ${JSON.stringify(return_url)}`,
      );
  t.strictSame(changes(), before, 'Stripe got no change');
  await checkTier(t, owner, 'starter');
});

/** Adds a member to the organization of an owner. */
async function addMember(owner: OrganizationOwner, permission: 'ADMIN' | 'MEMBER'): Promise<TestUser> {
  const { organizationId: organization_id } = owner;
  const { user } = await fixture.createOwner();
  const { email } = user;
  await owner.user.call('organizations/users/invite-user', { organization_id, email, permission });
  const invite_code = await user.findInviteCode();
  const answer = await user.call('organizations/users/accept-invite', { invite_code });
  if (answer.body.permission !== permission) throw new Error(`joining answered ${answer.text}`);
  return user;
}

async function callWithKey(owner: OrganizationOwner, permission: 'all' | 'read_only'): Promise<TestUser> {
  const request = { organization_id: owner.organizationId, name: permission, permission };
  const program = new TestUser('a program', fixture.server, () => []);
  program.token = (await owner.user.call('organizations/api-keys/add-api-key', request)).body.api_key;
  return program;
}

t.test('only owners can pay, admins can read, and billing is hidden from others', async (t) => {
  const owner = await subscribedOwner(fixture, 'starter');
  const card = (await owner.status()).payment_method.id;
  /** Body of each operation and the status that the owner gets, in this order. */
  const operations: readonly [string, object, number][] = [
    ['status', {}, 200],
    ['preview', { tier: 'teams' }, 200],
    ['subscribe', { tier: 'teams' }, 200],
    ['add-payment-method', {}, 200],
    ['manage-billing-details', {}, 200],
    ['downgrade', { tier: 'free' }, 200],
    ['cancel-downgrade', {}, 200],
    ['cancel-upgrade', {}, 400],
    ['remove-payment-method', { payment_method_id: card }, 400],
    ['redeem-code', { code: 'NEVER' }, 400],
    ['pause', {}, 200],
  ];
  const outsider = new TestUser('unknown@example.com', fixture.server, () => []);
  const callers: readonly [string, TestUser, { readonly readStatus: number; readonly payStatus: number }][] =
    [
      ['MEMBER', await addMember(owner, 'MEMBER'), { readStatus: 403, payStatus: 403 }],
      ['ADMIN', await addMember(owner, 'ADMIN'), { readStatus: 200, payStatus: 403 }],
      [
        'the owner of another organization',
        (await subscribedOwner(fixture, 'starter')).user,
        { readStatus: 404, payStatus: 404 },
      ],
      ['an API key', await callWithKey(owner, 'all'), { readStatus: 401, payStatus: 401 }],
      ['a read-only key', await callWithKey(owner, 'read_only'), { readStatus: 401, payStatus: 401 }],
      ['no credential', outsider, { readStatus: 401, payStatus: 401 }],
    ];
  await fixture.waitUntilSynced();
  const changes = () =>
    emulator.requests.filter(({ operation }) => !/\.(list|retrieve|search)/.test(operation)).length;
  const before = changes();
  const { organizationId: organization_id } = owner;
  for (const [role, user, { readStatus, payStatus }] of callers)
    for (const [operation, body] of operations) {
      const { status } = await user.call(`billing/${operation}`, { organization_id, ...body });
      t.equal(status, operation === 'status' ? readStatus : payStatus, `${operation} for ${role}`);
    }
  t.equal(changes(), before, 'Stripe got no change');
  await checkTier(t, owner, 'starter', { pending_downgrade: null });
  for (const [operation, body, expected] of operations)
    t.equal((await owner.request(operation, body)).status, expected, `${operation} for the OWNER`);
});
