import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { BadInputServer, type BadRequestCase, collection_name, validBodies } from './bad-input-fixture.ts';

/** Invalid bodies get the specified status and a message that names the error, and change nothing. */

t.setTimeout(testFileMsMax);
const server = await BadInputServer.start(t);
const { api } = server;

function caseFor(
  operations: readonly string[],
  ...rest: [object | string, number, RegExp]
): BadRequestCase[] {
  return operations.map((operation) => [operation, ...rest]);
}

const all = Object.keys(validBodies);
const withRequired = all.filter((operation) => operation !== 'status/get-status');
const named = all.filter((operation) => 'collection_name' in validBodies[operation]!);
const withPath = named.filter((operation) => 'path' in validBodies[operation]!);
/** Fields of valid bodies that are not required: old clients omit this one. */
const optional = new Set(['models/rerank model']);
const questions = all.filter((operation) => operation.startsWith('queries/'));
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

await t.test('bodies that are not JSON or not an object are rejected', async (t) => {
  await server.checkRejected(t, [
    ...caseFor(all, '{"collection_name": ', 422, /not valid JSON/),
    ...caseFor(withRequired, '[]', 422, /body/),
    ...caseFor(withRequired, '"text"', 422, /body/),
    ...caseFor(withRequired, 'null', 422, /body/),
    ...caseFor(withRequired, '', 422, /body\.\w+/),
    ['queries/top-documents', '{"query": "x",}', 422, /not valid JSON/],
    ['queries/top-documents', Buffer.from('{"query":"\xff"}', 'latin1'), 422, /UTF-8/],
    ['queries/top-documents', '{"collection_name":"kept","query":"x","k":NaN}', 422, /not valid JSON/],
    ['queries/top-documents', nested(10_000, '[', ']'), 400, /deep/],
  ]);
});

