import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { type CliResult, runQuarry } from '../cli/quarry.ts';
import { postgresSkipReason, startPostgres } from '../support/postgres.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { freePort } from './free-port.ts';
import { joinSharedServer } from './shared-server.ts';

/** Imports from vector stores over their HTTP APIs, from saved replies, and from a real PostgreSQL. */

t.setTimeout(testFileMsMax);
const { server, api, key: apiKey } = await joinSharedServer();

function quarry(...args: string[]): Promise<CliResult> {
  return runQuarry(args, { variables: { QUARRY_URL: server.url, QUARRY_API_KEY: apiKey } });
}

interface StoreRequest {
  readonly path: string;
  // biome-ignore lint/suspicious/noExplicitAny: the body of any operation
  readonly body: any;
  readonly headers: IncomingMessage['headers'];
}

/** Starts a server that answers with the results of `answer`; null: 404. Returns its URL. */
async function startStore(t: Test, answer: (request: StoreRequest) => unknown): Promise<string> {
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    let text = '';
    for await (const part of request) text += String(part);
    const { url = '', headers } = request;
    const reply = answer({ path: url, body: text === '' ? null : JSON.parse(text), headers });
    response.writeHead(reply === null ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(reply ?? { status: { error: 'Not found' } }));
  };
  const store = createServer((request, response) => void serve(request, response));
  await new Promise<void>((resolve) => store.listen(0, '127.0.0.1', resolve));
  t.teardown(() => store.close());
  return `http://127.0.0.1:${(store.address() as AddressInfo).port}`;
}

const words = ['granite', 'marble', 'slate', 'gneiss', 'basalt', 'obsidian'];
/** More points than the command reads at once from a store. */
const pointCount = 300;
const points = Array.from({ length: pointCount }, (_, i) => ({
  id: i,
  payload: { text: `${words[i % words.length]} of pit ${i}`, pit: i, source: `doc-${Math.floor(i / 3)}` },
  vector: { dense: [Math.cos(i), Math.sin(i)], other: [1, 2, 3] },
}));

function answerAsQdrant({ path, body, headers }: StoreRequest): unknown {
  if (headers['api-key'] !== 'secret') return null;
  if (path === '/collections/stones/points/count') return { result: { count: points.length } };
  if (path !== '/collections/stones/points/scroll') return null;
  const from = body.offset ?? 0;
  const page = points.slice(from, from + body.limit);
  const next = from + page.length;
  return {
    result: {
      points: page.map(({ vector, ...point }) => (body.with_vector ? { ...point, vector } : point)),
      next_page_offset: next < points.length ? next : null,
    },
  };
}

await t.test('points of Qdrant, with their vectors, and with those of the server', async (t) => {
  const url = await startStore(t, answerAsQdrant);
  const source = ['import', url, '--from', 'qdrant', '--source-collection', 'stones', '--json'];
  const done = await quarry(...source, '--source-key', 'secret', '--collection', 'q-own');
  t.match(JSON.parse(done.out || '{}'), { added: pointCount, skipped: [] }, done.err);
  const { comparison } = JSON.parse(done.out);
  t.match(comparison, {
    source_documents: pointCount,
    collection_documents: pointCount,
    searches: 9,
    found: 9,
  });
  const { collection } = await api.call('collections/get-collection-info', { collection_name: 'q-own' });
  t.match(collection, { embedding_model: 'own', dimensions: 2 });
  t.match(await api.info('q-own', '5', true), {
    content: 'obsidian of pit 5',
    metadata: { pit: '5', source: 'doc-1' },
  });
  const again = await quarry(...source, '--source-key', 'secret', '--collection', 'q-own');
  t.match(JSON.parse(again.out), { added: 0, unchanged: pointCount });

  const mapping = join(t.testdir({ 'mapping.json': '{"path": "source"}' }), 'mapping.json');
  const texts = ['--collection', 'q-text', '--model', 'zembed-1', '--mapping', mapping];
  const paged = await quarry(...source, '--source-key', 'secret', ...texts);
  t.match(
    JSON.parse(paged.out || '{}'),
    { added: pointCount / 3, comparison: { source_documents: null } },
    paged.err,
  );
  t.match(await api.info('q-text', 'doc-1'), { num_pages: 3 });
  t.same(await api.find('q-text', 'pit 41 obsidian', { k: 1 }), ['doc-13']);

  const refused = await quarry(...source, '--collection', 'q-none');
  t.match(refused, { code: 1, err: /Qdrant returned status 404 for http.*count/ });
});

