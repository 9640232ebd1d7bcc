import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type CliResult, runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { createCollection } from './documents-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createTenant } from './tenant.ts';

/** Imports from other systems. */

t.setTimeout(testFileMsMax);
const { server, api, key: apiKey } = await joinSharedServer();
const folder = t.testdir({});

function quarry(...args: string[]): Promise<CliResult> {
  return runQuarry(args, { variables: { QUARRY_URL: server.url, QUARRY_API_KEY: apiKey } });
}

function writeLines(name: string, rows: readonly object[]): string {
  const file = join(folder, name);
  writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
  return file;
}

await t.test('rows of Elasticsearch, with a mapping, a report and a second run', async (t) => {
  const file = writeLines('rows.jsonl', [
    {
      body: 'granite',
      collection: 'docs',
      path: 'a',
      source_url: 'http://x/a',
      metadata: { year: 2026, tags: ['x'] },
    },
    { _id: 'b', _source: { body: 'slate', collection: 'docs', metadata: { deep: { 'na me': true } } } },
    { body: 'other', collection: 'other', path: 'c' },
    { collection: 'docs', path: 'd' },
    { body: 'no path', collection: 'docs' },
  ]);
  const mapping = join(folder, 'mapping.json');
  writeFileSync(mapping, '{"content": "body"}');
  const skippedFile = join(folder, 'skipped.jsonl');
  const args = [
    'import',
    file,
    '--from',
    'elasticsearch',
    '--collection',
    'docs',
    '--mapping',
    mapping,
    '--json',
  ];
  const rest = ['--source-collection', 'docs', '--report', skippedFile];
  const dry = await quarry(...args, ...rest, '--dry-run');
  t.match(JSON.parse(dry.out), { added: 2 }, dry.err);
  t.notOk((await api.call('collections/get-collection-list')).collection_names.includes('docs'));
  const done = await quarry(...args, ...rest);
  t.equal(done.code, 1, 'rows were skipped');
  t.match(JSON.parse(done.out), { added: 2, unchanged: 0, skipped: { length: 2 } });
  const skipped = readFileSync(skippedFile, 'utf8').trim().split('\n');
  t.match(
    skipped.map((line) => JSON.parse(line) as object),
    [
      { origin: 'line 4', path: 'd', reason: 'it has no content' },
      { origin: 'line 5', path: null, reason: 'it has neither path nor source_url' },
    ],
  );
  t.match(await api.info('docs', 'a', true), {
    content: 'granite',
    metadata: { year: '2026', 'list:tags': ['x'], source_url: 'http://x/a' },
  });
  t.match(await api.info('docs', 'b', true), { content: 'slate', metadata: { deep_na_me: 'true' } });
  t.match(JSON.parse((await quarry(...args, ...rest)).out), { added: 0, unchanged: 2 });
  writeFileSync(mapping, '{"content": 5}');
  t.match(await quarry(...args), { code: 2, err: /names of fields/ });
});

await t.test('rows of a vector store become pages with their vectors', async (t) => {
  const file = writeLines('vectors.jsonl', [
    { id: 1, vector: [1, 0, 0], text: 'granite', path: 'a' },
    { id: 2, vector: [0, 1, 0], text: 'slate', path: 'a' },
    { id: 'b', vector: [0, 0, 1], text: 'gneiss' },
    { id: 'c', text: 'no vector' },
    { id: 'd', vector: [1, 1], text: 'another length' },
  ]);
  const done = await quarry('import', file, '--from', 'vectors', '--collection', 'vectors', '--json');
  t.match(
    JSON.parse(done.out),
    { added: 2, skipped: [{ path: 'c' }, { path: 'd', reason: /dimensions/ }] },
    done.err,
  );
  const { collection } = await api.call('collections/get-collection-info', { collection_name: 'vectors' });
  t.match(collection, { embedding_model: 'own', dimensions: 3 });
  const query = { collection_name: 'vectors', query: '', query_vector: [0, 1, 0], k: 1 };
  t.match(await api.call('queries/top-pages', query), { results: [{ path: 'a', page_index: 1 }] });
});

