import { request } from 'node:http';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { freePort } from './free-port.ts';
import { checkKillRound } from './kill-round.ts';
import { checkLargeBodies } from './large-bodies.ts';
import { LargeUploads } from './large-uploads.ts';
import { operations, type PublishedOperationName } from './published-replies.ts';
import { adminKey, operatorKey, TestServer } from './server.ts';

/**
 * The server as a whole: addresses, self-description, shutdown and restart. The same tests run against both HTTP
 * servers on the same data.
 */

t.setTimeout(testFileMsMax);
const server = await TestServer.start(t, { SNAPSHOT_SECONDS: '5' });
const api = new CheckedApiClient(server);
const collection_name = 'kept';
const pdf = Buffer.from(buildPdf(['Granite on page one.', 'Marble on page two.']));

/** Without compression, so that `content-length` is the length of the text. */
async function get(path: string, method = 'GET'): Promise<Response> {
  const headers = { 'accept-encoding': 'identity' };
  return fetch(`${server.url}${path}`, { method, headers, redirect: 'manual' });
}

async function checkPrefixes(t: Test): Promise<void> {
  const bare = new CheckedApiClient(server, operatorKey, '');
  const bodies: Partial<Record<PublishedOperationName, object>> = {
    'collections/get-collection-list': {},
    'documents/get-document-info': { collection_name, path: 'file.pdf' },
    'documents/get-document-info-list': { collection_name },
    'status/get-status': {},
    'queries/top-documents': { collection_name, query: 'marble', k: 2 },
    'models/embed': { model: 'zembed-1', input_type: 'query', input: 'x', dimensions: 40 },
  };
  for (const [operation, body] of Object.entries(bodies)) {
    t.same((await bare.request(operation, body)).body, (await api.request(operation, body)).body, operation);
  }
  const administration = new CheckedApiClient(server, adminKey, '');
  t.equal(await administration.status('admin/get-organization', { organization_id: '1' }), 422);
  for (const operation of operations) {
    // `GET /v1/models/{model}` of OpenAI clients matches these paths.
    if (operation.startsWith('models/')) continue;
    for (const client of [api, bare]) {
      const wrong = await client.request(operation, undefined, { method: 'GET' });
      t.equal(wrong.status, 405, `GET ${operation}`);
      t.equal(wrong.headers.get('allow'), 'POST');
    }
  }
}

async function checkSelfDescription(t: Test): Promise<void> {
  t.same(await (await get('/healthz')).json(), { status: 'ok' });
  const ready = await get('/readyz');
  const readiness = (await ready.json()) as {
    status: string;
    components: Record<string, { ready: boolean }>;
  };
  t.equal(readiness.status, 'ready');
  t.ok(Object.keys(readiness.components).length >= 3);
  t.notOk('payments' in readiness.components, 'without a Stripe key, payments are not listed');
  const described = (await (await get('/openapi.json')).json()) as {
    info: { version: string };
    paths: Record<string, object>;
  };
  t.equal(described.info.version, '0.1.0');
  const paths = Object.keys(described.paths).map((path) => path.replace(/^\/v1/, ''));
  for (const operation of operations) t.ok(paths.includes(`/${operation}`), `${operation} is described`);
  const docs = await get('/docs');
  t.match(docs.headers.get('content-type'), /^text\/html/);
  const page = await docs.text();
  for (const operation of operations) t.ok(page.includes(`/${operation}`), `${operation} is documented`);
  t.notMatch(page, /(src|href)="(https?:)?\/\//, 'nothing is loaded from other hosts');
  const home = await get('/');
  t.equal(home.status, 302);
  t.match(home.headers.get('location'), /^\/(docs|app\/)$/);
}

/** Metrics for monitoring: requests, latency by operation, queues, documents by status, shards, memory. */
async function checkMetrics(t: Test): Promise<void> {
  await api.find(collection_name, 'marble');
  const reply = await get('/metrics');
  t.match(reply.headers.get('content-type'), /^text\/plain/);
  const text = await reply.text();
  for (const words of [
    /^quarry_\w*requests\w*\{[^}]*operation="top-documents"[^}]*\} [1-9]/m,
    /^quarry_\w+_bucket\{[^}]*le="[^}]*operation="top-documents"|^quarry_\w+_bucket\{[^}]*operation="top-documents"[^}]*le="/m,
    /^quarry_pool_tasks\{pool="embed"\} \d/m,
    /^quarry_ingest_documents\{[^}]*\} \d/m,
    /^quarry_\w*documents\w*\{[^}]*status="indexed"[^}]*\} [1-9]/m,
    /^quarry_\w*shards?\w*(\{[^}]*\})? [1-9]/m,
    /^quarry_event_loop_delay_seconds\{quantile="0.99"\} \d/m,
    /^quarry_event_loop_delay_max_seconds \d/m,
    /^\w*(memory|resident)\w*(\{[^}]*\})? [1-9]/m,
  ]) {
    t.match(text, words);
  }
  t.notMatch(text, operatorKey);
}

