import t from '../support/tap.ts';
import { post, startTestHttpServer } from './fake-services.ts';
import { addPath as add, addBody, queryBody as query } from './valid-bodies.ts';

/** Bodies of requests are checked before the service is called. */

const server = await startTestHttpServer('auto');
t.teardown(() => server.close(0));

const deep = (depth: number) =>
  `{"collection_name":"c","query":"q","k":1,"filter":${'{"$and":['.repeat(depth)}${']}'.repeat(depth)}}`;
const metadataOf = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });

const usagePaths = ['/usage/documents', '/usage/queries', '/usage/models/embed', '/usage/models/reranker'];
const usageRange = (start_time: number, end_time: number) => ({
  start_time,
  end_time,
  aggregation_window: 'daily',
});

/** Operation, body, status, and a pattern that the error message must match. */
type Case = readonly [path: string, body: unknown, status: number, names: RegExp];

const listFilterCases = [
  [{ path_contains: 'a\0' }, 400, /path_contains contains a NUL/],
  [{ extensions: Array(65).fill('pdf') }, 400, /65 entries; at most 64/],
  [{ extensions: [''] }, 400, /extension is empty/],
  [{ extensions: ['.pdf'] }, 400, /must not contain a dot/],
  [{ created_at_gte: 'yesterday' }, 422, /created_at_gte/],
  [{ created_at_lt: '' }, 422, /created_at_lt/],
  [{ descending: true }, 400, /require sort_by/],
  [{ cursor: 'x' }, 400, /require sort_by/],
  [{ sort_by: 'size', path_gt: 'a' }, 400, /path_gt cannot be combined with sort_by/],
  [{ sort_by: 'title' }, 422, /sort_by/],
  [{ index_statuses: ['done'] }, 422, /index_statuses/],
] as const;