await t.test('missing fields, wrong types and unknown values', async (t) => {
  const cases: BadRequestCase[] = [];
  for (const [operation, body] of Object.entries(validBodies)) {
    for (const field of Object.keys(body)) {
      const { [field]: _, ...rest } = body as Record<string, unknown>;
      if (!optional.has(`${operation} ${field}`))
        cases.push([operation, JSON.stringify(rest), 422, new RegExp(`body\\.${field}`)]);
      cases.push([operation, { [field]: { wrong: true } }, 422, new RegExp(`body\\.${field}`)]);
    }
  }
  await server.checkRejected(t, [
    ...cases,
    ...caseFor(named, { collection_name: 5 }, 422, /body\.collection_name/),
    ...caseFor(named, { collection_name: null }, 422, /body\.collection_name/),
    ...caseFor(questions, { k: '3' }, 422, /body\.k/),
    ...caseFor(questions, { k: 1.5 }, 422, /body\.k/),
    ...caseFor(questions, { latency_mode: 'medium' }, 422, /body\.latency_mode/),
    ...caseFor(questions, { reranker: 7 }, 422, /body\.reranker/),
    ...caseFor(questions, { weights: 'words' }, 422, /body\.weights/),
    ...caseFor(questions, { weights: { lexical: 1 } }, 422, /body\.weights\.vector/),
    ...caseFor(questions, { weights: { lexical: 1, vector: '0' } }, 422, /body\.weights\.vector/),
    ...caseFor(questions, { min_score: '0.5' }, 422, /body\.min_score/),
    ...caseFor(questions, { syntax: 'lucene' }, 422, /body\.syntax/),
    ['queries/top-pages', { max_per_document: 1.5 }, 422, /body\.max_per_document/],
    ['queries/top-snippets', { max_per_document: '1' }, 422, /body\.max_per_document/],
    ['queries/top-pages', { query: null }, 422, /body\.query/],
    ['queries/top-snippets', { query: null }, 422, /body\.query/],
    ['queries/top-snippets', { precise_responses: 'yes' }, 422, /body\.precise_responses/],
    ['documents/get-document-info', { include_content: 1 }, 422, /body\.include_content/],
    ['documents/get-page-info', { page_index: 0.5 }, 422, /body\.page_index/],
    ['documents/get-document-info-list', { limit: '10' }, 422, /body\.limit/],
    ['documents/get-document-info-list', { path_gt: 5 }, 422, /body\.path_gt/],
    ['documents/add-document', { path: ['a'] }, 422, /body\.path/],
    ['documents/add-document', { overwrite: 'true' }, 422, /body\.overwrite/],
    ['documents/add-document', { content: 'text' }, 422, /body\.content/],
    ['documents/add-document', { content: {} }, 422, /body\.content/],
    ['documents/add-document', { content: { type: 'video', text: 'x' } }, 422, /body\.content.*type/],
    ['documents/add-document', { content: { type: 'text' } }, 422, /body\.content.*text/],
    ['documents/add-document', { content: { type: 'text', pages: ['x'] } }, 422, /body\.content.*text/],
    ['documents/add-document', { content: { type: 'text-pages', pages: 'x' } }, 422, /body\.content.*pages/],
    ['documents/add-document', { content: { type: 'text-pages', pages: [1] } }, 422, /body\.content.*pages/],
    [
      'documents/add-document',
      { content: { type: 'auto', base64_data: 5 } },
      422,
      /body\.content.*base64_data/,
    ],
    ['documents/add-document', { metadata: [] }, 422, /body\.metadata/],
    ['documents/add-document', { metadata: { a: null } }, 422, /body\.metadata/],
    ['documents/add-document', { metadata: { a: null } }, 422, /body\.metadata/],
    ['documents/add-document', { metadata: { 'list:a': [1] } }, 422, /body\.metadata/],
    ['documents/update-document', { metadata: 'red' }, 422, /body\.metadata/],
    ['documents/update-document', { index_status: 'indexed' }, 422, /body\.index_status/],
    ['documents/delete-document', { path: [5] }, 422, /body\.path/],
    ['documents/add-documents', { documents: {} }, 422, /body\.documents/],
    ['models/embed', { input_type: 'passage' }, 422, /body\.input_type/],
    ['models/embed', { encoding_format: 'int8' }, 422, /body\.encoding_format/],
    ['models/embed', { latency: 'medium' }, 422, /body\.latency/],
    ['models/embed', { input: [1] }, 422, /body\.input/],
    ['models/rerank', { latency: 'medium' }, 422, /body\.latency/],
    ['models/rerank', { documents: 'one' }, 422, /body\.documents/],
    ['usage/documents', { aggregation_window: 'weekly' }, 422, /body\.aggregation_window/],
  ]);
});

await t.test('invalid names and paths are rejected', async (t) => {
  const tooLong = { collection_name: `${'é'.repeat(512)}x` };
  await server.checkRejected(t, [
    ...caseFor(named, { collection_name: '' }, 400, /collection name is empty/),
    ...caseFor(named, tooLong, 400, /1,025 bytes.*1,024/),
    ...caseFor(named, { collection_name: 'a\0b' }, 400, /NUL/),
    ...caseFor(named, { collection_name: 'a\ud800' }, 400, /surrogate/),
    ...caseFor(withPath, { path: '' }, 400, /path is empty/),
    ...caseFor(withPath, { path: 'a\0' }, 400, /NUL/),
    ...caseFor(withPath, { path: '\udc00a' }, 400, /surrogate/),
    ...caseFor(withPath, { path: 'x'.repeat(4_097) }, 400, /4,097 bytes.*4,096/),
    ['documents/delete-document', { path: ['doc', ''] }, 400, /path is empty/],
    ['documents/delete-document', { path: [] }, 400, /1 to 64/],
    ['documents/delete-document', { path: Array(65).fill('doc') }, 400, /65.*1 to 64/],
    ['documents/get-document-info-list', { path_gt: 'a\ud800' }, 400, /path_gt.*surrogate/],
    ['documents/get-document-info-list', { path_prefix: 'a\0' }, 400, /path_prefix.*NUL/],
    ['status/get-status', { collection_name: '' }, 400, /collection name is empty/],
    ['collections/add-collection', { collection_name }, 409, /kept/],
    ['documents/add-document', { path: 'doc' }, 409, /doc.*overwrite/],
    ...caseFor(
      named.filter(
        (operation) => operation !== 'collections/add-collection' && operation !== 'documents/add-documents',
      ),
      { collection_name: 'nowhere' },
      404,
      /nowhere/,
    ),
    ...caseFor(
      withPath.filter((operation) => operation !== 'documents/add-document'),
      { path: 'not there' },
      404,
      /not there/,
    ),
  ]);
});

