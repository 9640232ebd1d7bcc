import t from '../support/tap.ts';
import { testEventMsMax, testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinAccountServer, publicBase } from './account-server.ts';
import { waitFor } from './checked-api-client.ts';
import { administrator, type HttpReply, sendRequest } from './people.ts';

/** Access that ends takes effect at once, also during requests and on a full disk. */

t.setTimeout(testFileMsMax);
const { server, at, administer, createUser, post, createOrganization } = await joinAccountServer();

/**
 * Calls from eight clients until each gets `rejectedStatus`; calls that start after `end` was acknowledged must be rejected.
 */
async function whileCalling(
  call: () => Promise<HttpReply>,
  rejectedStatus: number,
  end: () => Promise<HttpReply>,
) {
  let endedAt = Number.POSITIVE_INFINITY;
  const counts = { before: 0, late: 0, ended: 0 };
  const caller = async () => {
    for (const deadline = performance.now() + testEventMsMax; performance.now() < deadline; ) {
      const began = performance.now();
      const { status } = await call();
      if (status === 200) counts[began > endedAt ? 'late' : 'before'] += 1;
      if (status !== rejectedStatus || began <= endedAt) continue;
      counts.ended += 1;
      return;
    }
  };
  const callers = Array.from({ length: 8 }, caller);
  await waitUntil('a reply to the call', () => counts.before > 0);
  const { status } = await end();
  endedAt = performance.now();
  await Promise.all(callers);
  return { ...counts, end: status };
}

/** A key that was deleted, and a user who was disabled, before the restarts of the last two tests. */
async function endAccess() {
  const { owner, organization_id } = await createOrganization('stays@example.com');
  const keyRequest = { organization_id, name: 'deleted', permission: 'all' };
  const { id, api_key } = (await owner.call('organizations/api-keys/add-api-key', keyRequest)).body;
  const deletion = { organization_id, api_key_id: id };
  t.match(await owner.call('organizations/api-keys/delete-api-key', deletion), { status: 200 });
  const disabled = createUser('disabled@example.com');
  t.match(await disabled.signIn(), { status: 200 });
  const user_id = (await disabled.call('users/get-user')).body.user.id;
  const used = await disabled.link();
  t.match(await administer('disable-user', { user_id }), { status: 200 });
  return { owner, api_key, disabled, used };
}

const ended = await endAccess();

const refusedSince = { late: 0, ended: 8, end: 200 };

t.test('an ended session is rejected on every connection, also during requests', async (t) => {
  const { owner: ann, organization_id } = await createOrganization('ended@example.com');
  const asAnn = { authorization: `Bearer ${ann.token}`, 'x-quarry-organization': organization_id };
  const list = () => post('/v1/collections/get-collection-list', {}, asAnn);
  const counts = await whileCalling(list, 401, () => ann.call('auth/logout'));
  t.match(counts, refusedSince);
  t.ok(counts.before > 0, 'the session was valid before');
});

t.test('a lower role, a removal and a deleted key take effect immediately', async (t) => {
  const { owner: ann, organization_id } = await createOrganization('demotes@example.com');
  const keyRequest = { organization_id, name: 'k', permission: 'all' };
  const issued = (await ann.call('organizations/api-keys/add-api-key', keyRequest)).body;
  const bob = createUser('demoted@example.com');
  await bob.signIn();
  const invitation = { organization_id, email: bob.email, permission: 'OWNER' };
  t.match(await ann.call('organizations/users/invite-user', invitation), { status: 200 });
  const invite_code = await bob.findInviteCode();
  t.match(await bob.call('organizations/users/accept-invite', { invite_code }), { status: 200 });
  const user_id = (await bob.call('users/get-user')).body.user.id;
  const asKey = { authorization: `Bearer ${issued.api_key}` };
  const ends: Readonly<Record<string, Parameters<typeof whileCalling>>> = {
    'a lower role': [
      () => bob.call('organizations/get-audit-log', { organization_id, limit: 1 }),
      403,
      () => ann.call('organizations/users/update-user', { organization_id, user_id, permission: 'ADMIN' }),
    ],
    'a removal': [
      () => bob.call('organizations/get-info', { organization_id }),
      404,
      () => ann.call('organizations/users/remove-user', { organization_id, user_id }),
    ],
    'a deleted key': [
      () => post('/v1/collections/get-collection-list', {}, asKey),
      401,
      () => ann.call('organizations/api-keys/delete-api-key', { organization_id, api_key_id: issued.id }),
    ],
  };
  for (const [what, how] of Object.entries(ends)) {
    const counts = await whileCalling(...how);
    t.match(counts, refusedSince, what);
    t.ok(counts.before > 0, `${what}: until then it was not`);
  }
});

