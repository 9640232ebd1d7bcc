import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { type GitOrigin, gitSkipReason } from './git-origin.ts';
import type { TestServer } from './server.ts';
import { listHashes, sha256, synchronize } from './source-fixture.ts';
import { joinSourceServer } from './source-server.ts';

/** Sources of the kind `git`. */

t.setTimeout(testFileMsMax);

interface Fixture {
  readonly origin: GitOrigin;
  readonly server: TestServer;
  readonly api: CheckedApiClient;
}

t.test('a collection follows a Git repository', { skip: gitSkipReason }, async (t) => {
  const { server, api, git } = await joinSourceServer();
  const fixture = { origin: git!, server, api };
  await t.test('a folder of a branch, without hidden files', (t) => followFolder(t, fixture));
  await t.test('a missing branch, folder or repository deletes nothing', (t) => failSafely(t, fixture));
  await t.test('credentials are sent and never shown', (t) => sendCredentials(t, fixture));
  await t.test('other addresses are rejected', (t) => rejectAddresses(t, fixture));
  await t.test('the copy of a repository is deleted with its source', (t) => deleteCopies(t, fixture));
});

/** `settings`: those of the kind, and `credentials`. */
async function addSource(
  { api, origin }: Fixture,
  name: string,
  { credentials = null, ...settings }: Readonly<Record<string, unknown>> = {},
): Promise<void> {
  await createCollection(api, name);
  const git = { url: origin.url, ...settings };
  const common = { source_name: name, collection_name: name, schedule: 'off' };
  t.equal(await api.status('sources/add-source', { ...common, git, credentials }), 201);
}

async function followFolder(t: Test, fixture: Fixture): Promise<void> {
  const { origin, api } = fixture;
  await origin.write('readme.txt', 'outside of the folder');
  await origin.write('docs/a.txt', 'granite');
  await origin.write('docs/.hidden.txt', 'hidden');
  await origin.write('docs/deep/b c.txt', 'basalt');
  await origin.write('docs/large.bin', 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n');
  await addSource(fixture, 'docs', {
    folder: '/docs/',
    branch: 'main',
    url_prefix: 'https://example.com/main/',
  });
  t.match((await synchronize(api, 'docs')).last_run, {
    outcome: 'partial',
    counts: { added: 2, failed: 1 },
  });
  const expected = [
    ['a.txt', sha256('granite')],
    ['deep/b c.txt', sha256('basalt')],
  ] as const;
  t.strictSame(await listHashes(api, 'docs'), new Map(expected));
  t.match((await api.info('docs', 'deep/b c.txt')).metadata, {
    source_url: 'https://example.com/main/docs/deep/b%20c.txt',
  });
  const { items } = await api.call('sources/get-source-item-list', {
    source_name: 'docs',
    only_failed: true,
  });
  t.match(items, [{ key: 'large.bin', error: /Git LFS/ }]);
  await origin.delete('docs/large.bin');
}

async function failSafely(t: Test, fixture: Fixture): Promise<void> {
  const { origin, api } = fixture;
  await origin.write('kept.txt', 'kept');
  await addSource(fixture, 'kept');
  await synchronize(api, 'kept');
  const before = await listHashes(api, 'kept');
  for (const [settings, error] of [
    [{ branch: 'none' }, /couldn't find remote ref/],
    [{ folder: 'none' }, /no folder "none"/],
    [{ url: `http://${origin.host}/other.git` }, /not found/],
  ] as const) {
    const git = { url: origin.url, ...settings };
    await api.call('sources/update-source', { source_name: 'kept', git });
    t.match((await synchronize(api, 'kept')).last_run, { outcome: 'failed', error });
  }
  t.strictSame(await listHashes(api, 'kept'), before);
}

async function sendCredentials(t: Test, fixture: Fixture): Promise<void> {
  const { origin, api } = fixture;
  await addSource(fixture, 'all');
  origin.authorization = `Basic ${Buffer.from('ada:secret').toString('base64')}`;
  t.match((await synchronize(api, 'all')).last_run, {
    outcome: 'failed',
    error: /needs credentials/,
  });
  await addSource(fixture, 'private', { credentials: { username: 'ada', password: 'secret' } });
  const synchronized = await synchronize(api, 'private');
  t.match(synchronized.last_run, { outcome: 'succeeded' });
  t.match(synchronized, { has_credentials: true });
  t.notMatch(JSON.stringify(synchronized), /secret|"ada"/);
  origin.authorization = null;
}

async function rejectAddresses(t: Test, fixture: Fixture): Promise<void> {
  const { origin, api } = fixture;
  const common = { source_name: 'refused', collection_name: 'all' };
  for (const [status, settings] of [
    [403, { url: 'https://example.com/a.git' }],
    [403, { url: 'http://127.0.0.1:9/a.git' }],
    [400, { url: 'file:///etc' }],
    [400, { url: 'ssh://git@example.com/a.git' }],
    [400, { url: 'ext::sh -c true' }],
    [400, { url: origin.url, branch: 'a:b' }],
    [400, { url: origin.url, folder: '../a' }],
  ] as const)
    t.equal(await api.status('sources/add-source', { ...common, git: settings }), status, settings.url);
}

async function deleteCopies(t: Test, fixture: Fixture): Promise<void> {
  const { server, api } = fixture;
  // Other organizations of the server may have copies too.
  const countCopies = () => readdirSync(join(server.data, 'cache', 'git')).length;
  const before = countCopies();
  for (const source_name of ['docs', 'all', 'kept', 'private'])
    await api.call('sources/delete-source', { source_name });
  const listSources = () => api.call('sources/get-source-list', {});
  await waitUntil('the deletion', async () => (await listSources()).sources.length === 0);
  t.equal(before - countCopies(), 4);
}