async function checkErrorReplies(t: Test): Promise<void> {
  for (const path of ['/healthz', '/readyz', '/openapi.json', '/docs', '/metrics']) {
    const [full, head] = [await get(path), await get(path, 'HEAD')];
    t.equal(full.status, 200, path);
    t.equal(head.status, 200, `HEAD ${path}`);
    t.equal(head.headers.get('content-type'), full.headers.get('content-type'));
    t.equal(await head.text(), '');
    const body = await full.text();
    if (path !== '/metrics')
      t.equal(Number(head.headers.get('content-length')), Buffer.byteLength(body), path);
    const wrong = await get(path, 'DELETE');
    t.equal(wrong.status, 405);
    t.equal(wrong.headers.get('allow'), 'GET, HEAD');
  }
  for (const path of [
    'nothing',
    'documents',
    'documents/get-nothing',
    'v1/status/get-status',
    'status/get-status/',
  ]) {
    t.equal((await api.request(path, {})).status, 404, path);
  }
  t.equal((await get('/v1/documents/get-document', 'HEAD')).status, 422);
  const requestIds = new Set<string | null>();
  for (let i = 0; i < 20; i++) requestIds.add((await get('/healthz')).headers.get('x-request-id'));
  t.equal(requestIds.size, 20, 'every reply has a unique id');
}

