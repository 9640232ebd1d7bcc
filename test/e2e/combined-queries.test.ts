import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { queryOperations } from './library-fixture.ts';
import { adminKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/**
 * Highlights, several queries, several collections, similar content and diversity, as clients see them: results, rate
 * limits and restricted keys.
 */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();
const clientWithKey = (fields: object) => createClient(server, organization_id, fields);
const administration = new CheckedApiClient(server, adminKey);
const text = (words: string) => ({ type: 'text', text: words }) as const;
const contents = {
  fish: {
    'herring.txt':
      'Salted herring in barrels, 🐟 that were caught in the cold sea by the people of the town. HERRINGS swim to the north in winter.',
    'copy.txt':
      'Salted herring in barrels, that were caught in the cold sea by the people of the town. Herrings swim to the north in winter.',
    'trout.txt': 'Trout live in clear rivers and eat insects.',
    '退款.txt': '退款政策：退款需要三天。',
  },
  food: {
    'soup.txt': 'A soup of herring and trout needs an onion, dill and a slow fire.',
    'bread.txt': 'Knead flour, water and salt, and bake the loaf in a hot oven.',
  },
};
for (const [collection_name, documents] of Object.entries(contents)) {
  await api.call('collections/add-collection', { collection_name });
  await api.addAll(
    collection_name,
    Object.entries(documents).map(([path, words]) => ({
      path,
      content: text(words),
      metadata: { kind: path === 'trout.txt' || path === 'bread.txt' ? 'b' : 'a' },
    })),
  );
}
const fish = { collection_name: 'fish', k: 10 };
const paths = ({ results }: { readonly results: readonly { readonly path: string }[] }) =>
  results.map(({ path }) => path);

await t.test('highlights are code point ranges of the content', async (t) => {
  const cases = [
    ['herring', 'herring.txt', ['herring', 'HERRINGS']],
    ['salted herrng', 'herring.txt', ['Salted', 'herring', 'HERRINGS']],
    ['退款政策', '退款.txt', ['退款政策', '退款']],
  ] as const;
  const requests = [
    ['queries/top-snippets', {}],
    ['queries/top-snippets', { precise_responses: true }],
    ['queries/top-pages', { include_content: true }],
  ] as const;
  for (const [operation, extra] of requests) {
    for (const [query, path, words] of cases) {
      const body = { ...fish, ...extra, query };
      const plain = await api.call(operation, body);
      const { results } = await api.call(operation, { ...body, highlights: true });
      const marked = results as readonly { path: string; content: string; highlights?: [number, number][] }[];
      const found = marked.filter((result) => result.path === path);
      const shown = found.flatMap(({ content, highlights = [] }) =>
        highlights.map(([start, end]) => [...content].slice(start, end).join('')),
      );
      t.same(shown, words, `${operation} ${query}`);
      const stripped = marked.map(({ highlights: _, ...rest }) => rest);
      t.same(stripped, plain.results, 'all other fields are the same');
    }
  }
  for (const [operation, body, message] of [
    ['queries/top-pages', { ...fish, query: 'herring', highlights: true }, /include_content/],
    ['queries/top-pages', { ...fish, query: 'a', highlights: true, include_content: true, k: 129 }, /128/],
  ] as const) {
    const { status, body: error } = await api.request(operation, body);
    t.equal(status, 400);
    t.match(error, { detail: message });
  }
});

await t.test('the results of several queries are fused', async (t) => {
  for (const operation of queryOperations) {
    const weights = { lexical: 1, vector: 0 };
    const body = { ...fish, query: 'herring', weights, queries: ['trout', 'northern rivers'] };
    const fused = await api.call(operation, body);
    t.same(new Set(paths(fused)), new Set(['herring.txt', 'copy.txt', 'trout.txt']), operation);
    t.equal(paths(await api.call(operation, { ...body, queries: [] })).length, 2, 'an empty list is none');
    const explained = await api.call(operation, { ...body, explain: true });
    t.same(paths(explained), paths(fused));
    t.equal(explained.explain?.shards.length, 3);
  }
});

await t.test('several collections are searched as one, and each result names its collection', async (t) => {
  const both = { collection_name: 'fish', collection_names: ['food'], k: 10 };
  for (const operation of queryOperations) {
    const reply = await api.call(operation, { ...both, query: 'herring trout' });
    const found = reply.results as readonly { path: string; collection_name?: string; score: number }[];
    t.equal(found[0]?.path, 'soup.txt', operation);
    for (const { path, collection_name } of found)
      t.ok(path in contents[collection_name as keyof typeof contents], `${path} is in ${collection_name}`);
    const scores = found.map(({ score }) => score);
    t.same(
      scores,
      scores.toSorted((a, b) => b - a),
    );
    if ('document_results' in reply)
      for (const { collection_name } of reply.document_results as { collection_name?: string }[])
        t.ok(collection_name);
    const filtered = await api.call(operation, { ...both, query: 'herring', filter: { kind: 'b' } });
    t.same(paths(filtered).sort(), ['bread.txt', 'trout.txt']);
  }
  const listed = await api.call('queries/top-documents', { ...both, query: null });
  t.equal(listed.results.length, 6);
  await api.call('aliases/add-alias', { alias_name: 'meals', collection_name: 'food' });
  const twice = await api.call('queries/top-documents', {
    ...both,
    collection_names: ['meals', 'food', 'fish'],
    query: 'soup',
  });
  t.equal(new Set(paths(twice)).size, twice.results.length, 'an alias is not searched again');
  t.match(twice.results[0], { path: 'soup.txt', collection_name: 'meals' });
});

await t.test('similar content is found for documents and snippets', async (t) => {
  const documents = await api.call('queries/top-documents', {
    ...fish,
    query: '',
    similar_to: { path: 'herring.txt' },
  });
  t.equal(paths(documents)[0], 'copy.txt');
  t.notOk(paths(documents).includes('herring.txt'));
  for (const extra of [{}, { precise_responses: true }]) {
    const similar_to = { path: 'herring.txt', start_index: 0 };
    const snippets = await api.call('queries/top-snippets', { ...fish, ...extra, query: '', similar_to });
    t.equal(paths(snippets)[0], 'copy.txt');
    const filtered = { ...fish, ...extra, query: '', similar_to, filter: { kind: 'b' } };
    t.same(paths(await api.call('queries/top-snippets', filtered)), ['trout.txt']);
  }
  const everywhere = { ...fish, collection_names: ['food'], query: '', similar_to: { path: 'trout.txt' } };
  t.ok(paths(await api.call('queries/top-documents', everywhere)).includes('soup.txt'));
});

await t.test('diversity passes over copies', async (t) => {
  for (const operation of queryOperations) {
    const body = { ...fish, query: 'salted herring in the sea', k: 2 };
    t.same(paths(await api.call(operation, body)).sort(), ['copy.txt', 'herring.txt'], operation);
    t.same(paths(await api.call(operation, { ...body, diversity: 0 })).sort(), ['copy.txt', 'herring.txt']);
    const diverse = paths(await api.call(operation, { ...body, diversity: 0.7 }));
    t.equal(diverse.length, 2);
    t.ok(diverse.filter((path) => path === 'copy.txt' || path === 'herring.txt').length === 1, operation);
  }
});

await t.test('a boost applies to the results of several queries and collections', async (t) => {
  // No document has a date, so each score is halved.
  const boost = { field: 'published', half_life: '1d', weight: 0.5 };
  for (const fields of [{ queries: ['clear rivers'] }, { collection_names: ['food'] }]) {
    const body = { ...fish, query: 'herring', ...fields };
    const { results } = await api.call('queries/top-snippets', body);
    const boosted = await api.call('queries/top-snippets', { ...body, boost });
    t.same(paths(boosted), paths({ results }));
    const halves = results.map(({ score }) => Math.round(score * 50_000));
    t.same(
      boosted.results.map(({ score }) => Math.round(score * 100_000)),
      halves,
      JSON.stringify(fields),
    );
  }
});

await t.test('invalid combinations are rejected with a reason', async (t) => {
  const cases: readonly (readonly [object, number, RegExp])[] = [
    [{ queries: Array(8).fill('a') }, 400, /at most 7/],
    [{ queries: ['x'.repeat(4_097)] }, 400, /4,096/],
    [{ queries: ['a'], query: null }, 400, /requires a query/],
    [{ queries: [1] }, 422, /queries/],
    [{ collection_names: Array(16).fill('a') }, 400, /at most 15/],
    [{ collection_names: ['none'] }, 404, /none/],
    [{ collection_names: Array(15).fill('food'), queries: ['a', 'b'] }, 400, /48 searches/],
    [{ similar_to: { path: 'none' } }, 404, /none/],
    [{ similar_to: { path: 'trout.txt', start_index: -1 } }, 400, /start_index/],
    [{ similar_to: { path: 'trout.txt', start_index: 10_000 } }, 400, /characters/],
    [{ similar_to: { path: 'trout.txt' }, queries: ['a'] }, 400, /queries/],
    [{ similar_to: { path: 'trout.txt' }, query: '', reranker: 'zerank-2' }, 400, /reranker/],
    [{ similar_to: {} }, 422, /path/],
    [{ diversity: 1.5 }, 400, /0 to 1/],
    [{ diversity: 0.5, k: 129 }, 400, /128/],
    [{ queries: ['a'], sort: [{ field: 'kind' }] }, 400, /sort cannot be combined with queries/],
    [{ queries: ['a'], group_by: { field: 'kind' } }, 400, /group_by cannot be combined with queries/],
    [{ diversity: 0.5, group_by: { field: 'kind' } }, 400, /group_by cannot be combined with diversity/],
    [{ queries: ['a'], include_cursor: true }, 400, /include_cursor cannot be combined with queries/],
    [{ diversity: 0.5, cursor: 'a' }, 400, /cursor cannot be combined with diversity/],
  ];
  for (const [fields, status, message] of cases) {
    const reply = await api.request('queries/top-documents', { ...fish, query: 'trout', ...fields });
    t.equal(reply.status, status, JSON.stringify(fields).slice(0, 80));
    t.match(JSON.stringify(reply.body), message);
  }
});

await t.test('synonyms of a collection find other words, until they are removed', async (t) => {
  const collection_name = 'food';
  const words = { collection_name, query: 'chowder', k: 5, weights: { lexical: 1, vector: 0 } };
  const update = (synonyms: unknown) => ({ collection_name, synonyms });
  const find = async () => paths(await api.call('queries/top-documents', words));
  const as = 'collections/update-collection' as 'collections/add-collection';
  t.same(await find(), []);
  await api.call(as, update([['Chowder', 'soup']]));
  t.same(await find(), ['soup.txt']);
  const info = await api.request('collections/get-collection-info', { collection_name });
  t.match(info.body, { collection: { synonyms: [['Chowder', 'soup']] } });
  await api.call(as, { collection_name, query_defaults: { min_score: 0 } });
  t.same(await find(), ['soup.txt'], 'a change of other settings keeps them');
  for (const [synonyms, status, message] of [
    [[['soup']], 400, /2 to 16/],
    [[['soup', 'fish stew']], 400, /one word/],
    [Array(501).fill(['a', 'b']), 400, /500/],
    [Array(100).fill(Array(16).fill('x'.repeat(64))), 400, /65536/],
    [['soup'], 422, /synonyms/],
  ] as const) {
    const reply = await api.request(as, update(synonyms));
    t.equal(reply.status, status);
    t.match(JSON.stringify(reply.body), message);
  }
  t.same(await find(), ['soup.txt'], 'an invalid change has no effect');
  await api.call(as, update(null));
  t.same(await find(), []);
  await api.call('collections/add-collection', { ...update([['a', 'b']]), collection_name: 'worded' });
  const added = await api.request('collections/get-collection-info', { collection_name: 'worded' });
  t.match(added.body, { collection: { synonyms: [['a', 'b']] } });
});

await t.test('stop words of a collection are not searched, until they are removed', async (t) => {
  const collection_name = 'food';
  const words = { collection_name, query: 'herring loaf', k: 5, weights: { lexical: 1, vector: 0 } };
  const find = async () => paths(await api.call('queries/top-documents', words)).sort();
  const as = 'collections/update-collection' as 'collections/add-collection';
  t.same(await find(), ['bread.txt', 'soup.txt']);
  await api.call(as, { collection_name, stop_words: ['Herring'] });
  t.same(await find(), ['bread.txt']);
  const info = await api.request('collections/get-collection-info', { collection_name });
  t.match(info.body, { collection: { stop_words: ['Herring'] } });
  const several = await api.call('queries/top-documents', { ...words, collection_names: ['fish'] });
  t.ok(paths(several).includes('soup.txt'), 'they do not apply to a query of several collections');
  for (const [stop_words, status, message] of [
    [['two words'], 400, /stop_words\[0\].*one word/],
    [['soup', 'x'.repeat(65)], 400, /stop_words\[1\].*64/],
    [Array(1_001).fill('a'), 400, /1000/],
    ['soup', 422, /stop_words/],
  ] as const) {
    const reply = await api.request(as, { collection_name, stop_words });
    t.equal(reply.status, status);
    t.match(JSON.stringify(reply.body), message);
  }
  t.same(await find(), ['bread.txt'], 'an invalid change has no effect');
  const clone = { collection_name, new_collection_name: 'food-copy' };
  await api.call('collections/clone-collection' as 'collections/add-collection', clone);
  const copy = await api.request('collections/get-collection-info', { collection_name: 'food-copy' });
  t.match(copy.body, { collection: { stop_words: ['Herring'] } });
  await api.call(as, { collection_name, stop_words: null });
  t.same(await find(), ['bread.txt', 'soup.txt']);
});

await t.test('queries are completed by words of the documents that the key may read', async (t) => {
  const suggest = async (client: CheckedApiClient, fields: object) =>
    (await client.call('queries/suggest', { collection_name: 'fish', ...fields })).suggestions;
  t.same(await suggest(api, { query: 'herri' }), [
    { query: 'herring', num_documents: 2 },
    { query: 'herrings', num_documents: 2 },
  ]);
  t.same(await suggest(api, { query: 'Clear ri' }), [{ query: 'Clear rivers', num_documents: 1 }]);
  t.equal((await suggest(api, { query: 's', limit: 1 })).length, 1);
  const tenant = await clientWithKey({ restriction: { collection_names: null, filter: { kind: 'b' } } });
  t.same(await suggest(tenant, { query: 'herri' }), [], 'the words of hidden documents are unknown');
  t.same(await suggest(tenant, { query: 'tr' }), [{ query: 'trout', num_documents: 1 }]);
  const named = await clientWithKey({ restriction: { collection_names: ['food'], filter: null } });
  for (const [client, fields, status, message] of [
    [named, { query: 'h' }, 404, /does not exist/],
    [api, { query: 'x'.repeat(257) }, 400, /257 characters/],
    [api, { query: 'h', limit: 21 }, 400, /limit is 21/],
    [api, { query: 'h', limit: 0 }, 400, /limit is 0/],
    [api, { query: null }, 422, /query/],
  ] as const) {
    const reply = await client.request('queries/suggest', { collection_name: 'fish', ...fields });
    t.equal(reply.status, status);
    t.match(JSON.stringify(reply.body), message);
  }
});

await t.test(
  'restricted keys find nothing outside of their restriction by any of these options',
  async (t) => {
    const named = await clientWithKey({ restriction: { collection_names: ['fish'], filter: null } });
    const tenant = await clientWithKey({ restriction: { collection_names: null, filter: { kind: 'b' } } });
    for (const operation of queryOperations) {
      const both = { ...fish, query: 'herring', collection_names: ['food'] };
      const hidden = await named.request(operation, both);
      t.equal(hidden.status, 404);
      const missing = await named.request(operation, { ...both, collection_names: ['none'] });
      t.equal(
        JSON.stringify(hidden.body).replaceAll('food', 'none'),
        JSON.stringify(missing.body),
        'a hidden collection looks nonexistent',
      );
      const ways: readonly object[] = [
        { queries: ['trout', 'soup'] },
        { collection_names: ['food'] },
        { collection_names: ['food'], queries: ['soup'], diversity: 0.5 },
        { diversity: 0.5 },
        { query: '', similar_to: { path: 'trout.txt' }, collection_names: ['food'] },
      ];
      for (const way of ways) {
        const reply = await tenant.call(operation, { ...fish, query: 'herring', ...way });
        for (const path of paths(reply))
          t.ok(['trout.txt', 'bread.txt'].includes(path), `${operation} ${path}`);
      }
      const source = { ...fish, query: '', similar_to: { path: 'herring.txt' } };
      t.equal((await tenant.request(operation, source)).status, 404, 'a hidden document is no source');
    }
  },
);

await t.test('each query and collection is counted and limited', async (t) => {
  const limited = '77777777-6666-4555-8555-555555555555';
  await administration.call('admin/create-organization', { organization_id: limited });
  await administration.call('admin/update-organization', {
    organization_id: limited,
    override_queries_per_minute: 40,
  });
  const key = { organization_id: limited, name: 'key', permission: 'all' };
  const client = new CheckedApiClient(server, (await administration.call('admin/add-api-key', key)).api_key);
  for (const collection_name of ['a', 'b'])
    await client.call('collections/add-collection', { collection_name });
  const many = {
    collection_name: 'a',
    collection_names: ['b'],
    query: 'one',
    queries: ['two', 'three', 'four'],
    k: 1,
  };
  for (let i = 0; i < 5; i += 1) await client.call('queries/top-snippets', many);
  const { status, headers, body } = await client.request('queries/top-snippets', { ...many, queries: [] });
  t.equal(status, 429, '5 requests of 8 queries are 40');
  t.equal(headers.get('x-quarry-limit'), 'queries');
  t.match(body, { detail: /40 queries per minute/ });
});
