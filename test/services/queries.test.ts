import type { QueryServices } from '../../src/services/queries.ts';
import t from '../support/tap.ts';
import {
  addTextDocument,
  createServices,
  fileTokenOf,
  type ServiceFixture,
  serviceCallFor,
} from './service-fixture.ts';

/** Query services whose replies are parsed as a client does. */
function queryFunctions({ queries }: ServiceFixture) {
  return {
    topDocuments: async (...request: Parameters<QueryServices['topDocuments']>) =>
      (await queries.topDocuments(...request)).parse(),
    topPages: async (...request: Parameters<QueryServices['topPages']>) =>
      (await queries.topPages(...request)).parse(),
    topSnippets: async (...request: Parameters<QueryServices['topSnippets']>) =>
      (await queries.topSnippets(...request)).parse(),
  };
}

const ask = { collection_name: 'papers', query: 'herring', k: 5 };

t.test('each result has its document, position and a valid file URL', async (t) => {
  const parts = await createServices(t);
  const { files } = parts;
  const queries = queryFunctions(parts);
  const pages = ['about the weather '.repeat(90), 'salted herring 🐟 in barrels '.repeat(90)];
  const content = { type: 'text-pages', pages };
  await addTextDocument(parts, 'log.txt', '', { content, metadata: { year: '1887' } });
  const documents = await queries.topDocuments(serviceCallFor(), { ...ask, include_metadata: true });
  t.match(documents.results, [{ path: 'log.txt', metadata: { year: '1887' }, score: Number }]);
  t.equal(
    (await files.getDocumentFile(serviceCallFor(), fileTokenOf(documents.results[0]!.file_url))).filename,
    'log.txt',
  );
  const found = await queries.topPages(serviceCallFor(), { ...ask, include_content: true });
  t.match(found.results[0], { path: 'log.txt', page_index: 1, content: pages[1], image_url: null });
  t.match(found.document_results, [{ path: 'log.txt', metadata: null }]);
  const text = [...pages.join('\n\n')];
  for (const precise_responses of [false, true]) {
    const snippets = await queries.topSnippets(serviceCallFor(), { ...ask, precise_responses });
    for (const { content: part, start_index: start, end_index: end, page_span: span } of snippets.results) {
      t.equal(part, text.slice(start, end).join(''));
      const [first = -1, behind = -1] = span;
      t.ok(first >= 0 && first < behind && behind <= 2, `pages ${first} to ${behind}`);
    }
    t.equal(snippets.document_results.length, 1);
  }
});

t.test('an unknown reranker, filter, collection or syntax is rejected and named', async (t) => {
  const { queries } = await createServices(t);
  const cases: readonly (readonly [object, string, RegExp])[] = [
    [{ reranker: 'best' }, 'not_found', /zerank-2/],
    [{ filter: { year: { $like: '18' } } }, 'bad_request', /\$like/],
    [{ collection_name: 'none' }, 'not_found', /none/],
    [{ syntax: 'operators', query: '"herring' }, 'bad_request', /unmatched quotation mark/],
  ];
  for (const [fields, code, message] of cases) {
    await t.rejects(
      queries.topDocuments(serviceCallFor(), { ...ask, ...fields }),
      { code, message },
      JSON.stringify(fields),
    );
  }
});

t.test('explanations are returned on request and list the matched words', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a note about one Herring');
  const plain = await queryFunctions(parts).topDocuments(serviceCallFor(), ask);
  t.notOk('explain' in plain || 'explain' in plain.results[0]!);
  for (const query of ['topDocuments', 'topPages', 'topSnippets'] as const) {
    const reply = await queryFunctions(parts)[query](serviceCallFor(), {
      ...ask,
      query: 'the herring',
      explain: true,
    });
    t.match(
      reply.results[0]!.explain,
      { lexical: { score: Number, terms: ['herring'] }, rerank: null },
      query,
    );
    t.match(reply.explain, { shards: Array, ms: { embed: Number, search: Number } }, query);
  }
});

t.test('the explanation contains the parsed operators of the query', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'salted herring');
  await addTextDocument(parts, 'b.txt', 'smoked herring');
  const fields = {
    query: 'herring "salted" -smoked',
    syntax: 'operators' as const,
    weights: { lexical: 1, vector: 0 },
    min_score: 0.1,
    max_per_document: 2,
    explain: true,
  };
  for (const query of ['topDocuments', 'topPages', 'topSnippets'] as const) {
    const reply = await queryFunctions(parts)[query](serviceCallFor(), { ...ask, ...fields });
    t.same(
      reply.results.map(({ path }) => path),
      ['a.txt'],
      query,
    );
    t.match(reply.explain?.control, {
      weights: { lexical: 1, vector: 0 },
      min_score: 0.1,
      max_per_document: query === 'topDocuments' ? null : 2,
      syntax: 'operators',
      phrases: ['salted'],
      excluded: ['smoked'],
      complete: true,
    });
    t.ok(reply.explain!.control.checked >= 1);
  }
  t.match(
    parts.recordedUsage[0],
    { queryBytes: Buffer.byteLength(fields.query) },
    'the original query is counted',
  );
  t.same(parts.recordedModelUsage, [], 'no model was called');
  await queryFunctions(parts).topPages(serviceCallFor(), { ...ask, ...fields, weights: null });
  t.match(parts.recordedModelUsage, [{ kind: 'embed', bytes: 'herring salted'.length }]);
});

t.test('a query without words lists the matches of its filter', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'one', { metadata: { year: '1887' } });
  await addTextDocument(parts, 'b.txt', '', { metadata: { year: '1888' } });
  const list = async (filter: object | null) => {
    const request = { ...ask, query: null, filter } as Parameters<QueryServices['topDocuments']>[1];
    const { results } = await queryFunctions(parts).topDocuments(serviceCallFor(), request);
    return results.map((result) => result.path).sort();
  };
  t.same(await list(null), ['a.txt', 'b.txt']);
  t.same(await list({ year: { $gt: '1887' } }), ['b.txt']);
});

t.test('each query is counted with its kind, its bytes and its results', async (t) => {
  const parts = await createServices(t);
  await addTextDocument(parts, 'a.txt', 'a herring');
  await queryFunctions(parts).topDocuments(serviceCallFor(), ask);
  await queryFunctions(parts).topPages(serviceCallFor(), ask);
  await queryFunctions(parts).topSnippets(serviceCallFor(), ask);
  await queryFunctions(parts).topSnippets(serviceCallFor(), { ...ask, precise_responses: true });
  t.match(
    parts.recordedUsage,
    ['documents', 'pages', 'coarse', 'fine'].map((type) => ({
      type,
      queryBytes: 7,
      queriedBytes: 9,
      results: 1,
    })),
  );
});

t.test('models are counted for their work, and a listing has none', async (t) => {
  const parts = await createServices(t);
  const queries = queryFunctions(parts);
  for (const path of ['a.txt', 'b.txt', 'c.txt']) await addTextDocument(parts, path, 'a herring');
  const reranker = 'zerank-2';
  const listed = await queries.topDocuments(serviceCallFor(), {
    ...ask,
    query: null,
    reranker,
    explain: true,
  });
  t.equal(listed.results.length, 3);
  t.match(listed.results[0]!.explain, { vector: { similarity: null }, rerank: null });
  t.same(parts.recordedModelUsage, []);
  await queries.topDocuments(serviceCallFor(), { ...ask, k: 1, reranker });
  t.match(parts.recordedModelUsage, [
    { kind: 'embed', bytes: 7 },
    { kind: 'rerank', model: reranker, documents: 3 },
  ]);
});
