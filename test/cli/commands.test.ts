import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from 'tap';
import { displayWidth } from '../../src/cli/text-layout.ts';
import { FakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

const key = 'a-key-of-sixteen-characters';
const adminKey = 'an-admin-key-of-sixteen';

async function open(t: Test): Promise<{ server: FakeServer; variables: Record<string, string> }> {
  const server = await FakeServer.listen();
  t.teardown(() => server.close());
  return { server, variables: { QUARRY_URL: `${server.url}/v1/`, QUARRY_API_KEY: key } };
}

const snippet = {
  path: 'guides/refunds.pdf',
  start_index: 10,
  end_index: 2000,
  page_span: [3, 5],
  content: `Refunds are paid\n\nwithin 14 days. \u001b[31m${'退款 '.repeat(80)}end`,
  score: 0.91234567,
  explain: {
    lexical: { score: 3.5, terms: ['refund'] },
    vector: { similarity: 0.75 },
    fused: 0.03,
    rerank: null,
  },
};

t.test('search prints ranked snippets that fit 80 columns and carry no control characters', async (t) => {
  const { server, variables } = await open(t);
  server.fixedReplies.set('queries/top-snippets', { results: [snippet, { ...snippet, page_span: [0, 1] }] });
  const ended = await runQuarry(['search', 'how', 'long?', '-c', 'handbook', '-k', '2'], { variables });
  t.equal(ended.code, 0, ended.err);
  t.same(server.bodies('queries/top-snippets'), [{ collection_name: 'handbook', query: 'how long?', k: 2 }]);
  for (const line of ended.out.split('\n')) t.ok(displayWidth(line) <= 80, line);
  t.match(
    ended.out,
    /^1\. {2}guides\/refunds\.pdf pages 4-5 +0\.9123\n {4}Refunds are paid within 14 days\./,
  );
  t.match(ended.out, /\n2\. {2}guides\/refunds\.pdf page 1 /);
  t.notOk(ended.out.includes('\u001b'));
});

t.test('every flag of search reaches the operation it belongs to', async (t) => {
  const { server, variables } = await open(t);
  for (const name of ['snippets', 'pages', 'documents'])
    server.fixedReplies.set(`queries/top-${name}`, { results: [] });
  const cases: [string[], string, object][] = [
    [['--precise'], 'snippets', { precise_responses: true }],
    [['--pages'], 'pages', { include_content: true }],
    [['--documents'], 'documents', {}],
    [['--reranker', 'zerank-2'], 'snippets', { reranker: 'zerank-2' }],
    [['--latency-mode', 'high'], 'snippets', { latency_mode: 'high' }],
    [['--explain'], 'snippets', { explain: true }],
    [['--filter', '{"a":{"$gt":"1"}}'], 'snippets', { filter: { a: { $gt: '1' } } }],
    [['--weights', '1:0.25'], 'snippets', { weights: { lexical: 1, vector: 0.25 } }],
    [['--weights', '0:1', '--documents'], 'documents', { weights: { lexical: 0, vector: 1 } }],
    [['--min-score', '.5'], 'snippets', { min_score: 0.5 }],
    [['--max-per-document', '2', '--pages'], 'pages', { include_content: true, max_per_document: 2 }],
    [['--syntax', 'operators'], 'snippets', { syntax: 'operators' }],
  ];
  for (const [flags, granularity, fields] of cases) {
    server.requests.length = 0;
    const ended = await runQuarry(['search', 'q', ...flags], { variables });
    t.equal(ended.out, 'No results.\n', ended.err);
    const expected = { collection_name: 'default', query: 'q', k: 5, ...fields };
    t.same(server.bodies(`queries/top-${granularity}`), [expected], flags.join(' '));
  }
});

t.test('usage with a restricted key shows what the key may read, and says what is missing', async (t) => {
  const { server, variables } = await open(t);
  const none = { count: 0, bytes: 0, billable_units: 0 };
  const counters = { docs: none, ocr: none, indexed: none, queries: none };
  server.fixedReplies.set('usage/counters', { all_time: counters, billing_cycle: counters });
  server.fixedReplies.set('usage/documents', []);
  server.fixedReplies.set('usage/queries', []);
  server.intercept = ({ url }) =>
    url.startsWith('/v1/usage/models/') ? { status: 403, body: { detail: 'restricted' } } : null;
  for (const words of [['usage'], ['usage', '--by', 'day']]) {
    const ended = await runQuarry(words, { variables });
    t.equal(ended.code, 0, ended.err);
    t.match(ended.err, /Model usage is not shown, because this key is restricted/);
    t.notMatch(ended.out, /Rerank|Embed/);
  }
});

t.test('search --json prints the reply as it is, and --explain shows scores and times', async (t) => {
  const { server, variables } = await open(t);
  const explain = {
    shards: [{ shard: 0, strategy: 'graph', candidates: 64, ms: 0.42 }],
    ms: { embed: 0.5, search: 1.25, rerank: 0, read: 2 },
    spelling: [{ typed: 'refnud', terms: ['refund'], read_as: 'refunds' }],
    looked_at: 100,
    control: {
      ...{ weights: { lexical: 1, vector: 0.6 }, min_score: null, max_per_document: 2 },
      ...{ syntax: 'operators', phrases: ['salted herring'], excluded: ['\u001b[31mred'] },
      ...{ checked: 32, complete: true },
    },
  };
  const reply = { results: [snippet], document_results: [], explain };
  server.fixedReplies.set('queries/top-snippets', reply);
  t.same(JSON.parse((await runQuarry(['search', 'q', '--json'], { variables })).out), reply);
  const printed = (await runQuarry(['search', 'q', '--explain'], { variables })).out;
  t.match(printed, /lexical 3\.5000 \(refund\); vector 0\.7500; fused 0\.0300; rerank none/);
  t.match(
    printed,
    /Milliseconds: embed 0\.5, search 1\.3, rerank 0\.0, read 2\.0\n {2}shard 0: graph, 64 candidates/,
  );
  t.match(
    printed,
    /Weights: lexical 1, vector 0\.6; at most 2 per document; with "salted herring"; without .*red"; 32 chunks/,
  );
  t.match(printed, /refnud corrected to refunds\n {2}100 chunks rescored by term proximity/);
  t.notOk(printed.includes('\u001b'));
});

t.test('search refuses flags that contradict each other and filters that are not JSON', async (t) => {
  const { server, variables } = await open(t);
  for (const flags of [
    ['--pages', '--documents'],
    ['--documents', '--precise'],
    ['--filter', 'a=b'],
    ['-k', 'many'],
    ['--latency-mode', 'medium'],
    ['--weights', '1'],
    ['--weights', '0:0'],
    ['--weights', '1:-1'],
    ['--min-score', '1.5'],
    ['--max-per-document', '0'],
    ['--max-per-document', '2', '--documents'],
    ['--syntax', 'lucene'],
  ]) {
    t.equal((await runQuarry(['search', 'q', ...flags], { variables })).code, 2, flags.join(' '));
  }
  t.equal(server.requests.length, 0);
});

t.test('what an answer had to do without is said beside it', async (t) => {
  const { server, variables } = await open(t);
  const warnings = [
    'The results are from lexical search only, because the embedding model \u001b[31m"mine" is unavailable.',
  ];
  server.fixedReplies.set('queries/top-snippets', { results: [snippet], warnings });
  const ended = await runQuarry(['search', 'how'], { variables });
  t.match(ended, {
    code: 0,
    out: /refunds\.pdf/,
    err: /^quarry: The results are from lexical search only.*"mine"/,
  });
  t.notOk(ended.err.includes('\u001b'));
  server.fixedReplies.set('status/get-status', {
    num_documents: 1,
    num_indexed_bytes: 0,
    waiting_for: ['Mine is away.'],
  });
  const status = await runQuarry(['status', '-c', 'one'], { variables });
  t.match(status.out, /Documents of one are waiting\. Mine is away\./);
});

t.test('status shows each collection as a line', async (t) => {
  const { server, variables } = await open(t);
  const failed = { bytes: Buffer.from('x'), metadata: {}, status: 'parsing_failed', error: 'broken' };
  server.collections.set('one', new Map([['a', failed]]));
  server.collections.set('two', new Map());
  const ended = await runQuarry(['status'], { variables });
  t.match(
    ended.out,
    /^Collection {2}Documents {2}Parsing {2}Indexing {2}Indexed {2}Failed +Text\none +1 +0 +0 +0 +1/,
  );
  const json = JSON.parse((await runQuarry(['status', '-c', 'one', '--json'], { variables })).out);
  t.match(json, { collections: [{ name: 'one', num_documents: 1, num_failed_documents: 1 }] });
  t.notOk('memory' in json, 'one collection is not the whole server');
});

t.test('status shows the memory of the server to those who may see it', async (t) => {
  const { server, variables } = await open(t);
  const figures = `# HELP quarry_index_bytes Bytes.
quarry_index_bytes{part="codes"} 384000000
quarry_index_bytes{part="vectors_in_file"} 1.5e9
quarry_query_cache_bytes{part="texts"} 12
quarry_memory_held_bytes 700000000
quarry_memory_held_bytes_max 8e9
`;
  let allowed = true;
  server.intercept = ({ url, headers }) => {
    if (url !== '/metrics') return null;
    t.equal(headers.authorization, `Bearer ${adminKey}`);
    return allowed
      ? { status: 200, body: Buffer.from(figures) }
      : { status: 401, body: { detail: 'The administrator key is missing.' } };
  };
  const asAdministrator = { ...variables, QUARRY_ADMIN_KEY: adminKey };
  const printed = await runQuarry(['status'], { variables: asAdministrator });
  t.match(
    printed.out,
    /\nMemory of the server +Bytes\nindex: codes +384 MB\nindex: vectors in file +1\.5 GB\n/,
  );
  t.match(printed.out, /\nqueries: texts +12 B\ntotal +700 MB\nlimit +8\.0 GB\n/);
  const json = JSON.parse((await runQuarry(['status', '--json'], { variables: asAdministrator })).out);
  t.same(json.memory, {
    held_bytes: 700_000_000,
    limit_bytes: 8_000_000_000,
    index_bytes: { codes: 384_000_000, vectors_in_file: 1_500_000_000 },
    query_cache_bytes: { texts: 12 },
  });
  allowed = false;
  const hidden = await runQuarry(['status'], { variables: asAdministrator });
  t.equal(hidden.code, 0);
  t.notMatch(hidden.out, /Memory/);
});

t.test(
  'collections are listed, added with their shards, and deleted only when that is confirmed',
  async (t) => {
    const { server, variables } = await open(t);
    t.equal((await runQuarry(['collections', 'add', 'archive', '--shards', '16'], { variables })).code, 0);
    t.same(server.bodies('collections/add-collection'), [{ collection_name: 'archive', num_shards: 16 }]);
    t.equal((await runQuarry(['collections', 'list'], { variables })).out, 'archive\n');
    const unconfirmed = await runQuarry(['collections', 'delete', 'archive'], { variables });
    t.equal(unconfirmed.code, 2);
    t.match(unconfirmed.err, /Use --yes/);
    t.ok(server.collections.has('archive'));
    t.equal((await runQuarry(['collections', 'delete', 'archive', '--yes'], { variables })).code, 0);
    t.notOk(server.collections.has('archive'));
    const missing = await runQuarry(['collections', 'delete', 'archive', '-y'], { variables });
    t.equal(missing.code, 1);
    t.match(missing.err, /^quarry: The collection "x" does not exist\.\n$/);
  },
);

function addDocument(status: string, error: string | null = null) {
  return { bytes: Buffer.from('12345'), metadata: { a: 'b' }, status, error };
}

t.test('documents are listed with their status, and --failed shows the reasons', async (t) => {
  const { server, variables } = await open(t);
  server.collections.set(
    'default',
    new Map([
      ['a.txt', addDocument('indexed')],
      ['b.bin', addDocument('parsing_failed', 'no kind')],
    ]),
  );
  const all = await runQuarry(['documents', 'list'], { variables });
  t.match(all.out, /a\.txt {2}indexed +5 B +1\nb\.bin {2}parsing_failed {2} 5 B +1 {2}no kind/);
  const failed = await runQuarry(['documents', 'list', '--failed', '--json'], { variables });
  t.match(JSON.parse(failed.out), { path: 'b.bin', error: 'no kind' });
});

t.test('a document shows its facts, its text, or is saved raw without the key', async (t) => {
  const { server, variables } = await open(t);
  server.collections.set('default', new Map([['a.txt', addDocument('indexed')]]));
  t.match(
    (await runQuarry(['documents', 'get', 'a.txt'], { variables })).out,
    /Status {4}indexed\n[\s\S]*Metadata {2}\{"a":"b"\}/,
  );
  t.equal(
    (await runQuarry(['documents', 'get', 'a.txt', '--content'], { variables })).out,
    'text of a.txt\n',
  );
  const folder = t.testdir({});
  const file = join(folder, 'saved');
  t.equal((await runQuarry(['documents', 'get', 'a.txt', '-o', file], { variables })).code, 0);
  t.equal(readFileSync(file, 'utf8'), 'raw bytes of /v1/documents/get-document?token=abc');
  t.equal(server.requests.at(-1)?.headers.authorization, undefined);
  const again = await runQuarry(['documents', 'get', 'a.txt', '-o', file], { variables });
  t.equal(again.code, 1);
  t.match(again.err, /already exists/);
});

t.test('deleting more than 64 documents takes several requests, and missing ones are told', async (t) => {
  const { server, variables } = await open(t);
  const paths = Array.from({ length: 100 }, (_, index) => `${index}.txt`);
  server.collections.set('default', new Map(paths.slice(1).map((path) => [path, addDocument('indexed')])));
  const ended = await runQuarry(['documents', 'delete', '--yes', '--json', ...paths], { variables });
  t.equal(ended.code, 1);
  t.match(ended.err, /1 document did not exist/);
  t.equal(JSON.parse(ended.out).deleted_paths.length, 99);
  t.same(
    server.bodies('documents/delete-document').map((body) => (body as { path: string[] }).path.length),
    [64, 36],
  );
});

t.test('update replaces metadata, and retry asks for the step that failed', async (t) => {
  const { server, variables } = await open(t);
  server.collections.set(
    'default',
    new Map([
      ['a', addDocument('parsing_failed')],
      ['b', addDocument('indexing_failed')],
      ['c', addDocument('indexed')],
    ]),
  );
  await runQuarry(['documents', 'update', 'c', '--metadata', '{"x":"y"}'], { variables });
  t.equal((await runQuarry(['documents', 'retry'], { variables })).out, '2 documents queued for retry.\n');
  t.same(server.bodies('documents/update-document'), [
    { collection_name: 'default', path: 'c', metadata: { x: 'y' } },
    { collection_name: 'default', path: 'a', index_status: 'not_parsed' },
    { collection_name: 'default', path: 'b', index_status: 'not_indexed' },
  ]);
  const fine = await runQuarry(['documents', 'retry', 'c'], { variables });
  t.equal(fine.code, 1);
  t.match(fine.err, /c is indexed; only failed documents can be retried/);
});

t.test(
  'keys uses the admin key, names the organisation, and prints a new key alone on its line',
  async (t) => {
    const { server, variables } = await open(t);
    const organization = '6f0c3c2e-1f0b-4b62-9a0a-0c7d7b0f2d11';
    const admin = { ...variables, QUARRY_ADMIN_KEY: adminKey, QUARRY_ORGANIZATION: organization };
    server.fixedReplies.set('admin/add-api-key', { api_key: 'ze_new' });
    server.fixedReplies.set('admin/delete-api-key', { message: 'Success!' });
    const entry = {
      id: 'id-1',
      created_at: '2026-01-01',
      name: 'web',
      permission: 'read_only',
      created_by: null,
    };
    const restriction = { collection_names: ['a', 'b'], filter: { tenant: 'x' } };
    const restricted = { ...entry, id: 'id-2', restriction, api_key: 'ze_...efgh' };
    server.fixedReplies.set('admin/list-api-keys', {
      api_keys: [{ ...entry, api_key: 'ze_...abcd' }, restricted],
    });
    t.equal((await runQuarry(['keys', 'add', 'web', '--read-only'], { variables: admin })).out, 'ze_new\n');
    const bounds = ['--collections', 'a', 'b', '--filter', '{"tenant":"x"}'];
    await runQuarry(['keys', 'add', 'part', ...bounds], { variables: admin });
    const listed = (await runQuarry(['keys', 'list'], { variables: admin })).out;
    t.match(listed, /id-1 {2}web {3}read_only {3}everything {17,20}ze_\.\.\.abcd/);
    t.match(listed, /id-2 {2}web {3}read_only {3}a, b where \{"tenant":"x"\} {2}ze_\.\.\.efgh/);
    t.equal((await runQuarry(['keys', 'delete', 'id-1', '-y'], { variables: admin })).code, 0);
    t.same(server.bodies('admin/add-api-key'), [
      { organization_id: organization, name: 'web', permission: 'read_only' },
      { organization_id: organization, name: 'part', permission: 'all', restriction },
    ]);
    t.same(server.bodies('admin/delete-api-key'), [{ organization_id: organization, api_key_id: 'id-1' }]);
    for (const request of server.requests) t.equal(request.headers.authorization, `Bearer ${adminKey}`);

    const nameless = await runQuarry(['keys', 'list'], {
      variables: { ...variables, QUARRY_ADMIN_KEY: adminKey },
    });
    t.equal(nameless.code, 2, 'without an organisation nothing is asked');
    t.match(nameless.err, /--organization/);
  },
);

t.test('a busy server is asked again, and a 422 names the field', async (t) => {
  const { server, variables } = await open(t);
  let calls = 0;
  server.intercept = () => {
    calls += 1;
    if (calls < 3) return { status: 503, headers: { 'retry-after-ms': '10' }, body: { detail: 'starting' } };
    return { status: 422, body: { detail: [{ loc: ['body', 'k'], msg: 'must be an integer', type: 'x' }] } };
  };
  const ended = await runQuarry(['search', 'q'], { variables });
  t.equal(ended.code, 1);
  t.equal(calls, 3);
  t.match(ended.err, /body\.k: must be an integer/);
});

t.test('help names every command, gives examples and exit codes, and exits with 0', async (t) => {
  const help = await runQuarry(['--help']);
  t.equal(help.code, 0);
  for (const word of [
    'serve',
    'ingest',
    'search',
    'status',
    'collections',
    'documents',
    'keys',
    'config',
    'version',
  ]) {
    t.match(help.out, new RegExp(`\\n {2}${word}`));
  }
  t.match(help.out, /Exit codes:\n {2}0 {4}done/);
  const ingest = await runQuarry(['ingest', '--help']);
  t.equal(ingest.code, 0);
  t.match(ingest.out, /Examples:\n {2}quarry ingest docs\//);
  t.match(ingest.out, /--key, --api-key <value>/);
});

t.test('an unknown command is refused with the nearest one', async (t) => {
  const ended = await runQuarry(['serach', 'q']);
  t.equal(ended.code, 2);
  t.match(ended.err, /unknown command 'serach'[\s\S]*Did you mean search\?/);
});

t.test('config masks secrets and says where each value comes from; version needs no server', async (t) => {
  const variables = { QUARRY_API_KEY: 'secret-secret-secret', QUARRY_PORT: '9000' };
  const printed = await runQuarry(['config', '--host', '0.0.0.0'], { variables });
  t.match(printed.out, /QUARRY_PORT = 9000 {2}\[variable\]/);
  t.match(printed.out, /QUARRY_HOST = 0\.0\.0\.0 {2}\[flag\]/);
  t.notOk(printed.out.includes('secret-secret'));
  const { settings } = JSON.parse((await runQuarry(['config', '--json'], { variables })).out);
  const apiKey = settings.find((setting: { name: string }) => setting.name === 'apiKey');
  t.match(apiKey, { variable: 'QUARRY_API_KEY', source: 'variable', value: 'secr…****' });
  for (const word of ['version', '--version', '-V'])
    t.match((await runQuarry([word])).out, /^quarry \d+\.\d+\.\d+, node \d+/);
});

t.test('a wrong setting stops serve before anything starts, with exit code 2', async (t) => {
  const ended = await runQuarry(['serve', '--port', '70000'], { variables: { QUARRY_PROT: '1' } });
  t.equal(ended.code, 2);
  t.match(ended.err, /QUARRY_PROT is not a setting\. Did you mean QUARRY_PORT\?/);
  t.match(ended.err, /--port is "70000"; allowed is a whole number from 0 to 65535\./);
});
