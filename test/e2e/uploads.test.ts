import { request } from 'node:http';
import { buildDocx, buildPptx, buildXlsx } from '../parsing/office-fixtures.ts';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { joinSharedServer } from './shared-server.ts';

/** Uploads and downloads: wait, batches, raw and multipart uploads, parsing only, token URLs, images. */

t.setTimeout(testFileMsMax);
const { server, api, key } = await joinSharedServer();
const collection_name = 'files';
await api.call('collections/add-collection', { collection_name });
const pdf = buildPdf(['The first page is about granite.', 'The second page is about marble.'], {
  title: 'Stones',
});
const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64');
const metadataHeader = (metadata: object) => ({
  'x-quarry-metadata': Buffer.from(JSON.stringify(metadata)).toString('base64url'),
});

async function bytesOf(response: Response): Promise<Buffer> {
  return Buffer.from(await response.arrayBuffer());
}

async function putFile(path: string, body: string | Uint8Array, headers: Record<string, string> = {}) {
  const reply = await api.request(`documents/${path}`, undefined, {
    method: 'PUT',
    body,
    headers,
    as: 'documents/add-document',
  });
  return { status: reply.status, body: reply.body as { index_status?: string; error?: string | null } };
}

await t.test('with wait, add-document returns the final status', async (t) => {
  const added = await api.request('documents/add-document', {
    collection_name,
    path: 'waited.pdf',
    content: { type: 'auto', base64_data: base64(pdf) },
    wait: true,
  });
  t.equal(added.status, 201);
  t.match(added.body, { message: 'Success!', index_status: 'indexed' });
  t.match((await api.find(collection_name, 'marble'))[0], 'waited.pdf');
  const failed = await api.request('documents/add-document', {
    collection_name,
    path: 'waited.bin',
    content: { type: 'auto', base64_data: base64(Buffer.from([0, 1, 2, 3])) },
    wait: true,
  });
  t.equal(failed.status, 201, 'the file is stored although it cannot be parsed');
  t.match(failed.body, { index_status: 'parsing_failed' });
  const plain = await api.call('documents/add-document', {
    collection_name,
    path: 'queued',
    content: { type: 'text', text: 'x' },
  });
  t.same(plain, { message: 'Success!' });
});

await t.test('a batch returns one result per document, in order', async (t) => {
  const content = { type: 'text', text: 'a batch of slate' };
  await api.add(collection_name, 'batch/old', 'old');
  const { results } = await api.call('documents/add-documents', {
    collection_name,
    wait: true,
    documents: [
      { path: 'batch/1', content },
      { path: 'batch/old', content },
      { path: 'batch/old', content, overwrite: true },
      { path: '', content },
      { path: 'batch/2', content: { type: 'video' } },
      { path: 'batch/3', content, metadata: { tags: ['a'] } },
      { path: 'batch/4', content: { type: 'auto', base64_data: '###' } },
      'not a document',
      {
        path: 'batch/5',
        content: { type: 'auto', base64_data: base64(pdf) },
        metadata: { 'list:tags': ['a'] },
      },
      { path: 'batch/6', content: { type: 'text-pages', pages: ['one', 'two'] } },
      { content },
    ],
  });
  t.same(
    results.map(({ status }) => status),
    [201, 409, 200, 400, 422, 400, 400, 422, 201, 201, 422],
  );
  t.same(
    results.map(({ path }) => path),
    [
      'batch/1',
      'batch/old',
      'batch/old',
      '',
      'batch/2',
      'batch/3',
      'batch/4',
      null,
      'batch/5',
      'batch/6',
      null,
    ],
  );
  for (const { status, detail, index_status } of results) {
    t.equal(typeof detail, status < 300 ? 'undefined' : 'string');
    t.equal(index_status, status < 300 ? 'indexed' : undefined);
  }
  t.same(await api.paths(collection_name, { path_prefix: 'batch/' }), [
    'batch/1',
    'batch/5',
    'batch/6',
    'batch/old',
  ]);
  const twice = await api.call('documents/add-documents', {
    collection_name,
    documents: Array.from({ length: 6 }, () => ({ path: 'batch/twice', content })),
  });
  const statuses = twice.results.map(({ status }) => status).sort();
  t.same(statuses, [201, 409, 409, 409, 409, 409], 'the same path in one batch is created once');
  const unknown = { collection_name: 'nowhere', documents: [{ path: 'x', content }] };
  t.equal(await api.status('documents/add-documents', unknown), 404);
});