await t.test('numbers out of range are rejected', async (t) => {
  const kMax: Record<string, number> = {
    'queries/top-documents': 2048,
    'queries/top-pages': 1024,
    'queries/top-snippets': 128,
  };
  await server.checkRejected(t, [
    ...caseFor(questions, { k: 0 }, 400, /k is 0/),
    ...caseFor(questions, { k: -1 }, 400, /k is -1/),
    ...questions.map(
      (operation): BadRequestCase => [
        operation,
        { k: kMax[operation]! + 1 },
        400,
        /k is \d+; it must be from 1 to/,
      ],
    ),
    ...caseFor(questions, { query: 'x'.repeat(4_097) }, 400, /query.*4,096/),
    ...caseFor(questions, { query: '\u{1F30B}'.repeat(4_097) }, 400, /query.*4,096/),
    ...caseFor(questions, { weights: { lexical: -1, vector: 1 } }, 400, /weights\.lexical is -1/),
    ...caseFor(questions, { weights: { lexical: 1, vector: -0.1 } }, 400, /weights\.vector is -0\.1/),
    ...caseFor(questions, { weights: { lexical: 0, vector: 0 } }, 400, /not both be 0/),
    ...caseFor(questions, { min_score: 1.01 }, 400, /min_score is 1\.01/),
    ...caseFor(questions, { min_score: -1 }, 400, /min_score is -1/),
    ['queries/top-pages', { max_per_document: 0 }, 400, /max_per_document is 0/],
    ['queries/top-snippets', { max_per_document: -2 }, 400, /max_per_document is -2/],
    ...caseFor(questions, { syntax: 'operators', query: 'an "open phrase' }, 400, /unmatched quotation mark/),
    ...caseFor(questions, { syntax: 'operators', query: 'herring "?"' }, 400, /without any words/),
    ...caseFor(questions, { syntax: 'operators', query: '-herring -"in barrels"' }, 400, /only exclusions/),
    ...caseFor(questions, { syntax: 'operators', query: `a ${'-b '.repeat(65)}` }, 400, /more than 64/),
    ...caseFor(questions, { reranker: 'zerank-9' }, 404, /zerank-9.*zerank-2, zerank-1, zerank-1-small/),
    ['documents/get-document-info-list', { limit: 0 }, 400, /limit is 0/],
    ['documents/get-document-info-list', { limit: -5 }, 400, /limit is -5/],
    ['documents/get-document-info-list', { limit: 1_025 }, 400, /1,024/],
    ...[0, 2, 7, 128, -1].map(
      (num_shards): BadRequestCase => [
        'collections/add-collection',
        { num_shards },
        400,
        /num_shards is .*1, 8, 16, 32, 64/,
      ],
    ),
    ['collections/add-collection', { num_shards: 1.5 }, 422, /body\.num_shards/],
    ['collections/add-collection', { query_defaults: { min_score: 2 } }, 400, /min_score is 2/],
    ['collections/add-collection', { query_defaults: { max_per_document: 0 } }, 400, /max_per_document is 0/],
    ['collections/add-collection', { query_defaults: { syntax: 'x' } }, 422, /body\.query_defaults\.syntax/],
    ['documents/get-page-info', { page_index: 1 }, 404, /Page 1 does not exist/],
    ['documents/get-page-info', { page_index: -1 }, 404, /Page -1 does not exist/],
    ['documents/get-page-info', { path: 'failed' }, 404, /Page 0 does not exist/],
    ['documents/add-documents', {}, 400, /1 to 256/],
    ['documents/add-documents', { documents: Array(257).fill({}) }, 400, /257.*1 to 256/],
    ['models/rerank', { top_n: 0 }, 400, /top_n is 0/],
    ['rerank', { top_n: -3 }, 400, /top_n is -3/],
    ['models/rerank', { model: 'gpt' }, 404, /gpt.*zerank-2, zerank-1, zerank-1-small/],
    ['models/embed', { model: 'gpt' }, 404, /gpt.*zembed-1/],
    ['embeddings', { model: 'text-embedding-3-small' }, 404, /zembed-1/],
    ['models/embed', { dimensions: 100 }, 400, /100.*2560/],
    ['models/embed', { dimensions: 0 }, 400, /2560/],
    ['embeddings', { dimensions: 1536 }, 400, /2560/],
    ['usage/documents', { start_time: 20 }, 400, /end_time/],
    ['usage/documents', { collection_names: ['nowhere'] }, 404, /nowhere/],
  ]);
});

