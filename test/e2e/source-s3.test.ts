import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { getSource, listHashes, sha256, synchronize } from './source-fixture.ts';
import { addSource, joinSourceServer } from './source-server.ts';

/** Sources of the kind `s3`. */

t.setTimeout(testFileMsMax);
const joined = await joinSourceServer();
const { api, s3: emulator } = joined;
const credentials = { access_key_id: emulator.accessKeyId, secret_access_key: 'secret' };

function put(key: string, content: string): void {
  emulator.objects.set(key, { body: Buffer.from(content), modifiedAt: new Date() });
}

await t.test('documents equal the objects below a prefix', async (t) => {
  put('one/a.txt', 'granite');
  put('one/deep/b.txt', 'basalt');
  put('one/folder/', '');
  put('other/c.txt', 'of another prefix');
  emulator.tags.set('group', 'sales');
  await addSource(joined, 'one', {
    s3: { bucket: emulator.bucket, endpoint: emulator.url, key_prefix: 'one/', include_tags: true },
    credentials,
  });
  t.match((await synchronize(api, 'one')).last_run, { outcome: 'succeeded', counts: { added: 2 } });
  const expected = [
    ['a.txt', sha256('granite')],
    ['deep/b.txt', sha256('basalt')],
  ] as const;
  t.strictSame(await listHashes(api, 'one'), new Map(expected));
  t.match((await api.info('one', 'a.txt')).metadata, {
    source: 'one',
    source_url: `s3://${emulator.bucket}/one/a.txt`,
    source_tag_group: 'sales',
  });
  emulator.operations.length = 0;
  t.match((await synchronize(api, 'one')).last_run?.counts, { unchanged: 2 });
  t.notOk(emulator.operations.includes('GetObject'), 'unchanged objects are not read');
});

await t.test('a store that fails deletes nothing', async (t) => {
  emulator.failure = { status: 403, code: 'AccessDenied' };
  t.match((await synchronize(api, 'one')).last_run, { outcome: 'failed', error: /AccessDenied/ });
  emulator.failure = null;
  t.equal((await listHashes(api, 'one')).size, 2);
});

await t.test('credentials are never shown, and are required by the bucket', async (t) => {
  const source = await getSource(api, 'one');
  t.equal(source.has_credentials, true);
  t.notMatch(JSON.stringify(source), /secret_access_key|TESTKEY/);
  await api.call('sources/update-source', { source_name: 'one', credentials: null });
  t.match((await synchronize(api, 'one')).last_run, { outcome: 'failed', error: /InvalidAccessKeyId/ });
  await api.call('sources/update-source', { source_name: 'one', credentials });
  t.match((await synchronize(api, 'one')).last_run, { outcome: 'succeeded' });
});

await t.test('other hosts and private addresses are rejected', async (t) => {
  await createCollection(api, 'refused');
  for (const [status, settings] of [
    [403, { endpoint: 'http://127.0.0.1:9' }],
    [403, { endpoint: 'http://169.254.169.254' }],
    [403, { endpoint: null }],
    [400, { endpoint: 'ftp://example.com' }],
    [400, { bucket: '../other' }],
    [400, { region: 'evil.example/' }],
  ] as const)
    t.equal(
      await api.status('sources/add-source', {
        source_name: 'refused',
        collection_name: 'refused',
        s3: { bucket: emulator.bucket, endpoint: emulator.url, ...settings },
        credentials,
      }),
      status,
      JSON.stringify(settings),
    );
  const incomplete = {
    source_name: 'refused',
    collection_name: 'refused',
    credentials: { access_key_id: 'x' },
  };
  const s3 = { bucket: emulator.bucket, endpoint: emulator.url };
  t.equal(await api.status('sources/add-source', { ...incomplete, s3 }), 400);
});
