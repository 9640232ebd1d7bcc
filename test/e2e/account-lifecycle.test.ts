import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinAccountServer } from './account-server.ts';
import { sendRequest, type TestUser } from './people.ts';
import { adminKey } from './server.ts';

/** One organization from its creation to its deletion; each test continues from the state that the previous one left. */

t.setTimeout(testFileMsMax);

const { server, createUser } = await joinAccountServer();
const [ann, bob, eve] = ['ann', 'bob', 'eve'].map((name) => createUser(`${name}@lifecycle.example`)) as [
  TestUser,
  TestUser,
  TestUser,
];

let organization_id = '';
let bobId = '';
/** API key that Bob creates: its id, its secret, and the headers of a request with it. */
const bobKey = { id: '', secret: '', headers: { authorization: '' } };
const keyRequest = () => ({ organization_id, name: 'Website', permission: 'read_only' });

const addCollection = (headers: Record<string, string>, collection_name = 'c') =>
  sendRequest(`${server.url}/v1/collections/add-collection`, { headers, body: { collection_name } });
const listCollections = (headers: Record<string, string>) =>
  sendRequest(`${server.url}/v1/collections/get-collection-list`, { headers, body: {} });
const callWithKey = (path: string, body: object) =>
  sendRequest(`${server.url}/v1/${path}`, { headers: bobKey.headers, body });
/** Headers of a request by a user for the organization. */
const headersFor = ({ token }: TestUser) => ({
  authorization: `Bearer ${token}`,
  'x-quarry-organization': organization_id,
});
const inviteAsBob = (permission: string, email = 'carl@lifecycle.example') =>
  bob.call('organizations/users/invite-user', { organization_id, email, permission });

t.test('users sign in with a link from a mail', async (t) => {
  for (const user of [ann, bob, eve]) {
    const answer = await user.signIn();
    t.equal(answer.status, 200, `${user.email} signs in`);
    t.match(answer.body, { token_type: 'bearer', access_token: /^zes_/, user: { email: user.email } });
    t.equal(answer.headers.get('set-cookie'), null, 'an API client gets no cookie');
  }
  const alone = await ann.call('users/get-user');
  t.same(alone.body.organizations, []);
  t.equal(alone.body.billing_enabled, false, 'billing is off without a Stripe key');
});

t.test('a user creates an organization that others cannot read', async (t) => {
  const organization = await ann.call('organizations/add-organization', { name: 'Acme <b>' });
  t.match(organization, {
    status: 200,
    body: { name: 'Acme <b>', permission: 'OWNER', subscription_tier: 'free' },
  });
  organization_id = organization.body.organization_id;
  t.match(
    await bob.call('organizations/get-info', { organization_id }),
    { status: 404 },
    'non-members get 404',
  );
});

t.test('concurrent requests do not exceed the limits of organizations and invitations', async (t) => {
  const creations = Array.from({ length: 12 }, (_, i) =>
    eve.call('organizations/add-organization', { name: `Eve ${i}` }),
  );
  const created = (await Promise.all(creations)).map(({ status }) => status).sort();
  t.same(created, [...Array(10).fill(200), 429, 429], 'a user owns at most 10 organizations');
  const ownOrganization = (await eve.call('users/get-user')).body.organizations[0];
  const outsiders = Array.from({ length: 21 }, (_, i) =>
    eve.call('organizations/users/invite-user', {
      ...ownOrganization,
      permission: null,
      email: `s${i}@lifecycle.example`,
    }),
  );
  const invitations = (await Promise.all(outsiders)).map(({ status }) => status).sort();
  t.same(invitations, [...Array(20).fill(200), 429], 'an organization sends at most 20 invitations an hour');
});

t.test('an invitation is valid only for its address, and accepting it is idempotent', async (t) => {
  const invited = await ann.call('organizations/users/invite-user', {
    organization_id,
    email: 'Bob@LIFECYCLE.example',
  });
  t.match(invited, {
    status: 200,
    body: { status: 'invited', invitation: { email: 'bob@lifecycle.example', permission: 'MEMBER' } },
  });
  t.equal(invited.body.invite_code, undefined, 'the inviting user does not get the code');
  const link = await bob.findInvitationLink();
  const invite_code = new URL(link).hash.slice(1);
  t.match(
    await ann.call('organizations/users/invite-user', { organization_id, email: bob.email }),
    { status: 429, body: { detail: /one address/ } },
    'an address gets at most one invitation a minute',
  );
  t.ok(link.startsWith('https://quarry.example.com/app/'), 'the mail links to the dashboard');
  t.match((await bob.call('users/get-user')).body.invitations, [
    { organization_name: 'Acme <b>', invited_by: ann.email, invite_code },
  ]);
  t.same((await eve.call('users/get-user')).body.invitations, []);
  for (const other of [eve, ann])
    t.match(
      await other.call('organizations/users/accept-invite', { invite_code }),
      { status: 404 },
      `the code is not valid for ${other.email}`,
    );
  const accept = () => bob.call('organizations/users/accept-invite', { invite_code });
  const accepted = await Promise.all(Array.from({ length: 8 }, accept));
  for (const answer of [...accepted, await accept()])
    t.match(answer, { status: 200, body: { permission: 'MEMBER' } }, 'a repeated acceptance succeeds');
});

