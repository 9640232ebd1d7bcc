import t from '../support/tap.ts';
import { createOperatorOrganization } from './operator.ts';
import { sendRequest, TestUser } from './people.ts';
import type { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

t.setTimeout(600_000);

/** Maximum number of changes per user and minute. */
const changesMax = 240;

/** User of an invitation, which the reply contains because the server sends no mail. */
async function inviteUser(server: TestServer, email: string): Promise<TestUser> {
  const { token, organization_id } = await createOperatorOrganization(server);
  const headers = { authorization: `Bearer ${token}` };
  const invited = await sendRequest(`${server.url}/api/organizations/users/invite-user`, {
    headers,
    body: { organization_id, email },
  });
  const { invite_code } = invited.body;
  const body = { invite_code, password: 'seven quiet lamps under rain' };
  const joined = await sendRequest(`${server.url}/api/auth/password/join`, { body });
  const user = new TestUser(email, server, () => []);
  user.token = joined.body.access_token;
  return user;
}

t.test('access can be revoked after any number of other changes', async (t) => {
  const { server } = await joinSharedServer();
  const ada = await inviteUser(server, 'ada@example.com');
  const created = await ada.call('organizations/add-organization', { name: 'Ada' });
  const { organization_id } = created.body;
  const key = await ada.call('organizations/api-keys/add-api-key', {
    organization_id,
    name: 'leaked',
    permission: 'all',
  });
  let refused = false;
  for (let i = 0; i < changesMax && !refused; i += 20) {
    const batch = Array.from({ length: 20 }, () => ada.call('users/edit-user', { name: `Ada ${i}` }));
    refused = (await Promise.all(batch)).some(({ status }) => status === 429);
  }
  t.ok(refused, 'further changes are limited');
  const deleted = await ada.call('organizations/api-keys/delete-api-key', {
    organization_id,
    api_key_id: key.body.id,
  });
  t.equal(deleted.status, 200, deleted.text);
  t.equal((await ada.call('users/revoke-session')).status, 200);
  t.equal((await ada.call('users/get-user')).status, 401);
});
