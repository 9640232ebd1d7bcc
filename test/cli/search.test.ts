import { displayWidth } from '../../src/cli/text-layout.ts';
import t from '../support/tap.ts';
import { openFakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

const snippet = {
  path: 'guides/refunds.pdf',
  start_index: 10,
  end_index: 2000,
  page_span: [3, 5],
  content: `Refunds are paid\nwithin 14 days. \u001b[31m${'退款 '.repeat(80)}end`,
  score: 0.91234567,
  explain: {
    lexical: { score: 3.5, terms: ['refund'], words: [['Refunds']] },
    vector: { similarity: 0.75 },
    fused: 0.03,
    rerank: null,
    relevance: 0.81,
  },
};

t.test('search prints ranked snippets that fit 80 columns, without control characters', async (t) => {
  const { server, variables } = await openFakeServer(t);
  server.fixedReplies.set('queries/top-snippets', { results: [snippet, { ...snippet, page_span: [0, 1] }] });
  const ended = await runQuarry(['search', 'how', 'long?', '-c', 'handbook', '-k', '2'], { variables });
  t.equal(ended.code, 0, ended.err);
  t.same(server.bodies('queries/top-snippets'), [
    { collection_name: 'handbook', query: 'how long?', k: 2, explain: true },
  ]);
  for (const line of ended.out.split('\n')) t.ok(displayWidth(line) <= 80, line);
  t.match(
    ended.out,
    /^1\. {2}guides\/refunds\.pdf pages 4-5 +0\.9123\n {4}Refunds are paid\n {4}within 14 days\./,
  );
  t.match(ended.out, /\n2\. {2}guides\/refunds\.pdf page 1 /);
  t.notOk(ended.out.includes('\u001b'));
});

t.test('a long snippet is printed from its best sentence, and as a whole with --full', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const content = `${'The parties agree on many other things. '.repeat(40)}The initial term is sixty months. ${'Nothing else matters. '.repeat(40)}`;
  const explain = { ...snippet.explain, lexical: { score: 1, terms: ['term'], words: [['term']] } };
  server.fixedReplies.set('queries/top-snippets', { results: [{ ...snippet, content, explain }] });
  const short = (await runQuarry(['search', 'how long is the term?'], { variables })).out;
  t.match(short, /0\.9123\n {4}\.\.\. The initial term is sixty months\. Nothing/);
  t.match(short, /\n {4}\.\.\. \(\d+ more lines; --full\)\n/);
  t.notMatch(short, /lexical/, 'scores are printed only with --explain');
  const whole = (await runQuarry(['search', 'how long is the term?', '--full'], { variables })).out;
  t.match(whole, /0\.9123\n {4}The parties agree/);
  await runQuarry(['search', 'q', '--json'], { variables });
  const [body] = server.bodies('queries/top-snippets').slice(-1);
  t.same(body, { collection_name: 'default', query: 'q', k: 5 });
});

