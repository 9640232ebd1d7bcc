import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import t from '../support/tap.ts';
import { openFakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

t.test('collections are listed, added with their shards, and deleted only after confirmation', async (t) => {
  const { server, variables } = await openFakeServer(t);
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
});

function addDocument(status: string, error: string | null = null) {
  return { bytes: Buffer.from('12345'), metadata: { a: 'b' }, status, error };
}

t.test('documents are listed with their status, and --failed shows the reasons', async (t) => {
  const { server, variables } = await openFakeServer(t);
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

t.test('documents are listed in an order, page by page, and their values are counted', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const document = { path: 'a.txt', index_status: 'indexed', size: 5, num_pages: 1, error: null };
  const page = Array.from({ length: 1024 }, () => document);
  const operation = 'documents/get-document-info-list';
  server.replySequences.set(operation, [
    { documents: page, next_cursor: 'second' },
    { documents: [{ ...document, path: 'b.txt' }], next_cursor: null },
    {
      documents: [document],
      facets: [{ field: 'author', values: [{ value: 'Ada', count: 2 }], num_values: 1 }],
    },
  ]);
  const listed = ['documents', 'list', '--sort', '-year', '--sort', 'title', '--facet', 'author'];
  const ended = await runQuarry(listed, { variables });
  t.match(ended.out, /b\.txt.*\n\nauthor\n {2}2 {2}Ada\n$/);
  const order = { sort: [{ field: 'year', order: 'desc' }, { field: 'title' }] };
  t.same(server.bodies(operation), [
    { collection_name: 'default', limit: 1024, ...order },
    { collection_name: 'default', limit: 1024, ...order, cursor: 'second' },
    { collection_name: 'default', limit: 1, facets: ['author'] },
  ]);
  await runQuarry(['documents', 'list', '--sort-by', 'size', '--descending'], { variables });
  t.match(server.bodies(operation).at(-1), { sort_by: 'size', descending: true });
  for (const flags of [['--descending'], ['--sort', 'a', '--sort-by', 'size'], ['--facet', 'a', '--json']])
    t.equal((await runQuarry(['documents', 'list', ...flags], { variables })).code, 2, flags.join(' '));
});

t.test('a document is shown with its properties or its text, or saved raw without the key', async (t) => {
  const { server, variables } = await openFakeServer(t);
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

t.test('deleting more than 64 documents takes several requests, and missing ones are reported', async (t) => {
  const { server, variables } = await openFakeServer(t);
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

t.test('documents that match are counted first, then deleted with as many requests as needed', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const paths = ['a/1', 'a/2', 'a/3', 'a/4', 'b/1'];
  server.collections.set('default', new Map(paths.map((path) => [path, addDocument('indexed')])));
  const command = ['documents', 'delete-by-filter', '--prefix', 'a/', '--filter', '{"x":"y"}'];
  const preview = await runQuarry([...command, '--dry-run'], { variables });
  t.equal(preview.out, '4 documents would change.\n  a/1\n  a/2\n  a/3\n');
  const refused = await runQuarry(command, { variables });
  t.equal(refused.code, 2);
  t.match(refused.err, /--yes/);
  t.equal(server.collections.get('default')?.size, 5);
  t.equal((await runQuarry([...command, '--yes'], { variables })).out, '4 documents deleted.\n');
  t.same([...server.collections.get('default')!.keys()], ['b/1']);
  const selection = { collection_name: 'default', filter: { x: 'y' }, path_prefix: 'a/' };
  t.same(server.bodies('documents/delete-documents').slice(-2), [selection, selection]);
  const without = await runQuarry(['documents', 'delete-by-filter', '--yes'], { variables });
  t.equal(without.code, 2);
  t.match(without.err, /--filter <json> or --prefix/);
});

t.test('update-by-filter sends the patch and reports skipped documents', async (t) => {
  const { server, variables } = await openFakeServer(t);
  const command = ['documents', 'update-by-filter', '--prefix', 'a/', '--yes'];
  const missing = await runQuarry(command, { variables });
  t.match(missing.err, /--patch <json>/);
  const ended = await runQuarry([...command, '--patch', '{"author":null}'], { variables });
  t.equal(ended.out, '1 document updated.\n');
  t.match(ended.err, /1 document skipped/);
  t.equal(ended.code, 1);
  t.match(server.bodies('documents/update-documents').at(-1), { metadata_patch: { author: null } });
});

t.test('update replaces metadata, and retry requests the failed step', async (t) => {
  const { server, variables } = await openFakeServer(t);
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