await t.test('records of Chroma are imported', async (t) => {
  const base = '/api/v2/tenants/default_tenant/databases/default_database/collections';
  const url = await startStore(t, ({ path, body }) => {
    if (path === `${base}/stones`) return { id: 'c1' };
    if (path === `${base}/c1/count`) return pointCount;
    if (path !== `${base}/c1/get`) return null;
    const page = points.slice(body.offset, body.offset + body.limit);
    return {
      ids: page.map(({ id }) => `r${id}`),
      documents: page.map(({ id, payload }) => (id === 7 ? null : payload.text)),
      metadatas: page.map(({ id, payload }) => (id === 8 ? null : { pit: payload.pit })),
      embeddings: page.map(({ vector }) => vector.dense),
    };
  });
  const source = ['import', url, '--from', 'chroma', '--source-collection', 'stones', '--json'];
  const done = await quarry(...source, '--collection', 'chroma');
  t.match(JSON.parse(done.out || '{}'), {
    added: pointCount - 1,
    skipped: [{ path: 'r7', reason: 'it has no text' }],
  });
  t.match(JSON.parse(done.out).comparison, {
    source_documents: pointCount,
    collection_documents: pointCount - 1,
  });
  t.match(await api.info('chroma', 'r9', true), { content: 'gneiss of pit 9', metadata: { pit: '9' } });
  const unused = `http://127.0.0.1:${await freePort()}`;
  const absent = await quarry('import', unused, '--from', 'chroma', '--collection', 'x');
  t.match(absent, {
    code: 3,
    err: /Chroma at http:\/\/127\.0\.0\.1:\d+\/\S+ does not respond: .*ECONNREFUSED/,
  });
});

await t.test('saved replies, with pages in any order', async (t) => {
  const page = (path: string, page_index: number, content: string, collection_name = 'old') => ({
    page: { collection_name, path, page_index, content, image_url: null },
  });
  const document = { collection_name: 'old', index_status: 'indexed', metadata: { author: 'Ada' } };
  const lines = [
    page('b', 1, 'second slate'),
    {
      documents: [
        { ...document, path: 'a', num_pages: 1 },
        { ...document, path: 'b', num_pages: 2 },
      ],
    },
    { ...document, path: 'bad', num_pages: null, index_status: 'parsing_failed' },
    { document: { ...document, path: 'half', num_pages: 2 } },
    page('half', 0, 'first'),
    page('a', 0, 'granite and marble'),
    page('b', 0, 'first basalt').page,
    page('unlisted', 0, 'text'),
    page('elsewhere', 0, 'text', 'another'),
    { nonsense: true },
  ];
  const folder = t.testdir({});
  const file = join(folder, 'saved.jsonl');
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  const source = ['import', file, '--from', 'saved', '--source-collection', 'old', '--json'];
  const done = await quarry(...source, '--collection', 'saved');
  t.equal(done.code, 1, 'some were skipped');
  const { added, skipped, comparison } = JSON.parse(done.out);
  t.equal(added, 2);
  t.match(skipped, [
    { path: 'bad', reason: 'it has no text: it is parsing_failed' },
    { origin: 'line 10', path: null, reason: 'it is neither a document nor a page' },
    { path: 'half', reason: 'the file has 1 of its 2 pages' },
    { path: 'unlisted', reason: /not its entry/ },
  ]);
  t.match(comparison, { source_documents: null, collection_documents: 2, searches: 2, found: 2 });
  t.match(await api.info('saved', 'b', true), {
    content: 'first basalt\n\nsecond slate',
    metadata: { author: 'Ada' },
    num_pages: 2,
  });
});

await t.test('rows of PostgreSQL, with their vectors', { skip: postgresSkipReason }, async (t) => {
  const url = await startPostgres(t);
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
    FROM generate_series(0, ${pointCount - 1}) AS i`);
  await database.end();
  const source = ['import', url, '--from', 'pgvector', '--source-collection', 'rag.Chunks', '--json'];
  const done = await quarry(...source, '--collection', 'pg');
  const { added, skipped, comparison } = JSON.parse(done.out || '{}');
  t.equal(added, pointCount - 1, done.err);
  t.match(skipped, [{ origin: 'point 7', reason: 'it has no text' }]);
  t.match(comparison, { source_documents: pointCount, collection_documents: pointCount - 1 });
  t.equal(comparison.found, comparison.searches);
  t.match(await api.info('pg', '41', true), {
    content: 'Granite of pit 41',
    metadata: { pit: '41', 'list:tags': ['a', 'b'], lang: 'en' },
  });
  const { collection } = await api.call('collections/get-collection-info', { collection_name: 'pg' });
  t.match(collection, { embedding_model: 'own', dimensions: 3 });
  t.match(JSON.parse((await quarry(...source, '--collection', 'pg')).out), {
    added: 0,
    unchanged: pointCount - 1,
  });
  const missing = await quarry(...source, '--collection', 'x', '--source-collection', 'nothing');
  t.match(missing, { code: 1, err: /PostgreSQL: relation "nothing" does not exist/ });
});
