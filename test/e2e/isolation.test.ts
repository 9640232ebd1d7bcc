import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { countConnections } from '../parsing/connection-counter.ts';
import { buildDocxWithLinks, buildOdtWithLinks } from '../parsing/link-fixtures.ts';
import t from '../support/tap.ts';
import { joinSharedServer } from './shared-server.ts';

/** Documents that link to secrets on the server's machine and to another server. */

t.setTimeout(900_000);

await t.test('documents with links to secrets.json and to an address import neither', async (t) => {
  const { server, api } = await joinSharedServer();
  const { port, connections } = await countConnections(t);
  const secretFile = join(server.data, 'secrets.json');
  t.ok(existsSync(secretFile), 'the target of the links exists');
  const targets = { secretFile, address: `http://127.0.0.1:${port}` };
  const secrets = Object.values(JSON.parse(readFileSync(secretFile, 'utf8')) as Record<string, unknown>).map(
    String,
  );
  const collection_name = 'links';
  await api.call('collections/add-collection', { collection_name });
  const files = [
    ['links.odt', buildOdtWithLinks(targets)],
    ['links.docx', buildDocxWithLinks(targets)],
  ] as const;
  for (const [path, bytes] of files) {
    const base64_data = Buffer.from(bytes).toString('base64');
    const added = await api.add(collection_name, path, { type: 'auto', base64_data });
    t.match(added, { index_status: 'indexed' }, path);
    const { document } = await api.call('documents/get-document-info', {
      collection_name,
      path,
      include_content: true,
    });
    t.match(document.content, /The first words\.[\s\S]*The last words\./, path);
    for (const secret of secrets) t.notOk(document.content?.includes(secret), `${path} has no secret`);
  }
  t.equal(connections(), 0, 'nothing connects to the address');
});
