import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import { queryOperations } from './library-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Rules of a collection that pin and hide documents, as clients see them. */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();
const clientWithKey = (fields: object) => createClient(server, organization_id, fields);
const contents = {
  'herring.txt': 'Salted herring in barrels.',
  'trout.txt': 'Trout live in clear rivers.',
  'soup.txt': 'A soup of herring and trout.',
  'bread.txt': 'Knead flour, water and salt.',
};
const collection_name = 'food';
await api.call('collections/add-collection', { collection_name });
await api.addAll(
  collection_name,
  Object.entries(contents).map(([path, text]) => ({
    path,
    content: { type: 'text', text },
    metadata: { kind: path === 'bread.txt' ? 'b' : 'a' },
  })),
);
const as = 'collections/update-collection' as 'collections/add-collection';
const update = (curations: unknown) => api.call(as, { collection_name, curations });
const rule = {
  queries: ['Herring, salted'],
  pinned: ['bread.txt', 'none.txt', 'trout.txt'],
  hidden: ['soup.txt'],
};
const request = { collection_name, query: 'herring salted', k: 10 };

async function paths(client: CheckedApiClient, operation: string, body: object): Promise<string[]> {
  const reply = await client.request(operation, body);
  t.equal(reply.status, 200, JSON.stringify(reply.body));
  return (reply.body as { results: { path: string }[] }).results.map(({ path }) => path);
}

await t.test('a rule changes the replies of its queries only', async (t) => {
  const others = [
    { query: 'herring' },
    { query: 'salted herring' },
    { similar_to: { path: 'herring.txt' }, query: '' },
  ];
  const read = async (operation: string, fields: object) =>
    JSON.stringify((await api.request(operation, { ...request, ...fields })).body);
  const readAll = () =>
    Promise.all(queryOperations.flatMap((each) => others.map((fields) => read(each, fields))));
  const before = await readAll();
  const curated = await Promise.all(queryOperations.map((each) => read(each, {})));
  await update([rule, { queries: ['flour'], hidden: ['bread.txt'] }]);
  t.same(await readAll(), before);
  for (const operation of queryOperations) {
    for (const query of ['herring salted', ' HERRING  Sälted! ']) {
      const found = await paths(api, operation, { ...request, query });
      t.same(found.slice(0, 2), ['bread.txt', 'trout.txt'], operation);
      t.notOk(found.includes('soup.txt'), operation);
      t.equal(new Set(found).size, found.length, operation);
    }
    t.notOk((await paths(api, operation, { ...request, query: 'flour' })).includes('bread.txt'), operation);
    const filtered = await paths(api, operation, { ...request, filter: { kind: 'a' } });
    t.same(filtered, ['trout.txt', 'herring.txt'], operation);
  }
  const explained = await api.call('queries/top-documents', { ...request, explain: true });
  t.match(explained.results[0], { path: 'bread.txt', explain: { pinned: true } });
  const counted = await api.call('queries/top-documents', { ...request, facets: ['kind'] });
  t.match(counted, {
    facets: [
      {
        values: [
          { value: 'a', count: 2 },
          { value: 'b', count: 1 },
        ],
      },
    ],
  });
  const operators = { ...request, query: '"herring" salted', syntax: 'operators' };
  t.same(new Set(await paths(api, 'queries/top-documents', operators)), new Set(['herring.txt', 'soup.txt']));
  await update(null);
  t.same(await Promise.all(queryOperations.map((each) => read(each, {}))), curated);
});

await t.test(
  'restricted keys find no pinned document outside their filter, and do not see the rules',
  async (t) => {
    await update([rule]);
    const tenant = await clientWithKey({ restriction: { collection_names: null, filter: { kind: 'a' } } });
    for (const operation of queryOperations)
      t.same(await paths(tenant, operation, request), ['trout.txt', 'herring.txt'], operation);
    const shown = await api.request('collections/get-collection-info', { collection_name });
    t.same((shown.body as { collection: { curations: unknown } }).collection.curations, [rule]);
    const { body } = await tenant.request('collections/get-collection-info', { collection_name });
    t.notOk(JSON.stringify(body).includes('bread.txt'), JSON.stringify(body));
    t.equal((await tenant.request(as, { collection_name, curations: null })).status, 403);
  },
);

await t.test('invalid rules are rejected with a reason and change nothing', async (t) => {
  await update([rule]);
  const queries = ['a'];
  const pinned = ['a.txt'];
  for (const [curations, status, message] of [
    [[{ queries: [], pinned }], 400, /curations\[0\] has 0 queries/],
    [[{ queries: Array(21).fill('a'), pinned }], 400, /21 queries/],
    [[{ queries: ['x'.repeat(257)], pinned }], 400, /257 characters/],
    [[{ queries: ['?!'], pinned }], 400, /no words/],
    [
      [
        { queries: ['b', 'Fish soup'], pinned },
        { queries: ['fish SOUP.'], pinned },
      ],
      400,
      /curations\[1\] repeats/,
    ],
    [[{ queries }], 400, /no documents/],
    [[{ queries, pinned, hidden: pinned }], 400, /twice/],
    [[{ queries, pinned: [''] }], 400, /path/],
    [[{ queries, pinned: Array.from({ length: 21 }, (_, i) => `${i}`) }], 400, /21 pinned/],
    [[{ queries, hidden: Array.from({ length: 101 }, (_, i) => `${i}`) }], 400, /101 hidden/],
    [Array.from({ length: 201 }, (_, i) => ({ queries: [`q${i}`], pinned })), 400, /201 rules/],
    [
      Array.from({ length: 140 }, (_, i) => ({ queries: [`q${i}`], pinned: ['x'.repeat(1_000)] })),
      400,
      /characters/,
    ],
    [[{ pinned }], 422, /queries/],
    [{ queries, pinned }, 422, /curations/],
  ] as const) {
    const reply = await api.request(as, { collection_name, curations });
    t.equal(reply.status, status, JSON.stringify(reply.body));
    t.match(JSON.stringify(reply.body), message);
  }
  t.same((await paths(api, 'queries/top-documents', request)).slice(0, 2), ['bread.txt', 'trout.txt']);
});

await t.test(
  'a document may be pinned before it exists; copies and killed servers keep the rules',
  async (t) => {
    await update([{ queries: ['herring salted'], pinned: ['late.txt'] }]);
    const late = { path: 'late.txt', content: { type: 'text', text: 'Rye flour.' } } as const;
    await api.addAll(collection_name, [late]);
    t.equal((await paths(api, 'queries/top-documents', request))[0], 'late.txt');
    const clone = { collection_name, new_collection_name: 'copy' };
    await api.call('collections/clone-collection' as 'collections/add-collection', clone);
    const settings = { queries: ['herring salted'], pinned: ['trout.txt'] };
    await update([settings]);
    await server.stop('SIGKILL');
    await server.restart();
    t.equal((await paths(api, 'queries/top-documents', request))[0], 'trout.txt');
    const copy = await api.request('collections/get-collection-info', { collection_name: 'copy' });
    t.match(copy.body, { collection: { curations: [{ pinned: ['late.txt'] }] } });
  },
);
