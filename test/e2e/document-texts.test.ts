import { buildDocx } from '../parsing/office-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient, sliceCodePoints } from './checked-api-client.ts';
import { base64, createCollection } from './documents-fixture.ts';
import { TestServer } from './server.ts';

/** Exact paths, texts, pages and offsets of documents. */

t.setTimeout(testFileMsMax);
const api = new CheckedApiClient(await TestServer.start(t));
const newCollection = (name: string, shards?: number) => createCollection(api, name, shards);

await t.test('paths sort by their UTF-8 bytes; prefix and cursor are exact', async (t) => {
  const collection_name = await newCollection('order');
  const names = [
    'a',
    'a/b',
    'a!',
    'a0',
    'B',
    'z',
    'é',
    '~',
    'ﬀ',
    '\u{1F600}',
    'a/b/c',
    '../a',
    'a//',
    ' ',
    '%2F',
    'a%',
  ];
  const sorted = [...names].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  await api.addAll(
    collection_name,
    names.map((path) => ({ path, content: { type: 'text', text: `document ${path}` } })),
  );
  t.same(await api.paths(collection_name), sorted);
  t.same(
    sorted.slice(-2),
    ['ﬀ', '\u{1F600}'],
    'a character beyond the BMP comes after U+FB00, unlike in UTF-16',
  );
  for (const path_prefix of ['a', 'a/', 'é', '\u{1F600}', '', 'none', '../']) {
    const expected = sorted.filter((path) => path.startsWith(path_prefix));
    t.same(await api.paths(collection_name, { path_prefix }), expected, `prefix ${path_prefix}`);
  }
  for (const path_gt of ['', 'a', 'a/', 'a/b', 'zz', '\u{1F600}', '\u{10FFFF}']) {
    const expected = sorted.filter((path) => Buffer.compare(Buffer.from(path), Buffer.from(path_gt)) > 0);
    t.same(await api.paths(collection_name, { path_gt }), expected, `after ${path_gt}`);
    t.same(await api.paths(collection_name, { path_gt, limit: 2 }), expected.slice(0, 2));
    const inside = expected.filter((path) => path.startsWith('a'));
    t.same(await api.paths(collection_name, { path_gt, path_prefix: 'a' }), inside);
  }
  t.same(await api.paths(collection_name, { path_gt: null, path_prefix: null }), sorted);
  const reply = await api.request(
    'documents/get-document-info-list?path_gt=z',
    { collection_name, path_gt: 'a' },
    { as: 'documents/get-document-info-list' },
  );
  const { documents } = reply.body as { documents: { path: string }[] };
  t.same(
    documents.map(({ path }) => path),
    sorted.filter((path) => Buffer.compare(Buffer.from(path), Buffer.from('z')) > 0),
    'the query string overrides the body',
  );
});

await t.test('text is returned unchanged, and offsets count code points', async (t) => {
  const collection_name = await newCollection('texts');
  const pages = [
    '\u{1F30D} first page',
    '',
    'third\r\npage \u0000 with odd \u200b signs ',
    '日本語 \u{20BB7}',
  ];
  await api.add(collection_name, 'pages', { type: 'text-pages', pages });
  const info = await api.info(collection_name, 'pages', true);
  t.equal(info.content, pages.join('\n\n'));
  t.equal(info.num_pages, 4);
  t.equal(info.size, Buffer.byteLength(pages.join('\n\n')));
  const ids = new Set<string>();
  let start = 0;
  for (const [page_index, text] of pages.entries()) {
    const body = { collection_name, path: 'pages', page_index, include_content: true };
    const { page } = await api.call('documents/get-page-info', body);
    t.equal(page.content, text);
    t.equal(page.page_index, page_index);
    t.equal(page.start_index, start, 'pages are separated by two characters that belong to none');
    start += [...text].length + 2;
    ids.add(page.id);
    t.equal((await api.call('documents/get-page-info', body)).page.id, page.id, 'the id of a page is stable');
  }
  t.equal(ids.size, 4);
  for (const page_index of [4, -1, 4_000_000]) {
    const body = { collection_name, path: 'pages', page_index };
    t.equal(await api.status('documents/get-page-info', body), 404);
  }
  await api.add(collection_name, 'broken', 'half a pair: \ud83d!');
  t.equal((await api.info(collection_name, 'broken', true)).content, 'half a pair: \ufffd!');
  for (const [path, content] of [
    ['no pages', { type: 'text-pages', pages: [] }],
    ['empty', { type: 'text', text: '' }],
    ['blank', { type: 'text', text: ' \n\t ' }],
  ] as const) {
    const { index_status } = await api.add(collection_name, path, content);
    t.equal(index_status, 'indexed', path);
    const empty = await api.info(collection_name, path, true);
    t.equal(empty.num_pages, path === 'no pages' ? 0 : 1);
    t.equal(empty.content, path === 'blank' ? ' \n\t ' : '');
    t.ok((await api.find(collection_name, null)).includes(path), `${path} is listed`);
  }
});

