import { VoyageAIClient } from 'voyageai';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinSharedServer } from './shared-server.ts';

/**
 * Requests as the clients of OpenAI, Cohere and Jina send them, and the client of Voyage itself. The packages of
 * OpenAI and Cohere are too large for a test: 35 and 20 MB.
 */

t.setTimeout(testFileMsMax);
const { server, api, key: apiKey } = await joinSharedServer();
const texts = ['Refunds are paid within 14 days.', 'Our office is in Oslo.'];
const query = 'How long do refunds take?';

interface Reply {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: replies of other services have no types here.
  readonly body: any;
}

async function send(path: string, body?: unknown, key = apiKey): Promise<Reply> {
  const response = await fetch(`${server.url}${path}`, {
    method: body === undefined ? 'GET' : 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, body: await response.json() };
}

async function nativeVectors(inputType: 'query' | 'document', more: object = {}) {
  const request = { model: 'zembed-1', input_type: inputType, input: texts, ...more };
  return (await api.call('models/embed', request)).results.map(({ embedding }) => embedding);
}

async function nativeRanking() {
  return (await api.call('models/rerank', { model: 'zerank-2', query, documents: texts })).results;
}

await t.test('OpenAI: models are listed and found by name', async (t) => {
  const { body } = await send('/v1/models');
  const model = { object: 'model', created: 0, owned_by: 'quarry' };
  const ids = ['zembed-1', 'zerank-2', 'zerank-1', 'zerank-1-small'];
  t.same(body, { object: 'list', data: ids.map((id) => ({ id, ...model })) });
  t.same((await send('/v1/models/zembed-1')).body, { id: 'zembed-1', ...model });
  const unknown = await send('/v1/models/gpt-5');
  t.equal(unknown.status, 404);
  t.match(unknown.body.error, {
    message: /"gpt-5".*zembed-1/,
    type: 'invalid_request_error',
    code: 'not_found',
  });
});

await t.test('OpenAI: errors have the shape of OpenAI and the detail', async (t) => {
  const request = { model: 'zembed-1', input: texts };
  const unauthorized = await send('/v1/embeddings', request, 'no-such-key-at-all');
  t.equal(unauthorized.status, 401);
  t.match(unauthorized.body.error, { type: 'authentication_error', code: 'invalid_api_key', param: null });
  t.equal(unauthorized.body.error.message, unauthorized.body.detail);
  const tokens = await send('/v1/embeddings', { ...request, input: [[1, 2], [3]] });
  t.equal(tokens.status, 422);
  t.match(tokens.body.error, { message: String, type: 'invalid_request_error', param: /^input/ });
  t.ok(Array.isArray(tokens.body.detail));
  const unknown = await send('/v1/embeddings', { ...request, model: 'text-embedding-3-small' });
  t.match(unknown, { status: 404, body: { error: { message: /Available: zembed-1/, code: 'not_found' } } });
  const native = await send('/v1/models/embed', { ...request, input_type: 'query', model: 'x' });
  t.same(Object.keys(native.body), ['detail'], 'other routes have only the detail');
});

await t.test('OpenAI: a vector store is a collection', async (t) => {
  await api.call('collections/add-collection', { collection_name: 'hand book/1' });
  await api.add('hand book/1', 'refunds.txt', texts[0]!, {
    metadata: { author: 'Ada', 'list:topics': ['money'] },
  });
  await api.add('hand book/1', 'office.txt', texts[1]!, { metadata: { author: 'Grace' } });
  const path = `/v1/vector_stores/${encodeURIComponent('hand book/1')}/search`;
  const { body } = await send(path, { query, max_num_results: 1, rewrite_query: true });
  t.match(body, {
    object: 'vector_store.search_results.page',
    search_query: [query],
    data: [
      {
        file_id: 'refunds.txt',
        filename: 'refunds.txt',
        score: Number,
        attributes: { author: 'Ada', 'list:topics': ['money'] },
        content: [{ type: 'text', text: texts[0]! }],
      },
    ],
    has_more: false,
    next_page: null,
  });
  t.equal(body.data.length, 1);
  const filtered = await send(path, {
    query: ['refunds', 'office'],
    filters: { type: 'or', filters: [{ type: 'eq', key: 'author', value: 'Grace' }] },
    ranking_options: { ranker: 'auto', score_threshold: 0 },
  });
  t.same(
    filtered.body.data.map(({ filename }: { filename: string }) => filename),
    ['office.txt'],
  );
  const cases: [string, object, number, RegExp][] = [
    ['/v1/vector_stores/none/search', { query }, 404, /"none" does not exist/],
    [path, { query, max_num_results: 51 }, 400, /max_num_results is 51/],
    [path, { query, filters: { type: 'eq', key: 'year', value: null } }, 400, /expected a string/],
    [path, { query: 'x'.repeat(4_097) }, 400, /4,096/],
    [path, { query, ranking_options: { score_threshold: 2 } }, 400, /min_score is 2/],
    [path, {}, 422, /query/],
  ];
  for (const [route, request, status, message] of cases) {
    const reply = await send(route, request);
    t.equal(reply.status, status, JSON.stringify(reply.body));
    t.match(reply.body.error.message, message);
  }
});

await t.test('Cohere: rerank of both versions, and fields to rank', async (t) => {
  const ranked = await nativeRanking();
  const two = await send('/v2/rerank', { model: 'zerank-2', query, documents: texts, top_n: 5 });
  t.match(two.body, { id: String, meta: { api_version: { version: '2' } } });
  t.same(two.body.results, ranked);
  const documents = [
    { title: 'Refunds', text: 'They are paid within 14 days.', id: 7 },
    { title: 'Office', id: 8 },
  ];
  const request = { model: 'zerank-2', query, documents, return_documents: true };
  const fields = await send('/v1/rerank', { ...request, rank_fields: ['title', 'text', 'id'] });
  const joined = ['Refunds\nThey are paid within 14 days.\n7', 'Office\n8'];
  const same = await api.call('models/rerank', { model: 'zerank-2', query, documents: joined });
  t.same(
    fields.body.results,
    same.results.map((result) => ({ ...result, document: documents[result.index] })),
  );
  const missing = await send('/v1/rerank', request);
  t.equal(missing.status, 422);
  t.match(missing.body.detail, [{ loc: ['body', 'documents', '1', 'text'], type: 'missing' }]);
  t.match(missing.body.message, /required/);
  t.match(await send('/v1/rerank', { ...request, rank_fields: ['none'] }), { status: 422 });
  t.match(await send('/v1/rerank', { ...request, rank_fields: [] }), { status: 400 });
  t.match(await send('/v2/rerank', { ...request, documents: texts, top_n: 0 }), {
    status: 400,
    body: { message: /top_n is 0/ },
  });
});

await t.test('Cohere: embed with texts or inputs, as numbers and base64', async (t) => {
  const request = { model: 'zembed-1', input_type: 'search_query', output_dimension: 80 };
  const types = { embedding_types: ['float', 'base64'] };
  const { body } = await send('/v2/embed', { ...request, texts, ...types });
  t.same(body.embeddings.float, await nativeVectors('query', { dimensions: 80 }));
  t.same(body.embeddings.base64, await nativeVectors('query', { dimensions: 80, encoding_format: 'base64' }));
  t.match(body, { id: String, texts, response_type: 'embeddings_by_type' });
  const inputs = texts.map((text) => ({ content: [{ type: 'text', text }] }));
  const asDocuments = await send('/v2/embed', { ...request, inputs, input_type: 'search_document' });
  t.same(asDocuments.body.embeddings, { float: await nativeVectors('document', { dimensions: 80 }) });
  t.match(await send('/v2/embed', request), { status: 400, body: { message: /either "texts" or "inputs"/ } });
  t.match(await send('/v2/embed', { ...request, texts, inputs }), { status: 400 });
  t.match(await send('/v2/embed', { ...request, texts, embedding_types: ['int8'] }), { status: 422 });
  const image = [{ content: [{ type: 'image_url', image_url: { url: 'data:' } }] }];
  t.match(await send('/v2/embed', { ...request, inputs: image }), { status: 422 });
});

await t.test('Jina: inputs and documents are objects with a text', async (t) => {
  const input = texts.map((text) => ({ text }));
  const request = { model: 'zembed-1', input, normalized: true };
  const { body } = await send('/v1/embeddings', { ...request, task: 'retrieval.query' });
  t.match(body, { object: 'list', model: 'zembed-1', usage: { total_tokens: Number } });
  t.same(
    body.data.map(({ embedding }: { embedding: number[] }) => embedding),
    await nativeVectors('query'),
  );
  const passages = { ...request, task: 'retrieval.passage', embedding_type: 'base64' };
  t.same(
    (await send('/v1/embeddings', passages)).body.data.map(
      ({ embedding }: { embedding: string }) => embedding,
    ),
    await nativeVectors('document', { encoding_format: 'base64' }),
  );
  t.match(await send('/v1/embeddings', { ...request, input: [{ image: 'https://a' }] }), { status: 422 });
  const ranked = await send('/v1/rerank', { model: 'zerank-2', query, documents: input, top_n: 2 });
  t.match(ranked.body, { model: 'zerank-2', object: 'list', usage: { total_tokens: Number } });
  t.same(ranked.body.results, await nativeRanking());
  t.notOk('data' in ranked.body);
});

await t.test('Voyage: its client embeds and reranks', async (t) => {
  const client = new VoyageAIClient({ apiKey: apiKey, environment: `${server.url}/v1` });
  const embedded = await client.embed({
    model: 'zembed-1',
    input: texts,
    inputType: 'query',
    outputDimension: 320,
  });
  t.same(
    embedded.data?.map(({ embedding }) => embedding),
    await nativeVectors('query', { dimensions: 320 }),
  );
  const ranked = await client.rerank({
    model: 'zerank-2',
    query,
    documents: texts,
    topK: 1,
    returnDocuments: true,
  });
  const [best] = await nativeRanking();
  t.same(ranked.data, [{ index: best!.index, relevanceScore: best!.relevance_score, document: texts[0] }]);
  t.ok((ranked.usage?.totalTokens ?? 0) > 0);
  t.equal(
    (await client.rerank({ model: 'zerank-2', query, documents: texts, truncation: true })).data?.length,
    2,
  );
  await t.rejects(client.rerank({ model: 'rerank-2', query, documents: texts }), /404/);
});
