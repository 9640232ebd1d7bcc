import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir, userInfo } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { runQuarry } from '../cli/quarry.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { freePort } from './free-port.ts';
import { operatorKey, TestServer } from './server.ts';

/** Imports of a table with vectors from a real PostgreSQL. */

t.setTimeout(testFileMsMax);

/** Folder of the programs of the newest PostgreSQL on Debian; null if none is installed. */
function findPrograms(): string | null {
  const root = '/usr/lib/postgresql';
  const versions = existsSync(root) ? readdirSync(root).sort((a, b) => Number(b) - Number(a)) : [];
  return versions[0] === undefined ? null : join(root, versions[0], 'bin');
}

/** PostgreSQL refuses to run as root. */
function serviceUser(): { uid: number; gid: number } | null {
  if (userInfo().uid !== 0) return { uid: userInfo().uid, gid: userInfo().gid };
  const { status, stdout } = spawnSync('id', ['-u', 'postgres'], { encoding: 'utf8' });
  const group = spawnSync('id', ['-g', 'postgres'], { encoding: 'utf8' });
  return status === 0 ? { uid: Number(stdout), gid: Number(group.stdout) } : null;
}

const programs = findPrograms();
const user = serviceUser();
const skip =
  programs === null || user === null
    ? 'PostgreSQL is not installed; on Debian: apt-get install --no-install-recommends postgresql'
    : false;

/** Starts a database server; returns a URL. */
async function startDatabase(t: Test): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-postgres-'));
  chownSync(folder, user!.uid, user!.gid);
  const data = join(folder, 'data');
  const options = { ...user!, env: { PATH: process.env.PATH, LC_ALL: 'C.UTF-8' } };
  const init = ['-D', data, '-U', 'tester', '--auth=trust', '--no-sync'];
  const created = spawnSync(join(programs!, 'initdb'), init, { ...options, encoding: 'utf8' });
  if (created.status !== 0) throw new Error(created.stderr);
  const port = await freePort();
  const settings = ['-D', data, '-p', String(port), '-k', folder, '-c', 'listen_addresses=127.0.0.1', '-F'];
  const server: ChildProcess = spawn(join(programs!, 'postgres'), settings, { ...options, stdio: 'ignore' });
  const ended = new Promise((resolve) => server.once('close', resolve));
  t.teardown(async () => {
    server.kill('SIGINT');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `postgres://tester@127.0.0.1:${port}/postgres`;
  await waitUntil('the database', () => canConnect(url), 100);
  return url;
}

async function canConnect(connectionString: string): Promise<boolean> {
  const client = new pg.Client({ connectionString });
  try {
    await client.connect();
    return true;
  } catch {
    return false; // It is starting.
  } finally {
    await client.end();
  }
}

t.test('rows of PostgreSQL, with their vectors, and with those of the server', { skip }, async (t) => {
  const url = await startDatabase(t);
  const database = new pg.Client({ connectionString: url });
  await database.connect();
  // Values of the type of pgvector are read as the same text.
  await database.query('CREATE DOMAIN vector AS text; CREATE SCHEMA rag');
  await database.query(
    'CREATE TABLE rag."Chunks" (id int, document text, embedding vector, cmetadata jsonb, lang text)',
  );
  await database.query(`INSERT INTO rag."Chunks"
    SELECT i, CASE WHEN i = 7 THEN NULL ELSE 'Granite of pit ' || i END, '[' || cos(i) || ',' || sin(i) || ',0.5]',
      jsonb_build_object('pit', i, 'tags', jsonb_build_array('a', 'b')), 'en'
    FROM generate_series(0, 2499) AS i`);
  await database.end();
  const server = await TestServer.start(t);
  const api = new CheckedApiClient(server);
  const quarry = (...rest: string[]) =>
    runQuarry(['import', url, '--from', 'pgvector', '--source-collection', 'rag.Chunks', '--json', ...rest], {
      variables: { QUARRY_URL: server.url, QUARRY_API_KEY: operatorKey },
    });
  const done = await quarry('--collection', 'own');
  const { added, skipped, comparison } = JSON.parse(done.out || '{}');
  t.equal(added, 2_499, done.err);
  t.match(skipped, [{ origin: 'point 7', reason: 'it has no text' }]);
  t.match(comparison, { source_documents: 2_500, collection_documents: 2_499 });
  t.equal(comparison.found, comparison.searches);
  t.match(await api.info('own', '41', true), {
    content: 'Granite of pit 41',
    metadata: { pit: '41', 'list:tags': ['a', 'b'], lang: 'en' },
  });
  const { collection } = await api.call('collections/get-collection-info', { collection_name: 'own' });
  t.match(collection, { embedding_model: 'own', dimensions: 3 });
  t.match(JSON.parse((await quarry('--collection', 'own')).out), { added: 0, unchanged: 2_499 });
  const missing = await quarry('--collection', 'x', '--source-collection', 'nothing');
  t.match(missing, { code: 1, err: /PostgreSQL: relation "nothing" does not exist/ });
});
