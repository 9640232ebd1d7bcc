import t, { type Test } from 'tap';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { buildZip } from '../parsing/zip-fixtures.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient } from './checked-api-client.ts';
import { TestServer } from './server.ts';

/**
 * Invalid input gets the specified status and a message that names the error, and changes nothing. Each case is a line:
 * operation, body (an object is merged into a valid body; a string or bytes are sent unchanged), status, pattern for
 * the detail.
 */

t.setTimeout(testFileMsMax);
const bodyBytesMax = 150_000;
const uploadBytesMax = 60_000;
const server = await TestServer.start(t, {
  BODY_BYTES_MAX: String(bodyBytesMax),
  UPLOAD_BYTES_MAX: String(uploadBytesMax),
});
const api = new CheckedApiClient(server);
const collection_name = 'kept';
await api.call('collections/add-collection', { collection_name });
await api.add(collection_name, 'doc', 'A document that stays as it is.', { metadata: { colour: 'red' } });
const broken = Buffer.from(buildPdf(['x']).slice(0, 60)).toString('base64');
await api.add(collection_name, 'failed', { type: 'auto', base64_data: broken });

/** All state that invalid input could change. */
async function allOperations(): Promise<unknown> {
  const { documents } = await api.call('documents/get-document-info-list', { collection_name });
  return {
    documents,
    collections: await api.call('collections/get-collection-list'),
    status: await api.call('status/get-status'),
    found: await api.find(collection_name, 'document'),
  };
}

/** Valid bodies that a case modifies. */
const working: Record<string, object> = {
  'collections/add-collection': { collection_name: 'never' },
  'collections/delete-collection': { collection_name: 'nowhere' },
  'documents/add-document': { collection_name, path: 'never', content: { type: 'text', text: 'x' } },
  'documents/add-documents': { collection_name, documents: [] },
  'documents/update-document': { collection_name, path: 'doc' },
  'documents/delete-document': { collection_name, path: 'nowhere' },
  'documents/get-document-info': { collection_name, path: 'doc' },
  'documents/get-document-info-list': { collection_name },
  'documents/get-page-info': { collection_name, path: 'doc', page_index: 0 },
  'status/get-status': {},
  'queries/top-documents': { collection_name, query: 'x', k: 3 },
  'queries/top-pages': { collection_name, query: 'x', k: 3 },
  'queries/top-snippets': { collection_name, query: 'x', k: 3 },
  'models/embed': { model: 'zembed-1', input_type: 'query', input: 'x' },
  'models/rerank': { model: 'zerank-2', query: 'x', documents: ['y'] },
  'parsers/parse-document': { base64_data: 'aGVsbG8=' },
  embeddings: { model: 'zembed-1', input: 'x' },
  rerank: { model: 'zerank-2', query: 'x', documents: ['y'] },
  'usage/documents': { start_time: 0, end_time: 10, aggregation_window: 'hourly' },
};

type BadRequestCase = readonly [
  operation: string,
  body: object | string | Uint8Array,
  status: number,
  detail: RegExp,
];

function errorTexts(body: unknown): string {
  const { detail } = body as { detail: string | { loc: string[]; msg: string }[] };
  return typeof detail === 'string'
    ? detail
    : detail.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
}

async function checkRejected(t: Test, cases: readonly BadRequestCase[]): Promise<void> {
  const before = await allOperations();
  for (const [operation, body, status, detail] of cases) {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array;
    const sent = isRaw ? body : JSON.stringify({ ...working[operation], ...body });
    const headers = { 'content-type': 'application/json' };
    const reply = await api.request(operation, undefined, { body: sent, headers });
    const name = `${operation} ${isRaw ? String(sent).slice(0, 60) : JSON.stringify(body).slice(0, 80)}`;
    t.equal(reply.status, status, name);
    t.match(errorTexts(reply.body), detail, `the detail of ${name}`);
  }
  t.same(await allOperations(), before, 'nothing has changed');
}

function caseFor(
  operations: readonly string[],
  ...rest: [object | string, number, RegExp]
): BadRequestCase[] {
  return operations.map((operation) => [operation, ...rest]);
}