t.test('a role limits invitations, promotions and API keys', async (t) => {
  t.match(
    await bob.call('organizations/api-keys/add-api-key', keyRequest()),
    { status: 403 },
    'a MEMBER cannot create API keys',
  );
  for (const higher of ['ADMIN', 'OWNER'])
    t.match(
      await inviteAsBob(higher),
      {
        status: 403,
        body: { detail: `Your role (MEMBER) does not allow you to invite users as ${higher}.` },
      },
      `a MEMBER cannot invite an ${higher}`,
    );
  t.match(await inviteAsBob('MEMBER', ann.email), {
    status: 200,
    body: { invitation: null, status: 'already_member' },
  });
  bobId = (await bob.call('users/get-user')).body.user.id;
  const promotion = { organization_id, user_id: bobId, permission: 'ADMIN' };
  t.match(await bob.call('organizations/users/update-user', promotion), { status: 403 });
  t.match(await ann.call('organizations/users/update-user', promotion), { status: 200 });
  t.match(await inviteAsBob('OWNER'), { status: 403 }, 'an ADMIN cannot invite an OWNER');
});

t.test('a repeated creation of an API key with its Idempotency-Key creates none', async (t) => {
  const once = { 'idempotency-key': 'the website of Acme' };
  const issued = await bob.call('organizations/api-keys/add-api-key', keyRequest(), once);
  t.match(
    await bob.call('organizations/api-keys/add-api-key', keyRequest(), once),
    { status: 409, body: { detail: new RegExp(issued.body.id) } },
    'the repeated request gets the id of the key, whose secret is not stored',
  );
  t.match(
    await bob.call('organizations/api-keys/add-api-key', { ...keyRequest(), name: 'Other' }, once),
    { status: 409 },
    'another request requires another Idempotency-Key',
  );
  t.match(
    issued,
    { status: 201, body: { api_key: /^ze_/, permission: 'read_only' } },
    'the promotion to ADMIN applies at once',
  );
  const secret: string = issued.body.api_key;
  Object.assign(bobKey, { id: issued.body.id, secret, headers: { authorization: `Bearer ${secret}` } });
});

t.test('API keys and users act for an organization', async (t) => {
  t.match(await listCollections(bobKey.headers), {
    status: 200,
    body: { collection_names: [] },
  });
  t.match(await addCollection(bobKey.headers), { status: 403 }, 'a read-only key cannot write');
  t.match(
    await sendRequest(`${server.url}/api/users/get-user`, { headers: bobKey.headers, body: {} }),
    { status: 401 },
    'an API key is not a user',
  );
  const withoutOrganization = { authorization: `Bearer ${ann.token}` };
  t.match(await addCollection(withoutOrganization), {
    status: 403,
    body: { detail: /x-quarry-organization/ },
  });
  t.match(await addCollection(headersFor(ann)), { status: 201 }, 'a user acts for the named organization');
  t.same((await listCollections(bobKey.headers)).body, { collection_names: ['c'] });
  t.match(await listCollections(headersFor(eve)), { status: 404 }, 'a non-member gets 404');
});

t.test('a changed permission of an API key applies at once', async (t) => {
  const info = await bob.call('organizations/get-info', { organization_id });
  t.match(info.body.users, [
    { email: ann.email, permission: 'OWNER' },
    { email: bob.email, permission: 'ADMIN' },
  ]);
  t.match(info.body.api_keys, [
    {
      name: 'Website',
      created_by: bobId,
      api_key: /^ze_\w{4}…\w{4}$/,
      expires_at: null,
      last_used_at: /^20/,
    },
  ]);
  const api_key_id = info.body.api_keys[0].id;
  const update = (change: object) =>
    bob.call('organizations/api-keys/update-api-key', { organization_id, api_key_id, ...change });
  t.match(await update({}), { status: 400 });
  t.match(await update({ permission: 'all' }), { status: 200 });
  t.match(
    await callWithKey('collections/delete-collection', { collection_name: 'nothing' }),
    { status: 404 },
    'the key can write',
  );
});

