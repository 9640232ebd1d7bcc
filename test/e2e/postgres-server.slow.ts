import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { PostgresServer, postgresSkipReason } from '../support/postgres.ts';
import { S3Emulator } from '../support/s3-emulator.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { runForJson, runQuarry } from './backup-commands.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { freePort } from './free-port.ts';
import { sendRequest } from './people.ts';
import { adminKey, type ServerVariables, TestServer } from './server.ts';

/** A server on PostgreSQL, with files in a folder or in a bucket. */

t.setTimeout(testFileMsMax);
const skip = postgresSkipReason;
const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-server-'));
t.after(() => rmSync(folder, { recursive: true, force: true }));
const database = skip === false ? await PostgresServer.start(t) : null;
let databases = 0;

async function createDatabase(): Promise<string> {
  databases += 1;
  const name = `quarry_${databases}`;
  const client = new pg.Client({ connectionString: database!.url });
  await client.connect();
  await client.query(`CREATE DATABASE ${name}`);
  await client.end();
  return database!.url.replace(/\/postgres$/, `/${name}`);
}

/** Settings of an installation without data. */
async function createStorage(): Promise<{ readonly STORE: string; readonly FILES: string }> {
  const STORE = await createDatabase();
  return { STORE, FILES: `file://${join(folder, `files ${databases}`)}`.replaceAll(' ', '%20') };
}

const test = (title: string, check: (t: Test) => Promise<void>) => t.test(title, { skip }, check);

async function fill(server: TestServer): Promise<CheckedApiClient> {
  const api = new CheckedApiClient(server);
  await api.call('collections/add-collection', { collection_name: 'stones' });
  await api.add('stones', 'granite.txt', 'Granite is a coarse rock of quartz and feldspar.');
  await api.add('stones', 'marble.txt', 'Marble is metamorphosed limestone.');
  await api.add('stones', 'basalt.md', fileContent('# Basalt\n\nBasalt is a dark volcanic rock.'));
  await api.call('documents/delete-document', { collection_name: 'stones', path: 'marble.txt' });
  return api;
}

const fileContent = (text: string) =>
  ({ type: 'auto', base64_data: Buffer.from(text).toString('base64') }) as const;

/** What a client sees of the documents. */
async function answersOf(server: TestServer) {
  const api = new CheckedApiClient(server);
  const found: string[][] = [];
  for (const query of ['volcanic rock', 'coarse quartz', 'limestone'])
    found.push(await api.find('stones', query, { k: 3 }));
  const { file_url, ...info } = await api.info('stones', 'basalt.md', true);
  const { pathname, search } = new URL(file_url);
  const file = await fetch(`${server.url}${pathname}${search}`);
  return { paths: await api.paths('stones'), found, info, file: await file.text(), url: search };
}

const readiness = (server: TestServer) => sendRequest(`${server.url}/readyz`, { method: 'GET' });

/** Deletes what PostgreSQL and the store of files have, too. */
function clearCache({ data }: TestServer): void {
  for (const name of readdirSync(data))
    if (name !== 'secrets.json') rmSync(join(data, name), { recursive: true });
}

/** Starts a node with the secrets of another one and an empty cache. */
async function startNode(t: Test, first: TestServer, variables: ServerVariables): Promise<TestServer> {
  const data = mkdtempSync(join(folder, 'node-'));
  cpSync(join(first.data, 'secrets.json'), join(data, 'secrets.json'));
  return TestServer.start(t, { ...variables, DATA: data });
}

test('after kill -9 and the loss of the cache, the answers are the same', async (t) => {
  const storage = await createStorage();
  const server = await TestServer.start(t, storage);
  await fill(server);
  const before = await answersOf(server);
  t.match(before, { paths: ['basalt.md', 'granite.txt'], file: /volcanic rock/ });
  const ready = await readiness(server);
  const { port } = new URL(storage.STORE);
  t.match(ready.body.components, {
    postgresql: { ready: true, detail: /^connected; epoch 1, commit \d+, cache 0 behind$/ },
    egress: { detail: new RegExp(`127\\.0\\.0\\.1:${port} \\(PostgreSQL\\)`) },
  });
  const headers = { authorization: `Bearer ${adminKey}` };
  const metrics = await (await fetch(`${server.url}/metrics`, { headers })).text();
  t.match(metrics, /quarry_postgres_state\{state="open"\} 1\n/);
  t.match(metrics, /quarry_postgres_lag_commits 0\n/);
  await server.stop('SIGKILL');
  clearCache(server);
  await server.restart();
  t.same(await answersOf(server), before);
  await server.stop('SIGKILL');
  const secrets = readFileSync(join(server.data, 'secrets.json'));
  rmSync(server.data, { recursive: true });
  await t.rejects(server.restart(), { message: /secrets\.json is missing.*Copy secrets\.json/s });
  t.notOk(existsSync(join(server.data, 'secrets.json')), 'no second secret');
  writeFileSync(join(server.data, 'secrets.json'), `${JSON.stringify({ secret: 'A'.repeat(43) })}\n`);
  await t.rejects(server.restart(), { message: /belongs to another installation/ });
  writeFileSync(join(server.data, 'secrets.json'), secrets);
  await server.restart();
  t.match((await readiness(server)).body.components.postgresql.detail, /epoch 3,/);
  t.same(await answersOf(server), before);
});