await t.test('raw uploads keep every byte, path and metadata', async (t) => {
  const metadata = { author: 'Zoë', 'list:tags': ['a', 'b'] };
  const path = 'reports/2026/résumé #1 ?.pdf';
  const encoded = `files/${encodeURIComponent(path)}`;
  t.match(encoded, /%2F/);
  const created = await putFile(`${encoded}?wait=true`, pdf, metadataHeader(metadata));
  t.equal(created.status, 201);
  t.equal(created.body.index_status, 'indexed');
  const info = await api.info(collection_name, path, true);
  t.match(info, { size: pdf.length, num_pages: 2, metadata });
  t.match(info.content, /granite[\s\S]*marble/);
  t.same(await bytesOf(await fetch(info.file_url)), Buffer.from(pdf));
  t.equal((await putFile(encoded, 'x')).status, 409);
  t.equal((await putFile(`${encoded}?overwrite=true&wait=true`, 'plain words now')).status, 200);
  const after = await api.info(collection_name, path, true);
  t.match(after, { content: 'plain words now', metadata: {}, num_pages: 1 });
  t.equal((await putFile('files/a/b/c?wait=true', 'slashes as they are')).status, 201);
  t.equal((await api.info(collection_name, 'a/b/c')).index_status, 'indexed');
  t.equal((await putFile(`files/${encodeURIComponent('a%2Fb')}?wait=true`, 'percent')).status, 201);
  t.ok((await api.paths(collection_name)).includes('a%2Fb'), 'an encoded percent sign is decoded once');
  const name = 'a collection/with 100 %';
  await api.call('collections/add-collection', { collection_name: name });
  t.equal((await putFile(`${encodeURIComponent(name)}/x?wait=true`, 'hello')).status, 201);
  t.same(await api.paths(name), ['x']);
});

await t.test('an upload without a length is streamed; an interrupted one leaves no data', async (t) => {
  const send = (path: string, chunks: readonly Buffer[], finish: boolean) =>
    new Promise<number>((resolve) => {
      const { hostname, port } = new URL(server.url);
      const outgoing = request({
        hostname,
        port,
        method: 'PUT',
        path: `/v1/documents/files/${path}?wait=true`,
        headers: {
          authorization: `Bearer ${key}`,
          'transfer-encoding': 'chunked',
        },
      });
      outgoing.on('response', (reply) => {
        reply.resume();
        resolve(reply.statusCode ?? 0);
      });
      outgoing.on('error', () => resolve(-1));
      for (const chunk of chunks) outgoing.write(chunk);
      if (finish) outgoing.end();
      else setTimeout(() => outgoing.destroy(), 100);
    });
  const line = Buffer.from('A line of basalt in a long file.\n'.repeat(2_000));
  t.equal(await send('streamed.txt', [line, line, line], true), 201);
  t.equal((await api.info(collection_name, 'streamed.txt')).size, 3 * line.length);
  t.equal(await send('broken.txt', [line, line], false), -1);
  const path = 'broken.txt';
  t.equal(await api.status('documents/get-document-info', { collection_name, path }), 404);
});

await t.test('a form uploads a file with its fields', async (t) => {
  const form = (path: string, overwrite: string) => {
    const data = new FormData();
    data.append('collection_name', collection_name);
    data.append('path', path);
    data.append('metadata', JSON.stringify({ author: 'Ada' }));
    data.append('overwrite', overwrite);
    data.append('wait', 'true');
    data.append('file', new Blob([pdf]), 'ignored.pdf');
    return data;
  };
  const upload = (path: string, overwrite = 'false') =>
    api.request('documents/upload', undefined, { body: form(path, overwrite), as: 'documents/add-document' });
  const reply = await upload('form/ä.pdf');
  t.equal(reply.status, 201);
  t.match(reply.body, { index_status: 'indexed' });
  const info = await api.info(collection_name, 'form/ä.pdf');
  t.match(info, { metadata: { author: 'Ada' }, num_pages: 2, size: pdf.length });
  t.equal((await upload('form/ä.pdf')).status, 409);
  t.equal((await upload('form/ä.pdf', 'true')).status, 200);
});