t.test('a limit set by the administrator applies, and usage counts accepted requests only', async (t) => {
  t.match(
    await sendRequest(`${server.url}/v1/admin/update-organization`, {
      headers: { authorization: `Bearer ${adminKey}` },
      body: { organization_id, override_bpm_fast: 500 },
    }),
    { status: 200 },
    'the administrator sets a limit',
  );
  const inputs = { model: 'zembed-1', input_type: 'query', input: 'x'.repeat(300), latency: 'fast' };
  t.match(await callWithKey('models/embed', inputs), { status: 200 });
  const over = await callWithKey('models/embed', inputs);
  t.match(over, { status: 429, body: { detail: /fast/ } }, 'the error names the limit');
  t.match(over.headers.get('retry-after'), /^\d+$/);
  const content = { type: 'text', text: 'Granite.' };
  const document = { collection_name: 'c', path: 'a.txt', content, wait: true };
  t.match(await callWithKey('documents/add-document', document), {
    status: 201,
    body: { index_status: 'indexed' },
  });
  const query = { collection_name: 'c', query: 'granite', k: 1 };
  t.match(await callWithKey('queries/top-documents', query), {
    status: 200,
    body: { results: [{ path: 'a.txt' }] },
  });
  const always = { start_time: 0, end_time: 4_000_000_000, aggregation_window: 'daily' };
  t.match((await callWithKey('usage/queries', { ...always, collection_names: ['c'] })).body, [
    { organization_id, query_type: 'documents', event_count: 1, total_results_returned: 1 },
  ]);
  const embeds: { explicit_call: boolean }[] = (await callWithKey('usage/models/embed', always)).body;
  t.match(
    embeds.filter((row) => row.explicit_call),
    [{ organization_id, event_count: 1, total_request_bytes: 450 }],
    'rejected requests are not counted',
  );
  const { body: counters } = await callWithKey('usage/counters', {});
  t.match(counters.billing_cycle, { docs: { count: 1 }, indexed: { count: 1 }, queries: { count: 1 } });
  t.match(await sendRequest(`${server.url}/v1/usage/counters`, { headers: headersFor(eve), body: {} }), {
    status: 404,
  });
});

t.test('the last owner cannot leave; other members can', async (t) => {
  const annId = (await ann.call('users/get-user')).body.user.id;
  const remove = (user: TestUser, user_id: string) =>
    user.call('organizations/users/remove-user', { organization_id, user_id });
  t.match(await remove(ann, annId), { status: 400 }, 'the last owner cannot leave');
  const demotion = { organization_id, user_id: annId, permission: 'MEMBER' };
  t.match(await ann.call('organizations/users/update-user', demotion), { status: 403 });
  t.match(await remove(bob, annId), { status: 403 });
  t.match(await remove(bob, bobId), { status: 200 }, 'an ADMIN can leave');
  t.match(await bob.call('organizations/get-info', { organization_id }), { status: 404 });
});

t.test('an API key stays valid when its creator leaves, and ends when it is deleted', async (t) => {
  t.match(await listCollections(bobKey.headers), { status: 200 }, 'the key of a former member is valid');
  const deletion = { organization_id, api_key_id: bobKey.id };
  t.match(await ann.call('organizations/api-keys/delete-api-key', deletion), { status: 200 });
  t.match(await listCollections(bobKey.headers), { status: 401 }, 'a deleted key is invalid at once');
});

t.test('the audit log records actions and denied access, without secrets', async (t) => {
  const second = { organization_id, name: 'Second', permission: 'all' };
  t.match(await ann.call('organizations/api-keys/add-api-key', second), { status: 201 });
  const log = await ann.call('organizations/get-audit-log', { organization_id });
  const actions: string[] = log.body.entries.map((entry: { action: string }) => entry.action).reverse();
  t.ok(actions.includes('access.denied'), 'denied access is recorded');
  const done = actions.filter((action) => action !== 'access.denied');
  t.same(done, [
    'organization.created',
    'member.invited',
    'member.joined',
    'member.permission_changed',
    'api_key.created',
    'api_key.updated',
    'organization.updated',
    'member.left',
    'api_key.deleted',
    'api_key.created',
  ]);
  t.notOk(log.text.includes(bobKey.secret), 'the audit log contains no API key');
});

t.test('deleting an organization requires its name and ends its keys at once', async (t) => {
  const last = { organization_id, name: 'Last', permission: 'all' };
  const lastKey: string = (await ann.call('organizations/api-keys/add-api-key', last)).body.api_key;
  const deleteAs = (confirm_name: string) =>
    ann.call('organizations/delete-organization', { organization_id, confirm_name });
  t.match(await deleteAs('Acme'), { status: 400 });
  t.match(await deleteAs('Acme <b>'), { status: 200 });
  t.match(
    await listCollections({ authorization: `Bearer ${lastKey}` }),
    { status: 401 },
    'keys of a deleted organization are invalid at once',
  );
  t.match(await ann.call('organizations/get-info', { organization_id }), { status: 404 });
  t.same((await ann.call('users/get-user')).body.organizations, []);
  const removed = new RegExp(`${organization_id}.*organization removed`);
  await waitUntil('the removal of the organization', () => removed.test(server.fullLog));

  t.match(await ann.call('auth/logout'), { status: 200 });
  t.match(await ann.call('users/get-user'), { status: 401 }, 'a session ends at once');
  for (const secret of [ann.token, bob.token, bobKey.secret, lastKey])
    t.notOk(server.fullLog.includes(secret), 'the log contains no token and no API key');
});
