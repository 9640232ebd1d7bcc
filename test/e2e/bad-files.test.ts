import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { buildZip } from '../parsing/zip-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import {
  BadInputServer,
  type BadRequestCase,
  bodyBytesMax,
  brokenPdf,
  collection_name,
  errorTexts,
  uploadBytesMax,
} from './bad-input-fixture.ts';

/** Invalid files, uploads and file tokens are rejected with a reason and change nothing. */

t.setTimeout(testFileMsMax);
const server = await BadInputServer.start(t);
const { api } = server;

await t.test('content that is not base64, not a file, or too large', async (t) => {
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
  await server.checkRejected(t, [
    ...noBase64.map((text): BadRequestCase => ['documents/add-document', content(text), 400, /base64/]),
    ...noBase64.map(
      (base64_data): BadRequestCase => ['parsers/parse-document', { base64_data }, 400, /base64/],
    ),
    ['parsers/parse-document', { base64_data: binary }, 400, /\w+ \w+/],
    ['parsers/parse-document', { base64_data: brokenPdf }, 400, /\w+ \w+/],
    ['documents/add-document', { content: { type: 'text', text: large } }, 413, /150,?000/],
    ['queries/top-documents', { query: large }, 413, /150,?000/],
    ['documents/add-document', content(tooLargeFile), 413, /60,?000/],
    ['parsers/parse-document', { base64_data: tooLargeFile }, 413, /60,?000/],
  ]);
});

await t.test('invalid uploads', async (t) => {
  const before = await server.readState();
  const header = (text: string) => ({ 'x-quarry-metadata': Buffer.from(text).toString('base64url') });
  const cases: readonly (readonly [string, Record<string, string>, string | Uint8Array, number, RegExp])[] = [
    ['kept/doc', {}, 'again', 409, /doc.*overwrite/],
    ['nowhere/x', {}, 'x', 404, /nowhere/],
    ['kept/x?overwrite=maybe', {}, 'x', 422, /query\.overwrite/],
    ['kept/x?wait=1', {}, 'x', 422, /query\.wait/],
    ['kept/x', { 'x-quarry-metadata': '!!!' }, 'x', 400, /x-quarry-metadata.*base64url/],
    ['kept/x', header('{'), 'x', 400, /x-quarry-metadata.*JSON/],
    ['kept/x', header('{"a":null}'), 'x', 400, /x-quarry-metadata/],
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
    ['not a form', 422, /multipart/],
  ];
  for (const [body, status, detail] of forms) {
    const reply = await api.request('documents/upload', undefined, { body });
    const name = typeof body === 'string' ? body : JSON.stringify([...body.keys()]);
    t.equal(reply.status, status, `upload ${name}`);
    t.match(errorTexts(reply.body), detail);
  }
  t.same(await server.readState(), before, 'nothing has changed');
});

await t.test('invalid tokens are rejected', async (t) => {
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
  t.equal((await fetch(asImage)).status, 404, 'a file token is not an image token');
});

await t.test('files that cannot be parsed fail with a reason, and the queue continues', async (t) => {
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
    t.same(Buffer.from(await raw.arrayBuffer()), Buffer.from(bytes), 'the raw file can still be downloaded');
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
