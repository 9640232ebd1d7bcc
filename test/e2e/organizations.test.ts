import { request } from 'node:http';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import type { PublishedOperationName } from './published-replies.ts';
import { adminKey, operatorKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Permissions: organizations isolated from each other, read-only keys, and the administrator. */

t.setTimeout(testFileMsMax);
const { server } = await joinSharedServer();
const administration = new CheckedApiClient(server, adminKey);
const ids = {
  tenantA: '11111111-1111-4111-8111-111111111111',
  tenantB: '22222222-2222-4222-8222-222222222222',
} as const;

async function key(organization_id: string, permission: 'all' | 'read_only' = 'all'): Promise<string> {
  const body = { organization_id, name: `${permission} key`, permission };
  return (await administration.call('admin/add-api-key', body)).api_key;
}

for (const organization_id of Object.values(ids)) {
  await administration.call('admin/create-organization', { organization_id });
}
const keys = { tenantA: await key(ids.tenantA), tenantB: await key(ids.tenantB) };
const tenantA = new CheckedApiClient(server, keys.tenantA);
const tenantB = new CheckedApiClient(server, keys.tenantB);
const text = (words: string) => ({ type: 'text', text: words }) as const;

/** Requests on a collection, each of which succeeds in an organization that has it with the document `doc`. */
const reads: readonly (readonly [PublishedOperationName, object])[] = [
  ['documents/get-document-info', { path: 'doc', include_content: true }],
  ['documents/get-document-info-list', {}],
  ['documents/get-page-info', { path: 'doc', page_index: 0 }],
  ['status/get-status', {}],
  ['queries/top-documents', { query: 'granite', k: 5 }],
  ['queries/top-documents', { query: null, k: 5 }],
  ['queries/top-pages', { query: 'granite', k: 5 }],
  ['queries/top-snippets', { query: 'granite', k: 5 }],
];
const writes: readonly (readonly [PublishedOperationName, object])[] = [
  ['documents/add-document', { path: 'new', content: text('x') }],
  ['documents/add-documents', { documents: [{ path: 'new', content: text('x') }] }],
  ['documents/update-document', { path: 'doc', metadata: { a: 'b' } }],
  ['documents/delete-document', { path: ['doc'] }],
  ['collections/delete-collection', {}],
];

await t.test('the same names in two organizations are independent', async (t) => {
  for (const [name, api] of Object.entries({ north: tenantA, south: tenantB })) {
    await api.call('collections/add-collection', { collection_name: 'shared name' });
    await api.add('shared name', 'doc', `Granite of the ${name}.`, { metadata: { owner: name } });
    await api.call('collections/add-collection', { collection_name: `only ${name}` });
    await api.add(`only ${name}`, 'doc', `Secret granite of the ${name}.`);
  }
  for (const [name, api] of Object.entries({ north: tenantA, south: tenantB })) {
    const { collection_names } = await api.call('collections/get-collection-list');
    t.same(collection_names, [`only ${name}`, 'shared name']);
    t.match(await api.call('status/get-status'), { num_documents: 2, num_indexed_documents: 2 });
    const info = await api.info('shared name', 'doc', true);
    t.match(info, { content: `Granite of the ${name}.`, metadata: { owner: name } });
    const { results } = await api.call('queries/top-snippets', {
      collection_name: 'shared name',
      query: 'granite of the north and of the south',
      k: 10,
    });
    t.same(
      results.map(({ content }) => content),
      [`Granite of the ${name}.`],
    );
  }
  const operator = new CheckedApiClient(server, operatorKey);
  t.same((await operator.call('collections/get-collection-list')).collection_names, []);
  t.match(await operator.call('status/get-status'), { num_documents: 0, num_indexed_bytes: 0 });
});

await t.test('a collection of another organization looks nonexistent', async (t) => {
  for (const [operation, body] of [...reads, ...writes]) {
    const searchPaths = async (collection_name: string) => {
      const reply = await tenantB.request(operation, { ...body, collection_name });
      return { status: reply.status, body: JSON.stringify(reply.body).replaceAll(collection_name, 'NAME') };
    };
    const otherReply = await searchPaths('only north');
    t.equal(otherReply.status, 404, operation);
    t.same(otherReply, await searchPaths('missing'), `${operation}: the same message`);
  }
  const put = (collection: string) =>
    tenantB.request(`documents/${encodeURIComponent(collection)}/new`, undefined, {
      method: 'PUT',
      body: 'x',
    });
  t.equal((await put('only north')).status, 404);
  const usage = { start_time: 0, end_time: 2_000_000_000, aggregation_window: 'daily' };
  t.equal(await tenantB.status('usage/documents', { ...usage, collection_names: ['only north'] }), 404);
  const used = await tenantB.call('usage/documents', usage);
  t.ok(used.length > 0 && used.every(({ organization_id }) => organization_id === ids.tenantB));
  t.match(await tenantA.info('only north', 'doc', true), { content: 'Secret granite of the north.' });
  t.same(await tenantA.paths('only north'), ['doc']);
  t.equal(await tenantB.status('collections/add-collection', { collection_name: 'only north' }), 201);
  await tenantB.call('collections/delete-collection', { collection_name: 'only north' });
  await tenantB.call('collections/delete-collection', { collection_name: 'shared name' });
  t.same(await tenantA.find('only north', 'granite'), ['doc']);
  t.same(
    await tenantA.find('shared name', 'granite'),
    ['doc'],
    'deleting a collection keeps that of the other organization',
  );
});

/** Sends the head of a request that declares a large body, but no body. */
function sendHeadOnly(path: string, bearer: string, method = 'POST'): Promise<number> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${server.url}/v1/${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bearer}`,
        'content-type': path === 'documents/upload' ? 'multipart/form-data; boundary=b' : 'application/json',
        'content-length': '1000000',
      },
    });
    outgoing.on('error', reject);
    outgoing.on('response', (reply) => {
      resolve(reply.statusCode ?? 0);
      outgoing.destroy();
    });
    outgoing.flushHeaders();
  });
}

await t.test('a read-only key is rejected before the body is sent', async (t) => {
  const bearer = await key(ids.tenantA, 'read_only');
  const reader = new CheckedApiClient(server, bearer);
  for (const [operation, body] of reads) {
    t.equal(await reader.status(operation, { ...body, collection_name: 'only north' }), 200, operation);
  }
  t.equal(await reader.status('collections/get-collection-list'), 200);
  t.equal(await reader.status('models/embed', { model: 'zembed-1', input_type: 'query', input: 'x' }), 200);
  t.equal(await reader.status('parsers/parse-document', { base64_data: 'eA==' }), 200);
  const before = await tenantA.call('documents/get-document-info-list', { collection_name: 'only north' });
  const forbidden = [
    'collections/add-collection',
    ...writes.map(([operation]) => operation),
    'documents/upload',
  ];
  for (const operation of forbidden) {
    t.equal(await sendHeadOnly(operation, bearer), 403, operation);
    t.equal(await sendHeadOnly(operation, 'ze_unknown000000000000000000000000000000'), 401, operation);
  }
  t.equal(await sendHeadOnly('documents/only%20north/new', bearer, 'PUT'), 403);
  for (const [operation, body] of writes) {
    const reply = await reader.request(operation, { ...body, collection_name: 'only north' });
    t.equal(reply.status, 403, operation);
    t.match(reply.body, { detail: /read_only|read-only/ });
    t.equal(await reader.status(operation, { nonsense: true }), 403, 'regardless of the body');
  }
  const after = await tenantA.call('documents/get-document-info-list', { collection_name: 'only north' });
  t.same(after, before);
});

await t.test('a request without a valid key gets only a 401', async (t) => {
  const bad = [
    '',
    'Bearer',
    'Bearer ',
    'Basic YTpi',
    `Bearer ${keys.tenantA}x`,
    `Token ${keys.tenantA}`,
    `Bearer ${keys.tenantA.slice(0, -1)}`,
  ];
  for (const authorization of bad) {
    const headers = authorization === '' ? {} : { authorization };
    const reply = await tenantA.request('collections/get-collection-list', undefined, { key: null, headers });
    t.equal(reply.status, 401, `"${authorization.slice(0, 12)}"`);
    t.notMatch(JSON.stringify(reply.body), keys.tenantA.slice(0, 12));
  }
  const lower = { key: null, headers: { authorization: `bearer ${keys.tenantA}` } };
  t.equal((await tenantA.request('collections/get-collection-list', undefined, lower)).status, 200);
  const organizations = ['collections/get-collection-list', 'models/embed', 'status/get-status'];
  for (const operation of organizations) t.equal(await administration.status(operation, {}), 403, operation);
  for (const api of [tenantA, new CheckedApiClient(server, operatorKey)]) {
    t.equal(await api.status('admin/get-organization', { organization_id: ids.tenantB }), 403);
  }
});

await t.test('the administrator creates, reads and changes organizations', async (t) => {
  const organization_id = '33333333-3333-4333-8333-333333333333';
  const get = () => administration.call('admin/get-organization', { organization_id });
  const update = (change: object) =>
    administration.call('admin/update-organization', { organization_id, ...change });
  t.equal(await administration.status('admin/get-organization', { organization_id }), 404);
  t.equal(await administration.status('admin/create-organization', { organization_id }), 201);
  t.equal(await administration.status('admin/create-organization', { organization_id }), 409);
  const fresh = {
    organization_id,
    subscription_tier: 'free',
    override_bpm_fast: null,
    override_bpm_slow: null,
    override_max_bytes_per_request: null,
    zdr: false,
  };
  t.match(await get(), fresh);
  await update({ subscription_tier: 'teams', override_bpm_fast: 7, zdr: true });
  t.match(await get(), { ...fresh, subscription_tier: 'teams', override_bpm_fast: 7, zdr: true });
  await update({
    override_bpm_slow: 9,
    override_max_bytes_per_request: 11,
    zdr: null,
    subscription_tier: null,
  });
  const full = { override_bpm_fast: 7, override_bpm_slow: 9, override_max_bytes_per_request: 11 };
  t.match(await get(), { ...fresh, ...full, subscription_tier: 'teams', zdr: true });
  await update({ override_bpm_fast: 0, zdr: false });
  t.match(await get(), { ...fresh, ...full, override_bpm_fast: null, subscription_tier: 'teams' });
  for (const [change, status] of [
    [{ organization_id: 'not a uuid' }, 422],
    [{ subscription_tier: 'gold' }, 422],
    [{ override_bpm_fast: -1 }, 422],
    [{ organization_id: '99999999-9999-4999-8999-999999999999' }, 404],
  ] as const) {
    const body = { organization_id, ...change };
    t.equal(await administration.status('admin/update-organization', body), status, JSON.stringify(change));
  }
});

await t.test('the metadata limit of one organization is raised, persisted and lowered', async (t) => {
  const collection_name = 'wide';
  const big = { 'list:words': Array.from({ length: 9_000 }, (_, i) => `word-${i}`), kind: 'big' };
  const bytes = Buffer.byteLength(JSON.stringify(big));
  t.ok(bytes > 65_535 && bytes < 131_072);
  const add = (api: CheckedApiClient, path: string) =>
    api.status('documents/add-document', {
      collection_name,
      path,
      content: { type: 'text', text: 'Many words.' },
      metadata: big,
      wait: true,
    });
  const change = (override_max_metadata_bytes: number) => {
    const body = { organization_id: ids.tenantA, override_max_metadata_bytes };
    return administration.status('admin/update-organization', body);
  };
  for (const api of [tenantA, tenantB]) await api.call('collections/add-collection', { collection_name });
  t.equal(await add(tenantA, 'a'), 400);
  t.equal(await change(200_000), 422);
  t.equal(await change(131_072), 200);
  t.equal(await add(tenantA, 'a'), 201);
  t.equal(await add(tenantB, 'a'), 400, 'the other organization keeps its limit');
  const { document } = await tenantA.call('documents/get-document-info', { collection_name, path: 'a' });
  t.match(document, { index_status: 'indexed', metadata: big });
  const filter = { 'list:words': { $in: ['word-8999'] } };
  const question = { collection_name, query: null, k: 3, filter };
  t.match(await tenantA.call('queries/top-documents', question), { results: [{ path: 'a' }] });
  t.equal(await change(0), 200);
  t.equal(await add(tenantA, 'b'), 400);
});

await t.test('keys are shown once, listed masked, changed and revoked at once', async (t) => {
  const organization_id = ids.tenantB;
  const body = { organization_id, name: 'Website', permission: 'read_only', created_by: 'ada@example.org' };
  const { api_key } = await administration.call('admin/add-api-key', body);
  t.match(api_key, /^ze_[0-9A-Za-z]{36}$/);
  const listed = async () => {
    const { api_keys } = await administration.call('admin/list-api-keys', { organization_id });
    return api_keys.find(({ name }) => name.startsWith('Web'));
  };
  const info = await listed();
  t.match(info, { name: 'Website', permission: 'read_only', created_by: 'ada@example.org' });
  t.not(info?.api_key, api_key);
  t.ok((info?.api_key.length ?? 99) < api_key.length || /[*.…]/.test(info?.api_key ?? ''), 'masked');
  const all = await administration.call('admin/list-api-keys', { organization_id });
  t.notMatch(JSON.stringify(all), api_key);
  const holder = new CheckedApiClient(server, api_key);
  const create = { collection_name: 'by the website' };
  t.equal(await holder.status('collections/add-collection', create), 403);
  const api_key_id = info?.id;
  const change = (more: object) =>
    administration.status('admin/update-api-key', { organization_id, api_key_id, ...more });
  t.equal(await change({ permission: 'all', name: 'Web 2' }), 200);
  t.match(await listed(), { id: api_key_id, name: 'Web 2', permission: 'all' });
  t.equal(
    await holder.status('collections/add-collection', create),
    201,
    'the new permission counts at once',
  );
  t.equal(await change({ permission: 'read_only' }), 200);
  t.equal(await holder.status('collections/delete-collection', create), 403);
  t.equal(await change({ organization_id: ids.tenantA }), 404, 'a key of another organization');
  const otherKey = { organization_id: ids.tenantA, api_key_id };
  t.equal(await administration.status('admin/delete-api-key', otherKey), 404);
  t.equal(await holder.status('collections/get-collection-list'), 200);
  t.equal(await administration.status('admin/delete-api-key', { organization_id, api_key_id }), 200);
  t.equal(await holder.status('collections/get-collection-list'), 401, 'revoked at once');
  t.equal(await administration.status('admin/delete-api-key', { organization_id, api_key_id }), 404);
  t.equal(await administration.status('admin/add-api-key', { ...body, name: '' }), 400);
  t.equal(await administration.status('admin/add-api-key', { ...body, permission: 'some' }), 422);
});

await t.test('with zero data retention no text of an organization reaches the log', async (t) => {
  const organization_id = '44444444-4444-4444-8444-444444444444';
  await administration.call('admin/create-organization', { organization_id });
  await administration.call('admin/update-organization', { organization_id, zdr: true });
  const silent = new CheckedApiClient(server, await key(organization_id));
  const secret = 'xylophonist';
  const collection_name = `${secret} collection`;
  await silent.call('collections/add-collection', { collection_name });
  await silent.add(collection_name, `${secret}.txt`, `The ${secret} plays.`, { metadata: { who: secret } });
  const broken = Buffer.from(`%PDF-1.7\n${secret}\n\u0000`).toString('base64');
  await silent.add(collection_name, `${secret}.pdf`, { type: 'auto', base64_data: broken });
  for (const filter of [{ who: secret }, { [secret]: 5 }]) {
    await silent.status('queries/top-snippets', { collection_name, query: secret, k: 3, filter });
  }
  await silent.status('documents/get-document-info', { collection_name, path: `no ${secret}` });
  await silent.request('models/rerank', { model: secret, query: secret, documents: [secret] });
  await silent.request('models/embed', undefined, { body: `{"input": "${secret}` });
  // A line of the log may arrive after the reply.
  await waitUntil('requests are logged at this level', () => server.log.includes('"msg":"request"'));
  t.notMatch(server.log, secret);
  t.notMatch(server.log, keys.tenantA.slice(0, 12), 'keys are never logged');
});