t.test('every flag of search is sent to its operation', async (t) => {
  const { server, variables } = await openFakeServer(t);
  for (const name of ['snippets', 'pages', 'documents'])
    server.fixedReplies.set(`queries/top-${name}`, { results: [] });
  const cases: [string[], string, object][] = [
    [['--precise'], 'snippets', { precise_responses: true }],
    [['--pages'], 'pages', { include_content: true }],
    [['--documents'], 'documents', {}],
    [['--reranker', 'zerank-2'], 'snippets', { reranker: 'zerank-2' }],
    [['--latency-mode', 'high'], 'snippets', { latency_mode: 'high' }],
    [['--explain'], 'snippets', {}],
    [['--filter', '{"a":{"$gt":"1"}}'], 'snippets', { filter: { a: { $gt: '1' } } }],
    [['--weights', '1:0.25'], 'snippets', { weights: { lexical: 1, vector: 0.25 } }],
    [['--weights', '0:1', '--documents'], 'documents', { weights: { lexical: 0, vector: 1 } }],
    [['--min-score', '.5'], 'snippets', { min_score: 0.5 }],
    [['--max-per-document', '2', '--pages'], 'pages', { include_content: true, max_per_document: 2 }],
    [['--syntax', 'operators'], 'snippets', { syntax: 'operators' }],
    [['-c', 'a'], 'snippets', { collection_name: 'a' }],
    [
      ['-c', 'a', '--collection', 'b', '-c', 'c'],
      'snippets',
      { collection_name: 'a', collection_names: ['b', 'c'] },
    ],
    [['--also', 'r', '--also', 's t'], 'snippets', { queries: ['r', 's t'] }],
    [['--similar-to', 'a/b.pdf', '--documents'], 'documents', { similar_to: { path: 'a/b.pdf' } }],
    [['--diversity', '0.3'], 'snippets', { diversity: 0.3 }],
    [['--highlights', '--pages'], 'pages', { include_content: true, highlights: true }],
    [
      ['--sort', 'author', '--sort', '-year', '--boost', 'published:30d', '--documents'],
      'documents',
      {
        sort: [{ field: 'author' }, { field: 'year', order: 'desc' }],
        boost: { field: 'published', half_life: '30d' },
      },
    ],
    [
      ['--boost', 'published:1.5y:.3', '--facet', 'author', '--facet', 'list:tags'],
      'snippets',
      { boost: { field: 'published', half_life: '1.5y', weight: 0.3 }, facets: ['author', 'list:tags'] },
    ],
    [['--group-by', 'author'], 'snippets', { group_by: { field: 'author' } }],
    [['--group-by', 'author:2', '--documents'], 'documents', { group_by: { field: 'author', size: 2 } }],
    [['--include-cursor'], 'snippets', { include_cursor: true }],
    [['--cursor', 'abc'], 'snippets', { cursor: 'abc' }],
  ];
  for (const [flags, granularity, fields] of cases) {
    server.requests.length = 0;
    const ended = await runQuarry(['search', 'q', ...flags], { variables });
    t.equal(ended.out, 'No results.\n', ended.err);
    const expected = { collection_name: 'default', query: 'q', k: 5, explain: true, ...fields };
    t.same(server.bodies(`queries/top-${granularity}`), [expected], flags.join(' '));
  }
});

t.test('search --json prints the unchanged reply, and --explain shows scores and times', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const explain = {
    shards: [{ shard: 0, strategy: 'graph', candidates: 64, ms: 0.42 }],
    ms: { embed: 0.5, search: 1.25, rerank: 0, read: 2 },
    spelling: [{ typed: 'refnud', terms: ['refund'], read_as: 'refunds' }],
    good_match: true,
    looked_at: 100,
    control: {
      weights: { lexical: 1, vector: 0.6 },
      min_score: null,
      max_per_document: 2,
      syntax: 'operators',
      phrases: ['salted herring'],
      excluded: ['\u001b[31mred'],
      checked: 32,
      complete: true,
    },
  };
  const reply = { results: [snippet], document_results: [], explain };
  server.fixedReplies.set('queries/top-snippets', reply);
  t.same(JSON.parse((await runQuarry(['search', 'q', '--json'], { variables })).out), reply);
  const printed = (await runQuarry(['search', 'q', '--explain'], { variables })).out;
  t.match(
    printed,
    /lexical 3\.5000 \(refund\); vector 0\.7500; fused 0\.0300; rerank none;\s+relevance\s+0\.8100/,
  );
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

t.test('search rejects contradictory flags and filters that are not JSON', async (t) => {
  const { server, variables } = await openFakeServer(t);
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
    ['--group-by', 'author:many'],
    ['--group-by', 'author', '--include-cursor'],
  ]) {
    t.equal((await runQuarry(['search', 'q', ...flags], { variables })).code, 2, flags.join(' '));
  }
  t.equal(server.requests.length, 0);
});

