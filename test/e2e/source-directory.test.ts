import { chmodSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { getSource, listHashes, sha256, synchronize } from './source-fixture.ts';
import { addSource as addSourceOf, joinSourceServer } from './source-server.ts';
import { createTenant } from './tenant.ts';

/** Sources of the kind `directory`. */

t.setTimeout(testFileMsMax);
const joined = await joinSourceServer();
const { server, api, folder } = joined;

function createFolder(name: string): string {
  const path = join(folder, name);
  mkdirSync(path);
  return path;
}

function write(path: string, content = path): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, content);
}

const addSource = (name: string, path: string, extra: Readonly<Record<string, unknown>> = {}) =>
  addSourceOf(joined, name, { directory: { path }, ...extra });

await t.test('documents are added, replaced and deleted like the files of a folder', async (t) => {
  const path = createFolder('basic');
  write(join(path, 'a.txt'), 'granite');
  write(join(path, 'deep', 'b.md'), '# basalt');
  await addSource('basic', path, { prefix: 'files/', metadata: { team: 'support' } });
  t.match((await synchronize(api, 'basic')).last_run, {
    outcome: 'succeeded',
    counts: { added: 2, updated: 0, deleted: 0, unchanged: 0, failed: 0 },
  });
  t.strictSame(
    await listHashes(api, 'basic'),
    new Map([
      ['files/a.txt', sha256('granite')],
      ['files/deep/b.md', sha256('# basalt')],
    ]),
  );
  const { metadata } = await api.info('basic', 'files/a.txt');
  t.match(metadata, {
    source: 'basic',
    team: 'support',
    source_mode: /^0[0-7]{3}$/,
    modified_at: /^2\d{3}-.*Z$/,
  });
  t.type(metadata.source_group, 'string');

  renameSync(join(path, 'a.txt'), join(path, 'c.txt'));
  write(join(path, 'deep', 'b.md'), '# diorite');
  const preview = await api.call('sources/preview-source', { source_name: 'basic' });
  t.strictSame(preview.changes.map(({ path, action }) => `${action} ${path}`).sort(), [
    'add files/c.txt',
    'delete files/a.txt',
    'update files/deep/b.md',
  ]);
  t.ok((await listHashes(api, 'basic')).has('files/a.txt'), 'a dry run changes nothing');
  t.match((await synchronize(api, 'basic')).last_run?.counts, { added: 1, updated: 1, deleted: 1 });
  t.strictSame([...(await listHashes(api, 'basic')).keys()], ['files/c.txt', 'files/deep/b.md']);

  const { items } = await api.call('sources/get-source-item-list', { source_name: 'basic' });
  t.match(items, [
    { key: 'c.txt', path: 'files/c.txt', result: 'added', error: null, sha256: sha256('granite') },
    { key: 'deep/b.md', result: 'updated' },
  ]);
});

await t.test('a document that was changed or deleted by a client is restored', async (t) => {
  const path = createFolder('repair');
  for (const name of ['a.txt', 'b.txt']) write(join(path, name), name);
  await addSource('repair', path);
  await synchronize(api, 'repair');
  await api.call('documents/delete-document', { collection_name: 'repair', path: 'a.txt' });
  await api.add('repair', 'b.txt', 'other text', { overwrite: true });
  t.match((await synchronize(api, 'repair')).last_run?.counts, { added: 1, updated: 1 });
  t.equal((await listHashes(api, 'repair')).get('b.txt'), sha256('b.txt'));
});

await t.test('a document of a client is neither replaced nor deleted', async (t) => {
  const path = createFolder('foreign');
  write(join(path, 'a.txt'));
  write(join(path, 'b.txt'));
  await createCollection(api, 'foreign');
  await api.add('foreign', 'a.txt', 'of a client');
  const source = { source_name: 'foreign', collection_name: 'foreign', directory: { path }, schedule: 'off' };
  await api.call('sources/add-source', source);
  const { last_run } = await synchronize(api, 'foreign');
  t.match(last_run, { outcome: 'partial', counts: { added: 1, failed: 1 } });
  const request = { source_name: 'foreign', only_failed: true };
  t.match((await api.call('sources/get-source-item-list', request)).items, [
    { key: 'a.txt', result: 'failed', error: /that this source did not add/ },
  ]);
  rmSync(join(path, 'a.txt'));
  await synchronize(api, 'foreign');
  await api.call('sources/delete-source', { source_name: 'foreign', delete_documents: true });
  await waitUntil(
    'the deletion',
    async () => (await api.status('sources/get-source', { source_name: 'foreign' })) === 404,
  );
  t.strictSame([...(await listHashes(api, 'foreign')).keys()], ['a.txt']);
});

await t.test('.quarryignore, hidden files and links', async (t) => {
  const path = createFolder('ignore');
  const outside = createFolder('outside');
  write(join(outside, 'secret.txt'));
  for (const name of ['a.txt', 'a.log', 'keep.log', 'build/x.txt', 'deep/build', 'deep/c.txt', '.hidden'])
    write(join(path, name));
  write(join(path, '.quarryignore'), '*.log\n!keep.log\nbuild/\n# comment\n');
  write(join(path, 'deep', '.quarryignore'), '/c.txt');
  symlinkSync(join(outside, 'secret.txt'), join(path, 'link-out.txt'));
  symlinkSync(outside, join(path, 'folder-out'));
  symlinkSync('a.txt', join(path, 'link.txt'));
  await addSource('ignore', path);
  await synchronize(api, 'ignore');
  t.strictSame(
    [...(await listHashes(api, 'ignore')).keys()],
    ['a.txt', 'deep/build', 'keep.log', 'link.txt'],
  );
  write(join(path, '.quarryignore'), 'keep.log\n');
  await synchronize(api, 'ignore');
  const paths = ['a.log', 'a.txt', 'build/x.txt', 'deep/build', 'link.txt'];
  t.strictSame([...(await listHashes(api, 'ignore')).keys()], paths, 'an ignored file is deleted');
});