await t.test('parts of a text outside of it', async (t) => {
  await server.checkRejected(t, [
    ['documents/get-document-text', { page_index: 1 }, 404, /Page 1 does not exist/],
    ['documents/get-document-text', { page_index: -1 }, 404, /Page -1 does not exist/],
    ['documents/get-document-text', { path: 'failed' }, 400, /no text yet.*parsing_failed/],
    ['documents/get-document-text', { start_index: -1 }, 400, /start_index is -1/],
    [
      'documents/get-document-text',
      { start_index: 1_000_000 },
      400,
      /start_index is 1000000.*end of the text/,
    ],
    ['documents/get-document-text', { max_characters: 0 }, 400, /max_characters is 0/],
    ['documents/get-document-text', { max_characters: 100_001 }, 400, /max_characters is 100001/],
  ]);
});

await t.test('invalid metadata is rejected', async (t) => {
  const overhead = JSON.stringify({ a: '' }).length;
  const both = (metadata: object, status: number, detail: RegExp) =>
    caseFor(['documents/add-document', 'documents/update-document'], { metadata }, status, detail);
  await server.checkRejected(t, [
    ...both({ colors: ['red'] }, 400, /colors.*list:/),
    ...both({ 'list:colors': 'red' }, 400, /list:colors.*array/),
    ...both({ 'two words': 'x' }, 400, /two words/),
    ...both({ 'a.b': 'x' }, 400, /a\.b/),
    ...both({ '': 'x' }, 400, /name/),
    ...both({ 'list:': ['x'] }, 400, /name/),
    ...both({ $eq: 'x' }, 400, /\$eq/),
    ...both({ a: '\ud800' }, 400, /surrogate/),
    ...both({ 'list:a': ['fine', '\udfff'] }, 400, /surrogate/),
    ...both({ a: 'x'.repeat(65_536 - overhead) }, 400, /65,536 bytes/),
    ...both({ a: 'é'.repeat(33_000) }, 400, /bytes/),
    ['documents/update-document', { metadata: {}, index_status: 'not_parsed' }, 400, /cannot be combined/],
    ['documents/update-document', { index_status: 'not_parsed' }, 400, /parsing_failed/],
    ['documents/update-document', { index_status: 'not_indexed' }, 400, /indexing_failed/],
    ['documents/update-document', { path: 'failed', metadata: {} }, 400, /indexed/],
  ]);
});