await t.test('parse-document returns the pages of any supported file and stores nothing', async (t) => {
  const before = await api.call('status/get-status');
  const files: readonly (readonly [string, Uint8Array, readonly RegExp[]])[] = [
    ['a PDF', pdf, [/granite/, /marble/]],
    [
      'Word',
      buildDocx(['About granite.', { table: [['weight', '9 t']] }]),
      [/About granite[\s\S]*weight[\s\S]*9 t/],
    ],
    ['PowerPoint', buildPptx([{ title: 'One' }, { title: 'Two' }]), [/One/, /Two/]],
    [
      'Excel',
      buildXlsx([
        {
          name: 'Prices',
          rows: [
            ['stone', 'price'],
            ['granite', 12],
          ],
        },
      ]),
      [/granite/],
    ],
    ['text', Buffer.from('granite, plainly'), [/^granite, plainly$/]],
    [
      'HTML',
      Buffer.from('<html><title>x</title><body><p>granite &amp; marble</p><script>no()</script>'),
      [/granite & marble/],
    ],
  ];
  for (const [name, bytes, expected] of files) {
    const { pages } = await api.call('parsers/parse-document', { base64_data: base64(bytes) });
    t.ok(pages.length >= expected.length, `${name} has pages`);
    for (const [i, words] of expected.entries()) t.match(pages[i], words, name);
    t.notMatch(pages.join(), /no\(\)/);
  }
  t.same(await api.call('status/get-status'), before);
});

await t.test('files of parse-document are counted in the usage of the organization', async (t) => {
  const span = { start_time: 0, end_time: 4_000_000_000, aggregation_window: 'daily' };
  const used = async () => {
    const rows = await api.call('usage/documents', span);
    const sums = { files: 0, bytes: 0, pages: 0 };
    for (const row of rows) {
      if (!/^[0-]+$/.test(row.collection_id)) continue;
      t.equal(row.event_type, 'parsed');
      sums.files += row.event_count;
      sums.bytes += row.total_file_size_bytes;
      sums.pages += row.total_pages;
    }
    return { ...sums, shown: (await api.call('usage/counters')).all_time.ocr };
  };
  const before = await used();
  const unreadable = Buffer.from('%PDF-1.7 and nothing else');
  await api.call('parsers/parse-document', { base64_data: base64(pdf) });
  t.equal(await api.status('parsers/parse-document', { base64_data: base64(unreadable) }), 400);
  const after = await used();
  const bytes = pdf.length + unreadable.length;
  t.match(after, { files: before.files + 2, bytes: before.bytes + bytes, pages: before.pages + 2 });
  t.same(after.shown, {
    count: before.shown.count + 2,
    bytes: before.shown.bytes + bytes,
    billable_units: before.shown.billable_units + 2,
  });
});

async function checkSafeHeaders(
  t: Test,
  response: Response,
  contentType: RegExp,
  name: string,
): Promise<void> {
  t.equal(response.status, 200, name);
  t.match(response.headers.get('content-type'), contentType, name);
  t.equal(response.headers.get('x-content-type-options'), 'nosniff', name);
  t.equal(response.headers.get('cache-control'), 'private, max-age=31536000, immutable', name);
  t.match(response.headers.get('x-request-id'), /./, name);
}

await t.test('a file URL returns the raw bytes, without a key and without active content', async (t) => {
  const files: Record<string, readonly [Uint8Array, RegExp]> = {
    'page.html': [
      Buffer.from('<html><script>alert(document.domain)</script><p>hi</p></html>'),
      /^text\/html/,
    ],
    'image.svg': [
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
      /./,
    ],
    'notes.txt': [Buffer.from('plain text with an é'), /^text\/plain/],
    'a "quoted"\r\nname.pdf': [pdf, /^application\/pdf/],
    'random.bin': [Buffer.from([0, 1, 2, 255]), /^application\/octet-stream/],
  };
  for (const [path, [bytes, contentType]] of Object.entries(files)) {
    await api.add(collection_name, path, { type: 'auto', base64_data: base64(bytes) });
    const { file_url } = await api.info(collection_name, path);
    t.match(file_url, `${server.url}/v1/documents/get-document?token=`);
    const response = await fetch(file_url);
    await checkSafeHeaders(t, response, contentType, path);
    t.same(await bytesOf(response), Buffer.from(bytes), path);
    const policy = response.headers.get('content-security-policy') ?? '';
    t.match(policy, path.endsWith('.pdf') ? /script-src 'none'/ : /default-src 'none'; sandbox/, path);
    const disposition = response.headers.get('content-disposition') ?? '';
    t.match(disposition, /^(inline|attachment); filename=/, path);
    const isPlain = /^(text\/plain|application\/pdf)/.test(response.headers.get('content-type') ?? '');
    t.match(disposition, isPlain ? /^inline/ : /^attachment/, path);
    t.notMatch(disposition, /[\r\n]/);
  }
  const { file_url } = await api.info(collection_name, 'notes.txt');
  const root = await fetch(file_url.replace('/v1/', '/'));
  t.equal(await root.text(), 'plain text with an é');
  const head = await fetch(file_url, { method: 'HEAD' });
  t.equal(head.status, 200);
  t.equal(head.headers.get('content-length'), '21');
  t.equal(await head.text(), '');
  const part = await fetch(file_url, { headers: { range: 'bytes=6-9' } });
  t.equal(part.status, 206);
  t.equal(await part.text(), 'text');
});

