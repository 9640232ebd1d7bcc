import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { QuarryClient } from '../../packages/client/src/client.ts';
import { browserSkipReason, openBrowser } from '../e2e/browser.ts';
import { adminKey, TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/** `packages/client` in a page of another site, with a key that allows the site. */

t.setTimeout(testFileMsMax);
const compiledRoot = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
const code = join(compiledRoot, 'packages', 'client', 'src');

/** A site with an empty page and the compiled client. */
const site = createServer((request, reply) => {
  const { url = '/' } = request;
  if (!/^(?:\/[a-z-]+)+\.js$/.test(url))
    reply.setHeader('content-type', 'text/html').end('<title>Site</title>');
  else reply.setHeader('content-type', 'text/javascript').end(readFileSync(join(code, url)));
});

t.test('a page searches, uploads and reads errors', { skip: browserSkipReason }, async (t) => {
  await new Promise<void>((resolve) => site.listen(0, '127.0.0.1', resolve));
  t.teardown(() => site.close());
  const origin = `http://127.0.0.1:${(site.address() as AddressInfo).port}`;
  const server = await TestServer.start(t);
  const send = async (path: string, body: object) => {
    const reply = await fetch(`${server.url}/v1/admin/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    t.equal(reply.status, 201, path);
    return (await reply.json()) as { api_key: string };
  };
  const organization_id = '77777777-7777-4777-8777-777777777777';
  await send('create-organization', { organization_id });
  const key = { organization_id, name: 'Site', permission: 'all', allowed_origins: [origin] };
  const { api_key: apiKey } = await send('add-api-key', key);

  const page = await (await openBrowser(t)).newPage();
  await page.goto(origin);
  const found = await page.evaluate(
    async ({ url, options }) => {
      const { QuarryClient: Client } = (await import(url)) as { QuarryClient: typeof QuarryClient };
      const quarry = new Client(options);
      const collection_name = 'site';
      await quarry.collections.addCollection({ collection_name });
      const document = { collection_name, metadata: { author: 'Zoë' }, wait: true };
      await quarry.documents.putDocument({
        ...document,
        path: 'a.txt',
        content: new Blob(['Basalt is a rock.']),
      });
      await quarry.documents.uploadDocument({ ...document, path: 'b.txt', file: new Blob(['Marble.']) });
      const { results } = await quarry.queries.topSnippets({ collection_name, query: 'basalt', k: 1 });
      const { document: info } = await quarry.documents.getDocumentInfo({ collection_name, path: 'a.txt' });
      const error = await quarry.collections.getCollectionInfo({ collection_name: 'missing' }).then(
        () => null,
        (reason: unknown) => reason as { name: string; status: number; requestId: string | null },
      );
      return { content: results[0]?.content, metadata: info.metadata, error: { ...error } };
    },
    { url: `${origin}/client.js`, options: { apiKey, baseUrl: server.url } },
  );
  t.match(found, {
    content: 'Basalt is a rock.',
    metadata: { author: 'Zoë' },
    error: { name: 'QuarryApiError', status: 404, requestId: /^[0-9a-f-]{36}$/ },
  });
});
