import t from 'tap';
import { AppError } from '../../src/core/app-error.ts';
import { fakeFileReply, pageBytes, post, startTestHttpServer, uuid } from './fake-services.ts';
import { RawClient } from './raw-client.ts';

const server = await startTestHttpServer('auto');
t.teardown(() => server.close(0));

const add = '/v1/documents/add-document';
const text = { type: 'text', text: 'x' };
const addBody = (changes: Record<string, unknown>) => ({
  collection_name: 'c',
  path: 'p',
  content: text,
  ...changes,
});
const query = (changes: Record<string, unknown>) => ({ collection_name: 'c', query: 'q', k: 1, ...changes });
const key = { organization_id: uuid, name: 'n', permission: 'all' };
const deep = (depth: number) =>
  `{"collection_name":"c","query":"q","k":1,"filter":${'{"$and":['.repeat(depth)}${']}'.repeat(depth)}}`;
const metadataOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

/** Operation, body, status, and a pattern that the error message must match. */
type Case = readonly [path: string, body: unknown, status: number, names: RegExp];

const cases: readonly Case[] = [
  // invalid JSON
  [add, '{"collection_name":', 422, /not valid JSON/],
  [add, '{"a":1}}', 422, /not valid JSON \(position 7\)/],
  [add, '"text"', 422, /must be an object, but is a string/],
  [add, '[]', 422, /must be an object, but is a list/],
  [add, 'null', 422, /must be an object, but is null/],
  [add, '', 422, /collection_name.*is missing/],
  [add, deep(10_000), 400, /deeper than 512/],
  ['/queries/top-snippets', '['.repeat(100_000), 400, /deeper than 512/],
  ['/queries/top-snippets', `[${'[],'.repeat(20_000)}[]]`, 422, /must be an object/],
  // shape
  [add, {}, 422, /"path","msg":"is missing"|"loc":\["body","path"\]/],
  [
    add,
    addBody({ collection_name: 7 }),
    422,
    /"loc":\["body","collection_name"\],"msg":"must be a string, but is an integer"/,
  ],
  [add, addBody({ path: null }), 422, /must be a string, but is null/],
  [add, addBody({ content: undefined }), 422, /"content"\],"msg":"is missing"/],
  [add, addBody({ content: 'x' }), 422, /must be an object, but is a string/],
  [add, addBody({ content: { text: 'x' } }), 422, /"type"\],"msg":"is missing; it must be one of/],
  [add, addBody({ content: { type: 'pdf' } }), 422, /"type"\],"msg":"must be one of \\"text\\"/],
  [add, addBody({ content: { type: 'text', pages: [] } }), 422, /"text"\],"msg":"is missing"/],
  [add, addBody({ content: { type: 'text-pages', pages: ['a', 1] } }), 422, /"pages","1"\]/],
  [add, addBody({ content: { type: 'auto' } }), 422, /base64_data/],
  [add, addBody({ overwrite: 'true' }), 422, /must be true or false, but is a string/],
  [add, addBody({ metadata: { a: 1 } }), 422, /"metadata","a"/],
  [add, addBody({ metadata: { 'list:a': [1] } }), 422, /"metadata","list:a","0"/],
  [add, addBody({ metadata: { 'a\nb': 1 } }), 422, /"metadata","a\\nb"/],
  [add, addBody({ metadata: [] }), 422, /must be an object, but is a list/],
  [add, addBody({ metadata: null }), 422, /must be an object, but is null/],
  ['/queries/top-documents', query({ k: '3' }), 422, /"k"\],"msg":"must be an integer, but is a string"/],
  ['/queries/top-documents', query({ k: 1.5 }), 422, /but is a fraction/],
  ['/queries/top-documents', query({ query: undefined }), 422, /"query"\],"msg":"is missing"/],
  ['/queries/top-pages', query({ query: null }), 422, /must be a string, but is null/],
  [
    '/queries/top-pages',
    query({ latency_mode: 'medium' }),
    422,
    /must be one of \\"low\\", \\"high\\", but is \\"medium\\"/,
  ],
  ['/queries/top-snippets', query({ precise_responses: 1 }), 422, /true or false/],
  ['/models/embed', { model: 'zembed-1', input: 'x', input_type: 'passage' }, 422, /input_type/],
  ['/models/embed', { model: 'zembed-1', input: [1], input_type: 'query' }, 422, /"input","0"/],
  [
    '/models/embed',
    { model: 'zembed-1', input: 'x', input_type: 'query', latency: 'medium' },
    422,
    /latency/,
  ],
  [
    '/models/embed',
    { model: 'zembed-1', input: 'x', input_type: 'query', encoding_format: 'hex' },
    422,
    /encoding_format/,
  ],
  [
    '/documents/update-document',
    { collection_name: 'c', path: 'p', index_status: 'indexed' },
    422,
    /index_status/,
  ],
  ['/documents/get-page-info', { collection_name: 'c', path: 'p', page_index: '0' }, 422, /page_index/],
  // names and paths
  ['/collections/add-collection', { collection_name: '' }, 400, /collection name is empty/],
  [
    '/collections/add-collection',
    { collection_name: 'x'.repeat(1_025) },
    400,
    /1,025 bytes of UTF-8; at most 1,024/,
  ],
  ['/collections/add-collection', { collection_name: 'ü'.repeat(513) }, 400, /1,026 bytes/],
  ['/collections/add-collection', { collection_name: 'a\0b' }, 400, /NUL/],
  ['/collections/add-collection', '{"collection_name":"\\ud800"}', 400, /lone surrogate/],
  [
    '/collections/add-collection',
    { collection_name: 'c', num_shards: 2 },
    400,
    /num_shards is 2; it must be one of 1, 8, 16, 32, 64/,
  ],
  [add, addBody({ path: '' }), 400, /path is empty/],
  [add, addBody({ path: 'a\0' }), 400, /NUL/],
  [add, addBody({ path: 'x'.repeat(4_097) }), 400, /4,097 bytes/],
  [
    add,
    '{"collection_name":"c","path":"\\udc00","content":{"type":"text","text":""}}',
    400,
    /lone surrogate/,
  ],
  ['/documents/delete-document', { collection_name: 'c', path: [] }, 400, /0 paths; it must hold 1 to 64/],
  ['/documents/delete-document', { collection_name: 'c', path: Array(65).fill('p') }, 400, /65 paths/],
  ['/documents/delete-document', { collection_name: 'c', path: ['p', ''] }, 400, /path is empty/],
  [
    '/documents/get-document-info-list',
    { collection_name: 'c', path_gt: '\0' },
    400,
    /path_gt contains a NUL/,
  ],
  // ranges
  ['/queries/top-documents', query({ k: 0 }), 400, /k is 0; it must be from 1 to 2,048/],
  ['/queries/top-documents', query({ k: 2_049 }), 400, /2,048/],
  ['/queries/top-documents', query({ k: 1e300 }), 400, /2,048/],
  ['/queries/top-pages', query({ k: 1_025 }), 400, /1,024/],
  ['/queries/top-snippets', query({ k: 129 }), 400, /128/],
  ['/queries/top-snippets', query({ query: 'x'.repeat(4_097) }), 400, /more than 4,096 characters/],
  ['/queries/top-snippets', query({ query: '😀'.repeat(4_097) }), 400, /more than 4,096 characters/],
  ['/documents/get-document-info-list', { collection_name: 'c', limit: 0 }, 400, /limit is 0/],
  ['/documents/get-document-info-list', { collection_name: 'c', limit: 1_025 }, 400, /1,024/],
  ['/documents/add-documents', { collection_name: 'c', documents: [] }, 400, /0 documents/],
  [
    '/documents/add-documents',
    { collection_name: 'c', documents: Array(257).fill({}) },
    400,
    /257 documents/,
  ],
  ['/models/rerank', { model: 'zerank-2', query: 'q', documents: [], top_n: 0 }, 400, /top_n is 0/],
  ['/usage/documents', { start_time: 2, end_time: 1, aggregation_window: 'daily' }, 400, /before start_time/],
  // metadata
  [add, addBody({ metadata: metadataOf(65_536) }), 400, /65,536 bytes as compact JSON; at most 65,535/],
  [add, addBody({ metadata: { a: ['x'] } }), 400, /its name must start with "list:"|list:/],
  [add, addBody({ metadata: { 'list:a': 'x' } }), 400, /must be an array/],
  [add, addBody({ metadata: { 'a b': 'x' } }), 400, /letters, digits/],
  [add, addBody({ metadata: { '': 'x' } }), 400, /letters, digits/],
  [add, addBody({ metadata: { 'list:': [] } }), 400, /letters, digits/],
  [
    add,
    '{"collection_name":"c","path":"p","content":{"type":"text","text":""},"metadata":{"__proto__":"x"}}',
    400,
    /reserved/,
  ],
  [
    add,
    '{"collection_name":"c","path":"p","content":{"type":"text","text":""},"metadata":{"a":"\\ud800"}}',
    400,
    /lone surrogate/,
  ],
  [
    '/documents/update-document',
    { collection_name: 'c', path: 'p', metadata: { 'a.b': 'x' } },
    400,
    /letters, digits/,
  ],
  // base64
  [add, addBody({ content: { type: 'auto', base64_data: 'QQ' } }), 400, /base64/],
  [add, addBody({ content: { type: 'auto', base64_data: 'Q Q=' } }), 400, /base64/],
  ['/parsers/parse-document', { base64_data: 'QU-_' }, 400, /base64/],
];

