import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { sendRequest } from './people.ts';
import { TestServer } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** First start of an installation, as seen on the command line, and each signal that stops it. */

t.setTimeout(testFileMsMax);

/**
 * Starts a server on a new data directory: first on the port of another server of the same kind, which fails, and then on
 * a free port. Returns it with the key that it has written.
 */
async function checkFirstStart(t: Test, HTTP: 'auto' | 'node', other: TestServer) {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-first-'));
  const first = { HTTP, API_KEY: '', ADMIN_KEY: '', DATA: join(folder, 'data') };
  const { port } = new URL(other.url);
  await t.rejects(TestServer.start(t, { ...first, PORT: port }), {
    message: new RegExp(`quarry: Cannot listen on 127.0.0.1:${port}: the port is in use`),
  });
  const server = await TestServer.start(t, first);
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = /First API key, written to: (\S+)/.exec(server.printedText)?.[1] ?? '';
  t.equal(file, join(first.DATA, 'first-key.txt'));
  const key = readFileSync(file, 'utf8').trim();
  t.match(key, /^ze_[0-9A-Za-z]{36}$/);
  for (const name of ['first-key.txt', 'sign-in-link.txt'])
    t.equal(statSync(join(first.DATA, name)).mode & 0o777, 0o600, name);
  t.notMatch(server.standardOutput, /ze_[0-9A-Za-z]{36}|token=/, 'no log contains a credential');
  t.equal(await new CheckedApiClient(server, key).status('collections/get-collection-list', {}), 200);
  return { server, key };
}

/** No credential of a fresh installation can be guessed. */
async function checkGuesses(t: Test, fresh: TestServer): Promise<void> {
  const guesses = [
    'admin',
    'password',
    'quarry',
    'changeme',
    'ze_',
    'default',
    'secret',
    'root',
    '0'.repeat(39),
  ];
  for (const guess of [...guesses, ...guesses.map((word) => word.padEnd(16, word))]) {
    const headers = { authorization: `Bearer ${guess}` };
    const asKey = await sendRequest(`${fresh.url}/v1/collections/get-collection-list`, { headers, body: {} });
    const asAdministrator = await sendRequest(`${fresh.url}/v1/admin/list-api-keys`, { headers, body: {} });
    const login = await sendRequest(`${fresh.url}/api/admin/login`, {
      body: { username: guess, password: guess },
    });
    t.same([asKey.status, asAdministrator.status, login.status], [401, 503, 503], guess);
  }
}

/** A stopping server prints one line before and one after. */
async function checkStop(t: Test, server: TestServer, signal: NodeJS.Signals): Promise<void> {
  t.equal(await server.stop(signal), 0, signal);
  t.match(server.standardOutput, /\nStopping\nStopped\n$/, signal);
}

t.test('a first start on a port in use reports it, and the next start still shows a key', async (t) => {
  const { server: other } = await joinSharedServer();
  const { server, key } = await checkFirstStart(t, 'auto', other);
  await t.test('a fresh installation has no guessable credential', (t) => checkGuesses(t, server));
  await checkStop(t, server, 'SIGINT');
  await server.restart({ HTTP: 'node' });
  t.notMatch(server.printedText, /First API key/, 'a later start shows no key');
  t.equal(await new CheckedApiClient(server, key).status('collections/get-collection-list', {}), 200);
  const third = await checkFirstStart(t, 'node', server);
  await checkStop(t, server, 'SIGTERM');
  await checkStop(t, third.server, 'SIGHUP');
});
