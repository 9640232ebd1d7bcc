import { buildDocx } from '../parsing/office-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import { sliceCodePoints } from './checked-api-client.ts';
import { base64, createCollection } from './documents-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createClient } from './tenant.ts';

/** Exact paths, texts, pages and offsets of documents; changes by filter, and of metadata by a merge patch. */

t.setTimeout(testFileMsMax);
const { server, api, organization_id } = await joinSharedServer();

await t.test('paths sort by their UTF-8 bytes; prefix and cursor are exact', async (t) => {
  const collection_name = await createCollection(api, 'order');
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
  const collection_name = await createCollection(api, 'texts');
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
  const collection_name = await createCollection(api, 'parts');
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
  const collection_name = await createCollection(api, 'slices', 8);
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

/** A collection with `count` documents `a/0`, `b/1`, `a/2` and so on; those of `a` are by Ada. */
async function fill(name: string, count: number): Promise<string> {
  const collection_name = await createCollection(api, name);
  const documents = Array.from({ length: count }, (_, i) => ({
    path: `${i % 2 === 0 ? 'a' : 'b'}/${i}`,
    content: { type: 'text', text: `Granite number ${i}.` } as const,
    metadata: { author: i % 2 === 0 ? 'Ada' : 'Grace', draft: 'yes', 'list:topics': ['stone', `n${i}`] },
  }));
  await api.addAll(collection_name, documents);
  return collection_name;
}

async function metadataOf(collection: string, path: string): Promise<unknown> {
  return (await api.info(collection, path)).metadata;
}

/** Paths that a query with a filter finds. */
async function found(collection_name: string, filter: object): Promise<string[]> {
  const { results } = await api.call('queries/top-documents', {
    collection_name,
    query: 'granite',
    k: 100,
    filter,
  });
  return results.map(({ path }) => path).sort();
}

await t.test('documents that match a filter are deleted, and no others', async (t) => {
  const collection_name = await fill('deletions', 8);
  const filter = { $and: [{ author: 'Ada' }, { 'list:topics': { $nin: ['n4'] } }] };
  const preview = await api.call('documents/delete-documents', { collection_name, filter, dry_run: true });
  t.match(preview, { deleted_paths: ['a/0', 'a/2', 'a/6'], has_more: false, num_matching: 3 });
  t.equal((await api.paths(collection_name)).length, 8, 'a dry run deletes nothing');
  const first = await api.call('documents/delete-documents', { collection_name, filter, limit: 2 });
  t.match(first, { deleted_paths: ['a/0', 'a/2'], has_more: true });
  t.equal(first.num_matching, undefined);
  const second = await api.call('documents/delete-documents', { collection_name, filter, limit: 2 });
  t.match(second, { deleted_paths: ['a/6'], has_more: false });
  t.match(await api.call('documents/delete-documents', { collection_name, filter }), {
    deleted_paths: [],
    has_more: false,
  });
  const prefix = { collection_name, path_prefix: 'b/', filter: { 'list:topics': { $in: ['n1', 'n4'] } } };
  t.match(await api.call('documents/delete-documents', prefix), { deleted_paths: ['b/1'] });
  const rest = ['a/4', 'b/3', 'b/5', 'b/7'];
  t.same(await api.paths(collection_name), rest);
  t.same(await found(collection_name, {}), rest);
  await server.restart();
  t.same(await api.paths(collection_name), rest, 'after a restart');
});

await t.test(
  'a call that would select all documents, or has an invalid filter, changes nothing',
  async (t) => {
    const collection_name = await fill('rejections', 2);
    for (const [body, status, detail] of [
      [{}, 400, /filter or a path_prefix/],
      [{ filter: {} }, 400, /filter or a path_prefix/],
      [{ filter: null, path_prefix: '' }, 400, /filter or a path_prefix/],
      [{ filter: { author: { $near: 'x' } } }, 400, /\$near/],
      [{ filter: { author: 'Ada' }, limit: 0 }, 400, /limit/],
      [{ filter: { author: 'Ada' }, limit: 1_025 }, 400, /limit/],
      [{ filter: { author: 'Ada' }, dry_run: 'yes' }, 422, /dry_run/],
    ] as const) {
      for (const operation of ['documents/delete-documents', 'documents/update-documents'] as const) {
        const request = { collection_name, metadata_patch: { a: 'b' }, ...body };
        const reply = await api.request(operation, request);
        t.equal(reply.status, status, `${operation} ${JSON.stringify(body)}`);
        t.match(JSON.stringify(reply.body), detail);
      }
    }
    for (const [metadata_patch, status] of [
      [{ a: [5] }, 422],
      [{ a: ['x'] }, 400],
      [{ 'list:a': 'x' }, 400],
      [{ 'not a name': 'x' }, 400],
      [{ a: 'x'.repeat(70_000) }, 400],
    ] as const) {
      const request = { collection_name, filter: { author: 'Ada' }, metadata_patch };
      t.equal(await api.status('documents/update-documents', request), status);
      const single = { collection_name, path: 'a/0', metadata_patch };
      t.equal(await api.status('documents/update-document', single), status);
    }
    t.equal(
      await api.status('documents/delete-documents', { collection_name: 'none', path_prefix: 'a' }),
      404,
    );
    t.same(await api.paths(collection_name), ['a/0', 'b/1']);
    t.match(await metadataOf(collection_name, 'a/0'), { author: 'Ada', draft: 'yes' });
  },
);

await t.test('a patch changes the metadata of the documents that match', async (t) => {
  const collection_name = await fill('patches', 6);
  const request = {
    collection_name,
    filter: { author: 'Ada' },
    metadata_patch: { draft: null, reviewed: '2026', 'list:topics': ['rock'] },
  };
  t.match(await api.call('documents/update-documents', { ...request, dry_run: true, limit: 1 }), {
    updated_paths: ['a/0'],
    skipped_paths: [],
    has_more: true,
    num_matching: 3,
  });
  t.match(await metadataOf(collection_name, 'a/0'), { draft: 'yes' }, 'a dry run changes nothing');
  t.match(await api.call('documents/update-documents', { ...request, limit: 2 }), {
    updated_paths: ['a/0', 'a/2'],
    has_more: true,
  });
  t.match(await api.call('documents/update-documents', request), { updated_paths: ['a/4'], has_more: false });
  t.match(
    await api.call('documents/update-documents', request),
    { updated_paths: [], skipped_paths: [], has_more: false },
    'the same call changes nothing again',
  );
  t.strictSame(await metadataOf(collection_name, 'a/2'), {
    author: 'Ada',
    'list:topics': ['rock'],
    reviewed: '2026',
  });
  t.match(await metadataOf(collection_name, 'b/1'), { draft: 'yes' });
  await waitUntil('the new metadata are indexed', async () => {
    return (await found(collection_name, { reviewed: '2026' })).length === 3;
  });
  t.same(await found(collection_name, { draft: 'yes' }), ['b/1', 'b/3', 'b/5']);
});

await t.test('update-document patches one document', async (t) => {
  const collection_name = await fill('one', 1);
  const patch = (fields: object) =>
    api.request('documents/update-document', { collection_name, path: 'a/0', ...fields });
  t.equal((await patch({ metadata_patch: { draft: null, year: '2026' } })).status, 200);
  const expected = { author: 'Ada', 'list:topics': ['stone', 'n0'], year: '2026' };
  t.strictSame(await metadataOf(collection_name, 'a/0'), expected);
  const both = await patch({ metadata_patch: { a: 'b' }, metadata: {} });
  t.equal(both.status, 400);
  t.match(JSON.stringify(both.body), /cannot be combined/);
  t.equal((await patch({ metadata_patch: { a: 'b' }, index_status: 'not_parsed' })).status, 400);
  t.strictSame(await metadataOf(collection_name, 'a/0'), expected);
});

await t.test('a restricted key changes only the documents that it can read', async (t) => {
  const collection_name = await fill('restricted', 4);
  const restriction = { collection_names: null, filter: { author: 'Ada' } };
  const ada = await createClient(server, organization_id, { restriction });
  const everything = { collection_name, filter: { draft: 'yes' } };
  t.match(await ada.call('documents/delete-documents', { ...everything, dry_run: true }), {
    deleted_paths: ['a/0', 'a/2'],
    num_matching: 2,
  });
  const away = { ...everything, metadata_patch: { author: 'Grace' } };
  t.equal(await ada.status('documents/update-documents', away), 403, 'they would disappear for the key');
  const allowed = { ...everything, metadata_patch: { draft: 'no' } };
  t.match(await ada.call('documents/update-documents', allowed), { updated_paths: ['a/0', 'a/2'] });
  const own = { collection_name, filter: { author: { $in: ['Ada', 'Grace'] } } };
  t.match(await ada.call('documents/delete-documents', own), { deleted_paths: ['a/0', 'a/2'] });
  t.same(await api.paths(collection_name), ['b/1', 'b/3']);
});

await t.test('more documents than one group are changed, each once', async (t) => {
  const collection_name = await fill('many', 200);
  const patch = { collection_name, path_prefix: 'b/', metadata_patch: { wave: '1' } };
  const { updated_paths, has_more } = await api.call('documents/update-documents', patch);
  t.equal(new Set(updated_paths).size, 100);
  t.equal(has_more, false);
  t.match(await metadataOf(collection_name, 'b/199'), { wave: '1' });
  const { deleted_paths } = await api.call('documents/delete-documents', {
    collection_name,
    path_prefix: 'b/',
  });
  t.equal(new Set(deleted_paths).size, 100);
  t.equal((await api.paths(collection_name)).length, 100);
});
