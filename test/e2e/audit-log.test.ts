import { createHash } from 'node:crypto';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { joinAccountServer } from './account-server.ts';
import { waitFor } from './checked-api-client.ts';
import type { TestUser } from './people.ts';

/**
 * Actions and attempts as recorded in the audit logs of an organization and of the installation, and attacks on other
 * accounts by a client that has an account or knows an e-mail address.
 */

interface AuditLogEntry {
  readonly actor: string | null;
  readonly action: string;
  readonly target: string | null;
  readonly details: Readonly<Record<string, unknown>>;
}

t.setTimeout(testFileMsMax);
const accounts = await joinAccountServer();
/** The failed sign-in of a test delays the next ones from this host. */
const host = accounts.fromNewHost();
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  accounts.post(`/${path}`, body, { ...host, ...headers });
const createUser = (name: string) => accounts.createUser(`${name}@audit.example`);

async function listEntries(whose: { readonly organization_id?: string } = {}): Promise<AuditLogEntry[]> {
  return (await accounts.administer('get-audit-log', { ...whose, limit: 1_000 })).body.entries;
}

type ExpectedEntry = Partial<Omit<AuditLogEntry, 'details'>> & { readonly details?: Record<string, unknown> };

/** Entries of rejected attempts are written in the background, so the search retries. */
function findEntry(
  whose: { readonly organization_id?: string },
  expectedEntry: ExpectedEntry,
): Promise<AuditLogEntry> {
  const { details = {}, ...fields } = expectedEntry;
  const has = (found: object, expected: object) =>
    Object.entries(expected).every(([name, value]) => found[name as never] === value);
  const probe = async () =>
    (await listEntries(whose)).find((found) => has(found, fields) && has(found.details, details)) ?? null;
  return waitFor(JSON.stringify(expectedEntry), probe, 60_000);
}

const [ann, bob] = [createUser('ann'), createUser('bob')];
for (const user of [ann, bob]) await user.signIn();
const userIdOf = async (user: TestUser) => (await user.call('users/get-user')).body.user.id as string;
const { organization_id } = (await ann.call('organizations/add-organization', { name: 'Acme' })).body;
const acme = { organization_id };
const issued = (
  await ann.call('organizations/api-keys/add-api-key', { organization_id, name: 'k', permission: 'all' })
).body;
const asKey = { authorization: `Bearer ${issued.api_key}` };

t.test('the audit log names non-members that tried to act for the organization', async (t) => {
  const actor = await userIdOf(bob);
  t.match(await bob.call('organizations/update-organization', { organization_id, name: 'Evil' }), {
    status: 404,
  });
  await findEntry(acme, { action: 'access.denied', actor, target: 'api/organizations/update-organization' });
  const asBob = { authorization: `Bearer ${bob.token}`, 'x-quarry-organization': organization_id };
  t.match(await post('v1/collections/get-collection-list', {}, asBob), { status: 404 });
  await findEntry(acme, { action: 'access.denied', actor, target: 'collections/get-collection-list' });
  const nowhere = '3f2b8a52-8f0e-4c1f-9d39-5b8f6c3c9a10';
  t.match(await bob.call('organizations/get-info', { organization_id: nowhere }), { status: 404 });
  await findEntry({}, { action: 'access.denied', actor, target: 'api/organizations/get-info' });
});

t.test('an API key that is used under /api is named', async () => {
  await post('api/organizations/get-info', { organization_id }, asKey);
  const actor = `key:${issued.id}`;
  await findEntry(acme, { action: 'access.denied', actor, target: 'api/organizations/get-info' });
  await post('api/users/revoke-session', {}, asKey);
  await findEntry(acme, { action: 'access.denied', actor, target: 'api/users/revoke-session' });
});

t.test('deletions of collections and documents name their actor', async (t) => {
  const asAnn = { authorization: `Bearer ${ann.token}`, 'x-quarry-organization': organization_id };
  const collection_name = 'handbook';
  await post('v1/collections/add-collection', { collection_name }, asKey);
  for (const path of ['a', 'b', 'c']) {
    const document = { collection_name, path, content: { type: 'text', text: 'granite' }, wait: true };
    t.match(await post('v1/documents/add-document', document, asKey), { status: 201 });
  }
  const remove = (path: unknown, headers: Record<string, string>) =>
    post('v1/documents/delete-document', { collection_name, path }, headers);
  t.match(await remove('a', asKey), { status: 200 });
  t.match(await remove(['b', 'c', 'd'], asAnn), { status: 200 });
  t.match(await remove(['b', 'c', 'd'], asAnn), { status: 404 });
  t.match(await post('v1/collections/delete-collection', { collection_name }, asKey), { status: 200 });
  const key = `key:${issued.id}`;
  const of = (expectedEntry: ExpectedEntry) => findEntry(acme, { target: collection_name, ...expectedEntry });
  await of({ action: 'document.deleted', actor: key, details: { paths: 1, path: 'a' } });
  await of({ action: 'document.deleted', actor: await userIdOf(ann), details: { paths: 3 } });
  await of({ action: 'collection.deleted', actor: key });
  const deletions = (await listEntries(acme)).filter(({ action }) => action.endsWith('t.deleted'));
  t.equal(deletions.length, 2, 'one for each call that deleted something');
});

