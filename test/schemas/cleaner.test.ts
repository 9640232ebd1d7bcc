import { createCleaner } from '../../src/schemas/cleaner.ts';
import { AddDocumentRequest, AddDocumentsRequest } from '../../src/schemas/documents.ts';
import { EmbedRequest } from '../../src/schemas/models.ts';
import { TopDocumentsRequest } from '../../src/schemas/queries.ts';
import t from '../support/tap.ts';

t.test('unknown fields are dropped at every level, known fields are unchanged', async (t) => {
  const clean = createCleaner(AddDocumentRequest);
  const known = {
    collection_name: 'c',
    path: 'p',
    content: { type: 'text', text: 'hello' },
    metadata: { author: 'Ada', 'list:topics': ['a'] },
  };
  t.equal(clean?.(known), known, 'nothing is copied when there is nothing to drop');
  const { content } = known;
  t.same(clean?.({ ...known, x: [{}], content: { ...content, y: { z: 1 } } }), known);
  const hostile = JSON.parse('{"collection_name":"c","__proto__":{"wait":true}}');
  t.same(Object.entries(clean?.(hostile) as object), [['collection_name', 'c']]);
});

t.test('documents of a batch are cleaned, other items are kept for rejection', async (t) => {
  const clean = createCleaner(AddDocumentsRequest);
  const good = { path: 'a', content: { type: 'text-pages', pages: ['x'] } };
  t.same(clean?.({ collection_name: 'c', documents: [{ ...good, x: 1 }, 'no', null, [1]] }), {
    collection_name: 'c',
    documents: [good, 'no', null, [1]],
  });
});

t.test('filters and lists of numbers are not traversed', async (t) => {
  const vector = [1, 2, 3];
  const filter = { $and: [{ any: { $eq: 'x' } }] };
  const query = createCleaner(TopDocumentsRequest)?.({
    collection_name: 'c',
    query: 'q',
    k: 1,
    filter,
    x: 1,
  });
  t.equal((query as { filter: unknown }).filter, filter);
  const document = createCleaner(AddDocumentRequest)?.({ collection_name: 'c', vectors: [vector], x: 1 });
  t.equal((document as { vectors: unknown[] }).vectors[0], vector);
  t.same(createCleaner(EmbedRequest)?.({ input: ['a'], y: 1 }), { input: ['a'] });
});