for (const [path, body, status, names] of cases) {
  const shown = (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 90);
  t.test(`${path} rejects ${shown} with ${status} and a reason`, async (t) => {
    const reply = await post(server, path, body);
    const answer = await reply.text();
    t.equal(reply.status, status, answer.slice(0, 300));
    t.match(answer, names);
    const { detail } = JSON.parse(answer);
    if (status === 422) t.match(detail[0].loc[0], /^(body|query)$/);
    else t.type(detail, 'string');
  });
}

const accepted: readonly (readonly [path: string, body: unknown, status: number])[] = [
  ['/v1/collections/get-collection-list', '', 200],
  ['/collections/get-collection-list', {}, 200],
  ['/collections/add-collection', { collection_name: 'x'.repeat(1_024), num_shards: 64 }, 201],
  ['/collections/add-collection', { collection_name: '../../etc/passwd', unknown: [1] }, 201],
  [add, addBody({ path: '../a/./b' }), 201],
  [add, addBody({ overwrite: true }), 200],
  [add, addBody({ metadata: metadataOf(65_535) }), 201],
  [add, addBody({ metadata: { 'list:x_Y-1': [], b: '' } }), 201],
  [add, addBody({ content: { type: 'text-pages', pages: [] } }), 201],
  [add, addBody({ content: { type: 'auto', base64_data: '' } }), 201],
  [add, `\ufeff${JSON.stringify(addBody({}))}`, 201],
  ['/documents/delete-document', { collection_name: 'c', path: Array(64).fill('p') }, 200],
  ['/documents/get-document-info-list', { collection_name: 'c', path_prefix: '', path_gt: null }, 200],
  ['/documents/get-page-info', { collection_name: 'c', path: 'p', page_index: -1 }, 200],
  ['/queries/top-documents', query({ query: null, k: 2_048, filter: null }), 200],
  ['/queries/top-snippets', query({ query: '😀'.repeat(4_096), k: 128, filter: {} }), 200],
  ['/queries/top-snippets', deep(200), 200],
  [
    '/models/embed',
    { model: 'zembed-1', input: [], input_type: 'query', dimensions: null, latency: null },
    200,
  ],
  ['/models/rerank', { model: 'zerank-2', query: '', documents: [''], top_n: 99 }, 200],
  ['/v1/embeddings', { model: 'zembed-1', input: 'x' }, 200],
  ['/v1/rerank', { model: 'zerank-2', query: 'q', documents: ['a', { text: 'b' }] }, 200],
  ['/usage/counters', '', 200],
];