t.test('invalid expiry times of keys are rejected', async (t) => {
  const { owner: ann, organization_id } = await createOrganization('endless@example.com');
  const keyRequest = { organization_id, name: 'k', permission: 'all', expires_at: '2030-12-31T23:59:60Z' };
  const endless = await ann.call('organizations/api-keys/add-api-key', keyRequest);
  t.match(endless, { status: 400, body: { detail: /expires_at/ } });
});

t.test('on a full disk users can still sign in and revoke access, and nothing else', async (t) => {
  const ann = createUser('full@example.com');
  await ann.signIn();
  const { organization_id } = (await ann.call('organizations/add-organization', { name: 'Full' })).body;
  const keyRequest = { organization_id, name: 'leaked', permission: 'all' };
  const leaked = (await ann.call('organizations/api-keys/add-api-key', keyRequest)).body;
  const asKey = { authorization: `Bearer ${leaked.api_key}` };
  await server.restart({ DISK_RESERVE_BYTES: '99999999999999' });
  t.match(await post('/v1/collections/get-collection-list', {}, asKey), { status: 200 }, 'reads continue');
  t.match(await post('/v1/collections/add-collection', { collection_name: 'c' }, asKey), { status: 429 });
  t.match(await ann.call('organizations/api-keys/add-api-key', keyRequest), { status: 429 });
  t.match(await ann.call('users/edit-user', { name: 'Ann' }), { status: 429 });
  const frank = createUser('ann@example.org');
  t.match(
    await sendRequest(at('/api/auth/github/login'), { method: 'GET' }),
    { status: 302 },
    'started sign-ins store nothing',
  );
  const late = createUser('full@example.com');
  const used = await late.link();
  const linkReply = await post('/api/auth/magic-link/send', { email: late.email });
  t.match(linkReply, { status: 200 });
  const cookie = linkReply.headers.get('set-cookie')?.split(';')[0] ?? '';
  const mailed = await waitFor('a second message', async () => {
    const newest = await late.link();
    return newest === used ? null : newest;
  });
  const followed = await sendRequest(mailed, { method: 'GET', headers: { cookie } });
  t.match(followed, { status: 302 }, 'a mailed link works in the requesting browser');
  t.match(await frank.signIn(), { status: 429 }, 'the reserve is only for existing users');
  const operator =
    /https:\S+verify\?token=\S+/.exec(server.printedText)?.[0].replace(publicBase, server.url) ?? '';
  const asProgram = { method: 'GET', headers: { accept: 'application/json' } };
  t.match(await sendRequest(operator, asProgram), { status: 200 }, 'the operator can sign in');
  t.match(await post('/api/admin/login', { password: 'wrong' }), { status: 401 });
  t.match(
    await post('/api/admin/login', { password: administrator.password }),
    { status: 200 },
    'the administrator can sign in',
  );
  const gone = { organization_id, api_key_id: leaked.id };
  const once = { 'idempotency-key': 'end it' };
  t.match(await ann.call('organizations/api-keys/delete-api-key', gone, once), { status: 200 });
  t.match(await ann.call('organizations/api-keys/delete-api-key', gone, once), { status: 200 });
  t.match(await post('/v1/collections/get-collection-list', {}, asKey), { status: 401 });
  t.match(await ann.call('organizations/delete-organization', { organization_id }), { status: 200 });
  t.match(await ann.call('auth/logout'), { status: 200 });
  t.match(await ann.call('users/get-user'), { status: 401 });
});

t.test('after a restart, keys stay deleted, users disabled, and sessions valid', async (t) => {
  const { owner, api_key, disabled, used } = ended;
  await server.restart({ DISK_RESERVE_BYTES: '0' });
  const asKey = { authorization: `Bearer ${api_key}` };
  t.match(await post('/v1/collections/get-collection-list', {}, asKey), { status: 401 });
  t.match(await owner.call('users/get-user'), { status: 200 });
  const { headers, email } = disabled;
  t.match(await sendRequest(at('/api/auth/magic-link/send'), { headers, body: { email } }), { status: 200 });
  const link = await waitFor('a second message', async () => {
    const newest = await disabled.link();
    return newest === used ? null : newest;
  });
  const asProgram = { method: 'GET', headers: { ...headers, accept: 'application/json' } };
  t.match(await sendRequest(link, asProgram), { status: 403, body: { detail: /disabled/ } });
});
