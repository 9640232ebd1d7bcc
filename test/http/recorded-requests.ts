/** Requests of a client, in order, whose replies `recorded-replies.jsonl` keeps. */
export interface SampleRequest {
  /** Below the address of the server. */
  readonly path: string;
  /** Default: POST. */
  readonly method?: string;
  /** JSON, or text with the type of `headers`. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent without the key of the organization. */
  readonly isAnonymous?: boolean;
}

const collection_name = 'papers';
const post = (operation: string, body: unknown): SampleRequest => ({ path: `/v1/${operation}`, body });
const inPapers = (operation: string, body: object = {}): SampleRequest =>
  post(operation, { collection_name, ...body });
const add = (path: string, content: object, more: object = {}): SampleRequest =>
  inPapers('documents/add-document', { path, content, wait: true, ...more });
const text = (content: string) => ({ type: 'text', text: content });
const base64 = (content: string) => ({
  type: 'auto',
  base64_data: Buffer.from(content).toString('base64'),
});

const harbor = [
  'The harbor of the island was built in 1871. Its granite wall protects forty fishing boats from the winter storms.',
  'A ferry leaves every morning at seven. Tickets are sold at the pier and cost four euros; children travel free.',
  'The lighthouse keeper records wind and waves. In February the lamp burned for sixteen hours a day.',
].join('\n\n');
const pages = [
  'Refunds are paid within fourteen days to the account of the order.',
  '',
  'Gift cards are not refunded. A broken gift card is replaced by the shop that sold it.',
];
const html =
  '<html lang="de"><head><title>Öffnungszeiten</title></head><body><h1>Öffnungszeiten</h1><p>Die Bibliothek ist werktags von neun bis achtzehn Uhr geöffnet.</p><table><tr><th>Tag</th><th>Uhr</th></tr><tr><td>Samstag</td><td>10-14</td></tr></table></body></html>';
const csv = 'city,population\nBergen,291940\nTromsø,77992\n';

const documents: readonly SampleRequest[] = [
  add('guides/harbor.txt', text(harbor), {
    metadata: { author: 'Ada', 'list:topics': ['ships', 'weather'] },
  }),
  add('guides/harbor.txt', text('Another text.')),
  add('guides/harbor.txt', text(harbor), {
    metadata: { author: 'Ada', 'list:topics': ['ships', 'weather'] },
    overwrite: true,
  }),
  add('policies/refunds', { type: 'text-pages', pages }, { metadata: { author: 'Grace' } }),
  add('policies/unordered', { type: 'text-pages-unordered', pages: ['Parcels weigh five kilograms.'] }),
  add('web/opening-hours.html', base64(html), { metadata: { language: 'German' } }),
  add('data/cities.csv', base64(csv)),
  add('broken.pdf', base64('%PDF-1.7 and nothing else')),
  add('', text('No path.')),
  add('a.txt', { type: 'unknown' }),
  inPapers('documents/add-documents', {
    documents: [
      { path: 'batch/one.txt', content: text('Bees visit clover in June.') },
      { path: 'guides/harbor.txt', content: text('Exists.') },
      { path: 'batch/two.txt' },
    ],
    wait: true,
  }),
  {
    path: `/v1/documents/${collection_name}/uploads/note.txt?wait=true`,
    method: 'PUT',
    headers: { 'content-type': 'text/plain' },
    body: 'An uploaded note about moss.',
  },
  {
    path: '/v1/documents/upload',
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
    body: [
      `--b\r\ncontent-disposition: form-data; name="collection_name"\r\n\r\n${collection_name}\r\n`,
      '--b\r\ncontent-disposition: form-data; name="path"\r\n\r\nuploads/form.md\r\n',
      '--b\r\ncontent-disposition: form-data; name="wait"\r\n\r\ntrue\r\n',
      '--b\r\ncontent-disposition: form-data; name="file"; filename="form.md"\r\n\r\n# Form\n\nA form about ferns.\r\n',
      '--b--\r\n',
    ].join(''),
  },
];

const documentReads: readonly SampleRequest[] = [
  ...[
    'guides/harbor.txt',
    'policies/refunds',
    'web/opening-hours.html',
    'data/cities.csv',
    'broken.pdf',
  ].flatMap((path) => [
    inPapers('documents/get-document-info', { path }),
    inPapers('documents/get-document-info', { path, include_content: true }),
  ]),
  inPapers('documents/get-document-info', { path: 'missing' }),
  inPapers('documents/get-page-info', { path: 'policies/refunds', page_index: 2, include_content: true }),
  inPapers('documents/get-page-info', { path: 'policies/refunds', page_index: 1 }),
  inPapers('documents/get-page-info', { path: 'policies/refunds', page_index: 9 }),
  inPapers('documents/get-document-info-list'),
  inPapers('documents/get-document-info-list', { limit: 2, path_gt: 'data/cities.csv' }),
  inPapers('documents/get-document-info-list', { path_prefix: 'guides/' }),
  inPapers('documents/get-document-info-list', { limit: 0 }),
  inPapers('documents/get-document-text', { path: 'policies/refunds', page_index: 0, max_characters: 40 }),
  inPapers('documents/export-documents', { limit: 2 }),
  inPapers('status/get-status'),
  post('status/get-status', {}),
  post('status/get-status', { collection_name: 'missing' }),
];