const all = Object.keys(working);
const withRequired = all.filter((operation) => operation !== 'status/get-status');
const named = all.filter((operation) => 'collection_name' in working[operation]!);
const withPath = named.filter((operation) => 'path' in working[operation]!);
const questions = all.filter((operation) => operation.startsWith('queries/'));
const nested = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth);

await t.test('bodies that are no JSON, or no object', async (t) => {
  await checkRejected(t, [
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

await t.test('missing fields, wrong types and unknown words', async (t) => {
  const cases: BadRequestCase[] = [];
  for (const [operation, body] of Object.entries(working)) {
    for (const field of Object.keys(body)) {
      const { [field]: _, ...rest } = body as Record<string, unknown>;
      cases.push([operation, JSON.stringify(rest), 422, new RegExp(`body\\.${field}`)]);
      cases.push([operation, { [field]: { wrong: true } }, 422, new RegExp(`body\\.${field}`)]);
    }
  }
  await checkRejected(t, [
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
    ['documents/add-document', { metadata: { a: 5 } }, 422, /body\.metadata/],
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

await t.test('names and paths that cannot be', async (t) => {
  const tooLong = { collection_name: `${'é'.repeat(512)}x` };
  await checkRejected(t, [
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

await t.test('numbers out of their range', async (t) => {
  const kMax: Record<string, number> = {
    'queries/top-documents': 2048,
    'queries/top-pages': 1024,
    'queries/top-snippets': 128,
  };
  await checkRejected(t, [
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

await t.test('metadata that break their rules', async (t) => {
  const overhead = JSON.stringify({ a: '' }).length;
  const both = (metadata: object, status: number, detail: RegExp) =>
    caseFor(['documents/add-document', 'documents/update-document'], { metadata }, status, detail);
  await checkRejected(t, [
    ...both({ colours: ['red'] }, 400, /colours.*list:/),
    ...both({ 'list:colours': 'red' }, 400, /list:colours.*array/),
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

await t.test('filters that are not understood, at any depth', async (t) => {
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
    [{ colour: 5 }, /colour/],
    [{ colour: null }, /colour/],
    [{ colour: ['red'] }, /colour/],
    [{ colour: {} }, /colour/],
    [{ colour: { eq: 'red' } }, /colour.*eq/],
    [{ colour: { $regex: '.*' } }, /\$regex/],
    [{ colour: { $eq: 5 } }, /colour\.\$eq/],
    [{ colour: { $eq: ['red'] } }, /colour\.\$eq/],
    [{ colour: { $eq: null } }, /colour\.\$eq/],
    [{ colour: { $in: 'red' } }, /colour\.\$in/],
    [{ colour: { $in: [5] } }, /colour\.\$in\[0\]/],
    [{ colour: { $nin: {} } }, /colour\.\$nin/],
    [{ 'list:tags': 'a' }, /list:tags/],
    [{ 'list:tags': { $eq: 'a' } }, /list:tags.*\$in and \$nin/],
    [{ 'list:tags': { $gt: 'a' } }, /list:tags/],
    [{ 'two words': 'x' }, /two words/],
    [{ $not: { colour: 'red' } }, /\$not/],
    [{ $and: {} }, /\$and/],
    [{ $and: 'x' }, /\$and/],
    [{ $or: ['x'] }, /\$or\[0\]/],
    [{ $and: [{ colour: 'red' }, { colour: { $bad: 'x' } }] }, /\$and\[1\]\.colour\.\$bad/],
    [{ $eq: 'red' }, /\$eq/],
    [{ colour: { $and: [] } }, /\$and/],
    [deep(6, { colour: { $like: 'x' } }), /\$like/],
    [deep(9, { colour: 5 }), /colour/],
    [deep(300, { colour: 'red' }), /deep/],
  ];
  const filters = bad.flatMap(([filter, detail]) => caseFor(questions, { filter }, 400, detail));
  const open = '{"collection_name":"kept","query":"x","k":3,"filter":';
  const veryDeep = `${open}${'{"$and":['.repeat(10_000)}{}${']}'.repeat(10_000)}}`;
  await checkRejected(t, [
    ...filters,
    ['queries/top-documents', { query: null, filter: { colour: { $regex: 'r' } } }, 400, /\$regex/],
    ...caseFor(questions, veryDeep, 400, /deep/),
  ]);
});

await t.test('bytes that are no base64, no file, or too many', async (t) => {
  const noBase64 = [
    '####',
    'abc',
    'YQ',
    'YQ=',
    'YQ==\n',
    'YR==',
    'aGVs bG8=',
    'a-_b',
    '====',
    'aGVsbG8=aGVsbG8=',
    'é',
  ];
  const content = (base64_data: string) => ({ content: { type: 'auto', base64_data } });
  const large = 'x'.repeat(bodyBytesMax);
  const tooLargeFile = Buffer.alloc(uploadBytesMax + 1, 'a').toString('base64');
  const binary = Buffer.from([0, 1, 2, 3, 250, 251, 252]).toString('base64');
  await checkRejected(t, [
    ...noBase64.map((text): BadRequestCase => ['documents/add-document', content(text), 400, /base64/]),
    ...noBase64.map(
      (base64_data): BadRequestCase => ['parsers/parse-document', { base64_data }, 400, /base64/],
    ),
    ['parsers/parse-document', { base64_data: binary }, 400, /\w+ \w+/],
    ['parsers/parse-document', { base64_data: broken }, 400, /\w+ \w+/],
    ['documents/add-document', { content: { type: 'text', text: large } }, 413, /150,?000/],
    ['queries/top-documents', { query: large }, 413, /150,?000/],
    ['documents/add-document', content(tooLargeFile), 413, /60,?000/],
    ['parsers/parse-document', { base64_data: tooLargeFile }, 413, /60,?000/],
  ]);
});

await t.test('uploads that are wrong', async (t) => {
  const before = await allOperations();
  const header = (text: string) => ({ 'x-quarry-metadata': Buffer.from(text).toString('base64url') });
  const cases: readonly (readonly [string, Record<string, string>, string | Uint8Array, number, RegExp])[] = [
    ['kept/doc', {}, 'again', 409, /doc.*overwrite/],
    ['nowhere/x', {}, 'x', 404, /nowhere/],
    ['kept/x?overwrite=maybe', {}, 'x', 422, /query\.overwrite/],
    ['kept/x?wait=1', {}, 'x', 422, /query\.wait/],
    ['kept/x', { 'x-quarry-metadata': '!!!' }, 'x', 400, /x-quarry-metadata.*base64url/],
    ['kept/x', header('{'), 'x', 400, /x-quarry-metadata.*JSON/],
    ['kept/x', header('{"a":5}'), 'x', 400, /x-quarry-metadata/],
    ['kept/x', header('{"a":["b"]}'), 'x', 400, /"a".*list:/],
    ['kept/x%00', {}, 'x', 400, /NUL/],
    ['kept/', {}, 'x', 400, /path is empty/],
    [`kept/${'x'.repeat(4_097)}`, {}, 'x', 400, /4,097/],
    [`${'x'.repeat(1_025)}/a`, {}, 'x', 400, /1,025/],
    ['kept/x%ED%A0%80', {}, 'x', 400, /UTF-8/],
    ['kept/x%zz', {}, 'x', 400, /percent-encoded/],
    ['kept/x', {}, Buffer.alloc(uploadBytesMax + 1), 413, /60,?000/],
  ];
  for (const [path, headers, body, status, detail] of cases) {
    const reply = await api.request(`documents/${path}`, undefined, { method: 'PUT', headers, body });
    t.equal(reply.status, status, `PUT ${path.slice(0, 40)} ${JSON.stringify(headers)}`);
    t.match(errorTexts(reply.body), detail);
  }
  const form = (fields: Record<string, string>, file: string | null = 'bytes') => {
    const data = new FormData();
    for (const [name, value] of Object.entries(fields)) data.append(name, value);
    if (file !== null) data.append('file', new Blob([file]), 'name.txt');
    return data;
  };
  const named = { collection_name, path: 'never' };
  const forms: readonly (readonly [FormData | string, number, RegExp])[] = [
    [form({ path: 'x' }), 422, /collection_name/],
    [form({ collection_name }), 422, /path/],
    [form(named, null), 422, /file/],
    [form({ ...named, metadata: '{' }), 400, /metadata/],
    [form({ ...named, metadata: '{"a":["b"]}' }), 400, /"a".*list:/],
    [form({ ...named, overwrite: 'yes' }), 422, /overwrite/],
    [form({ ...named, collection_name: 'nowhere' }), 404, /nowhere/],
    [form({ ...named, path: 'doc' }), 409, /doc/],
    [form({ ...named, path: '' }), 400, /path is empty/],
    [form(named, 'x'.repeat(uploadBytesMax + 10)), 413, /60,?000/],
    ['no form at all', 422, /multipart/],
  ];
  for (const [body, status, detail] of forms) {
    const reply = await api.request('documents/upload', undefined, { body });
    const name = typeof body === 'string' ? body : JSON.stringify([...body.keys()]);
    t.equal(reply.status, status, `upload ${name}`);
    t.match(errorTexts(reply.body), detail);
  }
  t.same(await allOperations(), before, 'nothing has changed');
});

await t.test('tokens that stand for nothing', async (t) => {
  const { file_url } = await api.info(collection_name, 'doc');
  const token = new URL(file_url).searchParams.get('token') ?? '';
  t.ok(token.length >= 22, 'a token has at least 128 bits');
  const flipped = token.slice(0, -2) + (token.at(-2) === 'A' ? 'B' : 'A') + token.at(-1);
  for (const operation of ['documents/get-document', 'documents/get-page-image']) {
    for (const [query, status] of [
      ['', 422],
      ['?token=', 422],
      ['?other=1', 422],
      ['?token=x', 404],
      ['?token=%00', 404],
      [`?token=${flipped}`, 404],
      [`?token=${'a'.repeat(10_000)}`, 404],
      ['?token=%F0%9F%8C%8B', 404],
    ] as const) {
      const reply = await api.request(`${operation}${query}`, undefined, { method: 'GET', key: null });
      t.equal(reply.status, status, `${operation}${query.slice(0, 40)}`);
      if (status === 422) t.match(errorTexts(reply.body), /query\.token/);
    }
  }
  const asImage = file_url.replace('get-document', 'get-page-image');
  t.equal((await fetch(asImage)).status, 404, 'the token of a file is none of an image');
});

await t.test('files that cannot be read end with a reason, and the queue goes on', async (t) => {
  const name = 'odd files';
  await api.call('collections/add-collection', { collection_name: name });
  const files: [path: string, code: string, bytes: Uint8Array][] = [
    ['random.bin', 'unsupported', Buffer.from(Array.from({ length: 600 }, (_, i) => (i * 7919) % 256))],
    ['cut.pdf', 'corrupt', buildPdf(['whole']).slice(0, 60)],
    ['locked.pdf', 'encrypted', buildPdf(['secret'], { userPassword: 'open sesame' })],
    ['empty.zip', 'unsupported', buildZip({ 'nothing.bin': Buffer.from([0, 255]) })],
  ];
  for (const [path, code, bytes] of files) {
    const base64_data = Buffer.from(bytes).toString('base64');
    const reply = await api.add(name, path, { type: 'auto', base64_data });
    t.equal(reply.index_status, 'parsing_failed', path);
    t.match(reply.error, /^\w+ .*\.$/s, `${path}: ${reply.error}`);
    const info = await api.info(name, path, true);
    t.match(info, { num_pages: null, error: reply.error, error_code: code, size: bytes.length });
    t.equal(reply.error_code, code);
    t.equal(info.content ?? null, null);
    const raw = await fetch(info.file_url);
    t.same(Buffer.from(await raw.arrayBuffer()), Buffer.from(bytes), 'its bytes can still be fetched');
  }
  const zero = await api.add(name, 'zero bytes', { type: 'auto', base64_data: '' });
  t.match(zero.index_status, /^(indexed|parsing_failed)$/);
  t.equal((await api.info(name, 'zero bytes')).size, 0);
  const listed = await api.call('documents/get-document-info-list', { collection_name: name });
  t.same(
    files.map(([path]) => listed.documents.find((one: { path: string }) => one.path === path)?.error_code),
    files.map(([, code]) => code),
  );
  const { index_status } = await api.add(name, 'good', { type: 'auto', base64_data: 'aGVsbG8gd29ybGQ=' });
  t.equal(index_status, 'indexed');
  t.same(await api.find(name, 'hello world', { k: 1 }), ['good']);
});

await t.test('what lies just inside a limit is accepted', async (t) => {
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