t.test('search prints a heading for each group, and the cursor of the next page', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const groups = [
    { value: 2026, results: 2 },
    { value: null, results: 1 },
  ];
  server.fixedReplies.set('queries/top-snippets', { results: [snippet, snippet, snippet], groups });
  const grouped = (await runQuarry(['search', 'how', '--group-by', 'year:2'], { variables })).out;
  const headings = grouped.split('\n').filter((line) => /^(year|\d\.)/.test(line));
  t.match(headings, [/^year: 2026$/, /^1\./, /^2\./, /^year: \(no value\)$/, /^3\./]);
  server.fixedReplies.set('queries/top-snippets', { results: [snippet], next_cursor: 'cmVzdWx0czo1' });
  const first = (await runQuarry(['search', 'how', '--include-cursor'], { variables })).out;
  t.match(first, /\nFor more results, repeat the command with --cursor cmVzdWx0czo1\n/);
  server.fixedReplies.set('queries/top-snippets', { results: [snippet], next_cursor: null });
  t.notMatch((await runQuarry(['search', 'how', '--cursor', 'a'], { variables })).out, /For more results/);
});

t.test('search says when there is no good match, and shows the results below', async (t) => {
  const { server, variables } = await openFakeServer(t);
  for (const [goodMatch, pattern] of [
    [false, /^No good match: .*\n\n {0,2}1\./],
    [true, /^ {0,2}1\./],
    [null, /^ {0,2}1\./],
  ] as const) {
    server.fixedReplies.set('queries/top-snippets', {
      results: [snippet],
      explain: { good_match: goodMatch },
    });
    const printed = (await runQuarry(['search', 'how'], { variables })).out;
    t.match(printed, pattern, String(goodMatch));
  }
});

t.test('warnings of a reply are printed beside the results', async (t) => {
  const { server, variables } = await openFakeServer(t);
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
    waiting_for: ['Mine is unavailable.'],
  });
  const status = await runQuarry(['status', '-c', 'one'], { variables });
  t.match(status.out, /Documents of one are waiting\. Mine is unavailable\./);
});

t.test(
  'a search for similar content needs no question, and results of several collections name theirs',
  async (t) => {
    const { server, variables } = await openFakeServer(t);
    server.fixedReplies.set('queries/top-snippets', { results: [{ ...snippet, collection_name: 'faq' }] });
    const ended = await runQuarry(['search', '--similar-to', 'a.md', '-c', 'handbook', '-c', 'faq'], {
      variables,
    });
    t.equal(ended.code, 0, ended.err);
    t.match(ended.out, /^1\. {2}faq: guides\/refunds\.pdf pages 4-5 +0\.9123/);
    t.match(server.bodies('queries/top-snippets'), [{ query: '', similar_to: { path: 'a.md' } }]);
    t.match((await runQuarry(['search', ' '], { variables })).err, /The question is empty/);
  },
);
t.test('search prints the counts of facets after the results', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const facets = [
    {
      field: 'author',
      values: [
        { value: 'Ada\u001b[31m', count: 12 },
        { value: 7, count: 3 },
      ],
      num_values: 5,
    },
    { field: 'year', values: [], num_values: 0 },
  ];
  server.fixedReplies.set('queries/top-snippets', { results: [snippet], document_results: [], facets });
  const { out } = await runQuarry(['search', 'q', '--facet', 'author', '--facet', 'year'], { variables });
  t.match(
    out,
    /\n\nauthor\n {2}12 {2}Ada[^\n]*\n {3}3 {2}7\n {2}\(3 more values\)\n\nyear\n {2}\(no values\)\n\n$/,
  );
  t.notOk(out.includes('\u001b'));
  const wrong = await runQuarry(['search', 'q', '--boost', '30d'], { variables });
  t.match(wrong.err, /--boost is "30d"; expected a field and a half-life/);
});
