import t from '../support/tap.ts';
import { addTextDocument, createServices, serviceCallFor } from './service-fixture.ts';

t.test('the status counts documents by state, for one collection and for all', async (t) => {
  const parts = await createServices(t, { parse: async () => null });
  const { collections, documents, status } = parts;
  await collections.addCollection(serviceCallFor(), { collection_name: 'others' });
  await addTextDocument(parts, 'a.txt', 'five!');
  await addTextDocument(parts, 'b.txt', 'ünï', { collection_name: 'others' });
  const content = { type: 'auto', base64_data: Buffer.from('broken').toString('base64') };
  t.match(await addTextDocument(parts, 'c.bin', '', { content }), {
    body: { index_status: 'parsing_failed' },
  });
  const counts = {
    num_documents: 2,
    num_parsing_documents: 0,
    num_indexing_documents: 0,
    num_indexed_documents: 1,
    num_failed_documents: 1,
    num_indexed_bytes: 5,
  };
  t.same(await status.getStatus(serviceCallFor(), { collection_name: 'papers' }), {
    ...counts,
    embedding_model: 'letters',
  });
  const described = { collection_name: 'papers', include_details: true };
  const { details } = await status.getStatus(serviceCallFor(), described);
  t.match(details, { num_shards: 8, index_state: 'ready', num_chunks: 1, num_removed_chunks: 0 });
  t.equal(details?.num_stored_bytes, 5 + 'broken'.length);
  t.ok((details?.num_index_memory_bytes ?? 0) > 0);
  const filtered = serviceCallFor();
  const restriction = { collections: null, filter: { year: '2026' } };
  const restricted = { ...filtered, principal: { ...filtered.principal, restriction: restriction as never } };
  t.equal((await status.getStatus(restricted, described)).details, undefined);
  const all = { ...counts, num_documents: 3, num_indexed_documents: 2, num_indexed_bytes: 10 };
  for (const request of [{}, { collection_name: null }, { include_details: true }])
    t.same(await status.getStatus(serviceCallFor(), request), all);
  const otherOrganizationCall = serviceCallFor('00000000-0000-4000-8000-0000000000ee');
  t.match(await status.getStatus(otherOrganizationCall, {}), { num_documents: 0 });
  await documents.deleteDocument(serviceCallFor(), { collection_name: 'papers', path: ['a.txt', 'c.bin'] });
  t.match(await status.getStatus(serviceCallFor(), { collection_name: 'papers' }), {
    num_documents: 0,
    num_indexed_bytes: 0,
  });
  await t.rejects(status.getStatus(serviceCallFor(), { collection_name: 'none' }), { code: 'not_found' });
});
