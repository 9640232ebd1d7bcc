import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { getSource, hashesOf, listHashes, sha256, synchronize } from './source-fixture.ts';
import { addSource, joinSourceServer } from './source-server.ts';

/** Sources of the kind `webdav`. */

t.setTimeout(testFileMsMax);
const joined = await joinSourceServer();
const { api, webdav: origin } = joined;
const credentials = { username: 'ada', password: 'sécret' };

await t.test('documents equal the files below a folder, without hidden ones', async (t) => {
  origin.files.clear();
  origin.authorization = `Basic ${Buffer.from('ada:sécret').toString('base64')}`;
  const files = new Map([
    ['readme.txt', 'granite'],
    ['deep/er/b c.txt', 'basalt'],
    ['deep/100 % & "déjà".txt', 'gneiss'],
  ]);
  for (const [key, content] of files) await origin.write(key, content);
  await origin.write('.hidden.txt', 'hidden');
  await origin.write('deep/.trash/c.txt', 'hidden');
  await addSource(joined, 'cloud', { webdav: { url: origin.url }, credentials });
  t.match((await synchronize(api, 'cloud')).last_run, { outcome: 'succeeded', counts: { added: 3 } });
  t.strictSame(await listHashes(api, 'cloud'), hashesOf(files));
  t.match((await api.info('cloud', 'deep/er/b c.txt')).metadata, {
    source: 'cloud',
    source_url: new URL('deep/er/b%20c.txt', origin.url).href,
    modified_at: /^20\d\d-/,
  });

  origin.requests.length = 0;
  t.match((await synchronize(api, 'cloud')).last_run?.counts, { unchanged: 3, added: 0, updated: 0 });
  t.strictSame(origin.requests, ['PROPFIND ', 'PROPFIND deep/', 'PROPFIND deep/er/']);

  await origin.write('deep/er/b c.txt', 'changed');
  await origin.rename('readme.txt', 'deep/renamed.txt');
  t.match((await synchronize(api, 'cloud')).last_run?.counts, { added: 1, updated: 1, deleted: 1 });
  await origin.delete('deep/er/b c.txt');
  t.match((await synchronize(api, 'cloud')).last_run?.counts, { deleted: 1, unchanged: 2 });
  const expected = new Map([
    ['deep/100 % & "déjà".txt', 'gneiss'],
    ['deep/renamed.txt', 'granite'],
  ]);
  t.strictSame(await listHashes(api, 'cloud'), hashesOf(expected));
});

await t.test('hidden files are included on request, and deleted afterwards', async (t) => {
  const webdav = { url: origin.url, include_hidden: true };
  await api.call('sources/update-source', { source_name: 'cloud', webdav });
  t.match((await synchronize(api, 'cloud')).last_run?.counts, { added: 2, deleted: 0 });
  await api.call('sources/update-source', { source_name: 'cloud', webdav: { url: origin.url } });
  t.match((await synchronize(api, 'cloud')).last_run?.counts, { added: 0, deleted: 2 });
});

await t.test('a folder or server that fails deletes nothing', async (t) => {
  const before = await listHashes(api, 'cloud');
  for (const [url, error] of [
    [`${origin.url}none/`, /none\/ does not exist/],
    [`${origin.url}deep/renamed.txt`, /is not a folder/],
    [joined.web.url, /does not support WebDAV|replied with status/],
  ] as const) {
    await api.call('sources/update-source', { source_name: 'cloud', webdav: { url } });
    t.match((await synchronize(api, 'cloud')).last_run, { outcome: 'failed', error });
  }
  await api.call('sources/update-source', { source_name: 'cloud', webdav: { url: origin.url } });
  await origin.write('new.txt', 'new');
  origin.replies.set('deep/', (response) => void response.writeHead(503).end());
  t.match((await synchronize(api, 'cloud')).last_run, {
    outcome: 'partial',
    counts: { added: 1, deleted: 0, failed: 1 },
  });
  const { items } = await api.call('sources/get-source-item-list', {
    source_name: 'cloud',
    only_failed: true,
  });
  t.match(items, [{ key: 'deep/', error: /replied with status 503/ }]);
  origin.replies.clear();
  t.match((await synchronize(api, 'cloud')).last_run, { outcome: 'succeeded', error: null });
  t.strictSame(await listHashes(api, 'cloud'), new Map([...before, ['new.txt', sha256('new')]]));
});

await t.test('credentials are required, and never shown', async (t) => {
  const source = await getSource(api, 'cloud');
  t.equal(source.has_credentials, true);
  t.notMatch(JSON.stringify(source), /sécret|"ada"/);
  await api.call('sources/update-source', { source_name: 'cloud', credentials: null });
  t.match((await synchronize(api, 'cloud')).last_run, {
    outcome: 'failed',
    error: /needs a user name and a password/,
  });
  await api.call('sources/update-source', { source_name: 'cloud', credentials });
  t.match((await synchronize(api, 'cloud')).last_run, { outcome: 'succeeded' });
  origin.authorization = null;
});

await t.test('invalid settings and other hosts are rejected', async (t) => {
  await createCollection(api, 'refused');
  const common = { source_name: 'refused', collection_name: 'refused' };
  const webdav = { url: origin.url };
  for (const [status, settings] of [
    [403, { webdav: { url: 'https://example.com/dav/' } }],
    [403, { webdav: { url: 'http://127.0.0.1:9/' } }],
    [400, { webdav: { url: 'dav://example.com/' } }],
    [400, { webdav: { url: origin.url.replace('://', '://ada:secret@') } }],
    [400, { webdav: { url: `${origin.url}?a=b` } }],
    [400, { webdav: { url: `${origin.url}${'x'.repeat(2_100)}` } }],
    [400, { webdav, credentials: { password: 'secret' } }],
    [400, { webdav, credentials: { username: 'a:b' } }],
    [400, { webdav, credentials: { username: 'a\nb', password: 'secret' } }],
    [400, { webdav, credentials: { token: 'secret' } }],
    [400, { webdav, watch: true }],
  ] as const)
    t.equal(
      await api.status('sources/add-source', { ...common, ...settings }),
      status,
      JSON.stringify(settings),
    );
});
