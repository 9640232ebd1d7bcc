import {
  findSnippets,
  followChanges,
  listDocuments,
  QuarryClient,
} from '../../packages/client/src/client.ts';
import { adminKey, operatorKey, TestServer } from '../e2e/server.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';

/** `packages/client` against a real server. */

t.setTimeout(testFileMsMax);
const server = await TestServer.start(t);
const quarry = new QuarryClient({ apiKey: operatorKey, baseUrl: `${server.url}/v1` });
const collection_name = 'travel/handbook';
const expenses = 'Travel expenses are refunded within fourteen days.';
await quarry.collections.addCollection({ collection_name });

await t.test('a document is added, found, read, and deleted', async (t) => {
  const added = await quarry.documents.addDocument({
    collection_name,
    path: 'expenses.txt',
    content: { type: 'text', text: expenses },
    metadata: { author: 'Zoë', 'list:topics': ['money'], year: 2026 },
    wait: true,
  });
  t.equal(added.index_status, 'indexed');
  const { results } = await quarry.queries.topSnippets({
    collection_name,
    query: 'when is money for trips returned',
    k: 3,
    filter: { year: { $gte: 2026 } },
  });
  t.match(results, [{ path: 'expenses.txt', content: expenses }]);
  t.same((await quarry.collections.getCollectionList()).collection_names, [collection_name]);
  const { document } = await quarry.documents.getDocumentInfo({ collection_name, path: 'expenses.txt' });
  const token = new URL(document.file_url).searchParams.get('token')!;
  t.equal(await (await quarry.documents.getDocument({ token })).text(), expenses);
  await quarry.documents.deleteDocument({ collection_name, path: 'expenses.txt' });
  await t.rejects(quarry.documents.getDocumentInfo({ collection_name, path: 'expenses.txt' }), {
    name: 'QuarryApiError',
    status: 404,
    message: /has no document/,
    requestId: /^[0-9a-f-]{36}$/,
    mayRetry: false,
  });
});

await t.test('uploads: streams, bytes, forms, metadata, paths with any character', async (t) => {
  const line = 'A line of basalt in a long file.\n';
  const lines = async function* () {
    for (let i = 0; i < 50; i++) yield line.repeat(1_000);
  };
  const metadata = { author: 'Zoë', 'list:topics': ['a', 'b'] };
  const path = 'reports/résumé #1 ?/../%2F.txt';
  const put = { collection_name, path, metadata, wait: true };
  t.equal((await quarry.documents.putDocument({ ...put, content: lines() })).index_status, 'indexed');
  const { document } = await quarry.documents.getDocumentInfo({ collection_name, path });
  t.match(document, { size: 50_000 * line.length, metadata });
  await t.rejects(quarry.documents.putDocument({ ...put, content: 'again' }), {
    name: 'QuarryApiError',
    status: 409,
  });
  await quarry.documents.putDocument({ ...put, content: new TextEncoder().encode('again'), overwrite: true });
  await quarry.documents.uploadDocument({
    collection_name,
    path: '..',
    file: new Blob(['dots']),
    metadata,
    overwrite: true,
    wait: true,
  });
  const read = async (name: string) => {
    const request = { collection_name, path: name, include_content: true };
    return (await quarry.documents.getDocumentInfo(request)).document;
  };
  t.match(await read(path), { content: 'again', metadata });
  t.match(await read('..'), { content: 'dots', metadata });
  await t.rejects(quarry.documents.putDocument({ ...put, path: '..', content: '' }), {
    message: /use uploadDocument/,
  });
});

await t.test('lists are read page by page, in the order of paths and of metadata', async (t) => {
  await quarry.collections.addCollection({ collection_name: 'pages' });
  const paths = ['a', 'b', 'c', 'd', 'e'];
  await quarry.documents.addDocuments({
    collection_name: 'pages',
    documents: paths.map((path, index) => ({
      path,
      content: { type: 'text', text: path },
      metadata: { rank: 9 - index },
    })),
    wait: true,
  });
  const list = async (sort?: { field: string }[]) => {
    const found: string[] = [];
    for await (const { path } of listDocuments(quarry, { collection_name: 'pages', limit: 2, sort }))
      found.push(path);
    return found;
  };
  t.same(await list(), paths);
  t.same(await list([{ field: 'rank' }]), paths.toReversed());
});

await t.test('snippets have the metadata of their documents, also of several collections', async (t) => {
  for (const name of ['north', 'south']) {
    await quarry.collections.addCollection({ collection_name: name });
    await quarry.documents.addDocument({
      collection_name: name,
      path: 'same.txt',
      content: { type: 'text', text: `Penguins of the ${name}` },
      metadata: { name },
      wait: true,
    });
  }
  const search = { query: 'penguins', k: 5 };
  const found = await findSnippets(quarry, {
    ...search,
    collection_name: 'north',
    collection_names: ['south'],
  });
  const parts = found.map(({ id, collection_name: from, metadata }) => [id, from, metadata.name]).sort();
  t.same(parts, [
    ['north/same.txt#0-21', 'north', 'north'],
    ['south/same.txt#0-21', 'south', 'south'],
  ]);
  const [one] = await findSnippets(quarry, { ...search, collection_name: 'south' });
  t.match(one, { id: 'south/same.txt#0-21', collection_name: 'south', metadata: { name: 'south' } });
});

await t.test('changes are followed until the caller stops', async (t) => {
  const { cursor } = await quarry.changes.getChanges();
  const stop = new AbortController();
  const reason = new Error('enough');
  const seen: string[] = [];
  const follow = async () => {
    for await (const { changes } of followChanges(quarry, { after: cursor }, { signal: stop.signal })) {
      seen.push(...changes.map(({ type, collection_name: name }) => `${type} ${name}`));
      if (seen.length === 1) await quarry.collections.addCollection({ collection_name: 'second' });
      else stop.abort(reason);
    }
  };
  const following = follow();
  await quarry.collections.addCollection({ collection_name: 'first' });
  await t.rejects(following, reason);
  t.same(seen, ['collection.created first', 'collection.created second']);
});

await t.test('errors of keys and requests, and operations of the administrator', async (t) => {
  const withUnknownKey = new QuarryClient({ apiKey: 'unknown', baseUrl: server.url });
  await t.rejects(withUnknownKey.collections.getCollectionList(), { name: 'QuarryApiError', status: 401 });
  const invalid = { collection_name, query: 'x', k: 'many' } as unknown as { k: number };
  await t.rejects(quarry.queries.topSnippets({ collection_name, query: 'x', ...invalid }), {
    name: 'QuarryApiError',
    status: 422,
    issues: [{ loc: ['body', 'k'] }],
  });
  const administrator = new QuarryClient({ apiKey: adminKey, baseUrl: server.url });
  t.ok((await administrator.admin.listOrganizations()).organizations.length > 0);
  const status = await quarry.request<{ num_documents: number }>({
    method: 'POST',
    path: '/v1/status/get-status',
    json: {},
    isRead: true,
  });
  t.equal(status.num_documents, 9);
});
