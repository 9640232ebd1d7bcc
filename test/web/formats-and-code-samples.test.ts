import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import t from '../support/tap.ts';
import { importWebModule } from './import-web-module.ts';

/** Modules of the dashboard without DOM access. */

interface CompareModule {
  readonly compareByBytes: (one: string, other: string) => number;
}
interface CodeSamplesModule {
  readonly renderSample: (
    language: string,
    call: { kind: string; request: object; baseUrl: string },
  ) => string;
}

t.test('paths are sorted by bytes, as on the server', async (t) => {
  const { compareByBytes } = await importWebModule<CompareModule>('format/compare-by-bytes.ts');
  const paths = ['b', 'a', 'ab', '', 'a\u{1F600}', 'a\uFFFD', 'ä', 'Z', 'a/b', 'a-b'];
  const asBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));
  t.same([...paths].sort(compareByBytes), [...paths].sort(asBytes));
  t.equal(compareByBytes('same', 'same'), 0);
});

t.test('money is formatted in its currency, including fractions of the smallest unit', async (t) => {
  const { formatMoney } = await importWebModule<{
    formatMoney: (amount: number, currency: string) => string;
  }>('format/money.ts');
  const digits = (amount: number, currency: string) => formatMoney(amount, currency).replace(/[^\d.,-]/g, '');
  for (const [amount, currency, formatted] of [
    [5_000, 'usd', '50.00'],
    [-3_468, 'usd', '-34.68'],
    [2.5, 'usd', '0.025'],
    [0.000_5, 'eur', '0.000005'],
    [5_000, 'jpy', '5,000'],
    [0, 'usd', '0.00'],
  ] as const)
    t.equal(digits(amount, currency), formatted, `${amount} ${currency}`);
});

t.test('payment methods have their usual names', async (t) => {
  const { paymentMethodName } = await importWebModule<{ paymentMethodName: (method: object) => string }>(
    'pages/team/payment-method-name.ts',
  );
  for (const [method, name] of [
    [{ type: 'card', brand: 'visa', last4: '4242' }, 'Visa •••• 4242'],
    [{ type: 'card', brand: 'amex', last4: '8431' }, 'American Express •••• 8431'],
    [{ type: 'sepa_debit', brand: null, last4: '3000' }, 'Sepa debit •••• 3000'],
    [{ type: 'paypal', brand: null, last4: null }, 'Paypal'],
  ] as const)
    t.equal(paymentMethodName(method), name);
});

t.test('the billing page shows plan payments in full without any usage', async (t) => {
  const { usageFigures } = await importWebModule<{ usageFigures: (usage: object) => [string, number][] }>(
    'pages/team/usage-figures.ts',
  );
  const usage = {
    charges_cents: 0,
    subscription_payments_cents: 1_279,
    invoiced_cents: 0,
    billable_cents: 0,
  };
  t.same(usageFigures(usage), [
    ['Usage', 0],
    ['Plan payments', 1_279],
    ['Additional charges', 0],
  ]);
  t.same(usageFigures({ ...usage, charges_cents: 3_000, invoiced_cents: 500, billable_cents: 1_221 }), [
    ['Usage', 3_000],
    ['Plan payments', 1_279],
    ['Already invoiced', 500],
    ['Additional charges', 1_221],
  ]);
});

t.test('the query and settings of a search are kept in the URL', async (t) => {
  const { toFragment, fromFragment, defaultQuery } = await importWebModule<{
    toFragment: (query: object) => string;
    fromFragment: (fragment: string) => object;
    defaultQuery: object;
  }>('pages/search-settings.ts');
  t.equal(toFragment(defaultQuery), '');
  t.same(fromFragment(''), defaultQuery);
  const query = {
    kind: 'pages',
    query: 'a & b = "ü"#?',
    k: 1_024,
    filter: '{"year": {"$gte": "2024"}}',
    reranker: '-',
    latency: 'high',
    isPrecise: true,
    compared: { reranker: 'zerank-2', latency: 'low', isPrecise: false },
    sort: [
      { field: 'year', isDescending: true },
      { field: '-odd', isDescending: false },
    ],
    boostField: 'published',
    halfLife: '2w',
    boostWeight: 0.3,
    facets: 'author, [x]',
    groupField: 'team',
    groupSize: 2,
    diversity: 0.5,
    hasHighlights: true,
    similarTo: { path: 'a&b.md', start: 0 },
  };
  t.same(fromFragment(toFragment(query)), query);
  const invalid = '#type=x&k=-1&latency=x&precise=x&sort=-&diversity=7&group-size=x&similar-start=3';
  t.same(fromFragment(invalid), defaultQuery, 'invalid values');
  t.match(fromFragment('#k=9999'), { k: 128 });
});

t.test('uploads are counted by their own state, not that of the collection', async (t) => {
  const { countUploads } = await importWebModule<{ countUploads: (all: readonly object[]) => object }>(
    'pages/upload-counts.ts',
  );
  const states = [
    ...[{ name: 'waiting' }, { name: 'sending' }, { name: 'canceled' }, { name: 'exists' }],
    ...[{ name: 'failed' }, { name: 'too-large' }],
    ...[{ name: 'stored' }, { name: 'stored', document: 'deleted' }],
    ...['parsing', 'indexed', 'indexed', 'parsing_failed', 'indexing_failed'].map((status) => ({
      name: 'stored',
      document: { index_status: status },
    })),
  ];
  t.same(countUploads(states.map((state) => ({ state }))), {
    pending: 2,
    stored: 7,
    indexing: 2,
    searchable: 2,
    notIndexed: 2,
    failed: 1,
    tooLarge: 1,
    existing: 1,
  });
});

t.test('code samples are valid for every query text', async (t) => {
  const { renderSample } = await importWebModule<CodeSamplesModule>('pages/code-samples.ts');
  const request = {
    collection_name: "Ada's",
    query: 'What\'s "new"?\n$(rm -rf .) `x` \\',
    k: 3,
    filter: { $and: [{ a: 'b' }, { 'list:c': { $in: ['d'] } }] },
    latency_mode: 'high',
    precise_responses: true,
  };
  const call = { kind: 'snippets', request, baseUrl: 'http://127.0.0.1:8720/v1' };
  const curl = renderSample('curl', call).replace('curl -s', "printf '%s\\n'");
  const printed = execFileSync('sh', ['-c', curl], { env: { QUARRY_API_KEY: 'k' } }).toString();
  t.match(printed, 'Authorization: Bearer k');
  t.same(JSON.parse(printed.slice(printed.indexOf('{'))), request);

  const folder = t.testdir();
  const receivedBodies: unknown[] = [];
  const server = createServer((request, response) => {
    t.equal(`${request.method} ${request.url}`, 'POST /v1/queries/top-snippets');
    t.equal(request.headers.authorization, 'Bearer k');
    void json(request).then((body) => {
      receivedBodies.push(body);
      response.end('{"results": []}');
    });
  });
  t.teardown(() => server.close());
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as { port: number };
  const here = { ...call, baseUrl: `http://127.0.0.1:${port}/v1` };
  for (const [language, program, file] of [
    ['Node', process.execPath, 'code.mjs'],
    ['Python', 'python3', 'code.py'],
  ] as const) {
    writeFileSync(join(folder, file), renderSample(language, here));
    const env = { PATH: process.env.PATH, QUARRY_API_KEY: 'k' };
    const { stdout } = await promisify(execFile)(program, [join(folder, file)], { env });
    t.same(JSON.parse(stdout), { results: [] }, `${language} runs as pasted`);
    t.same(receivedBodies.pop(), request, language);
  }
});
