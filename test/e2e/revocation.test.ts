import t from '../support/tap.ts';
import { createMailFolder, TestUser } from './people.ts';
import { TestServer } from './server.ts';

t.setTimeout(600_000);

/** Maximum number of changes per user and minute. */
const changesMax = 240;

t.test('access can be revoked after any number of other changes', async (t) => {
  const box = createMailFolder(t);
  const server = await TestServer.start(t, { MAIL_URL: box.url });
  const ada = new TestUser('ada@example.com', server, box.mails);
  await ada.signIn();
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
