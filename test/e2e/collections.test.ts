import { type CliResult, runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { adminKey } from './server.ts';
import { joinSharedServer } from './shared-server.ts';
import { createTenant } from './tenant.ts';
import { kindsOfDocuments, readEverything } from './transfer-fixture.ts';

/** Aliases, and renamed, deleted, empty and copied collections. */

t.setTimeout(testFileMsMax);
const { server, api, key: apiKey } = await joinSharedServer();

function quarry(...args: string[]): Promise<CliResult> {
  return runQuarry(args, { variables: { QUARRY_URL: server.url, QUARRY_API_KEY: apiKey } });
}

async function textOf(collection: string): Promise<unknown> {
  return (await api.info(collection, 'a', true)).content;
}

async function isSettled(collection_name: string): Promise<boolean> {
  const status = await api.call('status/get-status', { collection_name });
  return status.num_parsing_documents + status.num_indexing_documents === 0;
}

await createCollection(api, 'one');
await createCollection(api, 'two');
await api.add('one', 'a', 'granite of one');
await api.add('two', 'a', 'granite of two');

await t.test('operations on documents and queries accept an alias', async (t) => {
  await api.call('aliases/add-alias', { alias_name: 'live', collection_name: 'one' });
  t.match(await api.call('aliases/get-alias-list'), {
    aliases: [{ alias_name: 'live', collection_name: 'one' }],
  });
  t.equal(await textOf('live'), 'granite of one');
  const collection_name = 'live';
  t.match(await api.call('queries/top-snippets', { collection_name, query: 'granite', k: 1 }), {
    results: [{ content: 'granite of one' }],
  });
  t.match(await api.call('status/get-status', { collection_name }), { num_documents: 1 });
  await api.add('live', 'b', 'added by alias');
  t.same(await api.paths('one'), ['a', 'b']);
  t.same(await api.paths('live'), ['a', 'b']);
  await api.call('documents/delete-document', { collection_name, path: 'b' });
  const put = await api.send('documents/live/c.txt?wait=true', { method: 'PUT', body: 'a file' });
  t.equal(put.status, 201);
  await api.call('documents/delete-document', { collection_name: 'one', path: 'c.txt' });
  t.equal((await api.info('live', 'a')).collection_name, 'one', 'replies have the name of the collection');
});

await t.test('several aliases change in one step, or none does', async (t) => {
  const change = (alias_name: string, collection_name: string | null) => ({ alias_name, collection_name });
  await api.call('aliases/update-aliases', { changes: [change('live', 'two'), change('old', 'one')] });
  t.equal(await textOf('live'), 'granite of two');
  t.equal(await textOf('old'), 'granite of one');
  for (const [status, changes] of [
    [404, [change('live', 'one'), change('x', 'missing')]],
    [404, [change('live', 'one'), change('missing', null)]],
    [409, [change('live', 'one'), change('two', 'one')]],
    [400, [change('live', 'one'), change('live', 'two')]],
    [400, []],
    [400, [change('', 'one')]],
  ] as const)
    t.equal(await api.status('aliases/update-aliases', { changes }), status, JSON.stringify(changes));
  t.equal(await textOf('live'), 'granite of two');
  t.equal(await api.status('aliases/add-alias', { alias_name: 'live', collection_name: 'one' }), 409);
  t.equal(await api.status('collections/add-collection', { collection_name: 'live' }), 409);
  t.match(await quarry('aliases', 'set', 'live=one', 'old=two'), { code: 0, out: '2 aliases changed.\n' });
  t.equal(await textOf('live'), 'granite of one');
  t.match((await quarry('aliases', 'list')).out, /live +one\nold +two/);
  t.match(await quarry('aliases', 'delete', 'old'), { code: 0 });
  t.equal(await api.status('aliases/delete-alias', { alias_name: 'old' }), 404);
});

await t.test('an alias grants no access to a key, and is invisible to other organizations', async (t) => {
  const other = await createTenant(server);
  for (const call of ['documents/get-document-info-list', 'status/get-status'])
    t.equal(await other.api.status(call, { collection_name: 'live' }), 404);
  t.same(await other.api.call('aliases/get-alias-list'), { aliases: [] });
  t.equal(await other.api.status('aliases/delete-alias', { alias_name: 'live' }), 404);
  t.equal(await other.api.status('aliases/add-alias', { alias_name: 'live', collection_name: 'one' }), 404);
  await createCollection(other.api, 'open');
  await createCollection(other.api, 'secret');
  await other.api.call('aliases/update-aliases', {
    changes: [
      { alias_name: 'current', collection_name: 'open' },
      { alias_name: 'hidden', collection_name: 'secret' },
    ],
  });
  const { organization_id } = other;
  const { api_key: key } = await new CheckedApiClient(server, adminKey).call('admin/add-api-key', {
    organization_id,
    name: 'restricted',
    permission: 'all',
    restriction: { collection_names: ['open', 'hidden'], filter: null },
  });
  const restricted = new CheckedApiClient(server, key);
  const status = (collection_name: string) => restricted.status('status/get-status', { collection_name });
  t.equal(await status('current'), 200, 'an alias of a permitted collection');
  t.equal(await status('hidden'), 404, 'a permitted name that is an alias of another collection');
  t.match(await restricted.call('aliases/get-alias-list'), { aliases: [{ alias_name: 'current' }] });
  const changes = [{ alias_name: 'current', collection_name: 'secret' }];
  t.equal(await restricted.status('aliases/update-aliases', { changes }), 403);
});

await t.test('a renamed collection keeps documents and aliases', async (t) => {
  t.match(await quarry('collections', 'rename', 'one', 'first'), {
    code: 0,
    out: 'Collection one renamed to first.\n',
  });
  t.equal(await api.status('status/get-status', { collection_name: 'one' }), 404);
  t.equal(await textOf('first'), 'granite of one');
  t.equal(await textOf('live'), 'granite of one');
  const rename = (collection_name: string, new_collection_name: string) =>
    api.status('collections/rename-collection', { collection_name, new_collection_name });
  t.equal(await rename('first', 'two'), 409);
  t.equal(await rename('first', 'live'), 409, 'the name of an alias');
  t.equal(await rename('live', 'third'), 404, 'an alias is not the name of a collection');
  t.equal(await rename('missing', 'third'), 404);
  t.equal(await rename('first', ''), 400);
  t.equal(await api.status('collections/delete-collection', { collection_name: 'live' }), 404);
});

await t.test('a deleted collection does not exist and its name can be used again', async (t) => {
  const collection_name = await createCollection(api, 'reborn');
  await api.add(collection_name, 'a', 'granite of the first life');
  await api.addAll(
    collection_name,
    Array.from({ length: 250 }, (_, i) => ({
      path: `many/${i}`,
      content: { type: 'text', text: `granite ${i}` },
    })),
  );
  const { documents } = await api.call('documents/get-document-info-list', { collection_name });
  const addresses = [documents.at(-1)!.file_url, documents.at(-2)!.file_url];
  for (const address of addresses) t.equal((await fetch(address)).status, 200);
  await api.call('collections/delete-collection', { collection_name });
  for (const address of addresses) t.equal((await fetch(address)).status, 404);
  for (const [operation, body] of [
    ['documents/get-document-info', { path: 'a' }],
    ['documents/get-document-info-list', {}],
    ['documents/add-document', { path: 'a', content: { type: 'text', text: 'x' } }],
    ['documents/delete-document', { path: 'a' }],
    ['status/get-status', {}],
    ['queries/top-documents', { query: 'granite', k: 1 }],
    ['collections/delete-collection', {}],
  ] as const) {
    t.equal(await api.status(operation, { collection_name, ...body }), 404, operation);
  }
  await createCollection(api, 'reborn', 16);
  t.same(await api.paths(collection_name), []);
  t.same(await api.find(collection_name, 'granite'), []);
  await api.add(collection_name, 'b', 'granite of the second life');
  t.same(await api.find(collection_name, 'granite'), ['b']);
});

await t.test('a query of a collection that is being deleted succeeds or returns 404', async (t) => {
  for (let round = 0; round < 12; round++) {
    const collection_name = await createCollection(api, 'short-lived', 8);
    const ask = async () => {
      const seenTexts: number[] = [];
      while (!seenTexts.includes(404)) {
        seenTexts.push(
          await api.status('queries/top-documents', { collection_name, query: 'granite', k: 3 }),
        );
      }
      return seenTexts;
    };
    const askers = [ask(), ask(), ask(), ask()];
    await api.call('collections/delete-collection', { collection_name });
    const statuses = new Set((await Promise.all(askers)).flat());
    statuses.delete(200);
    t.same([...statuses], [404]);
  }
});

await t.test('an empty collection returns no results for any query', async (t) => {
  const collection_name = await createCollection(api, 'empty', 64);
  const question = { collection_name, query: 'granite', k: 5, explain: true, reranker: 'zerank-2' };
  t.same((await api.call('queries/top-documents', question)).results, []);
  t.match(await api.call('queries/top-pages', question), { results: [], document_results: [] });
  t.match(await api.call('queries/top-snippets', question), { results: [], document_results: [] });
  t.match(await api.call('status/get-status', { collection_name }), {
    num_documents: 0,
    num_indexed_bytes: 0,
  });
});

await t.test('renaming while documents are indexed loses none of them', async (t) => {
  await createCollection(api, 'busy-0');
  const texts = ['The quarry is near.', 'Der Fluss ist nah.', 'La pierre est lourde.', 'Il fiume è lungo.'];
  for (let i = 0; i < 20; i += 1) {
    const documents = texts.map((text, j) => ({
      path: `${i}-${j}`,
      content: { type: 'text' as const, text: text.repeat(20) },
    }));
    await api.call('documents/add-documents', { collection_name: `busy-${i}`, documents });
    const renamed = { collection_name: `busy-${i}`, new_collection_name: `busy-${i + 1}` };
    await api.call('collections/rename-collection', renamed);
  }
  await waitUntil('all documents are indexed', () => isSettled('busy-20'));
  t.match(await api.call('status/get-status', { collection_name: 'busy-20' }), { num_indexed_documents: 80 });
});

await t.test('renames and copies survive a crash, and a copy is independent of its original', async (t) => {
  await createCollection(api, 'stones');
  const collection_name = 'stones';
  await api.call('documents/add-documents', { collection_name, documents: kindsOfDocuments, wait: true });
  const cloned = await quarry('collections', 'clone', 'stones', 'copy', '--json');
  t.same(JSON.parse(cloned.out), { copied: 10 }, cloned.err);
  await waitUntil('the copy is indexed', () => isSettled('copy'));
  const original = await readEverything(api, 'stones');
  t.same(await readEverything(api, 'copy'), original);
  const again = { collection_name, new_collection_name: 'copy' };
  t.equal(await api.status('collections/clone-collection', again), 409);
  t.same(await api.call('collections/clone-collection', { ...again, path_gt: '' }), {
    num_documents: 0,
    path_gt: null,
  });
  await server.stop('SIGKILL');
  await server.restart();
  t.equal(await textOf('first'), 'granite of one');
  t.equal(await textOf('live'), 'granite of one');
  await api.add('first', 'd', 'Der Steinbruch liegt am Fluss und liefert Granit.');
  const found = await api.call('queries/top-snippets', { collection_name: 'live', query: 'Granit', k: 5 });
  t.ok(found.results.some(({ path }) => path === 'd'));
  await createCollection(api, 'one');
  t.same(await api.paths('one'), [], 'the old name is free');
  t.same(await readEverything(api, 'copy'), original);
  await api.call('collections/delete-collection', { collection_name });
  t.same(await readEverything(api, 'copy'), original, 'shared files stay');
});

await t.test('deleting a collection deletes its aliases', async (t) => {
  await api.call('aliases/add-alias', { alias_name: 'also', collection_name: 'live' });
  await api.call('collections/delete-collection', { collection_name: 'first' });
  t.same(await api.call('aliases/get-alias-list'), { aliases: [] });
  t.equal(await api.status('status/get-status', { collection_name: 'live' }), 404);
  await createCollection(api, 'live');
});
