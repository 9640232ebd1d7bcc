import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/** First start of an installation, as seen on the command line. */

t.setTimeout(testFileMsMax);

for (const HTTP of ['auto', 'node']) {
  t.test(
    `${HTTP}: a first start on a port in use reports it, and the next start still shows a key`,
    async (t) => {
      const folder = mkdtempSync(join(tmpdir(), 'quarry-first-'));
      const first = { HTTP, API_KEY: '', DATA: join(folder, 'data') };
      const other = await TestServer.start(t, { HTTP });
      t.teardown(() => rmSync(folder, { recursive: true, force: true }));
      const { port } = new URL(other.url);
      await t.rejects(TestServer.start(t, { ...first, PORT: port }), {
        message: new RegExp(`quarry: Cannot listen on 127.0.0.1:${port}: the port is in use`),
      });
      const server = await TestServer.start(t, first);
      const file = /First API key, written to: (\S+)/.exec(server.printedText)?.[1] ?? '';
      t.equal(file, join(first.DATA, 'first-key.txt'));
      const key = readFileSync(file, 'utf8').trim();
      t.match(key, /^ze_[0-9A-Za-z]{36}$/);
      for (const name of ['first-key.txt', 'sign-in-link.txt'])
        t.equal(statSync(join(first.DATA, name)).mode & 0o777, 0o600, name);
      t.notMatch(server.standardOutput, /ze_[0-9A-Za-z]{36}|token=/, 'no log contains a credential');
      t.equal(await new CheckedApiClient(server, key).status('collections/get-collection-list', {}), 200);
      await server.restart();
      t.notMatch(server.printedText, /First API key/);
      t.equal(await new CheckedApiClient(server, key).status('collections/get-collection-list', {}), 200);
    },
  );
}
