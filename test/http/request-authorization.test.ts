import t from '../support/tap.ts';
import { post, startTestHttpServer, uuid } from './fake-services.ts';
import { queryBody as query } from './valid-bodies.ts';

/** Operations that a caller may use with each kind of key. */

const server = await startTestHttpServer('auto');
t.teardown(() => server.close(0));

t.test('requests without a valid key are rejected', async (t) => {
  const all = await fetch(`${server.url}/openapi.json`);
  const { paths } = (await all.json()) as { paths: Record<string, Record<string, { security?: [] }>> };
  const guarded = Object.entries(paths).flatMap(([path, methods]) =>
    // Paths with another version than /v1 name their own server.
    Object.entries(methods)
      .filter(([method, operation]) => method !== 'servers' && operation.security === undefined)
      .map(
        ([method]) =>
          [
            method.toUpperCase(),
            ('servers' in methods ? '' : '/v1') + path.replace('{collection}', 'c').replace('{path}', 'p'),
          ] as const,
      ),
  );
  t.ok(guarded.length >= 34, `${guarded.length} operations need a key`);
  for (const [method, path] of guarded) {
    for (const headers of [{}, { authorization: 'Bearer wrong' }, { authorization: 'Basic all' }]) {
      const reply = await fetch(`${server.url}${path}`, { method, headers });
      t.equal(reply.status, 401, `${method} ${path}`);
      t.equal(reply.headers.get('www-authenticate'), 'Bearer');
      t.match(await reply.json(), { detail: String });
    }
    const wrongSide = path.startsWith('/v1/admin/') ? 'Bearer all' : 'Bearer admin';
    const reply = await fetch(`${server.url}${path}`, { method, headers: { authorization: wrongSide } });
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
  const key = { organization_id: uuid, name: 'n', permission: 'all' };
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