for (const [path, body, status] of accepted) {
  const shown = (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 90);
  t.test(`${path} accepts ${shown}`, async (t) => {
    const reply = await post(server, path, body);
    t.equal(reply.status, status, await reply.text());
  });
}

t.test('bytes that are not UTF-8 are rejected', async (t) => {
  const reply = await fetch(`${server.url}${add}`, {
    method: 'POST',
    headers: { authorization: 'Bearer all' },
    body: Buffer.concat([Buffer.from('{"collection_name":"'), Buffer.from([0xff]), Buffer.from('"}')]),
  });
  t.equal(reply.status, 422);
  t.match(await reply.text(), /not UTF-8/);
});

t.test('a compressed body is rejected with a reason', async (t) => {
  const reply = await post(server, add, addBody({}), { 'content-encoding': 'gzip' });
  t.equal(reply.status, 400);
  t.match(await reply.text(), /compressed/);
});

t.test('an error reply does not quote the body', async (t) => {
  const reply = await post(server, add, '{"secret words" 1}');
  t.equal(reply.status, 422);
  t.notMatch(await reply.text(), /secret/);
});

t.test('requests without a valid key are rejected', async (t) => {
  const all = await fetch(`${server.url}/openapi.json`);
  const { paths } = (await all.json()) as { paths: Record<string, Record<string, { security?: [] }>> };
  const guarded = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method, operation]) => method !== 'servers' && operation.security === undefined)
      .map(
        ([method]) =>
          [method.toUpperCase(), path.replace('{collection}', 'c').replace('{path}', 'p')] as const,
      ),
  );
  t.ok(guarded.length >= 34, `${guarded.length} operations need a key`);
  for (const [method, path] of guarded) {
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic all' }]) {
      const reply = await fetch(`${server.url}/v1${path}`, { method, headers });
      t.equal(reply.status, 401, `${method} ${path}`);
      t.equal(reply.headers.get('www-authenticate'), 'Bearer');
      t.match(await reply.json(), { detail: String });
    }
    const wrongSide = path.startsWith('/admin/') ? 'Bearer all' : 'Bearer admin';
    const reply = await fetch(`${server.url}/v1${path}`, { method, headers: { authorization: wrongSide } });
    t.equal(reply.status, 403, `${method} ${path} with ${wrongSide}`);
  }
});

