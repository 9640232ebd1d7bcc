import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type CliResult, runQuarry } from '../cli/quarry.ts';
import { FakeModelService, serviceDimensions } from '../models/fake-model-service.ts';
import t, { type Test } from '../support/tap.ts';
import { testEventMsMax, testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { adminKey, TestServer } from './server.ts';
import { createTenant, type Tenant } from './tenant.ts';

/**
 * Models served over HTTP, configured with one setting. Most tests share a server and a service; each has its own
 * organization and leaves the service without faults. The test of an unavailable service
 * is the last of them, because it opens the circuit breakers.
 */

t.setTimeout(testFileMsMax);
const serviceKey = 'sk-secret-of-the-service';

function variablesFor(service: FakeModelService) {
  return {
    EMBEDDING_URL: service.url,
    EMBEDDING_MODEL: 'letters',
    EMBEDDING_KEY: serviceKey,
    RERANK_URL: service.url,
    RERANK_MODEL: 'words',
    RERANK_KEY: serviceKey,
    MODEL_ALIASES: 'zembed-1=letters,zerank-2=words',
    // The longest that is allowed, so that a slow machine does not make queries go without vectors.
    PROVIDER_QUERY_MS_MAX: '50000',
  };
}

const service = await FakeModelService.start(t);
const server = await TestServer.start(t, variablesFor(service));

interface ExplainedReply {
  readonly results: { readonly explain?: { vector: { similarity: number | null }; rerank: number | null } }[];
  readonly warnings?: string[];
  readonly explain?: { missing: { part: string; model: string; reason: string }[] };
}

async function querySnippets(api: CheckedApiClient, body: object): Promise<ExplainedReply> {
  const request = { collection_name: 'notes', query: 'salted herring', k: 3, explain: true, ...body };
  return (await api.call('queries/top-snippets', request)) as unknown as ExplainedReply;
}

async function waitForIndexed<T>(
  what: string,
  read: () => Promise<T>,
  holds: (value: T) => boolean,
): Promise<T> {
  const deadline = performance.now() + testEventMsMax;
  for (;;) {
    const value = await read();
    if (holds(value)) return value;
    if (performance.now() > deadline) throw new Error(`${what}: still ${JSON.stringify(value)}`);
    await sleep(100);
  }
}

/** Runs `quarry eval` with one question against the collection `notes`. */
async function evaluate(t: Test, { url }: TestServer, { key }: Tenant): Promise<CliResult> {
  const folder = mkdtempSync(join(tmpdir(), 'quarry-judged-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'qrels'));
  writeFileSync(join(folder, 'corpus.jsonl'), '{"_id": "gull.txt", "title": "", "text": "gull"}\n');
  writeFileSync(join(folder, 'queries.jsonl'), '{"_id": "1", "text": "where is the gull"}\n');
  writeFileSync(join(folder, 'qrels', 'test.tsv'), 'query-id\tcorpus-id\tscore\n1\tgull.txt\t1\n');
  const variables = { QUARRY_URL: url, QUARRY_API_KEY: key };
  return runQuarry(['eval', folder, '--collection', 'notes'], { variables });
}

const notes = {
  'herring.txt': 'Salted herring keeps well in a cool cellar.',
  'gull.txt': 'The gull sits on the harbour wall.',
  'tide.txt': 'The tide turns twice a day.',
};

async function add(api: CheckedApiClient): Promise<void> {
  await api.call('collections/add-collection', { collection_name: 'notes' });
  for (const [path, text] of Object.entries(notes)) await api.add('notes', path, text);
}

await t.test(
  'a service embeds and reranks documents and queries, under its own names and aliases',
  async (t) => {
    const { api } = await createTenant(server);
    await add(api);
    const { results, warnings, explain } = await querySnippets(api, { reranker: 'words' });
    t.equal(results.length, 3);
    t.ok(results.every((result) => typeof result.explain?.vector.similarity === 'number'));
    t.ok(results.every((result) => typeof result.explain?.rerank === 'number'));
    t.same([warnings, explain?.missing], [undefined, []]);
    t.ok(
      service.requests.some(({ texts }) => texts.includes('salted herring')),
      'the service embedded the query',
    );
    t.ok(
      service.requests.some(({ texts }) => texts.some((text) => text.includes('harbour'))),
      'the service embedded the documents',
    );
    t.ok(service.requests.some(({ path }) => path === '/v1/rerank'));
    for (const [model, dimensions] of [
      ['letters', serviceDimensions],
      ['zembed-1', 2_560],
    ] as const) {
      const embedded = await api.call('embeddings', { model, input: 'gull' });
      t.equal((embedded.data[0]!.embedding as number[]).length, dimensions, model);
    }
    const ranked = await api.call('rerank', {
      model: 'zerank-2',
      query: 'gull',
      documents: ['a tide', 'a gull'],
    });
    t.match(ranked.results[0], { index: 1, relevance_score: 0.5 });
    t.equal(await api.status('models/rerank', { model: 'words', query: 'q', documents: ['d'] }), 200);
    const refused = await api.request('models/embed', { model: 'nothing', input_type: 'query', input: 'x' });
    t.match(refused, { status: 404, body: { detail: /zembed-1/ } });
    const ready = await (await fetch(`${server.url}/readyz`)).json();
    t.match(ready, {
      components: {
        models: { detail: 'new collections use letters' },
        'embedding service letters': { ready: true, detail: 'circuit breaker closed' },
        'reranker service words': { ready: true },
      },
    });
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    t.match(metrics, /quarry_model_requests_total\{model="letters",outcome="answered"\} [1-9]/);
    t.match(metrics, /quarry_model_breaker\{model="letters"\} 0/);
    t.notMatch(server.fullLog + metrics + JSON.stringify(ready), /sk-secret/);
  },
);

await t.test('a text that the service rejects fails its document with the reason', async (t) => {
  const { api } = await createTenant(server);
  await add(api);
  service.setBehavior('refuse-long');
  t.teardown(() => service.setBehavior('well'));
  const added = await api.add('notes', 'long.txt', 'All work and no play. '.repeat(80));
  t.match(added, { index_status: 'indexing_failed', error: /rejected the text: HTTP status 413/ });
});

await t.test(
  'texts that a service quotes in its errors are not logged under zero data retention',
  async (t) => {
    const { organization_id, api: silent } = await createTenant(server);
    const administration = new CheckedApiClient(server, adminKey);
    await administration.call('admin/update-organization', { organization_id, zdr: true });
    service.quotesRequestInErrors = true;
    t.teardown(() => {
      service.quotesRequestInErrors = false;
      service.setBehavior('well');
    });
    service.setBehavior('refuse-long');
    const logLength = server.fullLog.length;
    await silent.call('collections/add-collection', { collection_name: 'notes' });
    const text = 'The xylophonist plays. '.repeat(30);
    t.match(await silent.add('notes', 'long.txt', text), { index_status: 'indexing_failed' });
    await silent.request('models/embed', { model: 'letters', input_type: 'query', input: text });
    await silent.request('models/rerank', { model: 'words', query: text, documents: [text] });
    t.ok(
      service.requests.some(
        ({ path, texts }) => path === '/v1/rerank' && texts.some((sent) => sent.includes('xylophonist')),
      ),
      'the reranker rejected it as well',
    );
    const log = server.fullLog.slice(logLength);
    t.match(log, /model service rejected input/);
    t.match(log, /withheld: \d+ characters/);
    t.notMatch(log, /xylophonist/);
  },
);

await t.test(
  'while a service is unavailable, documents wait with a reason and replies to queries have warnings',
  async (t) => {
    const tenant = await createTenant(server);
    const { api } = tenant;
    await add(api);
    service.setBehavior('error');
    await api.call('documents/add-document', {
      collection_name: 'notes',
      path: 'late.txt',
      content: { type: 'text', text: 'A barrel of herring came late.' },
    });
    const status = () => api.call('status/get-status', { collection_name: 'notes' }) as Promise<object>;
    await waitForIndexed('the status has the reason', status, (reply) =>
      /letters.*HTTP status 500/.test(JSON.stringify(reply)),
    );
    const info = (await api.info('notes', 'late.txt')) as object;
    t.match(info, {
      index_status: /not_indexed|indexing/,
      error: null,
      waiting_for: /"letters" is unavailable/,
    });
    t.notMatch(await api.info('notes', 'gull.txt'), { waiting_for: /./ });
    const found = await querySnippets(api, { query: 'the harbour wall' });
    t.match(found.warnings, [/from lexical search only.*letters/]);
    t.match(found.explain, { missing: [{ part: 'vector', model: 'letters' }] });
    const measured = await evaluate(t, server, tenant);
    t.match(measured, { code: 1, err: /Nothing was measured\. .*from lexical search only/ });
    t.same(found.results.map((result) => result.explain?.vector.similarity).filter(Boolean), []);
    for (const kind of ['top-documents', 'top-pages', 'top-snippets'] as const) {
      const body = { collection_name: 'notes', query: 'the harbour wall', k: 1, reranker: 'words' };
      const reply = (await api.call(`queries/${kind}`, body)) as { results: object[]; warnings?: string[] };
      t.match(reply.results, [{ path: 'gull.txt' }], `${kind} finds by words`);
      t.match(reply.warnings, [/from lexical search only/, /not reranked.*words/], kind);
    }
    const precise = await querySnippets(api, { precise_responses: true, query: 'harbour' });
    t.match(precise.warnings, [/from lexical search only/]);
    t.equal(await api.status('embeddings', { model: 'letters', input: 'x' }), 503);
    t.match(await (await fetch(`${server.url}/readyz`)).json(), {
      status: 'ready',
      components: { 'embedding service letters': { ready: false, detail: /circuit breaker/ } },
    });
    service.setBehavior('well');
    const indexed = await waitForIndexed(
      'the document continues automatically',
      () => api.info('notes', 'late.txt'),
      ({ index_status }) => index_status === 'indexed',
    );
    t.notMatch(indexed, { waiting_for: /./ });
    const again = await querySnippets(api, { query: 'barrel of herring' });
    t.same([again.warnings, again.explain?.missing], [undefined, []]);
  },
);

await t.test('a collection keeps the model of its vectors, regardless of later settings', async (t) => {
  const ownService = await FakeModelService.start(t);
  const ownServer = await TestServer.start(t);
  const api = new CheckedApiClient(ownServer);
  await api.call('collections/add-collection', { collection_name: 'old' });
  await api.add('old', 'a.txt', notes['herring.txt']);
  await ownServer.restart({ ...variablesFor(ownService), WITHOUT_MODEL: 'refuse' });
  await add(api);
  const requestCount = ownService.requests.length;
  const old = await querySnippets(api, { collection_name: 'old' });
  t.same(old.warnings, undefined, 'the built-in model still serves the old collection');
  await api.add('old', 'b.txt', notes['gull.txt']);
  t.equal(ownService.requests.length, requestCount, 'the built-in model embeds its new documents');
  await t.test('with QUARRY_WITHOUT_MODEL=refuse, queries are rejected instead', async (t) => {
    ownService.setBehavior('closed');
    const query = { collection_name: 'notes', query: 'herring and more', k: 1 };
    const reply = await api.request('queries/top-snippets', query);
    t.match(reply, { status: 503, body: { detail: /"letters" is unavailable/ } });
    t.ok(reply.headers.has('retry-after'));
    ownService.setBehavior('well');
  });
  await ownServer.restart({ EMBEDDING_QUERY_PREFIX: 'query: ', WITHOUT_MODEL: '' });
  t.match((await querySnippets(api, {})).warnings, [/letters.*another version/]);
  await ownServer.restart({
    EMBEDDING_URL: '',
    EMBEDDING_MODEL: '',
    MODEL_ALIASES: '',
    EMBEDDING_QUERY_PREFIX: '',
  });
  const without = await querySnippets(api, {});
  t.match(without.warnings, [/letters.*not configured on this server/]);
  t.equal(without.results.length, 1, 'lexical search still works');
  await api.call('documents/add-document', {
    collection_name: 'notes',
    path: 'late.txt',
    content: { type: 'text', text: 'late' },
  });
  await waitForIndexed(
    'the document waits',
    () => api.info('notes', 'late.txt') as Promise<object>,
    (info) => JSON.stringify(info).includes('not configured on this server'),
  );
  // The service is down at startup: the server uses the stored vector length.
  const variables = variablesFor(ownService);
  await ownService.stop();
  await ownServer.restart(variables);
  t.match((await querySnippets(api, {})).warnings, [/no connection/]);
  t.same((await querySnippets(api, { collection_name: 'old' })).warnings, undefined);
});

await t.test('invalid settings prevent the start with an explanation', async (t) => {
  const wrong: readonly (readonly [Readonly<Record<string, string>>, RegExp])[] = [
    [
      { EMBEDDING_URL: 'http://127.0.0.1:9/v1' },
      /QUARRY_EMBEDDING_URL is set without QUARRY_EMBEDDING_MODEL/,
    ],
    [{ RERANK_URL: 'ftp://x', RERANK_MODEL: 'x' }, /QUARRY_RERANK_URL is "ftp:\/\/x"; expected an http/],
    [
      { EMBEDDING_MODEL: 'x' },
      /QUARRY_EMBEDDING_MODEL is "x", which does not exist\. Available models: zembed-1/,
    ],
  ];
  for (const [variables, message] of wrong) await t.rejects(TestServer.start(t, variables), { message });
});