const cases: readonly Case[] = [
  // invalid JSON
  [add, '{"collection_name":', 422, /not valid JSON/],
  [add, '{"a":1}}', 422, /not valid JSON \(position 7\)/],
  [add, '"text"', 422, /must be an object, but is a string/],
  [add, '[]', 422, /must be an object, but is a list/],
  [add, 'null', 422, /must be an object, but is null/],
  [add, '', 422, /collection_name.*is missing/],
  [add, deep(10_000), 400, /more than 512 levels deep/],
  ['/queries/top-snippets', '['.repeat(100_000), 400, /more than 512 levels deep/],
  ['/queries/top-snippets', `[${'[],'.repeat(20_000)}[]]`, 422, /must be an object/],
  // shape
  [add, {}, 422, /"path","msg":"is missing"|"loc":\["body","path"\]/],
  [
    add,
    addBody({ collection_name: 7 }),
    422,
    /"loc":\["body","collection_name"\],"msg":"must be a string, but is an integer"/,
  ],
  [add, addBody({ path: null }), 422, /must be a string, but is null/],
  [add, addBody({ content: undefined }), 422, /"content"\],"msg":"is missing"/],
  [add, addBody({ content: 'x' }), 422, /must be an object, but is a string/],
  [add, addBody({ content: { text: 'x' } }), 422, /"type"\],"msg":"is missing; it must be one of/],
  [add, addBody({ content: { type: 'pdf' } }), 422, /"type"\],"msg":"must be one of \\"text\\"/],
  [add, addBody({ content: { type: 'text', pages: [] } }), 422, /"text"\],"msg":"is missing"/],
  [add, addBody({ content: { type: 'text-pages', pages: ['a', 1] } }), 422, /"pages","1"\]/],
  [add, addBody({ content: { type: 'auto' } }), 422, /base64_data/],
  [add, addBody({ overwrite: 'true' }), 422, /must be true or false, but is a string/],
  [add, addBody({ metadata: { a: null } }), 422, /"metadata","a"/],
  [add, addBody({ metadata: { 'list:a': [1] } }), 422, /"metadata","list:a","0"/],
  [add, addBody({ metadata: { 'a\nb': null } }), 422, /"metadata","a\\nb"/],
  [add, addBody({ metadata: [] }), 422, /must be an object, but is a list/],
  [add, addBody({ metadata: null }), 422, /must be an object, but is null/],
  ['/queries/top-documents', query({ k: '3' }), 422, /"k"\],"msg":"must be an integer, but is a string"/],
  ['/queries/top-documents', query({ k: 1.5 }), 422, /but is a fraction/],
  ['/queries/top-documents', query({ query: undefined }), 422, /"query"\],"msg":"is missing"/],
  ['/queries/top-pages', query({ query: null }), 422, /must be a string, but is null/],
  [
    '/queries/top-pages',
    query({ latency_mode: 'medium' }),
    422,
    /must be one of \\"low\\", \\"high\\", but is \\"medium\\"/,
  ],
  ['/queries/top-snippets', query({ precise_responses: 1 }), 422, /true or false/],
  ['/models/embed', { model: 'zembed-1', input: 'x', input_type: 'passage' }, 422, /input_type/],
  ['/models/embed', { model: 'zembed-1', input: [1], input_type: 'query' }, 422, /"input","0"/],
  [
    '/models/embed',
    { model: 'zembed-1', input: 'x', input_type: 'query', latency: 'medium' },
    422,
    /latency/,
  ],
  [
    '/models/embed',
    { model: 'zembed-1', input: 'x', input_type: 'query', encoding_format: 'hex' },
    422,
    /encoding_format/,
  ],
  [
    '/documents/update-document',
    { collection_name: 'c', path: 'p', index_status: 'indexed' },
    422,
    /index_status/,
  ],
  ['/documents/get-page-info', { collection_name: 'c', path: 'p', page_index: '0' }, 422, /page_index/],
  // names and paths
  ['/collections/add-collection', { collection_name: '' }, 400, /collection name is empty/],
  [
    '/collections/add-collection',
    { collection_name: 'x'.repeat(1_025) },
    400,
    /1,025 bytes of UTF-8; at most 1,024/,
  ],
  ['/collections/add-collection', { collection_name: 'ü'.repeat(513) }, 400, /1,026 bytes/],
  ['/collections/add-collection', { collection_name: 'a\0b' }, 400, /NUL/],
  ['/collections/add-collection', '{"collection_name":"\\ud800"}', 400, /lone surrogate/],
  [
    '/collections/add-collection',
    { collection_name: 'c', num_shards: 2 },
    400,
    /num_shards is 2; it must be one of 1, 8, 16, 32, 64/,
  ],
  [add, addBody({ path: '' }), 400, /path is empty/],
  [add, addBody({ path: 'a\0' }), 400, /NUL/],
  [add, addBody({ path: 'x'.repeat(4_097) }), 400, /4,097 bytes/],
  [
    add,
    '{"collection_name":"c","path":"\\udc00","content":{"type":"text","text":""}}',
    400,
    /lone surrogate/,
  ],
  ['/documents/delete-document', { collection_name: 'c', path: [] }, 400, /0 paths; it must contain 1 to 64/],
  ['/documents/delete-document', { collection_name: 'c', path: Array(65).fill('p') }, 400, /65 paths/],
  ['/documents/delete-document', { collection_name: 'c', path: ['p', ''] }, 400, /path is empty/],
  [
    '/documents/get-document-info-list',
    { collection_name: 'c', path_gt: '\0' },
    400,
    /path_gt contains a NUL/,
  ],
  // ranges
  ['/queries/top-documents', query({ k: 0 }), 400, /k is 0; it must be from 1 to 2,048/],
  ['/queries/top-documents', query({ k: 2_049 }), 400, /2,048/],
  ['/queries/top-documents', query({ k: 1e300 }), 400, /2,048/],
  ['/queries/top-pages', query({ k: 1_025 }), 400, /1,024/],
  ['/queries/top-snippets', query({ k: 129 }), 400, /128/],
  ['/queries/top-snippets', query({ query: 'x'.repeat(4_097) }), 400, /more than 4,096 characters/],
  ['/queries/top-snippets', query({ query: '😀'.repeat(4_097) }), 400, /more than 4,096 characters/],
  ['/documents/get-document-info-list', { collection_name: 'c', limit: 0 }, 400, /limit is 0/],
  ['/documents/get-document-info-list', { collection_name: 'c', limit: 1_025 }, 400, /1,024/],
  ...listFilterCases.map(
    ([fields, status, names]): Case => [
      '/documents/get-document-info-list',
      { collection_name: 'c', ...fields },
      status,
      names,
    ],
  ),
  ['/documents/add-documents', { collection_name: 'c', documents: [] }, 400, /0 documents/],
  [
    '/documents/add-documents',
    { collection_name: 'c', documents: Array(257).fill({}) },
    400,
    /257 documents/,
  ],
  ['/models/rerank', { model: 'zerank-2', query: 'q', documents: [], top_n: 0 }, 400, /top_n is 0/],
  ['/models/rerank', { model: 'zerank-2', query: 'q', documents: [], top_n: -1 }, 400, /top_n is -1/],
  ['/rerank', { model: 'zerank-2', query: 'q', documents: [], top_n: 0 }, 400, /top_n is 0/],
  ['/collections/add-collection', { collection_name: 'c', num_shards: 7 }, 400, /1, 8, 16, 32, 64/],
  ...usagePaths.flatMap((path): Case[] => [
    [path, usageRange(10, 9), 400, /before start_time/],
    [path, usageRange(-1, 10), 400, /start_time is -1/],
    [path, usageRange(0, 253_402_300_800), 400, /end_time is 253402300800/],
    [path, usageRange(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER), 400, /start_time is/],
  ]),
  // query controls
  ...['/queries/top-documents', '/queries/top-pages', '/queries/top-snippets'].flatMap((path): Case[] => [
    [path, query({ weights: { lexical: 0, vector: 0 } }), 400, /must not both be 0/],
    [path, query({ weights: { lexical: -1, vector: 1 } }), 400, /weights.lexical is -1/],
    [path, query({ min_score: 2 }), 400, /0 to 1/],
  ]),
  ['/queries/top-pages', query({ max_per_document: 0 }), 400, /max_per_document is 0/],
  [
    '/collections/add-collection',
    { collection_name: 'c', query_defaults: { min_score: 2 } },
    400,
    /min_score is 2/,
  ],
  [
    '/collections/update-collection',
    { collection_name: 'c', query_defaults: { max_per_document: 0 } },
    400,
    /max_per_document is 0/,
  ],
  // metadata
  [add, addBody({ metadata: metadataOf(65_536) }), 400, /65,536 bytes as compact JSON; at most 65,535/],
  [add, addBody({ metadata: { a: ['x'] } }), 400, /its name must start with "list:"|list:/],
  [add, addBody({ metadata: { 'list:a': 'x' } }), 400, /must be an array/],
  [add, addBody({ metadata: { 'a b': 'x' } }), 400, /letters, digits/],
  [add, addBody({ metadata: { '': 'x' } }), 400, /letters, digits/],
  [add, addBody({ metadata: { 'list:': [] } }), 400, /letters, digits/],
  [
    add,
    '{"collection_name":"c","path":"p","content":{"type":"text","text":""},"metadata":{"__proto__":"x"}}',
    400,
    /reserved/,
  ],
  [
    add,
    '{"collection_name":"c","path":"p","content":{"type":"text","text":""},"metadata":{"a":"\\ud800"}}',
    400,
    /lone surrogate/,
  ],
  [
    '/documents/update-document',
    { collection_name: 'c', path: 'p', metadata: { 'a.b': 'x' } },
    400,
    /letters, digits/,
  ],
  // base64
  [add, addBody({ content: { type: 'auto', base64_data: 'QQ' } }), 400, /base64/],
  [add, addBody({ content: { type: 'auto', base64_data: 'Q Q=' } }), 400, /base64/],
  ['/parsers/parse-document', { base64_data: 'QU-_' }, 400, /base64/],
];