/** Queries of one operation, with the options of `k` results. */
function queriesOf(operation: string, content: object, metadata: object): SampleRequest[] {
  const ask = (query: string | null, more: object = {}) =>
    inPapers(`queries/${operation}`, { query, k: 3, ...more });
  return [
    ask('how long do refunds take'),
    ask('granite harbour wall', content),
    ask('granit harbor', metadata),
    ask('ferry tickets', { filter: { author: { $eq: 'Ada' } }, ...content }),
    ask('ferry tickets', { filter: { 'list:topics': { $in: ['ships'] } } }),
    ask('ferry tickets', { filter: { author: { $unknown: 1 } } }),
    ask('Öffnungszeiten der Bibliothek', { latency_mode: 'high', ...content, ...metadata }),
    ask('population of Bergen', { reranker: 'zerank-1' }),
    ask('population of Bergen', { reranker: 'missing' }),
    ask('"gift cards" -broken', { syntax: 'operators' }),
    ask('moss and ferns', { explain: true }),
    ask('moss', { weights: { lexical: 1, vector: 0 }, min_score: 0.2 }),
    ask('zzzzqqqq'),
    ask(''),
    ask('moss', { k: 0 }),
    ask('moss', { collection_name: 'missing' }),
  ];
}

const queries: readonly SampleRequest[] = [
  ...queriesOf('top-documents', {}, { include_metadata: true }),
  inPapers('queries/top-documents', { query: null, k: 20, filter: { author: { $ne: 'Ada' } } }),
  ...queriesOf('top-pages', { include_content: true }, { include_metadata: true }),
  ...queriesOf('top-snippets', { precise_responses: true }, { include_document_metadata: true }),
];

const changes: readonly SampleRequest[] = [
  inPapers('documents/update-document', { path: 'guides/harbor.txt', metadata: { author: 'Grace' } }),
  inPapers('documents/update-document', { path: 'guides/harbor.txt', metadata_patch: { year: '1871' } }),
  inPapers('documents/update-document', { path: 'broken.pdf', index_status: 'not_parsed' }),
  inPapers('documents/update-document', { path: 'guides/harbor.txt', index_status: 'not_parsed' }),
  inPapers('documents/update-document', { path: 'missing', metadata: {} }),
  inPapers('documents/get-document-info', { path: 'guides/harbor.txt' }),
  inPapers('documents/delete-document', { path: 'batch/one.txt' }),
  inPapers('documents/delete-document', { path: ['data/cities.csv', 'missing'] }),
  inPapers('documents/delete-document', { path: 'missing' }),
];

const models: readonly SampleRequest[] = [
  post('models/embed', { model: 'zembed-1', input_type: 'query', input: 'ships', dimensions: 40 }),
  post('models/embed', {
    model: 'zembed-1',
    input_type: 'document',
    input: ['ships', 'boats'],
    dimensions: 40,
    encoding_format: 'base64',
  }),
  post('models/embed', { model: 'missing', input_type: 'query', input: 'ships' }),
  post('models/rerank', {
    model: 'zerank-1',
    query: 'ships',
    documents: ['boats at sea', 'bees', ''],
    top_n: 2,
  }),
  post('models/rerank', { query: 'ships', documents: [] }),
  post('models/get-model-list', {}),
  post('embeddings', { model: 'zembed-1', input: ['ships'], dimensions: 40 }),
  post('parsers/parse-document', { base64_data: Buffer.from(html).toString('base64') }),
  post('parsers/parse-document', { base64_data: Buffer.from([0, 1, 2, 255]).toString('base64') }),
];

const mistakes: readonly SampleRequest[] = [
  { ...post('collections/get-collection-list', {}), isAnonymous: true },
  { path: '/v1/collections/get-collection-list', headers: { authorization: 'Bearer ze_unknown' }, body: {} },
  { path: '/v1/collections/get-collection-list', method: 'GET' },
  { path: '/v1/collections/missing-operation', body: {} },
  { path: '/v1/status/get-status', headers: { 'content-type': 'application/json' }, body: '{"a":' },
  { path: '/v1/status/get-status', headers: { 'content-type': 'text/plain' }, body: 'text' },
  post('status/get-status', [1]),
  inPapers('queries/top-documents', { k: 'three' }),
  inPapers('queries/top-documents', { query: 'x', k: 4_000 }),
];

/** Everything that a client of one organization does, from its first collection to the end of it. */
export const clientRequests: readonly SampleRequest[] = [
  post('collections/add-collection', { collection_name, num_shards: 8 }),
  post('collections/add-collection', { collection_name }),
  post('collections/add-collection', { collection_name: '' }),
  post('collections/get-collection-list', {}),
  ...documents,
  ...documentReads,
  ...queries,
  ...changes,
  ...models,
  ...mistakes,
  inPapers('collections/delete-collection'),
  inPapers('collections/delete-collection'),
];