async function signInAs(name: string): Promise<TestUser> {
  const user = createUser(name);
  t.match(await user.signIn(), { status: 200 });
  return user;
}

t.test('a stored reply is returned only with the role that the request requires', async (t) => {
  const [dora, emil] = [await signInAs('dora'), await signInAs('emil')];
  const { organization_id } = (await dora.call('organizations/add-organization', { name: 'Stones' })).body;
  const invitation = { organization_id, email: emil.email, permission: 'ADMIN' };
  t.match(await dora.call('organizations/users/invite-user', invitation), { status: 200 });
  const { user, invitations } = (await emil.call('users/get-user')).body;
  const { invite_code } = invitations[0];
  t.match(await emil.call('organizations/users/accept-invite', { invite_code }), { status: 200 });

  const once = { 'idempotency-key': 'one key' };
  const keyRequest = { organization_id, name: 'Website', permission: 'read_only' };
  const add = () => emil.call('organizations/api-keys/add-api-key', keyRequest, once);
  const issued = await add();
  t.match(issued, { status: 201, body: { api_key: /^ze_/ } });
  const changed = { organization_id, api_key_id: issued.body.id, name: 'Site' };
  const change = () => emil.call('organizations/api-keys/update-api-key', changed, once);
  t.match(await change(), { status: 200 });
  t.match(await change(), { status: 200 }, 'an admin gets the stored reply');
  const repeated = await add();
  t.match(repeated, { status: 409, body: { detail: /was created .* shown once/ } });
  t.match(repeated, { body: { detail: new RegExp(issued.body.id) } }, 'the key is named');
  t.notMatch(repeated.text, /ze_/);

  const memberRef = { organization_id, user_id: user.id };
  const demotion = { ...memberRef, permission: 'MEMBER' };
  t.match(await dora.call('organizations/users/update-user', demotion), { status: 200 });
  for (const again of [add, change]) {
    const answer = await again();
    t.match(answer, { status: 403 }, 'demoted');
    t.notMatch(answer.text, /ze_|Success/);
  }
  t.match(await dora.call('organizations/users/remove-user', memberRef), { status: 200 });
  for (const again of [add, change]) t.match(await again(), { status: 404 }, 'removed');
  const { api_keys } = (await dora.call('organizations/get-info', { organization_id })).body;
  t.equal(api_keys.length, 1, 'no change was repeated');
});

t.test('sign-ins, including failed ones, are in the audit log of the installation', async (t) => {
  await findEntry({}, { action: 'user.login', actor: await userIdOf(ann), target: ann.email });
  await findEntry({}, { action: 'magic_link.sent', target: ann.email });
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  const carl = createUser('carl');
  await post('api/auth/magic-link/send', { email: carl.email });
  const token = new URL(await carl.link()).searchParams.get('token');
  const isFailure = ({ action, target }: AuditLogEntry) =>
    action === 'sign_in.failed' && target === 'sign-in link';
  const countFailures = async () => (await listEntries()).filter(isFailure).length;
  const before = await countFailures();
  const wrong = await post('api/auth/magic-link/verify', `token=${token}&confirmation=x`, form);
  t.match(wrong, { status: 400 });
  await waitUntil('an entry of the failure', async () => (await countFailures()) === before + 1);
});

t.test('no entry contains a key, its hash or its masked form', async (t) => {
  const text = JSON.stringify([await listEntries(acme), await listEntries()]);
  const { body } = await ann.call('organizations/get-info', { organization_id });
  const masked: string = body.api_keys[0].api_key;
  t.match(masked, /…/);
  const hash = createHash('sha256').update(issued.api_key).digest();
  for (const secret of [issued.api_key, masked, hash.toString('hex'), hash.toString('base64url')])
    t.notOk(text.includes(secret));
});
