import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import t, { type Test } from '../support/tap.ts';
import { FakeServer } from './fake-server.ts';
import { runQuarry } from './quarry.ts';

const key = 'a-key-of-sixteen-characters';

async function open(t: Test): Promise<FakeServer> {
  const server = await FakeServer.listen();
  t.teardown(() => server.close());
  return server;
}

function client(server: FakeServer): Record<string, string> {
  return { QUARRY_URL: server.url, QUARRY_API_KEY: key };
}

t.test('a folder becomes a collection with relative paths, and the bytes are unchanged', async (t) => {
  const server = await open(t);
  const bytes = Buffer.from([0, 1, 2, 255, 254, 10, 13]);
  const folder = t.testdir({ docs: { 'a.txt': 'alpha', 'ünter wegs': { 'b c%.pdf': bytes } } });
  const ended = await runQuarry(['ingest', join(folder, 'docs'), '-c', 'hand/book'], {
    variables: client(server),
  });
  t.equal(ended.code, 0, ended.err);
  const documents = server.collections.get('hand/book');
  t.same([...(documents?.keys() ?? [])].sort(), ['a.txt', 'ünter wegs/b c%.pdf']);
  t.ok(documents?.get('ünter wegs/b c%.pdf')?.bytes.equals(bytes));
  for (const request of server.uploads()) {
    t.equal(request.method, 'PUT');
    t.match(request.url, /\?overwrite=true$/);
    t.equal(request.headers.authorization, `Bearer ${key}`);
    t.ok(Number(request.headers['content-length']) > 0, 'the length is sent before the body');
  }
  t.match(ended.out, /2 uploaded, 0 unchanged/);
  t.match(ended.out, /2 of 2 documents searchable/);
});

t.test('a collection name may contain reserved characters of URLs', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.txt': 'alpha' });
  for (const name of ['.', '..']) {
    const ended = await runQuarry(['ingest', folder, '-c', name], { variables: client(server) });
    t.equal(ended.code, 0, `${name}: ${ended.err}${ended.out}`);
    t.equal(server.collections.get(name)?.get('a.txt')?.bytes.toString(), 'alpha', name);
  }
});

t.test('a second run uploads only files with changed content, regardless of their times', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'same.txt': 'same', 'changed.txt': 'one' });
  await runQuarry(['ingest', folder], { variables: client(server) });
  server.requests.length = 0;
  writeFileSync(join(folder, 'same.txt'), 'same');
  writeFileSync(join(folder, 'changed.txt'), 'two');
  const ended = await runQuarry(['ingest', folder, '--json'], { variables: client(server) });
  t.same(
    server.uploads().map((request) => request.url),
    ['/v1/documents/default/changed.txt?overwrite=true'],
  );
  t.match(JSON.parse(ended.out), {
    added: 0,
    overwritten: 1,
    unchanged: 1,
    indexed: 2,
    refused: [],
    failed: [],
  });
});

t.test('existing metadata of a document survives an upload of new content', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.txt': 'old' });
  const metadata = { author: 'Ada', 'list:topics': ['é', 'x'] };
  await runQuarry(['ingest', folder, '--metadata', JSON.stringify(metadata)], { variables: client(server) });
  t.same(server.collections.get('default')?.get('a.txt')?.metadata, metadata);
  writeFileSync(join(folder, 'a.txt'), 'new');
  const ended = await runQuarry(['ingest', folder], { variables: client(server) });
  t.equal(ended.code, 0, ended.err);
  const document = server.collections.get('default')?.get('a.txt');
  t.equal(String(document?.bytes), 'new');
  t.same(document?.metadata, metadata);
});

