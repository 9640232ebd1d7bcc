import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { base64, createCollection } from './documents-fixture.ts';
import { TestServer } from './server.ts';

/** Documents with a time of expiry, on a server whose clock is moved. */

t.setTimeout(testFileMsMax);
const hourMs = 3_600_000;
let offsetMs = 0;
const server = await TestServer.start(t, {}, { clockOffsetMs: () => offsetMs });
const api = new CheckedApiClient(server);
const collection_name = await createCollection(api, 'news');

const inHours = (hours: number) => new Date(Date.now() + offsetMs + hours * hourMs).toISOString();

async function moveClock(hours: number): Promise<void> {
  offsetMs += hours * hourMs;
  await server.syncClock();
}

async function add(path: string, fields: object = {}): Promise<number> {
  const content = { type: 'text', text: `granite ${path}` };
  return api.status('documents/add-document', { collection_name, path, content, wait: true, ...fields });
}

async function expiryOf(path: string): Promise<unknown> {
  return ((await api.info('news', path)) as { expires_at?: string }).expires_at;
}

/** Paths in the list and in the results of every kind of query. */
async function visiblePaths(): Promise<string[]> {
  const request = { collection_name, query: 'granite', k: 20 };
  const listed = await api.paths('news');
  for (const reply of [
    await api.call('queries/top-documents', request),
    await api.call('queries/top-documents', { ...request, query: null }),
    await api.call('queries/top-pages', request),
    await api.call('queries/top-snippets', request),
    await api.call('queries/top-snippets', { ...request, precise_responses: true }),
  ])
    t.same([...new Set(reply.results.map(({ path }) => path))].sort(), listed);
  const { documents } = await api.call('documents/export-documents', { collection_name });
  t.same(
    documents.map(({ path }) => path),
    listed,
  );
  return listed;
}

await t.test('expires_at must be a future time with an offset', async (t) => {
  for (const expires_at of ['2020-01-01T00:00:00Z', '2099-01-01', '2099-01-01T00:00:00', 'soon', ''])
    t.equal(await add('a', { expires_at }), 400, expires_at);
  t.equal(await add('a', { expires_at: 5 }), 422);
  t.equal(await add('a', { expires_at: '2099-01-01T01:00:00.5+01:00' }), 201);
  t.equal(await expiryOf('a'), '2099-01-01T00:00:00.500Z');
  t.equal(await add('b'), 201);
  t.equal(await expiryOf('b'), undefined);
});

await t.test('the default of a collection applies to every kind of document added later', async (t) => {
  for (const default_ttl_seconds of [0, -1, 1e10])
    t.equal(await api.status('collections/update-collection', { collection_name, default_ttl_seconds }), 400);
  await api.call('collections/update-collection', { collection_name, default_ttl_seconds: 7_200 });
  await api.call('collections/update-collection', {
    collection_name,
    query_defaults: { max_per_document: 5 },
  });
  const { collection } = await api.call('collections/get-collection-info', { collection_name });
  t.match(collection, { default_ttl_seconds: 7_200, query_defaults: { max_per_document: 5 } });
  await add('c');
  await add('d', { expires_at: null });
  await add('e', { expires_at: inHours(1) });
  const path = 'documents/news/f.txt?wait=true';
  t.equal((await api.send(path, { method: 'PUT', body: 'granite f' })).status, 201);
  t.equal(await expiryOf('d'), undefined);
  const ahead = Date.parse(String(await expiryOf('c'))) - Date.now();
  t.ok(ahead > hourMs && ahead <= 2 * hourMs);
  t.ok(await expiryOf('f.txt'));
  t.same(await visiblePaths(), ['a', 'b', 'c', 'd', 'e', 'f.txt']);
});

await t.test('update-document changes the expiry and keeps the metadata', async (t) => {
  const update = (fields: object) =>
    api.status('documents/update-document', { collection_name, path: 'b', ...fields });
  t.equal(await update({ metadata: { author: 'Ada' }, expires_at: inHours(1) }), 200);
  await waitUntil('b is indexed', async () => (await api.info('news', 'b')).index_status === 'indexed');
  t.equal(await update({ expires_at: inHours(3) }), 200);
  await waitUntil('b is indexed', async () => (await api.info('news', 'b')).index_status === 'indexed');
  t.match(await api.info('news', 'b'), { metadata: { author: 'Ada' } });
  t.equal(await update({ expires_at: '2020-01-01T00:00:00Z' }), 400);
  t.equal(await update({ expires_at: inHours(3), index_status: 'not_parsed' }), 400);
});

await t.test('an expired document is hidden at once everywhere, and then deleted', async (t) => {
  const url = (await api.info('news', 'e')).file_url;
  t.equal((await fetch(url)).status, 200);
  await moveClock(1.5);
  t.same(await visiblePaths(), ['a', 'b', 'c', 'd', 'f.txt']);
  t.equal(await api.status('documents/get-document-info', { collection_name, path: 'e' }), 404);
  t.equal(await api.status('documents/get-page-info', { collection_name, path: 'e', page_index: 0 }), 404);
  t.equal((await fetch(url)).status, 404);
  t.equal(await api.status('documents/update-document', { collection_name, path: 'e', metadata: {} }), 404);
  t.equal(await add('e'), 201, 'the path is free');
  await moveClock(1);
  t.same(await visiblePaths(), ['a', 'b', 'd', 'e']);
  await waitUntil('the documents are deleted', async () => {
    const status = await api.call('status/get-status', { collection_name });
    return status.num_documents === 4;
  });
});

await t.test(
  'the expiry survives a crash, and a clock that jumps far ahead deletes nothing yet',
  async (t) => {
    await moveClock(24 * 365 * 100);
    t.same(await visiblePaths(), ['d'], 'hidden');
    await server.stop('SIGKILL');
    await server.restart();
    await moveClock(-24 * 365 * 100);
    t.same(await visiblePaths(), ['a', 'b', 'd', 'e'], 'visible again when the clock is right again');
  },
);

await t.test('large requests are checked in the same way', async (t) => {
  const text = 'granite '.repeat(30_000);
  const document = { path: 'g', content: { type: 'text', text } };
  const send = (expires_at: string) =>
    api.call('documents/add-documents', { collection_name, documents: [{ ...document, expires_at }] });
  t.match(await send('2020-01-01T00:00:00Z'), { results: [{ status: 400 }] });
  t.match(await send('2099-01-01T00:00:00Z'), { results: [{ status: 201 }] });
  t.equal(await expiryOf('g'), '2099-01-01T00:00:00.000Z');
  const file = { type: 'auto', base64_data: base64(Buffer.from(text)) };
  t.equal(await add('h', { content: file, expires_at: '2099-01-01T00:00:00Z' }), 201);
  t.equal(await expiryOf('h'), '2099-01-01T00:00:00.000Z');
});
