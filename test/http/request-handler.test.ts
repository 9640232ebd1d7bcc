import { AppError } from '../../src/core/app-error.ts';
import t from '../support/tap.ts';
import { fakeFileReply, pageBytes, post, startTestHttpServer } from './fake-services.ts';
import { RawClient } from './raw-client.ts';
import { addBody, addPath, queryBody } from './valid-bodies.ts';

/** Handling of requests from the router to the reply: parameters, budgets, errors, probes and metrics. */

const server = await startTestHttpServer('auto');
t.teardown(() => server.close(0));

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
  const longBody = { collection_name: 'c', path_gt: 'a', x: 'y'.repeat(200_000) };
  await post(paging, `${list}?path_gt=b`, longBody);
  t.same(receivedBodies, ['b/ü', 'a', undefined, 'b']);
  const broken = await post(paging, `${list}?path_gt=%ff`, { collection_name: 'c' });
  t.equal(broken.status, 422);
  t.match(await broken.json(), { detail: [{ loc: ['query'] }] });
  t.equal(receivedBodies.length, 4);
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
  t.equal((await post(server, addPath, addBody({}))).status, 201);
  t.equal((await post(server, addPath, '{"collection_name":')).status, 422);
  t.equal((await post(server, '/v1/queries/top-snippets', queryBody({}))).status, 200);
  const localServer = await get({});
  t.equal(localServer.status, 200);
  const figures = await localServer.text();
  t.match(figures, /quarry_http_requests_total\{operation="add-document",status="201"\} \d+/);
  t.match(figures, /quarry_http_request_seconds_bucket\{le="0.005",operation="top-snippets"\}/);
  t.match(figures, /quarry_http_requests_running 1/);
  t.match(figures, /quarry_http_body_bytes 0\n/, 'the memory of every body is released');
  t.equal((await get({ 'x-forwarded-for': '10.0.0.1' })).status, 401);
  t.equal((await get({ 'x-forwarded-for': '127.0.0.1', authorization: 'Bearer all' })).status, 403);
  t.equal((await get({ 'x-forwarded-for': '10.0.0.1', authorization: 'Bearer admin' })).status, 200);
});

t.test('the bodies of all requests stay within their memory budget', async (t) => {
  const small = await startTestHttpServer('auto', { settings: { jsonBytesHeldMax: 1_000 } });
  t.teardown(() => small.close(0));
  const refused = await post(small, addPath, addBody({ content: { type: 'text', text: 'x'.repeat(2_000) } }));
  t.equal(refused.status, 429);
  t.equal(refused.headers.get('x-quarry-limit'), 'request-bodies');
  t.match(await refused.text(), /your share of memory/);
  for (let i = 0; i < 20; i++)
    t.equal((await post(small, addPath, addBody({}))).status, 201, 'all memory is released');
});

t.test('an admission check rejects before the body is read, and every call is counted once', async (t) => {
  const guarded = await startTestHttpServer('auto', {
    hooks: {
      admit: (_principal, operation) => {
        if (operation === 'add-document') throw new AppError('queue_full', 'The ingest queue is full.');
      },
    },
  });
  t.teardown(() => guarded.close(0));
  t.equal((await post(guarded, addPath, 'nonsense')).status, 429);
  t.equal((await post(guarded, '/queries/top-pages', {})).status, 422);
  await fetch(`${guarded.url}/nowhere`);
  const metrics = await (await fetch(`${guarded.url}/metrics`)).text();
  const counted = metrics.split('\n').filter((line) => line.startsWith('quarry_http_requests_total'));
  t.same(counted.sort(), [
    'quarry_http_requests_total{operation="add-document",status="429"} 1',
    'quarry_http_requests_total{operation="none",status="404"} 1',
    'quarry_http_requests_total{operation="top-pages",status="422"} 1',
  ]);
});

t.test('a reply that does not match its schema is a 500', async (t) => {
  const wrong = await startTestHttpServer('auto', {
    services: { getCollectionList: async () => ({ names: [] }) as never },
  });
  t.teardown(() => wrong.close(0));
  t.equal((await post(wrong, '/collections/get-collection-list')).status, 500);
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