t.test('hidden files are skipped by default, and a loop of links ends', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ '.secret': 's', '.git': { config: 'c' }, sub: { 'a.txt': 'a' } });
  symlinkSync('..', join(folder, 'sub', 'loop'));
  symlinkSync(join(folder, 'sub', 'a.txt'), join(folder, 'linked.txt'));
  await runQuarry(['ingest', folder], { variables: client(server) });
  t.same([...(server.collections.get('default')?.keys() ?? [])].sort(), ['linked.txt', 'sub/a.txt']);
  await runQuarry(['ingest', folder, '--hidden'], { variables: client(server) });
  t.same([...(server.collections.get('default')?.keys() ?? [])].sort(), [
    '.git/config',
    '.secret',
    'linked.txt',
    'sub/a.txt',
  ]);
});

t.test(
  'after 429 and 503 the client waits as long as the server specifies, and every file arrives once',
  async (t) => {
    const server = await open(t);
    const folder = t.testdir({ 'a.txt': 'a', 'b.txt': 'b', 'c.txt': 'c' });
    let rejections = 0;
    server.intercept = (request) => {
      if (request.method !== 'PUT' || rejections >= 4) return null;
      rejections += 1;
      return {
        status: rejections % 2 === 0 ? 429 : 503,
        headers: { 'retry-after-ms': '20' },
        body: { detail: 'full' },
      };
    };
    const ended = await runQuarry(['ingest', folder, '--json'], { variables: client(server) });
    t.equal(ended.code, 0, ended.err);
    t.match(JSON.parse(ended.out), { added: 3, overwritten: 0, refused: [] });
    t.equal(rejections, 4);
  },
);

t.test('a rejected file is named with its reason, the others arrive, and the exit code is 1', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'big.pdf': 'big', 'fine.txt': 'fine' });
  server.intercept = (request) =>
    request.url.includes('big.pdf')
      ? { status: 413, body: { detail: 'The file is larger than 200 MB.' } }
      : null;
  const ended = await runQuarry(['ingest', folder], { variables: client(server) });
  t.equal(ended.code, 1);
  t.match(ended.out, /Rejected: 1\n {2}big\.pdf: The file is larger than 200 MB\./);
  t.ok(server.collections.get('default')?.has('fine.txt'));
  t.equal(server.uploads().length, 2, 'a permanent error is not retried');
});

t.test('a 429 with x-should-retry: false is not retried', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.txt': 'a' });
  server.intercept = (request) =>
    request.method === 'PUT'
      ? { status: 429, headers: { 'x-should-retry': 'false' }, body: { detail: 'never' } }
      : null;
  const ended = await runQuarry(['ingest', folder], { variables: client(server) });
  t.equal(ended.code, 1);
  t.equal(server.uploads().length, 1);
});

t.test('failed documents are summarized by reason; only with --strict is the exit code 1', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.bin': '1', 'b.bin': '2', 'c.txt': 'c' });
  const ended = await runQuarry(['ingest', folder], { variables: client(server) });
  t.equal(ended.code, 0);
  t.match(ended.out, /Failed: 2\n {2}a\.bin and 1 more: unsupported: this file type is unknown/);
  t.equal((await runQuarry(['ingest', folder, '--strict'], { variables: client(server) })).code, 1);
  t.equal(server.uploads().length, 3, 'an unchanged file that failed is not sent again');
});

t.test('ingest waits until documents are indexed, unless --no-wait is set', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.txt': 'a' });
  let polls = 0;
  server.intercept = (request) => {
    const document = server.collections.get('default')?.get('a.txt');
    if (document === undefined) return null;
    if (request.url.endsWith('get-status')) polls += 1;
    document.status = polls < 3 ? 'indexing' : 'indexed';
    return null;
  };
  const quick = await runQuarry(['ingest', folder, '--no-wait', '--json'], { variables: client(server) });
  t.match(JSON.parse(quick.out), { added: 1, indexed: null, failed: null });
  t.equal(polls, 0);
  const waiting = await runQuarry(['ingest', folder, '--json'], { variables: client(server) });
  t.match(JSON.parse(waiting.out), { unchanged: 1, indexed: 1 });
  t.ok(polls >= 3);
});