for (const [path, body, status, names] of cases) {
  const shown = (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 90);
  t.test(`${path} rejects ${shown} with ${status} and a reason`, async (t) => {
    const reply = await post(server, path, body);
    const answer = await reply.text();
    t.equal(reply.status, status, answer.slice(0, 300));
    t.match(answer, names);
    const { detail } = JSON.parse(answer);
    if (status === 422) t.match(detail[0].loc[0], /^(body|query)$/);
    else t.type(detail, 'string');
  });
}

const accepted: readonly (readonly [path: string, body: unknown, status: number])[] = [
  ['/v1/collections/get-collection-list', '', 200],
  ['/collections/get-collection-list', {}, 200],
  ['/collections/add-collection', { collection_name: 'x'.repeat(1_024), num_shards: 64 }, 201],
  ['/collections/add-collection', { collection_name: '../../etc/passwd', unknown: [1] }, 201],
  [add, addBody({ path: '../a/./b' }), 201],
  [add, addBody({ overwrite: true }), 200],
  [add, addBody({ metadata: metadataOf(65_535) }), 201],
  [add, addBody({ metadata: { 'list:x_Y-1': [], b: '' } }), 201],
  [add, addBody({ content: { type: 'text-pages', pages: [] } }), 201],
  [add, addBody({ content: { type: 'auto', base64_data: '' } }), 201],
  [add, `\ufeff${JSON.stringify(addBody({}))}`, 201],
  ['/documents/delete-document', { collection_name: 'c', path: Array(64).fill('p') }, 200],
  ['/documents/get-document-info-list', { collection_name: 'c', path_prefix: '', path_gt: null }, 200],
  ['/documents/get-page-info', { collection_name: 'c', path: 'p', page_index: -1 }, 200],
  ['/queries/top-documents', query({ query: null, k: 2_048, filter: null }), 200],
  ['/queries/top-snippets', query({ query: '😀'.repeat(4_096), k: 128, filter: {} }), 200],
  ['/queries/top-snippets', deep(200), 200],
  [
    '/models/embed',
    { model: 'zembed-1', input: [], input_type: 'query', dimensions: null, latency: null },
    200,
  ],
  ['/models/rerank', { model: 'zerank-2', query: '', documents: [''], top_n: 99 }, 200],
  ['/v1/embeddings', { model: 'zembed-1', input: 'x' }, 200],
  ['/v1/rerank', { model: 'zerank-2', query: 'q', documents: ['a', { text: 'b' }] }, 200],
  ['/usage/counters', '', 200],
  ...usagePaths.flatMap((path) => [
    [path, usageRange(10, 10), 200] as const,
    [path, usageRange(0, 253_402_300_799), 200] as const,
  ]),
];