t.test('a read-only key reads everything and changes nothing', async (t) => {
  const headers = { authorization: 'Bearer read' };
  const document = { collection_name: 'c', path: 'p' };
  const reads: readonly (readonly [string, unknown])[] = [
    ['/collections/get-collection-list', {}],
    ['/documents/get-document-info', document],
    ['/documents/get-document-info-list', document],
    ['/documents/get-page-info', { ...document, page_index: 0 }],
    ['/status/get-status', {}],
    ['/queries/top-documents', query({})],
    ['/queries/top-pages', query({})],
    ['/queries/top-snippets', query({})],
    ['/models/embed', { model: 'm', input: 'x', input_type: 'query' }],
    ['/models/rerank', { model: 'm', query: 'q', documents: [] }],
    ['/parsers/parse-document', { base64_data: '' }],
    ['/usage/counters', {}],
  ];
  for (const [path, body] of reads)
    t.equal((await post(server, `/v1${path}`, body, headers)).status, 200, path);
  // The bodies are invalid: 403 instead of 422 shows that permissions are checked first.
  for (const path of [
    '/collections/add-collection',
    '/collections/delete-collection',
    '/documents/add-document',
    '/documents/add-documents',
    '/documents/upload',
    '/documents/update-document',
    '/documents/delete-document',
  ]) {
    t.equal((await post(server, `/v1${path}`, 'nonsense', headers)).status, 403, path);
  }
});