await t.test('a text is read in parts, by page or by position', async (t) => {
  const collection_name = await newCollection('parts');
  const pages = ['\u{1F30D} first', '', `second ${'\u{1F30B} lava '.repeat(900)}`, 'last'];
  await api.add(collection_name, 'pages', { type: 'text-pages', pages });
  const whole = [...pages.join('\n\n')];
  const read = async (more: object) => {
    const body = { collection_name, path: 'pages', ...more };
    return (await api.call('documents/get-document-text', body)).text;
  };
  let joined = '';
  for (let next: number | null = 0; next !== null; ) {
    const part = await read({ start_index: next, max_characters: 1_777 });
    t.equal(part.start_index, next);
    t.equal(part.end_index, next + [...part.content].length);
    joined += part.content;
    next = part.next_index;
  }
  t.equal(joined, whole.join(''));
  t.match(await read({}), { num_pages: 4, length: whole.length, page_span: [0, 4], next_index: null });
  let start = 0;
  for (const [page_index, content] of pages.entries()) {
    const part = await read({ page_index });
    t.match(part, { content, start_index: start, next_index: null });
    t.same(part.page_span, [page_index, content === '' ? page_index : page_index + 1]);
    start += [...content].length + 2;
  }
  t.match(await read({ page_index: 2, max_characters: 6 }), { content: 'second', next_index: 17 });
  const outside = { collection_name, path: 'pages', page_index: 2, start_index: 0 };
  t.equal(await api.status('documents/get-document-text', outside), 400);
});

await t.test('a snippet is exactly the slice of the text between its offsets', async (t) => {
  const collection_name = await newCollection('slices', 8);
  const astral = '\u{1F30B}\u{1D49C}';
  const page = (i: number) =>
    Array.from(
      { length: 9 },
      (_, j) => `Page ${i}, line ${j}: ${astral} lava flows downhill. ${'é'.repeat(j)}`,
    ).join('\n');
  const pages = Array.from({ length: 12 }, (_, i) => (i === 5 ? '' : page(i)));
  await api.add(collection_name, 'ordered', { type: 'text-pages', pages });
  await api.add(collection_name, 'unordered', { type: 'text-pages-unordered', pages });
  await api.add(collection_name, 'plain', pages.join('\n\n'));
  const word = buildDocx(
    Array.from({ length: 60 }, (_, i) => `Paragraph ${i} about lava ${astral} and ash.`),
  );
  await api.add(collection_name, 'word.docx', { type: 'auto', base64_data: base64(word) });
  const texts = new Map<string, string>();
  for (const path of await api.paths(collection_name)) {
    texts.set(path, (await api.info(collection_name, path, true)).content ?? '');
  }
  const starts = pages.map((_, i) => [...pages.slice(0, i).join('\n\n')].length + (i === 0 ? 0 : 2));
  for (const precise_responses of [false, true]) {
    const { results } = await api.call('queries/top-snippets', {
      collection_name,
      query: 'where does lava flow',
      k: 128,
      precise_responses,
    });
    t.same(new Set(results.map(({ path }) => path)), new Set(texts.keys()));
    for (const { path, start_index, end_index, content, page_span } of results) {
      if (sliceCodePoints(texts.get(path) ?? '', start_index, end_index) !== content)
        t.fail(`${path} ${start_index}..${end_index} is not the slice`);
      if (path !== 'ordered' && path !== 'unordered') continue;
      const first = starts.findLastIndex((start) => start <= start_index);
      const last = starts.findLastIndex((start) => start < end_index);
      t.same(page_span, [first, last + 1], `${path} ${start_index}..${end_index}`);
      if (path === 'unordered') t.equal(last, first, 'unordered pages are never joined');
    }
    const lengths = results.map(({ content }) => content.length);
    t.ok(Math.max(...lengths) < (precise_responses ? 500 : 4_000), `lengths up to ${Math.max(...lengths)}`);
  }
});
