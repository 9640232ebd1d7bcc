import { shardCounts } from '../../src/core/limits.ts';
import t from '../support/tap.ts';
import { addTextDocument, createServices, serviceCallFor } from './service-fixture.ts';

const otherOrganizationCall = serviceCallFor('00000000-0000-4000-8000-0000000000ee');

t.test(
  'of concurrent creations of one name one succeeds; the others get an error and leave no data',
  async (t) => {
    const { collections, first } = await createServices(t);
    const creating = Array.from({ length: 8 }, () =>
      collections.addCollection(serviceCallFor(), { collection_name: 'new' }),
    );
    const results = await Promise.allSettled(creating);
    t.equal(results.filter(({ status }) => status === 'fulfilled').length, 1);
    for (const result of results)
      if (result.status === 'rejected') t.match(result.reason, { code: 'conflict' });
    t.equal(first.indexes.statistics().collections, 2);
  },
);

t.test('a collection has the requested number of shards', async (t) => {
  const { collections, first } = await createServices(t);
  for (const shards of shardCounts) {
    await collections.addCollection(serviceCallFor(), {
      collection_name: `with ${shards}`,
      num_shards: shards,
    });
  }
  t.equal(first.indexes.statistics().shards, 8 + shardCounts.reduce((sum, shards) => sum + shards, 0));
});

t.test(
  'a deleted collection frees its name at once, and a new one shows none of its documents',
  async (t) => {
    const parts = await createServices(t);
    const { collections, documents, queries, status } = parts;
    for (let i = 0; i < 20; i += 1) await addTextDocument(parts, `${i}.txt`, `old herring ${i}`);
    await collections.deleteCollection(serviceCallFor(), { collection_name: 'papers' });
    await collections.addCollection(serviceCallFor(), { collection_name: 'papers' });
    const none = { collection_name: 'papers' };
    t.same((await documents.getDocumentInfoList(serviceCallFor(), none)).documents, []);
    t.match(await status.getStatus(serviceCallFor(), none), { num_documents: 0, num_indexed_bytes: 0 });
    await addTextDocument(parts, 'new.txt', 'new herring');
    const found = await queries.topDocuments(serviceCallFor(), { ...none, query: 'herring', k: 10 });
    t.same(
      found.parse().results.map((result) => result.path),
      ['new.txt'],
    );
  },
);

t.test('an organization can neither see nor change collections of another', async (t) => {
  const { collections } = await createServices(t);
  t.same(await collections.getCollectionList(otherOrganizationCall), { collection_names: [] });
  const deleting = collections.deleteCollection(otherOrganizationCall, { collection_name: 'papers' });
  await t.rejects(deleting, { code: 'not_found' });
  t.same(await collections.getCollectionList(serviceCallFor()), { collection_names: ['papers'] });
});

t.test('names are listed in byte order', async (t) => {
  const { collections } = await createServices(t);
  for (const name of ['zebra', 'Äpfel', 'apples', '🐟', 'Zebra'])
    await collections.addCollection(serviceCallFor(), { collection_name: name });
  const { collection_names: names } = await collections.getCollectionList(serviceCallFor());
  t.same(names, ['Zebra', 'apples', 'papers', 'zebra', 'Äpfel', '🐟']);
});