t.test('the administrator key can call admin operations', async (t) => {
  const headers = { authorization: 'Bearer admin' };
  const id = { organization_id: uuid };
  const operations: readonly (readonly [string, unknown, number])[] = [
    ['create-organization', id, 201],
    ['get-organization', id, 200],
    ['update-organization', { ...id, override_bpm_fast: 0, zdr: null }, 200],
    ['update-organization', { ...id, override_bpm_fast: -1 }, 422],
    ['update-organization', { ...id, subscription_tier: 'gold' }, 422],
    ['add-api-key', key, 201],
    ['add-api-key', { ...key, permission: 'some' }, 422],
    ['add-api-key', { ...key, name: '' }, 400],
    ['list-api-keys', id, 200],
    ['list-api-keys', { organization_id: 'x' }, 422],
    ['update-api-key', { ...id, api_key_id: uuid, name: null }, 200],
    ['delete-api-key', { ...id, api_key_id: uuid }, 200],
  ];
  for (const [name, body, status] of operations) {
    const reply = await post(server, `/v1/admin/${name}`, body, headers);
    t.equal(reply.status, status, `${name} ${await reply.text()}`);
  }
});

t.test('path_gt in the query string overrides the body', async (t) => {
  const receivedBodies: unknown[] = [];
  const paging = await startTestHttpServer('auto', {
    services: {
      getDocumentInfoList: async (_call, request) => {
        receivedBodies.push(request.path_gt);
        return { documents: [] };
      },
    },
  });
  t.teardown(() => paging.close(0));
  const list = '/v1/documents/get-document-info-list';
  await post(paging, `${list}?path_gt=b%2F%C3%BC`, { collection_name: 'c', path_gt: 'a' });
  await post(paging, list, { collection_name: 'c', path_gt: 'a' });
  await post(paging, `${list}?other=1`, { collection_name: 'c' });
  t.same(receivedBodies, ['b/ü', 'a', undefined]);
  const broken = await post(paging, `${list}?path_gt=%ff`, { collection_name: 'c' });
  t.equal(broken.status, 422);
  t.match(await broken.json(), { detail: [{ loc: ['query'] }] });
  t.equal(receivedBodies.length, 3);
});

t.test('error replies tell official clients whether and when to retry', async (t) => {
  const errors: Record<string, AppError> = {
    conflict: new AppError('conflict', 'exists'),
    limited: new AppError('rate_limited', 'bytes per minute', { retryAfterMs: 1_234 }),
    full: new AppError('queue_full', 'full'),
    busy: new AppError('unavailable', 'loading', { retryAfterMs: 100 }),
    parse: new AppError('parse_timeout', 'over 50 s', { shouldRetry: false }),
  };
  const errorServices = await startTestHttpServer('auto', {
    services: {
      deleteCollection: async (_call, { collection_name }) => {
        throw errors[collection_name];
      },
    },
  });
  t.teardown(() => errorServices.close(0));
  const expected: readonly (readonly [string, number, string | null, string | null, string | null])[] = [
    ['conflict', 409, 'false', null, null],
    ['limited', 429, null, '2', '1234'],
    ['full', 429, null, '1', '1000'],
    ['busy', 503, null, '1', '100'],
    ['parse', 503, 'false', null, null],
  ];
  for (const [name, status, should, seconds, milliseconds] of expected) {
    const reply = await post(errorServices, '/collections/delete-collection', { collection_name: name });
    t.equal(reply.status, status, name);
    t.equal(reply.headers.get('x-should-retry'), should, name);
    t.equal(reply.headers.get('retry-after'), seconds, name);
    t.equal(reply.headers.get('retry-after-ms'), milliseconds, name);
    t.same(await reply.json(), { detail: errors[name]?.message });
  }
});