test('a second node takes over; the first one rejects writes and says so', async (t) => {
  const storage = await createStorage();
  const first = await TestServer.start(t, storage);
  const api = await fill(first);
  const before = await answersOf(first);
  const second = await startNode(t, first, storage);
  t.same(await answersOf(second), before);
  await waitUntil('the notice of the takeover', async () => (await readiness(first)).status === 503);
  t.match((await readiness(first)).body.components.postgresql, {
    ready: false,
    detail: /another process has taken over the data; writes get 503/,
  });
  const content = { type: 'text', text: 'Slate is fine-grained.' };
  const document = { collection_name: 'stones', path: 'slate.txt', content, wait: true };
  const refused = await api.request('documents/add-document', document);
  t.match(refused, { status: 503, body: { detail: /Another node has taken over/ } });
  t.ok(Number(refused.headers.get('retry-after')) >= 1);
  t.same(await api.find('stones', 'volcanic rock', { k: 1 }), ['basalt.md'], 'reads continue');
  // A start that is refused does not end the writes of the running node.
  await t.rejects(TestServer.start(t, storage), { message: /secrets\.json is missing/ });
  const secondApi = new CheckedApiClient(second);
  await secondApi.add('stones', 'slate.txt', 'Slate is fine-grained.');
  t.same(await secondApi.find('stones', 'fine-grained slate', { k: 1 }), ['slate.txt']);
  await first.stop();
  t.equal(await second.stop(), 0);
});

test('files in a bucket', async (t) => {
  const bucket = await S3Emulator.start();
  t.teardown(() => bucket.close());
  const server = await TestServer.start(t, {
    STORE: await createDatabase(),
    FILES: `s3://${bucket.bucket}/quarry/files`,
    FILES_S3_ENDPOINT: bucket.url,
    FILES_S3_ACCESS_KEY_ID: bucket.accessKeyId,
    FILES_S3_SECRET_ACCESS_KEY: 'secret',
  });
  const api = await fill(server);
  const before = await answersOf(server);
  const keys = [...bucket.objects.keys()].sort();
  t.match(keys, [/^quarry\/files\/files\/..\/..\/[0-9a-f]{64}\.0+1\./, 'quarry/files/quarry.json']);
  bucket.failure = { status: 503, code: 'SlowDown' };
  const content = fileContent('Gneiss is banded.');
  const document = { collection_name: 'stones', path: 'gneiss.txt', content };
  const refused = await api.request('documents/add-document', document);
  t.match(refused, { status: 503, body: { detail: /the store of files cannot be used/ } });
  bucket.failure = null;
  await api.add('stones', 'gneiss.txt', content);
  await api.call('documents/delete-document', { collection_name: 'stones', path: 'gneiss.txt' });
  await server.stop('SIGKILL');
  clearCache(server);
  await server.restart();
  t.same(await answersOf(server), before);
  await server.stop();
  bucket.objects.delete('quarry/files/quarry.json');
  await t.rejects(server.restart(), { message: /quarry\.json is missing/ });
});

test('a data directory is imported', async (t) => {
  const server = await TestServer.start(t);
  await fill(server);
  const before = await answersOf(server);
  const storage = await createStorage();
  const words = ['cluster', 'import', server.data];
  t.match((await runQuarry(words)).errors, /Set QUARRY_STORE and QUARRY_FILES/);
  const busy = await runQuarry(words, storage);
  t.match(busy, { code: 3, errors: /is in use by the server with process ID/ });
  t.match((await runQuarry(['cluster', 'import', folder], storage)).errors, /is not a data directory/);
  await server.stop('SIGKILL');
  const imported = await runForJson(words, storage);
  t.match(imported, { files: 1, continued: false });
  t.ok(imported.rows > 10);
  t.match((await runQuarry(words, storage)).errors, /The database of QUARRY_STORE has data already/);
  const node = await startNode(t, server, storage);
  t.same(await answersOf(node), before);
  const api = new CheckedApiClient(node);
  await api.add('stones', 'slate.txt', 'Slate is fine-grained.');
  t.same(await api.find('stones', 'fine-grained slate', { k: 1 }), ['slate.txt']);
});

test('without QUARRY_STORE, the client of PostgreSQL is not loaded', async (t) => {
  const script = `
    import { createRequire } from 'node:module';
    await import(${JSON.stringify(new URL('../../src/main.js', import.meta.url).href)});
    const loaded = Object.keys(createRequire(import.meta.url)('node:module')._cache);
    console.log(loaded.length > 0, loaded.some((path) => /node_modules.pg[/]/.test(path)));`;
  const run = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' });
  t.equal(run.stdout, 'true false\n', run.stderr);
});

test('a data directory is used either as a cache or on its own', async (t) => {
  const storage = await createStorage();
  const server = await TestServer.start(t);
  await fill(server);
  const before = await answersOf(server);
  const none = { STORE: '', FILES: '' };
  await t.rejects(server.restart(storage), { message: /quarry cluster import .* copies the data/ });
  await server.restart(none);
  t.same(await answersOf(server), before);
  const node = await TestServer.start(t, storage);
  await t.rejects(node.restart(none), { message: /is a cache of PostgreSQL\. Set QUARRY_STORE/ });
  // The files of one database are not those of another one.
  const other = { ...storage, STORE: await createDatabase() };
  await t.rejects(TestServer.start(t, other), { message: /has the files of other data/ });
});

test('a database that cannot be reached is reported with its address', async (t) => {
  const { FILES } = await createStorage();
  const STORE = `postgres://quarry:hidden@127.0.0.1:${await freePort()}/quarry`;
  const refused = await TestServer.start(t, { STORE, FILES }).catch((error: Error) => error.message);
  t.match(refused, /PostgreSQL at 127\.0\.0\.1:\d+ \(database quarry\) cannot be used: .*ECONNREFUSED/);
  t.notMatch(refused, /hidden/);
});