/** File URLs use the Host header unless a base URL is configured. */
async function checkFileUrls(t: Test): Promise<void> {
  const url = await new Promise<string>((resolve, reject) => {
    const outgoing = request(`${server.url}/v1/documents/get-document-info`, {
      method: 'POST',
      headers: {
        host: 'search.example.org:8080',
        'x-forwarded-host': 'evil.example.org',
        'x-forwarded-proto': 'https',
        authorization: `Bearer ${operatorKey}`,
      },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (reply) => {
      let text = '';
      reply.on('data', (part) => {
        text += part;
      });
      reply.on('end', () => {
        resolve((JSON.parse(text) as { document: { file_url: string } }).document.file_url);
      });
    });
    outgoing.end(JSON.stringify({ collection_name, path: 'file.pdf' }));
  });
  t.match(url, /^http:\/\/search\.example\.org:8080\/v1\/documents\/get-document\?token=/);
}

async function runReducedChecks(t: Test): Promise<void> {
  const path = `round trip ${t.name}`;
  await api.add(collection_name, path, 'Basalt, for a while.', { metadata: { kind: 'passing' } });
  t.same(await api.find(collection_name, 'basalt', { filter: { kind: 'passing' } }), [path]);
  const { results } = await api.call('queries/top-snippets', {
    collection_name,
    query: 'basalt',
    k: 1,
    precise_responses: true,
    reranker: 'zerank-2',
  });
  t.match(results[0], { path, start_index: 0, end_index: 20, content: 'Basalt, for a while.' });
  const body = { collection_name, path: 'file.pdf', page_index: 1, include_content: true };
  const { page } = await api.call('documents/get-page-info', body);
  t.match(page.content, /Marble/);
  t.match((await fetch(page.image_url ?? '')).headers.get('content-type'), 'image/jpeg');
  const file = await fetch((await api.info(collection_name, 'file.pdf')).file_url);
  t.same(Buffer.from(await file.arrayBuffer()), pdf);
  const put = `documents/kept/${encodeURIComponent(`${path}/raw`)}?wait=true`;
  const sent = await api.request(put, undefined, { method: 'PUT', body: pdf, as: 'documents/add-document' });
  t.equal(sent.status, 201);
  const empty = await api.request('collections/get-collection-list', undefined, {
    headers: { 'content-type': 'application/json' },
    as: 'collections/get-collection-list',
  });
  t.same(empty.body, { collection_names: [collection_name] });
  t.equal(await api.status('queries/top-documents', { collection_name, query: 'x', k: 0 }), 400);
  t.equal(
    await api.status('documents/add-document', {
      collection_name,
      path,
      content: { type: 'text', text: '' },
    }),
    409,
  );
  const { deleted_paths } = await api.call('documents/delete-document', {
    collection_name,
    path: [path, `${path}/raw`],
  });
  t.equal(deleted_paths.length, 2);
}

const uploads = await LargeUploads.create(server);
await api.call('collections/add-collection', { collection_name, num_shards: 8 });
await api.add(collection_name, 'file.pdf', { type: 'auto', base64_data: pdf.toString('base64') });

async function runAllChecks(t: Test): Promise<void> {
  await t.test('every operation is served with and without /v1', checkPrefixes);
  await t.test('the server describes itself', checkSelfDescription);
  await t.test('metrics have the Prometheus format', checkMetrics);
  await t.test('HEAD, wrong methods, unknown paths', checkErrorReplies);
  await t.test('file URLs use the Host header and ignore forwarded headers', checkFileUrls);
  await t.test('a document is added, found, fetched and deleted', runReducedChecks);
  await t.test('large and small bodies have the same effect', (t) => checkLargeBodies(t, server));
}

await t.test('uWebSockets.js', async (t) => {
  t.ok((await get('/healthz')).headers.has('uwebsockets'), 'is the default server');
  await runAllChecks(t);
  await t.test('150 MB stream to the disk, as the body', (t) => uploads.check(t, 'raw'));
});

/** State that must survive every shutdown. */
async function createEverything(): Promise<unknown> {
  const { documents } = await api.call('documents/get-document-info-list', { collection_name });
  const found = await api.call('queries/top-snippets', {
    collection_name,
    query: 'granite number seven',
    k: 50,
  });
  return {
    documents: documents.map(({ file_url, ...document }) => ({
      ...document,
      token: new URL(file_url).search,
    })),
    found: found.results.map(({ path, content, score }) => `${score.toFixed(4)} ${path} ${content}`).sort(),
    status: await api.call('status/get-status'),
  };
}

await t.test(
  'after kill -9 every acknowledged document exists and is indexed, and no partial file is left',
  async (t) => {
    const kill = () => uploads.kill(t);
    await checkKillRound(t, server, collection_name, 'crash', { variables: { HTTP: 'node' }, kill });
    uploads.checkNoPartialFile(t);
  },
);

await t.test('node:http, on the same data', async (t) => {
  t.notOk((await get('/healthz')).headers.has('uwebsockets'), 'is the active server');
  await runAllChecks(t);
  await t.test('150 MB stream to the disk, as a part of a form', (t) => uploads.check(t, 'form'));
  await t.test('after kill -9 during an upload no partial file is left', async (t) => {
    await uploads.kill(t);
    await server.restart();
    uploads.checkNoPartialFile(t);
  });
});

await t.test('a clean shutdown persists everything, and a base URL applies to file URLs', async (t) => {
  const before = await createEverything();
  t.equal(await server.stop(), 0);
  await server.restart({ BASE_URL: 'https://search.example.org/quarry', PORT: String(await freePort()) });
  t.same(await createEverything(), before, 'the data is the same');
  const { file_url } = await api.info(collection_name, 'file.pdf');
  t.match(file_url, /^https:\/\/search\.example\.org\/quarry\/v1\/documents\/get-document\?token=/);
});