t.test(
  'URLs in replies start with the configured base or the Host; only a trusted proxy can override them',
  async (t) => {
    const baseOf = async (settings: Record<string, unknown>, headers: Record<string, string>) => {
      let base = '';
      const server = await startTestHttpServer('auto', {
        settings,
        services: {
          getCollectionList: async (call) => {
            base = call.baseUrl;
            return { collection_names: [] };
          },
        },
      });
      const client = await RawClient.open(server.port);
      client.sendHead('POST', '/v1/collections/get-collection-list', { 'content-length': '0', ...headers });
      const { status } = await client.readReply();
      client.close();
      await server.close(0);
      return status === 200 ? base : String(status);
    };
    const forwarded = { 'x-forwarded-host': 'evil, search.example', 'x-forwarded-proto': 'https' };
    t.equal(await baseOf({}, { host: 'a.example:81' }), 'http://a.example:81');
    t.equal(await baseOf({}, { host: '[::1]:81', ...forwarded }), 'http://[::1]:81');
    t.equal(await baseOf({ trustProxy: true }, { host: 'a', ...forwarded }), 'https://search.example');
    t.equal(await baseOf({ trustProxy: true }, { host: 'a' }), 'http://a');
    t.equal(await baseOf({ baseUrl: 'https://q.example' }, { host: 'a' }), 'https://q.example');
    t.equal(await baseOf({}, { host: 'a"><script>' }), '400');
  },
);

t.test('the probes report liveness and readiness', async (t) => {
  const starting = await startTestHttpServer('auto', {
    notReadyReason: () => 'The server is loading its collections.',
    readiness: () => ({ ready: false, components: { shards: { ready: false, detail: '1 of 3 loaded' } } }),
    settings: { home: '/app/' },
  });
  t.teardown(() => starting.close(0));
  t.same(await (await fetch(`${starting.url}/healthz`)).json(), { status: 'ok' });
  const readyz = await fetch(`${starting.url}/readyz`);
  t.equal(readyz.status, 503);
  t.match(await readyz.json(), {
    status: 'starting',
    components: { shards: { ready: false, detail: '1 of 3 loaded' } },
  });
  const refused = await post(starting, '/v1/collections/get-collection-list');
  t.equal(refused.status, 503);
  t.equal(refused.headers.get('retry-after'), '2');
  t.same(await refused.json(), { detail: 'The server is loading its collections.' });
  const home = await fetch(`${starting.url}/`, { redirect: 'manual' });
  t.equal(home.status, 302);
  t.equal(home.headers.get('location'), '/app/');
  t.equal((await fetch(`${server.url}/readyz`)).status, 200);
});

t.test('metrics are available locally and to the administrator, but not through a proxy', async (t) => {
  const get = (headers: Record<string, string>) => fetch(`${server.url}/metrics`, { headers });
  const localServer = await get({});
  t.equal(localServer.status, 200);
  const figures = await localServer.text();
  t.match(figures, /quarry_http_requests_total\{operation="add-document",status="201"\} \d+/);
  t.match(figures, /quarry_http_request_seconds_bucket\{le="0.005",operation="top-snippets"\}/);
  t.match(figures, /quarry_http_requests_running 1/);
  t.match(figures, /quarry_http_body_bytes 0\n/, 'every body was given back');
  t.equal((await get({ 'x-forwarded-for': '10.0.0.1' })).status, 401);
  t.equal((await get({ 'x-forwarded-for': '127.0.0.1', authorization: 'Bearer all' })).status, 403);
  t.equal((await get({ 'x-forwarded-for': '10.0.0.1', authorization: 'Bearer admin' })).status, 200);
});

t.test('the bodies of all requests stay within their memory budget', async (t) => {
  const small = await startTestHttpServer('auto', { settings: { jsonBytesHeldMax: 1_000 } });
  t.teardown(() => small.close(0));
  const refused = await post(small, add, addBody({ content: { type: 'text', text: 'x'.repeat(2_000) } }));
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('x-quarry-limit'), 'request-bodies');
  t.match(await refused.text(), /your share of memory/);
  for (let i = 0; i < 20; i++)
    t.equal((await post(small, add, addBody({}))).status, 201, 'what was taken is given back');
});

