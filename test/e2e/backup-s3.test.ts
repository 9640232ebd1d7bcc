import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { S3Emulator } from '../support/s3-emulator.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createFolder, runForJson, runQuarry, startRestored } from './backup-commands.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { sendRequest } from './people.ts';
import { adminKey, operatorKey, TestServer } from './server.ts';

/** Backups in a bucket: with journal, on the command line, restored, pruned, and with failures. */

t.setTimeout(testFileMsMax);
const startedAt = Date.now();
const store = await S3Emulator.start();
t.teardown(() => store.close());
const target = `s3://${store.bucket}/quarry/one`;
/** Key of the record of the last rehearsal. */
const lastRestore = 'quarry/one/last-verified-restore.json';
const variables = {
  BACKUP_TARGET: target,
  BACKUP_S3_ENDPOINT: store.url,
  BACKUP_S3_ACCESS_KEY_ID: store.accessKeyId,
  BACKUP_S3_SECRET_ACCESS_KEY: 'secret',
  BACKUP_KEY: 'ab'.repeat(32),
};
const server = await TestServer.start(t, {
  ...variables,
  BACKUP_JOURNAL_SECONDS: '1',
  BACKUP_SCHEDULE: 'off',
  BACKUP_REHEARSAL: '1d',
});
const api = new CheckedApiClient(server);

const status = async () => {
  const headers = { authorization: `Bearer ${adminKey}` };
  return (await sendRequest(`${server.url}/v1/admin/get-backup-status`, { headers, body: {} })).body;
};

await t.test('a backup and new commits are written to the bucket', async (t) => {
  await api.call('collections/add-collection', { collection_name: 'c' });
  await api.add('c', 'a', 'Granite.');
  // Random bytes do not compress, and a part has 16 MiB: the file is uploaded in several parts.
  const put = await fetch(`${server.url}/v1/documents/c/large.bin`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${operatorKey}` },
    body: randomBytes(17_000_000),
  });
  t.equal(put.status, 201);
  await runForJson(['backup', 'create', '--data', server.data, '--url', server.url], variables);
  t.ok(store.operations.includes('UploadPart'), 'a large file is uploaded in parts');
  await api.add('c', 'b', 'Marble.');
  await waitUntil('the journal', async () => (await status()).recoverable.at(-1)?.to_sequence > 0);
  t.match(await status(), { target, last_error: null });
  for (const key of store.objects.keys()) t.match(key, /^quarry\/one\//);
});

await t.test('a backup in a bucket is listed, verified and restored', async (t) => {
  const listed = await runForJson(['backup', 'list'], variables);
  t.ok(listed.backups.length >= 1);
  t.match(await runForJson(['backup', 'verify'], variables), { problems: [] });
  const data = join(createFolder(t), 'restored');
  await waitUntil('the last commit', async () => {
    const { recoverable } = await runForJson(['backup', 'list'], variables);
    return recoverable.at(-1).to_sequence === (await status()).recoverable.at(-1).to_sequence;
  });
  await runForJson(['backup', 'restore', '--data', data], variables);
  const restored = new CheckedApiClient(await startRestored(t, data));
  t.same(await restored.find('c', 'granite', { k: 1 }), ['a']);
  t.ok((await restored.paths('c')).includes('large.bin'));
  t.match(await runForJson(['backup', 'prune', '--keep', 'last:1'], variables), { kept: [String] });
});

await t.test('a rehearsal restores the newest backup, records it and leaves nothing', async (t) => {
  // The server starts it when the target has a backup and no record.
  await waitUntil('the rehearsal', async () => (await status()).last_verified_restore !== null);
  t.ok(Date.parse((await status()).last_verified_restore.verified_at) > startedAt);
  t.equal((await status()).rehearsal_error, null);
  const folder = join(server.data, 'cache', 'rehearsal');
  await waitUntil('the end', () => !existsSync(folder));
  const ready = await sendRequest(`${server.url}/readyz`, { method: 'GET' });
  t.match(ready.body.components.backups, { ready: true, detail: /last verified restore 20/ });
});

await t.test('a rehearsal that fails is reported, and does not change the target', async (t) => {
  const manifests = [...store.objects.keys()].filter((key) => /manifest|backups\//.test(key));
  t.ok(manifests.length > 0);
  const objects = [...store.objects].filter(([key]) => key.includes('/objects/'));
  for (const [key] of objects) store.objects.delete(key);
  store.objects.delete(lastRestore);
  await waitUntil('the failure', async () => (await status()).rehearsal_error !== null);
  t.match(await status(), { last_verified_restore: null, rehearsal_error: { message: /missing/ } });
  const ready = await sendRequest(`${server.url}/readyz`, { method: 'GET' });
  t.match(ready.body.components.backups, { ready: false, detail: /restore failed at/ });
  for (const [key, object] of objects) store.objects.set(key, object);
});

await t.test('unfinished uploads are aborted, and one process at a time uses the bucket', async (t) => {
  const old = { startedAt: new Date(0), parts: new Map<number, Buffer>() };
  store.uploads.set('unfinished', { ...old, key: 'quarry/one/objects/aa/x' });
  store.uploads.set('recent', { ...old, key: 'quarry/one/objects/aa/y', startedAt: new Date() });
  store.uploads.set('other', { ...old, key: 'other/x' });
  await runForJson(['backup', 'create', '--data', server.data, '--url', server.url], variables);
  t.same([...store.uploads.keys()], ['recent', 'other']);
  const record = { id: 'x', host: 'elsewhere', pid: 1, operation: 'pruning', renewedAt: Date.now() };
  await server.stop();
  store.objects.set('quarry/one/lock.json', {
    body: Buffer.from(JSON.stringify(record)),
    modifiedAt: new Date(),
  });
  const refused = await runQuarry(['backup', 'prune', '--keep', 'last:1'], variables);
  t.equal(refused.code, 1);
  t.match(refused.errors, /in use by process 1 on elsewhere \(pruning\)/);
});

await t.test('a bucket that rejects requests is reported with its reason', async (t) => {
  store.failure = { status: 403, code: 'AccessDenied' };
  const refused = await runQuarry(['backup', 'list'], variables);
  t.equal(refused.code, 1);
  t.match(refused.errors, /A request to the backup target s3:\/\/backups\/quarry\/one failed: AccessDenied/);
  store.failure = null;
  const missing = await runQuarry(['backup', 'list', '--target', 's3://nothing/x'], variables);
  t.match(missing.errors, /NoSuchBucket/);
  const wrong = await runQuarry(['backup', 'list', '--target', 's3://A'], variables);
  t.match(wrong.errors, /is not of the form s3:\/\/bucket\/folder/);
});
