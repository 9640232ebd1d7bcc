import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { createCollection } from './documents-fixture.ts';
import { TestServer } from './server.ts';

/** Deleted and empty collections. */

t.setTimeout(testFileMsMax);
const api = new CheckedApiClient(await TestServer.start(t));
const newCollection = (name: string, shards?: number) => createCollection(api, name, shards);

await t.test('a deleted collection does not exist and its name can be used again', async (t) => {
  const collection_name = await newCollection('reborn');
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
  await newCollection('reborn', 16);
  t.same(await api.paths(collection_name), []);
  t.same(await api.find(collection_name, 'granite'), []);
  await api.add(collection_name, 'b', 'granite of the second life');
  t.same(await api.find(collection_name, 'granite'), ['b']);
});

await t.test('a query of a collection that is being deleted succeeds or returns 404', async (t) => {
  for (let round = 0; round < 12; round++) {
    const collection_name = await newCollection('short-lived', 8);
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
  const collection_name = await newCollection('empty', 64);
  const question = { collection_name, query: 'granite', k: 5, explain: true, reranker: 'zerank-2' };
  t.same((await api.call('queries/top-documents', question)).results, []);
  t.match(await api.call('queries/top-pages', question), { results: [], document_results: [] });
  t.match(await api.call('queries/top-snippets', question), { results: [], document_results: [] });
  t.match(await api.call('status/get-status', { collection_name }), {
    num_documents: 0,
    num_indexed_bytes: 0,
  });
});