t.test('an invalid key ends the run at once with the error message of the server', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ 'a.txt': 'a' });
  server.intercept = () => ({
    status: 401,
    body: { detail: 'The API key is not known. Send the header "Authorization: Bearer <API key>".' },
  });
  const ended = await runQuarry(['ingest', folder], { variables: client(server) });
  t.equal(ended.code, 1);
  t.match(ended.err, /The API key is not known\. Check QUARRY_API_KEY or --api-key\./);
});

t.test('without a server the exit code is 3, and the error names the address and the remedy', async (t) => {
  const server = await FakeServer.listen();
  const url = server.url;
  await server.close();
  const folder = t.testdir({ 'a.txt': 'a' });
  const ended = await runQuarry(['ingest', folder, '--url', url]);
  t.equal(ended.code, 3);
  t.ok(ended.err.includes(`Cannot connect to a Quarry server at ${url} (ECONNREFUSED).`), ended.err);
});

t.test('invalid usage has exit code 2 and sends nothing', async (t) => {
  const server = await open(t);
  const folder = t.testdir({ one: { 'a.txt': '1' }, two: { 'a.txt': '2' }, empty: {} });
  const cases: [string[], RegExp][] = [
    [[join(folder, 'missing')], /cannot be read/],
    [[join(folder, 'one'), join(folder, 'two')], /have the same document path a\.txt/],
    [[join(folder, 'empty')], /No files to ingest/],
    [[folder, '--parallel', '0'], /--parallel is "0"; expected a whole number from 1 to 64/],
    [[folder, '--metadata', '[1]'], /--metadata must be a JSON object/],
    [[folder, '--metadata', '{'], /--metadata is not JSON/],
    [[], /missing required argument 'paths'/],
    [[folder, '--colection', 'x'], /unknown option '--colection'/],
  ];
  for (const [words, sentence] of cases) {
    const ended = await runQuarry(['ingest', ...words], { variables: client(server) });
    t.equal(ended.code, 2, ended.err);
    t.match(ended.err, sentence);
  }
  t.equal(server.requests.length, 0);
});

t.test('Ctrl-C stops cleanly with exit code 130 and explains how to continue', async (t) => {
  const server = await open(t);
  const files: Record<string, string> = {};
  for (let index = 0; index < 50; index++) files[`${index}.txt`] = String(index);
  const folder = t.testdir(files);
  let kill: (signal: NodeJS.Signals) => void = () => undefined;
  server.intercept = (request) => {
    if (request.url.includes('/49.txt')) return null;
    if (server.uploads().length === 5) kill('SIGINT');
    return request.method === 'PUT' && server.uploads().length > 5
      ? { status: 429, headers: { 'retry-after-ms': '5000' }, body: { detail: 'full' } }
      : null;
  };
  const ended = await runQuarry(['ingest', folder], {
    variables: client(server),
    onStarted: (send) => {
      kill = send;
    },
  });
  t.equal(ended.code, 130);
  t.match(ended.err, /interrupted; uploaded files are kept/);
});

t.test('documents beyond the first page of the list are recognized', async (t) => {
  const server = await open(t);
  const folder = t.testdir({});
  mkdirSync(join(folder, 'many'));
  const documents = new Map();
  for (let index = 0; index < 1500; index++) {
    const path = `${String(index).padStart(5, '0')}.txt`;
    documents.set(path, { bytes: Buffer.from(path), metadata: {}, status: 'indexed', error: null });
    writeFileSync(join(folder, 'many', path), path);
  }
  server.collections.set('default', documents);
  const ended = await runQuarry(['ingest', join(folder, 'many'), '--json'], { variables: client(server) });
  t.match(JSON.parse(ended.out), { added: 0, overwritten: 0, unchanged: 1500, indexed: 1500 });
  t.same(
    server.bodies('documents/get-document-info-list').map((body) => (body as { path_gt?: string }).path_gt),
    [undefined, '01023.txt'],
  );
  rmSync(folder, { recursive: true });
});
