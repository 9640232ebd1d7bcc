import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { type CliResult, runQuarry } from '../cli/quarry.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { base64, createCollection, sentence } from './documents-fixture.ts';
import { base64Of, dimensions, vectorOf } from './own-vectors-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createTenant } from './tenant.ts';
import { kindsOfDocuments, readEverything } from './transfer-fixture.ts';

/** Export and import of collections: everything that a client can read survives. */

t.setTimeout(testFileMsMax);
const { server, api, key: apiKey } = await joinSharedServer();
const folder = t.testdir({});
const file = join(folder, 'stones.jsonl.gz');

function quarry(args: readonly string[], key = apiKey): Promise<CliResult> {
  return runQuarry(args, { variables: { QUARRY_URL: server.url, QUARRY_API_KEY: key } });
}

async function run(args: readonly string[]): Promise<CliResult> {
  const ended = await quarry(args);
  t.equal(ended.code, 0, `${args.join(' ')}\n${ended.err}`);
  return ended;
}

await t.test('an imported collection gives the same replies as the exported one', async (t) => {
  await createCollection(api, 'stones');
  const { results } = await api.call('documents/add-documents', {
    collection_name: 'stones',
    documents: kindsOfDocuments,
    wait: true,
  });
  t.same(
    results.map(({ status }) => status),
    kindsOfDocuments.map(() => 201),
  );
  const curations = [{ queries: ['which stone'], pinned: ['d/a.pdf'] }];
  const words = ['--synonyms', 'granite,gneiss', '--stop-words', 'stone'];
  words.push('--curations', JSON.stringify(curations));
  await run(['collections', 'update', 'stones', '--max-per-document', '2', ...words]);
  const exported = await run(['export', 'stones', file, '--json']);
  t.match(JSON.parse(exported.out), { documents: 10, files: 6 });
  const imported = await quarry(['import', file, '--collection', 'copy', '--json']);
  t.match(JSON.parse(imported.out), { added: 10, unchanged: 0, skipped: [] });
  t.same(await readEverything(api, 'copy'), await readEverything(api, 'stones'));
  const settings = await api.request('collections/get-collection-info', { collection_name: 'copy' });
  t.match(settings.body, {
    collection: {
      query_defaults: { max_per_document: 2 },
      synonyms: [['granite', 'gneiss']],
      stop_words: ['stone'],
      curations,
    },
  });
});

await t.test('an imported file is not parsed again', async (t) => {
  const [pdf] = (
    await api.call('documents/export-documents', { collection_name: 'stones', path_prefix: 'd/' })
  ).documents;
  t.match(pdf?.content, { type: 'parsed', pages: ['first granite', 'second slate'] });
  const corrected = { type: 'parsed', pages: ['corrected gneiss'], content_type: 'application/pdf' };
  const body = {
    collection_name: 'copy',
    path: pdf?.path,
    overwrite: true,
    wait: true,
    metadata: pdf?.metadata,
  };
  const keep = { ...corrected, sha256: pdf?.sha256 };
  t.match(await api.call('documents/add-document', { ...body, content: keep }), { index_status: 'indexed' });
  const info = await api.info('copy', String(pdf?.path), true);
  t.match(info, { content: 'corrected gneiss', sha256: pdf?.sha256, num_pages: 1 });
  for (const [status, content] of [
    [400, corrected],
    [400, { ...keep, base64_data: 'AAAA' }],
    [400, { ...keep, content_type: 'text/html\r\nx: y' }],
    [400, { ...keep, language: 'english' }],
    [400, { ...keep, title: '' }],
    [409, { ...keep, sha256: '0'.repeat(64) }],
    [413, { ...corrected, base64_data: 'AAAA', pages: ['x'.repeat(70_000)] }],
  ] as const)
    t.equal(
      await api.status('documents/add-document', { ...body, content }),
      status,
      JSON.stringify(content),
    );
  t.equal(
    await api.status('documents/add-document', { ...body, content: keep, overwrite: false }),
    409,
    'the file of an existing document requires overwrite',
  );
  t.equal(
    await api.status('documents/add-document', { ...body, path: 'other', content: keep }),
    409,
    'the file of another document cannot be named',
  );
});

await t.test('a second import changes nothing, and one that differs needs --overwrite', async (t) => {
  const again = await quarry(['import', file, '--collection', 'copy', '--json']);
  t.match(JSON.parse(again.out), { added: 0, unchanged: 10, skipped: [] });
  await api.add('copy', 'a/text.txt', 'changed', { overwrite: true });
  const dry = await quarry(['import', file, '--collection', 'copy', '--dry-run', '--overwrite', '--json']);
  t.match(JSON.parse(dry.out), { added: 1, unchanged: 9 });
  const conflict = await quarry(['import', file, '--collection', 'copy', '--json']);
  t.equal(conflict.code, 1);
  t.match(JSON.parse(conflict.out), { added: 0, unchanged: 9, skipped: [{ path: 'a/text.txt' }] });
  t.equal((await api.info('copy', 'a/text.txt', true)).content, 'changed');
  await run(['import', file, '--collection', 'copy', '--overwrite']);
  t.match((await api.info('copy', 'a/text.txt', true)).content, /^Granite/);
});