await t.test('nothing is deleted while files cannot be listed', async (t) => {
  const path = createFolder('unreadable');
  write(join(path, 'a.txt'));
  write(join(path, 'deep', 'b.txt'));
  await addSource('unreadable', path);
  await synchronize(api, 'unreadable');
  const before = await listHashes(api, 'unreadable');
  t.equal(before.size, 2);
  renameSync(path, `${path}-moved`);
  t.match((await synchronize(api, 'unreadable')).last_run, { outcome: 'failed', error: /does not exist/ });
  t.strictSame(await listHashes(api, 'unreadable'), before);
  mkdirSync(path);
  t.match((await synchronize(api, 'unreadable')).last_run, { outcome: 'failed', error: /allow_empty/ });
  t.strictSame(await listHashes(api, 'unreadable'), before);
  rmSync(path, { recursive: true });
  renameSync(`${path}-moved`, path);
  if (process.getuid?.() !== 0) {
    chmodSync(join(path, 'deep'), 0);
    t.match((await synchronize(api, 'unreadable')).last_run, { outcome: 'partial', counts: { failed: 1 } });
    t.strictSame(await listHashes(api, 'unreadable'), before);
    chmodSync(join(path, 'deep'), 0o755);
  }
  rmSync(path, { recursive: true });
  mkdirSync(path);
  t.match((await synchronize(api, 'unreadable', true)).last_run?.counts, { deleted: 2 });
});

await t.test('a watched folder is synchronized without a request', async (t) => {
  const path = createFolder('watched');
  write(join(path, 'a.txt'));
  await addSource('watched', path, { watch: true });
  await waitUntil('the first file', async () => (await listHashes(api, 'watched')).size === 1);
  write(join(path, 'new', 'folder', 'b.txt'));
  await waitUntil('the new file', async () => (await listHashes(api, 'watched')).has('new/folder/b.txt'));
  renameSync(join(path, 'new'), join(path, 'renamed'));
  await waitUntil('the renamed folder', async () => {
    const paths = [...(await listHashes(api, 'watched')).keys()];
    return paths.join() === 'a.txt,renamed/folder/b.txt';
  });
  rmSync(join(path, 'a.txt'));
  await waitUntil('the deletion', async () => !(await listHashes(api, 'watched')).has('a.txt'));
  t.equal((await getSource(api, 'watched')).watch_error, null);
});

await t.test('a paused source does nothing until it is resumed', async (t) => {
  const path = createFolder('paused');
  write(join(path, 'a.txt'));
  await addSource('paused', path);
  await api.call('sources/pause-source', { source_name: 'paused' });
  t.equal((await getSource(api, 'paused')).state, 'paused');
  t.equal(await api.status('sources/sync-source', { source_name: 'paused' }), 409);
  await api.call('sources/resume-source', { source_name: 'paused' });
  t.match((await synchronize(api, 'paused')).last_run?.counts, { added: 1 });
});

await t.test('new metadata of a source reaches documents without reading their text again', async (t) => {
  const path = createFolder('metadata');
  write(join(path, 'a.txt'), 'granite');
  await addSource('metadata', path);
  await synchronize(api, 'metadata');
  await waitUntil('the index', async () => (await api.info('metadata', 'a.txt')).index_status === 'indexed');
  await api.call('sources/update-source', { source_name: 'metadata', metadata: { team: 'sales' } });
  t.match((await synchronize(api, 'metadata')).last_run?.counts, { updated: 1 });
  t.match((await api.info('metadata', 'a.txt')).metadata, { team: 'sales', source: 'metadata' });
});

await t.test('invalid requests are rejected and change nothing', async (t) => {
  const path = createFolder('refused');
  await createCollection(api, 'refused');
  const valid = { source_name: 'refused', collection_name: 'refused', directory: { path } };
  symlinkSync('/etc', join(folder, 'etc'));
  for (const [status, change] of [
    [400, { source_name: '' }],
    [404, { collection_name: 'missing' }],
    [400, { directory: undefined }],
    [403, { directory: { path: '/etc' } }],
    [403, { directory: { path: `${folder}/../` } }],
    [403, { directory: { path: join(folder, 'etc') } }],
    [400, { directory: { path: join(folder, 'missing') } }],
    [400, { schedule: 'sometimes' }],
    [400, { schedule: '61 * * * *' }],
    [400, { schedule: '0 0 30 2 *' }],
    [400, { schedule: '0 0 3 * * *' }],
    [400, { schedule: '0 3 * * *', time_zone: 'Europe/Nowhere' }],
    [400, { credentials: { password: 'x' } }],
    [400, { metadata: { 'bad name': 'x' } }],
    [422, { directory: { path: 7 } }],
  ] as const)
    t.equal(await api.status('sources/add-source', { ...valid, ...change }), status, JSON.stringify(change));
  t.notOk(
    (await api.call('sources/get-source-list')).sources.some(({ source_name }) => source_name === 'refused'),
  );
  await api.call('sources/add-source', valid);
  t.equal(await api.status('sources/add-source', valid), 409);
  t.equal(await api.status('sources/sync-source', { source_name: 'missing' }), 404);
});

await t.test('an organization sees only its own sources', async (t) => {
  const other = (await createTenant(server)).api;
  t.strictSame((await other.call('sources/get-source-list')).sources, []);
  for (const operation of ['get-source', 'sync-source', 'delete-source', 'preview-source', 'pause-source'])
    t.equal(await other.status(`sources/${operation}`, { source_name: 'basic' }), 404, operation);
});