t.test('an admission check rejects before the body is read', async (t) => {
  const guarded = await startTestHttpServer('auto', {
    hooks: {
      admit: (_principal, operation) => {
        if (operation === 'add-document') throw new AppError('queue_full', 'The ingest queue is full.');
      },
    },
  });
  t.teardown(() => guarded.close(0));
  t.equal((await post(guarded, add, 'nonsense')).status, 429);
});

t.test('a reply that does not match its schema is a 500', async (t) => {
  const wrong = await startTestHttpServer('auto', {
    services: { getCollectionList: async () => ({ names: [] }) as never },
  });
  t.teardown(() => wrong.close(0));
  t.equal((await post(wrong, '/collections/get-collection-list')).status, 500);
});

t.test('uploads are rejected with a reason before anything is stored', async (t) => {
  let stored = 0;
  const uploads = await startTestHttpServer('auto', {
    settings: { uploadBytesMax: 10_000 },
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body);
        stored++;
        return { status: 201, body: {} };
      },
    },
  });
  t.teardown(() => uploads.close(0));
  const put = async (
    path: string,
    { headers = {}, body = 'x' }: { headers?: Record<string, string>; body?: string } = {},
  ) => {
    const reply = await fetch(`${uploads.url}${path}`, {
      method: 'PUT',
      headers: { authorization: 'Bearer all', ...headers },
      body,
    });
    return `${reply.status} ${await reply.text()}`;
  };
  const meta = (value: string) => ({ headers: { 'x-quarry-metadata': value } });
  const base64url = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
  t.match(await put('/v1/documents/c/'), /^400 .*path is empty/);
  t.match(await put('/v1/documents/c/a%00'), /^400 .*NUL/);
  t.match(await put('/v1/documents/c/%ff'), /^400 .*percent-encoded/);
  t.match(await put(`/v1/documents/${'x'.repeat(1_025)}/p`), /^400 .*1,025 bytes/);
  t.match(await put('/v1/documents/c/p?overwrite=yes'), /^422 .*"loc":\["query","overwrite"\]/);
  t.match(await put('/v1/documents/c/p', meta('!!')), /^400 .*base64url/);
  t.match(await put('/v1/documents/c/p', meta('e30x')), /^400 .*JSON/);
  const latin1 = Buffer.from('{"a":"caf\xe9"}', 'latin1').toString('base64url');
  t.match(await put('/v1/documents/c/p', meta(latin1)), /^400 .*not UTF-8/);
  t.match(await put('/v1/documents/c/p', meta(base64url([]))), /^400 .*must be an object/);
  t.match(await put('/v1/documents/c/p', meta(base64url({ a: 1 }))), /^400 .*must be a string or a list/);
  t.match(await put('/v1/documents/c/p', meta(base64url({ a: ['x'] }))), /^400 .*list:/);
  t.match(await put('/v1/documents/c/p', { body: 'x'.repeat(10_001) }), /^413 .*10,000 bytes/);
  t.equal(stored, 0);
  t.match(await put('/v1/documents/c/p', meta('e30')), /^201/);
  t.match(
    await put('/documents/get-document/info', { body: '' }),
    /^201/,
    'a collection may be named like an operation',
  );
  t.equal(stored, 2);
});