await t.test('a damaged or incomplete export is rejected before anything is written', async (t) => {
  const bytes = readFileSync(file);
  const damaged = join(folder, 'damaged.gz');
  const flipped = Buffer.from(bytes);
  flipped[bytes.length >> 1]! ^= 1;
  const variants = { flipped, cut: bytes.subarray(0, bytes.length - 10), header: bytes.subarray(0, 2) };
  for (const [name, variant] of Object.entries(variants)) {
    writeFileSync(damaged, variant);
    const ended = await quarry(['import', damaged, '--collection', 'never']);
    t.equal(ended.code, 2, name);
    t.match(ended.err, /damaged/, name);
  }
  t.notOk((await api.call('collections/get-collection-list')).collection_names.includes('never'));
});

await t.test('an interrupted export continues after its last checkpoint', async (t) => {
  await createCollection(api, 'many');
  const texts = Array.from({ length: 300 }, (_, i) => ({
    path: `${String(i).padStart(4, '0')}.txt`,
    content: { type: 'text' as const, text: sentence('many', i) },
  }));
  await api.addAll('many', texts);
  const target = join(folder, 'many.gz');
  // The state after a kill between two checkpoints: a complete prefix and some bytes after it.
  const { documents } = await api.call('documents/export-documents', { collection_name: 'many', limit: 256 });
  t.equal(documents.length, 256);
  const whole = join(folder, 'whole.gz');
  await run(['export', 'many', whole]);
  const prefix = prefixOf(whole, 1);
  const { collection } = await api.call('collections/get-collection-info', { collection_name: 'many' });
  writeFileSync(`${target}.partial`, Buffer.concat([prefix.bytes, Buffer.from('half a member')]));
  const state = { format: 1, collectionId: collection.id, path: '0255.txt', bytes: prefix.bytes.length };
  writeFileSync(
    `${target}.partial.json`,
    JSON.stringify({ ...state, documents: 256, files: 0, chain: prefix.chain }),
  );
  const other = await quarry(['export', 'stones', target]);
  t.equal(other.code, 1);
  t.match(other.err, /another collection/);
  t.match((await run(['export', 'many', target])).err, /Continuing after 256 documents/);
  t.notOk(existsSync(`${target}.partial.json`));
  t.same(gunzipSync(readFileSync(target)), gunzipSync(readFileSync(whole)));
  t.match((await quarry(['export', 'many', target])).err, /already exists/);
});

await t.test('vectors of callers are exported and imported', async (t) => {
  const own = { collection_name: 'vectors', embedding_model: 'own', dimensions };
  await api.call('collections/add-collection', own);
  const pages = ['granite', '', 'slate'];
  const vectors = pages.map((_, i) => base64Of(vectorOf(i)));
  const body = { collection_name: 'vectors', wait: true };
  const paged = { ...body, path: 'pages', content: { type: 'text-pages', pages }, vectors };
  t.match(await api.call('documents/add-document', paged), { index_status: 'indexed' });
  const text = { ...body, path: 'text', content: { type: 'text', text: 'gneiss' }, vector: vectorOf(7) };
  t.match(await api.call('documents/add-document', text), { index_status: 'indexed' });
  const target = join(folder, 'vectors.gz');
  await run(['export', 'vectors', target]);
  await run(['import', target, '--collection', 'vectors-copy']);
  const search = async (collection_name: string) =>
    await api.call('queries/top-pages', { collection_name, query: 'slate', query_vector: vectorOf(2), k: 9 });
  const [found, expected] = [await search('vectors-copy'), await search('vectors')];
  t.same(
    found.results.map(({ path, page_index, score }) => ({ path, page_index, score })),
    expected.results.map(({ path, page_index, score }) => ({ path, page_index, score })),
  );
  const wrong = await quarry(['import', target, '--collection', 'stones']);
  t.equal(wrong.code, 1);
  t.match(wrong.err, /vectors supplied by callers/);
});

await t.test('a large file is uploaded separately, and keeps its text', async (t) => {
  await createCollection(api, 'large');
  const bytes = Buffer.alloc(17_000_000, 'the granite quarry near the river ');
  const content = { type: 'parsed', pages: ['short text'], content_type: 'text/plain', title: 'Large' };
  const body = { collection_name: 'large', path: 'large.txt', wait: true };
  await api.call('documents/add-document', { ...body, content: { ...content, base64_data: base64(bytes) } });
  const target = join(folder, 'large.gz');
  await run(['export', 'large', target]);
  await run(['import', target, '--collection', 'large-copy']);
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const info = await api.info('large-copy', 'large.txt', true);
  t.match(info, { content: 'short text', title: 'Large', sha256, size: bytes.length });
});

await t.test('another organization can neither export nor import by guessing', async (t) => {
  const { key } = await createTenant(server);
  const target = join(folder, 'stolen.gz');
  const stolen = await quarry(['export', 'stones', target], key);
  t.equal(stolen.code, 1);
  t.match(stolen.err, /does not exist/);
  copyFileSync(file, target);
  const imported = await quarry(['import', target, '--collection', 'stones', '--json'], key);
  t.match(JSON.parse(imported.out), { added: 10, unchanged: 0 });
});

/** Returns the bytes of the first members of an export, and its chain of checksums after them. */
function prefixOf(path: string, members: number): { bytes: Buffer; chain: string } {
  const bytes = readFileSync(path);
  const magic = Buffer.from([0x1f, 0x8b, 0x08]);
  let end = 0;
  for (let i = 0; i < members; i += 1) end = bytes.indexOf(magic, end + 1);
  const lines = gunzipSync(bytes.subarray(0, end)).toString().trim().split('\n');
  const { sha256 } = JSON.parse(lines.at(-1)!) as { sha256: string };
  return { bytes: bytes.subarray(0, end), chain: createHash('sha256').update(sha256).digest('hex') };
}