for (const [path, body, status] of accepted) {
  const shown = (typeof body === 'string' ? body : JSON.stringify(body)).slice(0, 90);
  t.test(`${path} accepts ${shown}`, async (t) => {
    const reply = await post(server, path, body);
    t.equal(reply.status, status, await reply.text());
  });
}

t.test('bytes that are not UTF-8 are rejected', async (t) => {
  const reply = await fetch(`${server.url}${add}`, {
    method: 'POST',
    headers: { authorization: 'Bearer all' },
    body: Buffer.concat([Buffer.from('{"collection_name":"'), Buffer.from([0xff]), Buffer.from('"}')]),
  });
  t.equal(reply.status, 422);
  t.match(await reply.text(), /not UTF-8/);
});

t.test('a compressed body is rejected with a reason', async (t) => {
  const reply = await post(server, add, addBody({}), { 'content-encoding': 'gzip' });
  t.equal(reply.status, 400);
  t.match(await reply.text(), /compressed/);
});

t.test('an error reply does not quote the body', async (t) => {
  const reply = await post(server, add, '{"secret words" 1}');
  t.equal(reply.status, 422);
  t.notMatch(await reply.text(), /secret/);
});

t.test('the memory of all bodies is released', async (t) => {
  const metrics = await (await fetch(`${server.url}/metrics`)).text();
  t.match(metrics, /quarry_http_body_bytes 0\n/);
});