t.test('forms are rejected with a reason before anything is stored', async (t) => {
  let stored = 0;
  const uploads = await startTestHttpServer('auto', {
    services: {
      uploadDocument: async (_call, _parameters, body) => {
        for await (const _ of body);
        stored++;
        return { status: 201, body: {} };
      },
    },
  });
  t.teardown(() => uploads.close(0));
  const send = async (fields: readonly (readonly [string, string])[]) => {
    const form = new FormData();
    for (const [name, value] of fields) {
      if (name === 'file') form.append(name, new Blob([value]), 'f');
      else form.append(name, value);
    }
    const reply = await fetch(`${uploads.url}/documents/upload`, {
      method: 'POST',
      headers: { authorization: 'Bearer all' },
      body: form,
    });
    return `${reply.status} ${await reply.text()}`;
  };
  const named = [
    ['collection_name', 'c'],
    ['path', 'p'],
  ] as const;
  t.match(await send([...named]), /^422 .*no field \\"file\\"/);
  t.match(
    await send([
      ['collection_name', 'c'],
      ['file', 'x'],
    ]),
    /^422 .*"loc":\["body","path"\]/,
  );
  t.match(await send([['file', 'x'], ...named]), /^422 .*collection_name/);
  t.match(await send([...named, ['wait', '1'], ['file', 'x']]), /^422 .*"loc":\["body","wait"\]/);
  t.match(await send([...named, ['metadata', '{'], ['file', 'x']]), /^400 .*JSON/);
  t.match(await send([...named, ['metadata', '{"a":1}'], ['file', 'x']]), /^400 .*metadata/);
  t.match(await send([...named, ['path', 'q'], ['file', 'x']]), /^422 .*occurs more than once/);
  t.match(await send([...named, ['file', 'x'], ['file', 'y']]), /^422 .*more than one file/);
  t.match(await send([...named, ['other', 'x'.repeat(140_000)], ['file', 'x']]), /^422 .*too long/);
  t.match(
    await send([...Array.from({ length: 20 }, (_, i) => [`f${i}`, 'x'] as const), ['file', 'x']]),
    /^422 .*more than 16 fields/,
  );
  for (const type of ['application/json', 'multipart/form-data', 'text/plain']) {
    const reply = await post(uploads, '/documents/upload', 'x', { 'content-type': type });
    t.equal(reply.status, 422, type);
    t.match(await reply.text(), /multipart\/form-data/);
  }
  const latin1 = (path: string) =>
    fetch(`${uploads.url}/documents/upload`, {
      method: 'POST',
      headers: { authorization: 'Bearer all', 'content-type': 'multipart/form-data; boundary=b' },
      body: Buffer.from(
        `${[['collection_name', 'c'] as const, ['path', path] as const, ['file', 'x'] as const]
          .map(([name, value]) => `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)
          .join('')}--b--\r\n`,
        'latin1',
      ),
    });
  const foreign = await latin1('caf\xe9');
  t.equal(foreign.status, 422, 'or all paths in another encoding would be one');
  t.match(await foreign.text(), /\\"path\\" is not UTF-8/);
  t.equal(stored, 0);
  t.match(await send([...named, ['file', 'x']]), /^201/);
  t.equal((await latin1('cafe')).status, 201);
  t.equal(stored, 2);
});

t.test('files of safe types are displayed by browsers, all others are downloaded', async (t) => {
  const kinds: readonly (readonly [string, string])[] = [
    ['application/pdf', 'inline'],
    ['text/plain; charset=utf-8', 'inline'],
    ['image/png', 'inline'],
    ['image/svg+xml', 'attachment'],
    ['TEXT/HTML', 'attachment'],
    ['application/xhtml+xml', 'attachment'],
    ['application/octet-stream', 'attachment'],
  ];
  const files = await startTestHttpServer('auto', {
    services: { getDocumentFile: async (_call, token) => fakeFileReply('x', kinds[Number(token)]?.[0]) },
  });
  t.teardown(() => files.close(0));
  for (const [i, [kind, disposition]] of kinds.entries()) {
    const reply = await fetch(`${files.url}/v1/documents/get-document?token=${i}`);
    t.equal(reply.headers.get('content-type'), kind);
    t.ok(reply.headers.get('content-disposition')?.startsWith(`${disposition};`), kind);
    t.ok(reply.headers.get('content-security-policy'), kind);
    t.equal(reply.headers.get('x-content-type-options'), 'nosniff', kind);
  }
  t.same(
    new Uint8Array(await (await fetch(`${files.url}/documents/get-page-image?token=x`)).arrayBuffer()),
    pageBytes,
  );
});
