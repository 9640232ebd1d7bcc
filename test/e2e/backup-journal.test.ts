import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createFolder, runForJson, runQuarry, startRestored } from './backup-commands.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createMailFolder, TestUser } from './people.ts';
import { adminKey, TestServer } from './server.ts';

/** Restores of a running server to a moment between backups. */

t.setTimeout(testFileMsMax);

interface Status {
  readonly last_backup: object | null;
  readonly recoverable: readonly { readonly to: string; readonly to_sequence: number }[];
}

t.test('what was revoked or deleted after the restored moment stays deleted', async (t) => {
  const folder = createFolder(t);
  const target = join(folder, 'target');
  const { url: MAIL_URL, mails } = createMailFolder(t);
  const server = await TestServer.start(t, { BACKUP_TARGET: target, BACKUP_JOURNAL_SECONDS: '1', MAIL_URL });
  const administer = async (operation: string, body: object) => {
    const headers = { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' };
    const reply = await fetch(`${server.url}/v1/admin/${operation}`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    });
    if (!reply.ok) throw new Error(`${operation}: ${reply.status} ${await reply.text()}`);
    // biome-ignore lint/suspicious/noExplicitAny: the shape depends on the operation
    return (await reply.json()) as any;
  };
  const [keptId, goneId] = [randomUUID(), randomUUID()];
  await administer('create-organization', { organization_id: keptId });
  await administer('create-organization', { organization_id: goneId });
  const addKey = async (organization_id: string) =>
    (await administer('add-api-key', { organization_id, name: 'k', permission: 'all' })).api_key as string;
  const [kept, revoked, gone] = [await addKey(keptId), await addKey(keptId), await addKey(goneId)];
  const user = new TestUser('ada@example.com', server, mails);
  await user.signIn();
  await waitUntil(
    'the first backup',
    async () => (await administer('get-backup-status', {})).last_backup !== null,
  );
  const creation = ['backup', 'create', '--target', target, '--data', server.data, '--url', server.url];
  const backup = await runForJson(creation);
  const keys = (await administer('list-api-keys', { organization_id: keptId })).api_keys as { id: string }[];
  const revokedId = keys.at(-1)!.id;
  await administer('delete-api-key', { organization_id: keptId, api_key_id: revokedId });
  await administer('delete-organization', { organization_id: goneId });
  const { users } = await administer('list-users', { email: user.email });
  await administer('delete-user', { user_id: users[0].user_id });
  await server.stop();
  const path = join(folder, 'restored');
  const words = ['backup', 'restore', '--target', target, '--data', path];
  const restored = await runForJson([...words, '--sequence', String(backup.sequence)]);
  t.match(restored.deleted, { keys: 1, organizations: 1, users: 1 });
  const second = await startRestored(t, path);
  const statusOf = (key: string) =>
    new CheckedApiClient(second, key).status('collections/get-collection-list');
  t.same([await statusOf(kept), await statusOf(revoked), await statusOf(gone)], [200, 401, 401]);
  const headers = { authorization: `Bearer ${adminKey}` };
  const listed = await fetch(`${second.url}/v1/admin/list-users`, { method: 'POST', headers });
  t.notMatch(await listed.text(), /ada@example/);
});

t.test('documents deleted by mistake are restored from the moment before, also after kill -9', async (t) => {
  const folder = createFolder(t);
  const target = join(folder, 'target');
  const server = await TestServer.start(t, { BACKUP_TARGET: target, BACKUP_JOURNAL_SECONDS: '1' });
  const api = new CheckedApiClient(server);
  const status = async () => {
    const response = await fetch(`${server.url}/v1/admin/get-backup-status`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}` },
    });
    return (await response.json()) as Status;
  };
  const untilShipped = async (time: number) =>
    waitUntil('the copy of the last commits', async () => {
      const to = (await status()).recoverable.at(-1)?.to;
      return to !== undefined && Date.parse(to) >= time;
    });
  await waitUntil('the first backup', async () => (await status()).last_backup !== null);
  await api.call('collections/add-collection', { collection_name: 'notes' });
  await api.add('notes', 'kept.txt', 'Granite is kept.');
  await api.add('notes', 'lost.txt', 'Marble is lost by mistake.');
  const before = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const remove = (path: string) => api.call('documents/delete-document', { collection_name: 'notes', path });
  await remove('lost.txt');
  await api.add('notes', 'later.txt', 'Basalt came later.');
  await untilShipped(Date.now() - 1);
  await api.add('notes', 'last.txt', 'Slate came last.');
  const afterLast = Date.now();
  await server.stop('SIGKILL');
  await server.restart();
  await api.add('notes', 'restarted.txt', 'Chalk came after the restart.');
  await untilShipped(afterLast);
  await server.stop();
  t.match(await runForJson(['backup', 'verify', '--target', target]), { problems: [] });

  const restore = async (name: string, ...point: string[]) => {
    const path = join(folder, name);
    await runForJson(['backup', 'restore', '--target', target, '--data', path, ...point]);
    const restored = new CheckedApiClient(await startRestored(t, path));
    t.same(await restored.find('notes', 'granite', { k: 1 }), ['kept.txt']);
    return restored.paths('notes');
  };
  t.same(await restore('before', '--at', new Date(before).toISOString()), ['kept.txt', 'lost.txt']);
  t.same(await restore('newest'), ['kept.txt', 'last.txt', 'later.txt', 'restarted.txt']);
  const { recoverable } = await runForJson(['backup', 'list', '--target', target]);
  t.equal(recoverable.length, 1, 'kill -9 leaves no gap');
  const sequence = String(recoverable[0].to_sequence);
  t.same(await restore('sequence', '--sequence', sequence), [
    'kept.txt',
    'last.txt',
    'later.txt',
    'restarted.txt',
  ]);
  const words = ['backup', 'restore', '--target', target, '--data', join(folder, 'none')];
  const tooEarly = await runQuarry([...words, '--at', '2020-01-01']);
  t.match(tooEarly, { code: 1, errors: /This point in time cannot be restored\. Recoverable: 20/ });
  t.match(await runQuarry([...words, '--at', 'yesterday']), { code: 2, errors: /expected a day/ });
  t.match(await runQuarry([...words, '--sequence', '-1']), { code: 2, errors: /expected a whole number/ });
});
