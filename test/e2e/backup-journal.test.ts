import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createFolder, runForJson, runQuarry, startRestored } from './backup-commands.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createMailFolder, sendRequest, TestUser } from './people.ts';
import { adminKey, TestServer } from './server.ts';

/** Restores of a running server to a moment between backups. */

t.setTimeout(testFileMsMax);

const { url: MAIL_URL, mails } = createMailFolder(t);
const folder = createFolder(t);
const target = join(folder, 'target');
const server = await TestServer.start(t, { BACKUP_TARGET: target, BACKUP_JOURNAL_SECONDS: '1', MAIL_URL });
const api = new CheckedApiClient(server);

async function administer(operation: string, body: object = {}) {
  const headers = { authorization: `Bearer ${adminKey}` };
  const reply = await sendRequest(`${server.url}/v1/admin/${operation}`, { headers, body });
  if (reply.status >= 300) throw new Error(`${operation}: ${reply.status} ${reply.text}`);
  return reply.body;
}

/** Waits until the target has the commits up to a time in milliseconds. */
const untilShipped = (time: number) =>
  waitUntil('the copy of the last commits', async () => {
    const to = (await administer('get-backup-status')).recoverable.at(-1)?.to;
    return to !== undefined && Date.parse(to) >= time;
  });

/** Two organizations with keys, and a user; `revoke` deletes a key of one, the other as a whole, and the user. */
async function createAccess() {
  const [keptId, goneId] = [randomUUID(), randomUUID()];
  await administer('create-organization', { organization_id: keptId });
  await administer('create-organization', { organization_id: goneId });
  const addKey = async (organization_id: string): Promise<string> =>
    (await administer('add-api-key', { organization_id, name: 'k', permission: 'all' })).api_key;
  const keys = [await addKey(keptId), await addKey(keptId), await addKey(goneId)];
  const user = new TestUser('ada@example.com', server, mails);
  await user.signIn();
  const revoke = async () => {
    const { api_keys } = await administer('list-api-keys', { organization_id: keptId });
    await administer('delete-api-key', { organization_id: keptId, api_key_id: api_keys.at(-1).id });
    await administer('delete-organization', { organization_id: goneId });
    const { users } = await administer('list-users', { email: user.email });
    await administer('delete-user', { user_id: users[0].user_id });
  };
  return { keys, revoke };
}

/** Restores to a point into a new folder; returns the report of the command and a server on the folder. */
async function restore(t: Test, name: string, ...point: string[]) {
  const path = join(folder, name);
  const words = ['backup', 'restore', '--target', target, '--data', path];
  const report = await runForJson([...words, ...point]);
  const restored = await startRestored(t, path);
  t.same(await new CheckedApiClient(restored).find('notes', 'granite', { k: 1 }), ['kept.txt']);
  return { report, restored, paths: await new CheckedApiClient(restored).paths('notes') };
}

const { keys, revoke } = await createAccess();
await waitUntil('the first backup', async () => (await administer('get-backup-status')).last_backup !== null);
await api.call('collections/add-collection', { collection_name: 'notes' });
await api.add('notes', 'kept.txt', 'Granite is kept.');
const creation = ['backup', 'create', '--target', target, '--data', server.data, '--url', server.url];
const backup = await runForJson(creation);
await api.add('notes', 'lost.txt', 'Marble is lost by mistake.');
const beforeMistake = Date.now();
await new Promise((resolve) => setTimeout(resolve, 20));
await api.call('documents/delete-document', { collection_name: 'notes', path: 'lost.txt' });
await revoke();
await api.add('notes', 'later.txt', 'Basalt came later.');
await untilShipped(Date.now() - 1);
await api.add('notes', 'last.txt', 'Slate came last.');
const afterLast = Date.now();
await server.stop('SIGKILL');
await server.restart();
await api.add('notes', 'restarted.txt', 'Chalk came after the restart.');
await untilShipped(afterLast);
await server.stop();

await t.test('documents deleted by mistake are restored from the moment before', async (t) => {
  t.match(await runForJson(['backup', 'verify', '--target', target]), { problems: [] });
  const moment = new Date(beforeMistake).toISOString();
  const { report, restored, paths } = await restore(t, 'before', '--at', moment);
  t.same(paths, ['kept.txt', 'lost.txt']);
  await t.test('keys, organizations and users deleted after the restored moment stay deleted', async (t) => {
    t.match(report.deleted, { keys: 1, organizations: 1, users: 1 });
    const statusOf = (key: string) =>
      new CheckedApiClient(restored, key).status('collections/get-collection-list');
    t.same(
      await Promise.all(keys.map(statusOf)),
      [200, 401, 401],
      'kept, revoked, of a deleted organization',
    );
    const headers = { authorization: `Bearer ${adminKey}` };
    const listed = await sendRequest(`${restored.url}/v1/admin/list-users`, { headers });
    t.notMatch(listed.text, /ada@example/);
  });
});

await t.test(
  'the newest state and that of a sequence number are restored; other points are rejected',
  async (t) => {
    const { report, paths } = await restore(t, 'newest');
    t.same(paths, ['kept.txt', 'last.txt', 'later.txt', 'restarted.txt'], 'also after kill -9');
    const { recoverable } = await runForJson(['backup', 'list', '--target', target]);
    t.equal(recoverable.length, 1, 'kill -9 leaves no gap');
    const words = ['backup', 'restore', '--target', target, '--data'];
    const restoreSequence = (name: string, sequence: number) =>
      runForJson([...words, join(folder, name), '--sequence', String(sequence)]);
    const last = await restoreSequence('last', recoverable[0].to_sequence);
    t.match(last, { sequence: report.sequence, documents: 4, backup: report.backup });
    t.match(await restoreSequence('first', backup.sequence), {
      sequence: backup.sequence,
      documents: 1,
      deleted: { keys: 1, organizations: 1, users: 1 },
    });
    const none = join(folder, 'none');
    const tooEarly = await runQuarry([...words, none, '--at', '2020-01-01']);
    t.match(tooEarly, { code: 1, errors: /This point in time cannot be restored\. Recoverable: 20/ });
    t.match(await runQuarry([...words, none, '--at', 'yesterday']), { code: 2, errors: /expected a day/ });
    t.match(await runQuarry([...words, none, '--sequence', '-1']), {
      code: 2,
      errors: /expected a whole number/,
    });
  },
);
