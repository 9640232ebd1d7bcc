import t from '../support/tap.ts';
import { createMailFolder, sendRequest, TestUser } from './people.ts';
import { TestServer } from './server.ts';

/** Attacks on other accounts by a client that has an account or knows an e-mail address. */

t.setTimeout(600_000);

const { url: mailUrl, mails } = createMailFolder(t);
const server = await TestServer.start(t, { MAIL_URL: mailUrl });

t.test('over http no reply has Strict-Transport-Security', async (t) => {
  const answer = await sendRequest(`${server.url}/healthz`, { method: 'GET' });
  t.equal(answer.headers.get('strict-transport-security'), null);
});

async function signInAs(name: string): Promise<TestUser> {
  const user = new TestUser(`${name}@example.com`, server, mails);
  t.match(await user.signIn(), { status: 200 });
  return user;
}

t.test('a stored reply is returned only with the role that the request requires', async (t) => {
  const [ann, bob] = [await signInAs('ann'), await signInAs('bob')];
  const { organization_id } = (await ann.call('organizations/add-organization', { name: 'Acme' })).body;
  const invitation = { organization_id, email: bob.email, permission: 'ADMIN' };
  t.match(await ann.call('organizations/users/invite-user', invitation), { status: 200 });
  const { user, invitations } = (await bob.call('users/get-user')).body;
  const { invite_code } = invitations[0];
  t.match(await bob.call('organizations/users/accept-invite', { invite_code }), { status: 200 });

  const once = { 'idempotency-key': 'one key' };
  const keyRequest = { organization_id, name: 'Website', permission: 'read_only' };
  const add = () => bob.call('organizations/api-keys/add-api-key', keyRequest, once);
  const issued = await add();
  t.match(issued, { status: 201, body: { api_key: /^ze_/ } });
  const changed = { organization_id, api_key_id: issued.body.id, name: 'Site' };
  const change = () => bob.call('organizations/api-keys/update-api-key', changed, once);
  t.match(await change(), { status: 200 });
  t.match(await change(), { status: 200 }, 'an admin gets the stored reply');
  const repeated = await add();
  t.match(repeated, { status: 409, body: { detail: /was created .* shown once/ } });
  t.match(repeated, { body: { detail: new RegExp(issued.body.id) } }, 'the key is named');
  t.notMatch(repeated.text, /ze_/);

  const memberRef = { organization_id, user_id: user.id };
  const demotion = { ...memberRef, permission: 'MEMBER' };
  t.match(await ann.call('organizations/users/update-user', demotion), { status: 200 });
  for (const again of [add, change]) {
    const answer = await again();
    t.match(answer, { status: 403 }, 'demoted');
    t.notMatch(answer.text, /ze_|Success/);
  }
  t.match(await ann.call('organizations/users/remove-user', memberRef), { status: 200 });
  for (const again of [add, change]) t.match(await again(), { status: 404 }, 'removed');
  const { api_keys } = (await ann.call('organizations/get-info', { organization_id })).body;
  t.equal(api_keys.length, 1, 'no change was repeated');
});