await t.test('another server of the same API, as another organization', async (t) => {
  const other = await createTenant(server);
  await createCollection(other.api, 'theirs');
  await other.api.add('theirs', 'one', 'granite', { metadata: { author: 'Ada' } });
  await other.api.add('theirs', 'two', { type: 'text-pages', pages: ['first', 'second slate'] });
  await other.api.add('theirs', 'bad', { type: 'auto', base64_data: 'AAEC+gM=' });
  const args = [
    'import',
    server.url,
    '--from',
    'server',
    '--source-collection',
    'theirs',
    '--collection',
    'ours',
  ];
  const key = ['--source-key', other.key, '--json'];
  const done = await quarry(...args, ...key);
  t.match(JSON.parse(done.out), { added: 2, skipped: [{ path: 'bad', reason: /parsing_failed/ }] }, done.err);
  t.match(await api.info('ours', 'one', true), { content: 'granite', metadata: { author: 'Ada' } });
  const page = { collection_name: 'ours', path: 'two', page_index: 1, include_content: true };
  t.match((await api.call('documents/get-page-info', page)).page, { content: 'second slate' });
  t.match(JSON.parse((await quarry(...args, ...key)).out), { added: 0, unchanged: 2 });
  t.match(await quarry(...args, '--source-key', apiKey), { code: 1, err: /does not exist/ });
});

await t.test('a folder of original files with a table of metadata', async (t) => {
  const originals = t.testdir({
    'a.txt': 'granite',
    deep: { 'b.html': '<h1>Rocks</h1><p>slate</p>' },
    'c.txt': 'gneiss',
    // Uploaded separately.
    'large.html': `<!-- ${'x'.repeat(17_000_000)} --><p>basalt`,
  });
  const table = join(originals, 'table.csv');
  writeFileSync(
    table,
    '\ufefffile;author;list:tags;year\n./a.txt;"Lovelace; Ada";stone;2024\ndeep\\b.html;Bob;"flat; grey";\nmissing.txt;X;;\na.txt;Y;;\n',
  );
  const mapping = join(folder, 'table-mapping.json');
  writeFileSync(mapping, '{"path": "file"}');
  const args = ['import', originals, '--from', 'folder', '--collection', 'originals', '--table', table];
  t.match(await quarry(...args), { code: 2, err: /has no column "path" .* --mapping/ });
  const done = await quarry(...args, '--mapping', mapping, '--json');
  t.match(
    JSON.parse(done.out),
    {
      added: 4,
      skipped: [
        { origin: 'line 4', path: 'missing.txt', reason: /no file/ },
        { origin: 'line 5', path: 'a.txt', reason: /earlier row/ },
      ],
    },
    done.err,
  );
  t.match(await api.info('originals', 'a.txt', true), {
    content: 'granite',
    metadata: { author: 'Lovelace; Ada', 'list:tags': ['stone'], year: '2024' },
  });
  const { document } = await api.call('documents/get-document-info', {
    collection_name: 'originals',
    path: 'deep/b.html',
  });
  t.match(document, { metadata: { author: 'Bob', 'list:tags': ['flat', 'grey'] }, index_status: 'indexed' });
  t.match(await api.call('queries/top-documents', { collection_name: 'originals', query: 'basalt', k: 1 }), {
    results: [{ path: 'large.html' }],
  });
  const again = await quarry(...args, '--mapping', mapping, '--json');
  t.match(JSON.parse(again.out), { added: 0, unchanged: 4 }, 'a second run sends nothing');
  const lines = writeLines('table.jsonl', [{ path: 'a.txt', metadata: { author: 'Ada' }, year: 2025 }]);
  const changed = await quarry(...args.slice(0, -1), lines, '--overwrite', '--json');
  t.match(JSON.parse(changed.out), { added: 3, unchanged: 2 }, changed.err);
  t.match(await api.info('originals', 'a.txt'), { metadata: { author: 'Ada', year: '2025' } });
  writeFileSync(table, 'path,author\na.txt,"open\n');
  t.match(await quarry(...args), { code: 2, err: /not a valid CSV file.*quote/i });
});
