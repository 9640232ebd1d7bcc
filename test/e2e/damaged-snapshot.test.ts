import { readdirSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { waitFor } from './checked-api-client.ts';
import { joinSharedServer } from './shared-server.ts';

/** A shard file is truncated while the server reads vectors from it: the shard is rebuilt, and the server survives. */

t.setTimeout(600_000);
const collection_name = 'shelf';
const documents = 1_200;
const textOf = (i: number) => `Note ${i} about the herring number ${i} that swims in bay ${i % 17}.`;

/** Largest file of a shard, which holds the vectors. */
function shardFile(folder: string): string | null {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => /shard-\d+\.quarry$/.test(name))
    .map((name) => join(folder, name));
  return files.find((file) => statSync(file).size > 1_048_576) ?? null;
}

t.test('a server with a truncated snapshot rebuilds the shard from its store', async (t) => {
  const { server, api, key } = await joinSharedServer();
  const index = join(server.data, 'index');
  const others = readdirSync(index);
  await api.call('collections/add-collection', { collection_name });
  for (let at = 0; at < documents; at += 200) {
    const batch = Array.from({ length: 200 }, (_, i) => ({
      path: `${at + i}.txt`,
      content: { type: 'text', text: textOf(at + i) },
    }));
    await api.call('documents/add-documents', { collection_name, documents: batch, wait: true });
  }
  // Shutdown writes the snapshot, and the next start reads the vectors from it.
  await server.restart();
  const { pid } = server;
  const [folder = ''] = readdirSync(index).filter((name) => !others.includes(name));
  const file = shardFile(join(index, folder));
  if (file === null) throw new Error('no shard has its vectors in a file');
  truncateSync(file, 8_192);
  const ask = async (query: string) => {
    const reply = await fetch(`${server.url}/v1/queries/top-documents`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ collection_name, query, k: 3 }),
    });
    return { status: reply.status, body: (await reply.json()) as { results?: { path: string }[] } };
  };
  const statuses = new Set<number>();
  const found = await waitFor('the repair', async () => {
    const reply = await ask('herring number 777');
    statuses.add(reply.status);
    const isRebuilt = /shard snapshot damaged, rebuilding/.test(server.fullLog);
    return isRebuilt && reply.status === 200 ? reply : null;
  });
  t.equal(found.body.results?.[0]?.path, '777.txt');
  t.same([...statuses].sort(), [200, 503]);
  t.match(server.fullLog, /shard snapshot truncated or unreadable/);
  t.ok(server.fullLog.includes(`"directory":"${join(index, folder)}`), 'the log names the folder');
  t.equal(server.pid, pid, 'the process is the same');
  await api.call('documents/add-document', {
    collection_name,
    path: 'new.txt',
    content: { type: 'text', text: 'A walrus arrived afterwards.' },
    wait: true,
  });
  t.equal((await ask('walrus')).body.results?.[0]?.path, 'new.txt');
});
