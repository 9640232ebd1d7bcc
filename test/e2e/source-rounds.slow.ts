import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { S3Emulator } from '../support/s3-emulator.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { TestServer } from './server.ts';
import { hashesOf, sha256, type TestOrigin } from './source-fixture.ts';
import { checkEqualToOrigin } from './source-rounds.ts';
import { WebOrigin } from './web-origin.ts';

/**
 * Each kind of source equals its origin after random changes with kills of the server. `SOURCE_CHANGES=1000` makes a
 * longer run.
 */

t.setTimeout(testFileMsMax);
const changes = Number(process.env.SOURCE_CHANGES ?? 200);
const folder = mkdtempSync(join(tmpdir(), 'quarry-source-'));
const emulator = await S3Emulator.start();
const web = await WebOrigin.start();
t.teardown(() => {
  rmSync(folder, { recursive: true, force: true });
  emulator.close();
  web.close();
});
const privateHosts = `${new URL(emulator.url).host},${web.host}`;
const server = await TestServer.start(t, { SOURCE_FOLDERS: folder, SOURCE_PRIVATE_HOSTS: privateHosts });
const api = new CheckedApiClient(server);

async function addSource(name: string, settings: Readonly<Record<string, unknown>>): Promise<void> {
  await createCollection(api, name);
  const request = { source_name: name, collection_name: name, schedule: 'off', ...settings };
  await api.call('sources/add-source', request);
}

await t.test('a folder equals its collection after random changes', async (t) => {
  await addSource('directory', { directory: { path: folder } });
  const write = (key: string, content: string) => {
    mkdirSync(dirname(join(folder, key)), { recursive: true });
    writeFileSync(join(folder, key), content);
  };
  const origin: TestOrigin = {
    write: async (key, content) => write(key, content),
    rename: async (from, to) => {
      mkdirSync(dirname(join(folder, to)), { recursive: true });
      renameSync(join(folder, from), join(folder, to));
    },
    delete: async (key) => rmSync(join(folder, key)),
  };
  const names = { source: 'directory', collection: 'directory', prefix: '' };
  await checkEqualToOrigin(t, { server, api, origin, changes, ...names });
});

await t.test('a bucket equals its collection after random changes', async (t) => {
  const credentials = { access_key_id: emulator.accessKeyId, secret_access_key: 'secret' };
  await addSource('s3', { s3: { bucket: emulator.bucket, endpoint: emulator.url }, credentials });
  const put = (key: string, body: Buffer) => emulator.objects.set(key, { body, modifiedAt: new Date() });
  const origin: TestOrigin = {
    write: async (key, content) => void put(key, Buffer.from(content)),
    rename: async (from, to) => {
      put(to, emulator.objects.get(from)!.body);
      emulator.objects.delete(from);
    },
    delete: async (key) => void emulator.objects.delete(key),
  };
  const names = { source: 's3', collection: 's3', prefix: '' };
  await checkEqualToOrigin(t, { server, api, origin, changes, ...names });
});

await t.test('a website equals its collection after random changes', async (t) => {
  await addSource('website', { website: { url: web.url, requests_per_second: 20 } });
  const names = { source: 'website', collection: 'website', prefix: '' };
  const listExpected = (model: ReadonlyMap<string, string>) =>
    hashesOf(model).set('index.html', sha256(web.index));
  await checkEqualToOrigin(t, { server, api, origin: web, changes, listExpected, ...names });
});
