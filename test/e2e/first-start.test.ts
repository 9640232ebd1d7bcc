import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { fileMsMax } from '../waiting.ts';
import { Api } from './api.ts';
import { TestServer } from './server.ts';

/** The first start of an installation, as the person sees it who types the command. */

t.setTimeout(fileMsMax);

for (const HTTP of ['auto', 'node']) {
  t.test(`${HTTP}: a first start on a taken port says so, and the next one still shows a key`, async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'quarry-first-'));
    const first = { HTTP, API_KEY: '', DATA: join(folder, 'data') };
    const other = await TestServer.start(t, { HTTP });
    t.teardown(() => rmSync(folder, { recursive: true, force: true }));
    const { port } = new URL(other.url);
    await t.rejects(TestServer.start(t, { ...first, PORT: port }), {
      message: new RegExp(`quarry: Cannot listen on port ${port} of 127.0.0.1 .*another program`),
    });
    const server = await TestServer.start(t, first);
    const key = /API key, shown only this once: (\S+)/.exec(server.printed)?.[1];
    t.match(key, /^ze_[0-9A-Za-z]{36}$/);
    t.equal(await new Api(server, key).status('collections/get-collection-list', {}), 200);
    await server.restart();
    t.notMatch(server.printed, /shown only this once/);
    t.equal(await new Api(server, key).status('collections/get-collection-list', {}), 200);
  });
}