await t.test('invalid filters, at any depth', async (t) => {
  const deep = (depth: number, leaf: object) => {
    let filter = leaf;
    for (let i = 0; i < depth; i++) filter = i % 2 === 0 ? { $and: [filter] } : { $or: [filter] };
    return filter;
  };
  const bad: readonly (readonly [unknown, RegExp])[] = [
    ['red', /filter.*object/],
    [[], /filter.*object/],
    [5, /filter.*object/],
    [true, /filter.*object/],
    [{ color: null }, /color/],
    [{ color: null }, /color/],
    [{ color: ['red'] }, /color/],
    [{ color: {} }, /color/],
    [{ color: { eq: 'red' } }, /color.*eq/],
    [{ color: { $regex: '.*' } }, /\$regex/],
    [{ color: { $eq: null } }, /color\.\$eq/],
    [{ color: { $eq: ['red'] } }, /color\.\$eq/],
    [{ color: { $eq: null } }, /color\.\$eq/],
    [{ color: { $in: 'red' } }, /color\.\$in/],
    [{ color: { $in: [null] } }, /color\.\$in\[0\]/],
    [{ color: { $nin: {} } }, /color\.\$nin/],
    [{ 'list:tags': 'a' }, /list:tags/],
    [{ 'list:tags': { $eq: 'a' } }, /list:tags.*\$in and \$nin/],
    [{ 'list:tags': { $gt: 'a' } }, /list:tags/],
    [{ 'two words': 'x' }, /two words/],
    [{ $nor: { color: 'red' } }, /\$nor/],
    [{ $and: {} }, /\$and/],
    [{ $and: 'x' }, /\$and/],
    [{ $or: ['x'] }, /\$or\[0\]/],
    [{ $and: [{ color: 'red' }, { color: { $bad: 'x' } }] }, /\$and\[1\]\.color\.\$bad/],
    [{ $eq: 'red' }, /\$eq/],
    [{ color: { $and: [] } }, /\$and/],
    [deep(6, { color: { $like: 'x' } }), /\$like/],
    [deep(9, { color: null }), /color/],
    [deep(300, { color: 'red' }), /deep/],
  ];
  const filters = bad.flatMap(([filter, detail]) => caseFor(questions, { filter }, 400, detail));
  const open = '{"collection_name":"kept","query":"x","k":3,"filter":';
  const veryDeep = `${open}${'{"$and":['.repeat(10_000)}{}${']}'.repeat(10_000)}}`;
  await server.checkRejected(t, [
    ...filters,
    ['queries/top-documents', { query: null, filter: { color: { $regex: 'r' } } }, 400, /\$regex/],
    ...caseFor(questions, veryDeep, 400, /deep/),
  ]);
});

await t.test('values at a limit are accepted', async (t) => {
  const longest = 'é'.repeat(512);
  await api.call('collections/add-collection', { collection_name: longest });
  const path = `${'../../'.repeat(682)}etc`;
  const metadata = { a: 'x'.repeat(65_535 - JSON.stringify({ a: '' }).length) };
  t.match(await api.add(longest, `${path}x`, 'inside', { metadata }), { index_status: 'indexed' });
  t.same(await api.paths(longest), [`${path}x`]);
  t.same((await api.info(longest, `${path}x`)).metadata, metadata);
  await api.call('queries/top-snippets', {
    collection_name: longest,
    query: '\u{1F30B}'.repeat(4_096),
    k: 128,
  });
  await api.call('queries/top-documents', { collection_name: longest, query: 'x', k: 2048 });
  await api.call('queries/top-pages', { collection_name: longest, query: 'x', k: 1024 });
  const body = Array.from({ length: 64 }, (_, i) => `n${i}`);
  t.equal(await api.status('documents/delete-document', { collection_name: longest, path: body }), 404);
  await api.call('collections/add-collection', { collection_name: '../up', unknown_field: 'is ignored' });
  t.ok((await api.call('collections/get-collection-list', { more: 1 })).collection_names.includes('../up'));
});