await t.test('the raw bytes of text variants are the joined text', async (t) => {
  const pages = ['één', '', 'drie \u{1F30B}'];
  await api.add(collection_name, 'variants/pages', { type: 'text-pages', pages });
  await api.add(collection_name, 'variants/empty', { type: 'text-pages', pages: [] });
  for (const [path, text] of [
    ['variants/pages', pages.join('\n\n')],
    ['variants/empty', ''],
  ] as const) {
    const info = await api.info(collection_name, path);
    const response = await fetch(info.file_url);
    await checkSafeHeaders(t, response, /^text\/plain; charset=utf-8$/, path);
    t.equal(await response.text(), text);
    t.equal(info.size, Buffer.byteLength(text));
  }
});

await t.test('a token expires with its document: after replacement or deletion it returns 404', async (t) => {
  const path = 'mortal.pdf';
  const content = { type: 'auto', base64_data: base64(pdf) } as const;
  await api.add(collection_name, path, content);
  const page = async () => {
    const body = { collection_name, path, page_index: 1 };
    return (await api.call('documents/get-page-info', body)).page.image_url ?? '';
  };
  const first = await api.info(collection_name, path);
  const firstImage = await page();
  const { results } = await api.call('queries/top-documents', { collection_name, query: 'marble', k: 20 });
  const found = results.find((result) => result.path === path);
  t.equal(found?.file_url, first.file_url, 'search returns the same URL');
  for (const url of [first.file_url, firstImage]) t.equal((await fetch(url)).status, 200);
  await api.call('documents/update-document', { collection_name, path, metadata: { a: 'b' } });
  t.equal((await fetch(first.file_url)).status, 200, 'new metadata keeps the URL');
  await api.add(collection_name, path, content, { overwrite: true });
  for (const url of [first.file_url, firstImage]) t.equal((await fetch(url)).status, 404, 'replaced');
  const second = await api.info(collection_name, path);
  const secondImage = await page();
  for (const url of [second.file_url, secondImage]) t.equal((await fetch(url)).status, 200);
  await api.call('documents/delete-document', { collection_name, path });
  for (const url of [second.file_url, secondImage]) {
    const response = await fetch(url);
    t.equal(response.status, 404, 'deleted');
    t.match(await response.json(), { detail: /deleted or replaced/ });
  }
  await api.add(collection_name, path, content);
  t.equal((await fetch(second.file_url)).status, 404, 'the next version has its own URL');
});

await t.test(
  'the pages of a PDF have images, rendered on the first request and identical afterwards',
  async (t) => {
    const path = 'pictured.pdf';
    await api.add(collection_name, path, { type: 'auto', base64_data: base64(pdf) });
    for (const page_index of [0, 1]) {
      const body = { collection_name, path, page_index };
      const url = (await api.call('documents/get-page-info', body)).page.image_url ?? '';
      t.match(url, `${server.url}/v1/documents/get-page-image?token=`);
      const replies = await Promise.all([fetch(url), fetch(url), fetch(url)]);
      const images = await Promise.all(replies.map((reply) => bytesOf(reply)));
      for (const [i, reply] of replies.entries()) {
        await checkSafeHeaders(t, reply, /^image\/jpeg$/, `page ${page_index}`);
        t.same(images[i]?.subarray(0, 3), Buffer.from([0xff, 0xd8, 0xff]), 'the image is a JPEG');
        t.same(images[i], images[0]);
      }
      const head = await fetch(url, { method: 'HEAD' });
      t.equal(Number(head.headers.get('content-length')), images[0]?.length);
    }
    const { results } = await api.call('queries/top-pages', { collection_name, query: 'marble', k: 20 });
    const url = results.find((result) => result.path === path)?.image_url ?? '';
    t.equal((await fetch(url)).status, 200, 'search returns valid image URLs');
  },
);
