import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createOperatorOrganization } from './operator.ts';
import type { PublishedOperationName } from './published-replies.ts';
import { adminKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';

/** Keys restricted to some collections, to some documents of them, or both. */

t.setTimeout(testFileMsMax);
const { server, organization_id } = await joinSharedServer();
const administration = new CheckedApiClient(server, adminKey);

interface Restriction {
  readonly collection_names: readonly string[] | null;
  readonly filter: object | null;
}

async function clientWithKey(restriction?: Restriction, permission = 'all'): Promise<CheckedApiClient> {
  const body = { organization_id, name: JSON.stringify(restriction ?? 'whole'), permission, restriction };
  return new CheckedApiClient(server, (await administration.call('admin/add-api-key', body)).api_key);
}

const whole = await clientWithKey();
const named = await clientWithKey({ collection_names: ['open', 'later'], filter: null });
const filtered = await clientWithKey({ collection_names: null, filter: { tenant: 'a' } });
const both = await clientWithKey({ collection_names: ['open'], filter: { tenant: { $in: ['a'] } } });
const text = (words: string) => ({ type: 'text', text: words }) as const;

for (const collection_name of ['open', 'closed']) {
  await whole.call('collections/add-collection', { collection_name });
  const documents = ['a', 'b'].flatMap((tenant) =>
    [1, 2].map((n) => ({
      path: `${tenant}/${n}`,
      content: text(`Granite of tenant ${tenant}, part ${n}. ${tenant === 'b' ? 'Xylophonist.' : ''}`),
      metadata: { tenant, part: String(n) },
    })),
  );
  await whole.addAll(collection_name, [
    ...documents,
    { path: 'none', content: text('Granite of nobody.'), metadata: {} },
  ]);
}

/** Operations on a collection, each of which succeeds if the key has access. */
const onCollections: readonly (readonly [PublishedOperationName, object])[] = [
  ['documents/get-document-info', { path: 'a/1', include_content: true }],
  ['documents/get-document-info-list', {}],
  ['documents/get-page-info', { path: 'a/1', page_index: 0 }],
  ['status/get-status', {}],
  ['queries/top-documents', { query: 'granite', k: 5 }],
  ['queries/top-documents', { query: null, k: 5 }],
  ['queries/top-pages', { query: 'granite', k: 5 }],
  ['queries/top-snippets', { query: 'granite', k: 5 }],
  ['documents/add-document', { path: 'new', content: text('x'), metadata: { tenant: 'a' } }],
  ['documents/add-documents', { documents: [{ path: 'new', content: text('x') }] }],
  ['documents/update-document', { path: 'a/1', metadata: { tenant: 'a' } }],
  ['documents/delete-document', { path: ['a/1'] }],
  ['collections/update-collection' as PublishedOperationName, { query_defaults: { max_per_document: 1 } }],
  ['collections/change-model' as PublishedOperationName, { embedding_model: 'zembed-1' }],
  ['collections/delete-collection', {}],
];

/** Reply with the requested name replaced by a placeholder. */
async function replyWithoutPath(
  api: CheckedApiClient,
  name: string,
  operation: PublishedOperationName,
  body: object,
) {
  const { status, body: replyText } = await api.request(operation, body, { as: operation });
  return { status, text: JSON.stringify(replyText).replaceAll(name, 'NAME') };
}

await t.test('a collection outside a key’s restriction looks nonexistent', async (t) => {
  for (const api of [named, both]) {
    for (const [operation, body] of onCollections) {
      const ask = (collection_name: string) =>
        replyWithoutPath(api, collection_name, operation, { ...body, collection_name });
      const otherReply = await ask('closed');
      t.same(otherReply, await ask('never'), `${operation}: the same message`);
      // A key restricted to some documents may not call operations on whole collections.
      t.equal(otherReply.status, api === both && operation.startsWith('collections/') ? 403 : 404, operation);
    }
    const put = (collection: string) =>
      api.request(`documents/${collection}/new`, undefined, {
        method: 'PUT',
        body: 'x',
        as: 'documents/add-document',
      });
    t.equal((await put('closed')).status, 404);
    t.same((await api.call('collections/get-collection-list')).collection_names, ['open']);
    const create = { collection_name: 'closed' };
    const refused = await replyWithoutPath(api, 'closed', 'collections/add-collection', create);
    t.equal(refused.status, 403);
    t.same(
      refused,
      await replyWithoutPath(api, 'never', 'collections/add-collection', { collection_name: 'never' }),
      'a used name and a free name',
    );
  }
  t.match(await named.call('status/get-status'), { num_documents: 5 });
  t.match(await whole.call('status/get-status'), { num_documents: 10 });
  await named.call('collections/add-collection', { collection_name: 'later' });
  t.same((await named.call('collections/get-collection-list')).collection_names, ['later', 'open']);
  await named.call('collections/delete-collection', { collection_name: 'later' });
});

await t.test('a restricted key does not see usage of other collections', async (t) => {
  await whole.find('closed', 'granite');
  const span = { start_time: 0, end_time: 4_000_000_000, aggregation_window: 'daily' };
  const collections = async (api: CheckedApiClient, operation: 'usage/documents' | 'usage/queries') =>
    new Set((await api.call(operation, span)).map(({ collection_id }) => collection_id)).size;
  t.equal(await collections(whole, 'usage/documents'), 2);
  t.equal(await collections(named, 'usage/documents'), 1);
  t.equal(await collections(whole, 'usage/queries'), 1);
  t.equal(await collections(named, 'usage/queries'), 0);
  t.match(await named.call('usage/counters'), { all_time: { docs: { count: 5 }, queries: { count: 0 } } });
  t.match(await whole.call('usage/counters'), { all_time: { docs: { count: 10 }, queries: { count: 1 } } });
  t.ok((await whole.call('usage/models/embed', span)).some(({ explicit_call }) => !explicit_call));
  const request = { ...span, collection_names: ['closed'] };
  t.equal(await named.status('usage/documents', request), 404);
  for (const operation of ['usage/documents', 'usage/queries', 'usage/counters'])
    t.equal(await filtered.status(operation, span), 403, `${operation} counts documents that a filter hides`);
});

await t.test('a restricted key cannot read the model usage of the organization', async (t) => {
  await whole.call('models/embed', { model: 'zembed-1', input: ['secret'], input_type: 'query' });
  const span = { start_time: 0, end_time: 4_000_000_000, aggregation_window: 'daily' };
  t.match(await whole.call('usage/models/counters'), { all_time: { embed: { count: 1 } } });
  t.ok((await whole.call('usage/models/embed', span)).some(({ explicit_call }) => explicit_call));
  const operations = ['usage/models/embed', 'usage/models/reranker', 'usage/models/counters'] as const;
  for (const api of [named, filtered, both]) {
    for (const operation of operations) {
      const { status, body } = await api.request(operation, span);
      t.equal(status, 403, operation);
      t.match(body, { detail: /Use an unrestricted key/ });
    }
  }
});

/** Operations on a document, each of which succeeds if the key has access. */
const onDocuments: readonly (readonly [PublishedOperationName, object])[] = [
  ['documents/get-document-info', { include_content: true }],
  ['documents/get-page-info', { page_index: 0 }],
  ['documents/update-document', { metadata: { tenant: 'a' } }],
  ['documents/update-document', { index_status: 'not_indexed' }],
  ['documents/update-document', {}],
  ['documents/delete-document', {}],
];

await t.test('a document that does not match the filter of a key looks nonexistent', async (t) => {
  const before = await whole.call('documents/get-document-info-list', { collection_name: 'open' });
  for (const api of [filtered, both]) {
    for (const [operation, body] of onDocuments) {
      for (const path of ['b/1', 'none']) {
        const ask = (request: string) =>
          replyWithoutPath(api, request, operation, { ...body, collection_name: 'open', path: request });
        const hidden = await ask(path);
        t.equal(hidden.status, 404, `${operation} of ${path}`);
        t.same(hidden, await ask('never'), 'with the same message');
      }
    }
    t.same(await api.paths('open'), ['a/1', 'a/2']);
    t.same(await api.paths('open', { limit: 1, path_gt: 'a/1' }), ['a/2'], 'pages are full');
    t.same(await api.paths('open', { path_prefix: 'b' }), []);
    const several = { collection_name: 'open', path: ['b/1', 'never'] };
    t.equal(await api.status('documents/delete-document', several), 404);
    const request = {
      collection_name: 'open',
      documents: [{ path: 'b/2', content: text('x'), overwrite: true }],
    };
    t.match(await api.call('documents/add-documents', request), { results: [{ status: 403 }] });
    const ownDocument = { ...request, documents: [{ ...request.documents[0], metadata: { tenant: 'a' } }] };
    t.match(
      await api.call('documents/add-documents', ownDocument),
      { results: [{ status: 409 }] },
      'nothing is replaced',
    );
    const file = { type: 'auto', base64_data: 'eA==' } as const;
    const fileInPlace = { collection_name: 'open', path: 'b/1', content: file, metadata: { tenant: 'a' } };
    for (const overwrite of [true, false])
      t.equal(await api.status('documents/add-document', { ...fileInPlace, overwrite }), 409);
    const put = (path: string, metadata: object) =>
      api.request(`documents/open/${encodeURIComponent(path)}?overwrite=true`, undefined, {
        method: 'PUT',
        body: 'x',
        headers: { 'x-quarry-metadata': Buffer.from(JSON.stringify(metadata)).toString('base64url') },
        as: 'documents/add-document',
      });
    t.equal((await put('b/1', { tenant: 'a' })).status, 409);
    t.equal((await put('mine', { tenant: 'b' })).status, 403);
    const away = { collection_name: 'open', path: 'a/1', metadata: { tenant: 'b' } };
    t.equal(await api.status('documents/update-document', away), 403, 'nothing is revealed');
  }
  const after = await whole.call('documents/get-document-info-list', { collection_name: 'open' });
  t.same(
    after.documents.map(({ id, metadata }) => ({ id, metadata })),
    before.documents.map(({ id, metadata }) => ({ id, metadata })),
  );
});

await t.test('every query applies the filter of its key', async (t) => {
  const attempts: readonly (readonly [filter: object | null, paths: readonly string[]])[] = [
    [null, ['a/1', 'a/2']],
    [{}, ['a/1', 'a/2']],
    [{ tenant: 'b' }, []],
    [{ part: '1' }, ['a/1']],
    [{ $or: [{ tenant: 'a' }, { tenant: 'b' }] }, ['a/1', 'a/2']],
    [{ tenant: { $ne: 'a' } }, []],
    [{ tenant: { $nin: [] } }, ['a/1', 'a/2']],
  ];
  for (const api of [filtered, both]) {
    for (const [filter, paths] of attempts) {
      for (const query of ['granite', null]) {
        const found = await api.find('open', query, { filter });
        t.same(found.sort(), paths, `${query} with ${JSON.stringify(filter)}`);
      }
      const request = { collection_name: 'open', query: 'granite xylophonist', k: 20, filter };
      const replyText = [
        await api.call('queries/top-pages', { ...request, include_content: true }),
        await api.call('queries/top-snippets', request),
        await api.call('queries/top-snippets', { ...request, precise_responses: true, latency_mode: 'high' }),
      ];
      t.notMatch(JSON.stringify(replyText), /tenant b|Xylophonist\./);
    }
    t.match(await api.call('status/get-status', { collection_name: 'open' }), {
      num_documents: 2,
      num_indexed_documents: 2,
    });
  }
  const misspelled = { collection_name: 'open', query: 'xylophonistt', k: 5, explain: true };
  const spelling = async (api: CheckedApiClient) =>
    JSON.stringify(await api.call('queries/top-snippets', misspelled));
  t.match(await spelling(whole), '"xylophonist"', 'others get the corrected word');
  t.notMatch(
    await spelling(both),
    '"xylophonist"',
    'a word that only hidden documents contain is not revealed',
  );
});

await t.test('a key with a filter writes and reads its own documents', async (t) => {
  const metadata = { tenant: 'a', part: '3' };
  await both.add('open', 'mine', 'Basalt.', { metadata });
  t.same(await both.find('open', 'basalt', { filter: { part: '3' } }), ['mine']);
  await both.call('documents/update-document', {
    collection_name: 'open',
    path: 'mine',
    metadata: { ...metadata, part: '4' },
  });
  await both.add('open', 'mine', 'Gneiss.', { metadata, overwrite: true });
  t.match(await both.info('open', 'mine', true), { content: 'Gneiss.', metadata });
  t.match(await both.call('documents/delete-document', { collection_name: 'open', path: ['mine', 'b/1'] }), {
    deleted_paths: ['mine'],
  });
  for (const operation of ['delete-collection', 'update-collection', 'change-model'])
    t.equal(await both.status(`collections/${operation}`, {}), 403, `${operation} affects all documents`);
});

await t.test('the restriction of a key is listed, and changes apply at once', async (t) => {
  const restriction = {
    collection_names: ['open', 'open'],
    filter: { ['__proto__']: { $ne: 'x' }, tenant: 'b' },
  };
  const body = { organization_id, name: 'Changing', permission: 'read_only', restriction };
  const { api_key } = await administration.call('admin/add-api-key', body);
  const api = new CheckedApiClient(server, api_key);
  const listed = async () => {
    const { api_keys } = await administration.call('admin/list-api-keys', { organization_id });
    return api_keys.find(({ name }) => name === 'Changing') as unknown as {
      id: string;
      restriction: unknown;
    };
  };
  const { id: api_key_id, ...info } = await listed();
  t.equal(
    JSON.stringify(info.restriction),
    '{"collection_names":["open"],"filter":{"__proto__":{"$ne":"x"},"tenant":"b"}}',
  );
  t.same(await api.paths('open'), ['b/1', 'b/2']);
  const change = (changes: object) =>
    administration.status('admin/update-api-key', { organization_id, api_key_id, ...changes });
  t.equal(await change({ restriction: { collection_names: null, filter: { tenant: 'a' } } }), 200);
  t.same(await api.paths('closed'), ['a/1', 'a/2']);
  t.equal(await change({ name: 'Changing', restriction: null }), 200);
  t.same(await api.paths('closed'), ['a/1', 'a/2'], 'null keeps it');
  for (const [wrong, status] of [
    [{ collection_names: ['open'] }, 422],
    [{ collection_names: 'open', filter: null }, 422],
    [{ collection_names: null, filter: 'tenant' }, 422],
    [{ collection_names: [], filter: null }, 400],
    [{ collection_names: [''], filter: null }, 400],
    [{ collection_names: Array.from({ length: 257 }, (_, i) => `c${i}`), filter: null }, 400],
    [{ collection_names: null, filter: { tenant: { $like: 'a' } } }, 400],
    [{ collection_names: null, filter: { tenant: 'a'.repeat(20_000) } }, 400],
  ] as const)
    t.equal(await change({ restriction: wrong }), status, JSON.stringify(wrong).slice(0, 60));
  t.same(await api.paths('closed'), ['a/1', 'a/2'], 'a rejected change has no effect');
  await server.restart();
  t.same(await api.paths('closed'), ['a/1', 'a/2'], 'the restriction survives a restart');
  t.equal(await change({ restriction: { collection_names: null, filter: {} } }), 200);
  t.equal((await api.paths('closed')).length, 5, 'the restriction is removed');
  t.equal((await listed()).restriction, null);
});

await t.test('owners restrict the keys of their organization, and sessions are unrestricted', async (t) => {
  const { token, organization_id: own } = await createOperatorOrganization(server);
  const send = async (operation: string, body: object) => {
    const reply = await fetch(`${server.url}/${operation}`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'x-quarry-organization': own,
      },
      body: JSON.stringify(body),
    });
    // biome-ignore lint/suspicious/noExplicitAny: whatever a server says
    return { status: reply.status, body: (await reply.json()) as any };
  };
  const restriction = { collection_names: ['mine'], filter: { tenant: 'a' } };
  const keyRequest = { organization_id: own, name: 'Site', permission: 'all', restriction };
  const issued = await send('api/organizations/api-keys/add-api-key', keyRequest);
  t.match(issued, { status: 201, body: { restriction } });
  for (const collection_name of ['mine', 'other'])
    t.equal((await send('v1/collections/add-collection', { collection_name })).status, 201);
  const site = new CheckedApiClient(server, issued.body.api_key);
  t.same((await site.call('collections/get-collection-list')).collection_names, ['mine']);
  const api_key_id = issued.body.id;
  const changed = {
    organization_id: own,
    api_key_id,
    restriction: { collection_names: ['other'], filter: null },
  };
  t.equal((await send('api/organizations/api-keys/update-api-key', changed)).status, 200);
  t.same(
    (await site.call('collections/get-collection-list')).collection_names,
    ['other'],
    'the restriction applies at once',
  );
  const info = await send('api/organizations/get-info', { organization_id: own });
  t.match(
    info.body.api_keys.find(({ id }: { id: string }) => id === api_key_id),
    { restriction: changed.restriction },
  );
  const log = await send('api/organizations/get-audit-log', { organization_id: own });
  t.match(log.body.entries[0], { action: 'api_key.updated', details: { collections: 1, filtered: false } });
});
