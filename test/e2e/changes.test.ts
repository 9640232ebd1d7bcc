import type { ChangeReply } from '../http/operations/changes.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { EventStreamClient } from './event-stream.ts';
import { adminKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';
import { createTenant, type Tenant } from './tenant.ts';

/** The change feed of an organization: replies, long poll, event streams, and keys that see a part. */

t.setTimeout(testFileMsMax);
const { server } = await joinSharedServer();

async function endOf(api: CheckedApiClient): Promise<string> {
  return (await api.call('changes/get-changes')).cursor;
}

async function readAll(api: CheckedApiClient, after: string): Promise<ChangeReply[]> {
  const found: ChangeReply[] = [];
  for (let cursor = after; ; ) {
    const reply = await api.call('changes/get-changes', { after: cursor, limit: 3 });
    found.push(...reply.changes);
    if (!reply.has_more) return found;
    cursor = reply.cursor;
  }
}

const describe = ({ type, collection_name, path }: ChangeReply) =>
  [type, collection_name, ...(path === undefined ? [] : [path])].join(' ');

async function clientWithKey({ organization_id }: Tenant, restriction: object): Promise<CheckedApiClient> {
  const administration = new CheckedApiClient(server, adminKey);
  const body = { organization_id, name: 'restricted', permission: 'read_only', restriction };
  return new CheckedApiClient(server, (await administration.call('admin/add-api-key', body)).api_key);
}

await t.test('every change is listed once, in order, with a number', async (t) => {
  const { api } = await createTenant(server);
  const start = await endOf(api);
  await createCollection(api, 'books');
  await api.add('books', 'a', 'granite', { metadata: { author: 'Ada' } });
  await api.add('books', 'a', 'basalt', { overwrite: true });
  await api.addAll('books', [
    { path: 'b', content: { type: 'text', text: 'one' } },
    { path: 'c', content: { type: 'text', text: 'two' } },
  ]);
  const metadata = { author: 'Bob' };
  await api.call('documents/update-document', { collection_name: 'books', path: 'a', metadata });
  await api.add('books', 'broken.pdf', {
    type: 'auto',
    base64_data: Buffer.from('%PDF-1.4 nothing').toString('base64'),
  });
  await waitUntil(
    'the document is indexed',
    async () => (await api.info('books', 'a')).index_status === 'indexed',
  );
  await api.call('documents/delete-document', { collection_name: 'books', path: 'b' });
  await api.call('collections/rename-collection', {
    collection_name: 'books',
    new_collection_name: 'library',
  });
  await api.call('collections/delete-collection', { collection_name: 'library' });
  const changes = await readAll(api, start);
  t.same(
    changes.map(({ sequence }) => sequence),
    changes.map((_, i) => i + 1),
  );
  t.equal(new Set(changes.map(({ id }) => id)).size, changes.length);
  const of = (path: string | undefined) =>
    changes.filter((change) => change.path === path).map(({ type }) => type);
  t.same(of('a'), [
    'document.added',
    'document.indexed',
    'document.overwritten',
    'document.indexed',
    'document.metadata_changed',
    'document.indexed',
  ]);
  t.same(of('b'), ['document.added', 'document.indexed', 'document.deleted']);
  t.same(of('broken.pdf'), ['document.added', 'document.failed']);
  t.same(of(undefined), ['collection.created', 'collection.renamed', 'collection.deleted']);
  t.match(
    changes.find(({ type }) => type === 'document.failed'),
    { error: { code: String, message: String } },
  );
  t.match(
    changes.find(({ type }) => type === 'collection.renamed'),
    { collection_name: 'library', previous_collection_name: 'books' },
  );
  t.same(await readAll(api, 'oldest'), changes);
  t.same(await readAll(api, await endOf(api)), []);
});

await t.test('changes are recorded from the first call of an organization on', async (t) => {
  const { api } = await createTenant(server);
  await createCollection(api, 'books');
  await api.add('books', 'early', 'granite');
  t.same((await api.call('changes/get-changes', { after: 'oldest' })).changes, []);
  await api.add('books', 'late', 'granite');
  t.same((await readAll(api, 'oldest')).map(describe), [
    'document.added books late',
    'document.indexed books late',
  ]);
});

await t.test('invalid positions are rejected', async (t) => {
  const { api } = await createTenant(server);
  const other = await createTenant(server);
  const cursor = await endOf(other.api);
  for (const [status, request] of [
    [400, { after: 'x' }],
    [400, { after: cursor }],
    [400, { after: 'x'.repeat(600) }],
    [400, { limit: 0 }],
    [400, { limit: 1_001 }],
    [400, { wait_seconds: 31 }],
    [422, { limit: 'many' }],
  ] as const)
    t.equal(await api.status('changes/get-changes', request), status, JSON.stringify(request));
  const get = (query: string) =>
    api.request(`changes?${query}`, undefined, { method: 'GET', as: 'changes/get-changes' });
  t.equal((await get('limit=many')).status, 422);
  t.equal((await get(`after=${cursor}`)).status, 400);
  t.match(await get('after=oldest&limit=2&wait_seconds=0'), { status: 200, body: { changes: [] } });
});

await t.test('a call waits for the next change', async (t) => {
  const { api } = await createTenant(server);
  await createCollection(api, 'books');
  const after = await endOf(api);
  const waiting = api.call('changes/get-changes', { after, wait_seconds: 30 });
  await api.add('books', 'a', 'granite');
  t.match(await waiting, { changes: [{ type: 'document.added', path: 'a' }] });
  const empty = await api.call('changes/get-changes', { after: await endOf(api), wait_seconds: 1 });
  t.same(empty.changes, []);
});

await t.test('an event stream delivers changes and continues after a restart', async (t) => {
  const { api, key } = await createTenant(server);
  await createCollection(api, 'books');
  const stream = await EventStreamClient.open(server, key);
  await waitUntil('the stream is open', () => stream.lastEventId !== '');
  await api.add('books', 'a', 'granite');
  await stream.waitForEvents(2);
  t.match(stream.events, [
    { type: 'document.added', data: { path: 'a', sequence: 1 } },
    { type: 'document.indexed', data: { path: 'a', sequence: 2 } },
  ]);
  await waitUntil('heartbeats', () => stream.heartbeats > 1);
  await server.restart();
  await waitUntil('the end of the stream', () => stream.hasEnded);
  await api.add('books', 'b', 'granite');
  const next = await EventStreamClient.open(server, key, { lastEventId: stream.lastEventId });
  await next.waitForEvents(2);
  t.match(next.events, [{ data: { path: 'b', sequence: 3 } }, { data: { path: 'b', sequence: 4 } }]);
  const resumed = await EventStreamClient.open(server, key, {
    query: '?after=oldest',
    lastEventId: next.events[0]!.id,
  });
  await resumed.waitForEvents(1);
  t.match(resumed.events, [{ data: { path: 'b', sequence: 4 } }]);
  next.close();
  resumed.close();
});

await t.test('a deleted key ends its stream, and an organization has a bounded number', async (t) => {
  const tenant = await createTenant(server);
  const administration = new CheckedApiClient(server, adminKey);
  const { organization_id } = tenant;
  const body = { organization_id, name: 'short', permission: 'read_only' };
  const { api_key: key } = await administration.call('admin/add-api-key', body);
  const { api_keys: keys } = await administration.call('admin/list-api-keys', { organization_id });
  const stream = await EventStreamClient.open(server, key);
  const api_key_id = keys.find(({ name }) => name === 'short')!.id;
  await administration.call('admin/delete-api-key', { organization_id, api_key_id });
  await waitUntil('the end of the stream', () => stream.hasEnded);
  const streams = await Promise.all(
    Array.from({ length: 16 }, () => EventStreamClient.open(server, tenant.key)),
  );
  await t.rejects(EventStreamClient.open(server, tenant.key), /429: .*at most 16 open event streams/);
  const other = await createTenant(server);
  (await EventStreamClient.open(server, other.key)).close();
  streams[0]!.close();
  await waitUntil('another stream opens', async () => {
    const opened = await EventStreamClient.open(server, tenant.key).catch(() => null);
    if (opened !== null) streams.push(opened);
    return opened !== null;
  });
  for (const open of streams) open.close();
});

await t.test('a restricted key sees its part of the changes, and cannot count the others', async (t) => {
  const tenant = await createTenant(server);
  const { api } = tenant;
  const named = await clientWithKey(tenant, { collection_names: ['open'], filter: null });
  const filtered = await clientWithKey(tenant, { collection_names: null, filter: { tenant: 'a' } });
  const start = await endOf(api);
  await createCollection(api, 'open');
  await createCollection(api, 'closed');
  for (const collection of ['open', 'closed'])
    for (const tenant of ['a', 'b'])
      await api.add(collection, `of-${tenant}`, 'granite', { metadata: { tenant } });
  const move = async (path: string, tenant: string) => {
    const request = { collection_name: 'open', path, metadata: { tenant } };
    await api.call('documents/update-document', request);
    await waitUntil(
      'the document is indexed',
      async () => (await api.info('open', path)).index_status === 'indexed',
    );
  };
  await move('of-a', 'b');
  await move('of-b', 'a');
  const seen = await readAll(named, start);
  t.ok(seen.every(({ collection_name, sequence }) => collection_name === 'open' && sequence === undefined));
  t.equal(seen.length, 9);
  t.same((await readAll(filtered, start)).map(describe), [
    'collection.created open',
    'collection.created closed',
    'document.added open of-a',
    'document.indexed open of-a',
    'document.added closed of-a',
    'document.indexed closed of-a',
    'document.deleted open of-a',
    'document.added open of-b',
    'document.indexed open of-b',
  ]);
  await api.add('closed', 'hidden', 'granite', { metadata: { tenant: 'b' } });
  const page = await named.call('changes/get-changes', { after: start, limit: 9 });
  t.equal(page.has_more, false, 'hidden changes are no reason to continue');
  const lengths = new Set([start, page.cursor, await endOf(named), await endOf(api)].map((c) => c.length));
  t.equal(lengths.size, 1, 'the length of a cursor reveals nothing');
  await api.call('collections/rename-collection', {
    collection_name: 'open',
    new_collection_name: 'secret',
  });
  t.same((await readAll(named, page.cursor)).map(describe), ['collection.deleted open']);
  t.same((await readAll(named, start)).map(describe), ['collection.deleted open']);
});
