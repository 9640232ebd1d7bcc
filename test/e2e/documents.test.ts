import { buildPdf, buildPdfWithPlacedText } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { waitFor } from './checked-api-client.ts';
import { base64, createCollection, sentence } from './documents-fixture.ts';
import { joinSharedServer } from './shared-server.ts';

/** Lifecycle of documents: add, overwrite, update, delete, and search results during each. */

t.setTimeout(testFileMsMax);
const { api } = await joinSharedServer();
const newCollection = (name: string, shards?: number) => createCollection(api, name, shards);

await t.test('a document added by eight callers at once is created exactly once', async (t) => {
  const collection_name = await newCollection('parallel');
  for (const path of ['a', 'b', 'c']) {
    const adds = Array.from({ length: 8 }, (_, i) =>
      api.status('documents/add-document', {
        collection_name,
        path,
        content: { type: 'text', text: `text of caller ${i}` },
      }),
    );
    const statuses = (await Promise.all(adds)).sort();
    t.same(statuses, [201, ...Array(7).fill(409)]);
  }
  const same = Array.from({ length: 6 }, () =>
    api.status('collections/add-collection', { collection_name: 'once' }),
  );
  t.same((await Promise.all(same)).sort(), [201, 409, 409, 409, 409, 409]);
  const overwrites = Array.from({ length: 6 }, (_, i) =>
    api.status('documents/add-document', {
      collection_name,
      path: 'new',
      content: { type: 'text', text: `text ${i}` },
      overwrite: true,
    }),
  );
  t.same(
    (await Promise.all(overwrites)).sort(),
    [200, 200, 200, 200, 200, 201],
    'the first caller creates the document',
  );
});

await t.test('a search returns the complete old or new version, never neither', async (t) => {
  const collection_name = await newCollection('editions', 8);
  const text = (word: string) => Array.from({ length: 120 }, (_, i) => sentence(word, i)).join(padding(word));
  const metadata = (word: string) => ({ edition: word });
  await api.add(collection_name, 'book', text('alpha'), { metadata: metadata('alpha') });
  let running = true;
  const seenTexts = new Set<string>();
  const pollSearch = async (precise_responses: boolean) => {
    while (running) {
      const found = await api.call('queries/top-snippets', {
        collection_name,
        query: 'granite quarry near the river',
        k: 20,
        precise_responses,
        include_document_metadata: true,
      });
      const words = new Set(
        found.results.flatMap(({ content }) => content.match(/alpha|beta|gamma|delta/g) ?? []),
      );
      const [document, ...others] = found.document_results;
      t.equal(others.length, 0, 'one document');
      const edition = String(document?.metadata?.edition);
      if (words.size !== 1 || !words.has(edition)) t.fail(`a reply mixes ${[...words]} under ${edition}`);
      seenTexts.add(edition);
    }
  };
  const searchers = [pollSearch(false), pollSearch(true), pollSearch(false)];
  let previous = 'alpha';
  for (const word of ['beta', 'gamma', 'delta', 'alpha', 'beta']) {
    const old = await api.info(collection_name, 'book');
    const added = await api.request('documents/add-document', {
      collection_name,
      path: 'book',
      content: { type: 'text', text: text(word) },
      metadata: metadata(word),
      overwrite: true,
    });
    t.equal(added.status, 200);
    const info = await api.info(collection_name, 'book');
    t.not(info.id, old.id);
    t.same(info.metadata, { edition: word }, 'get-document-info returns the new version at once');
    await waitFor(`edition ${word}`, async () =>
      (await api.info(collection_name, 'book')).index_status === 'indexed' ? true : null,
    );
    const [result] = (
      await api.call('queries/top-documents', {
        collection_name,
        query: 'quarry',
        k: 1,
        include_metadata: true,
      })
    ).results;
    t.same(result?.metadata, { edition: word }, 'search finds the indexed version');
    t.ok(seenTexts.has(previous), 'a search ran during the change');
    previous = word;
  }
  running = false;
  await Promise.all(searchers);
});

/** Padding between sentences that makes the editions differ in length. */
function padding(word: string): string {
  return ' '.repeat(word.length % 4);
}

await t.test(
  'new metadata keeps the id and the text; the old metadata applies until the switch',
  async (t) => {
    const collection_name = await newCollection('metadata');
    await api.add(collection_name, 'page', sentence('only', 1), { metadata: { color: 'red', size: 'big' } });
    const before = await api.info(collection_name, 'page', true);
    let running = true;
    const gaps: string[] = [];
    const watcher = (async () => {
      while (running) {
        const filter = { $or: [{ color: 'red' }, { color: 'blue' }, { color: 'green' }] };
        if ((await api.find(collection_name, 'quarry', { filter })).length !== 1) gaps.push('absent');
      }
    })();
    for (const color of ['blue', 'green', 'red', 'blue']) {
      await api.call('documents/update-document', { collection_name, path: 'page', metadata: { color } });
      const { index_status, metadata } = await api.info(collection_name, 'page');
      t.same(metadata, { color }, 'the whole object is replaced at once');
      t.match(index_status, /^(not_indexed|indexing|indexed)$/);
      await waitFor('the update', async () =>
        (await api.info(collection_name, 'page')).index_status === 'indexed' ? true : null,
      );
      t.same(await api.find(collection_name, 'quarry', { filter: { color } }), ['page']);
      t.same(await api.find(collection_name, 'quarry', { filter: { color: { $ne: color } } }), []);
    }
    running = false;
    await watcher;
    t.same(gaps, [], 'the document is never absent');
    const after = await api.info(collection_name, 'page', true);
    t.equal(after.id, before.id);
    t.equal(after.content, before.content);
    t.equal(after.file_url, before.file_url, 'URLs stay the same too');
  },
);

await t.test('an update is rejected in a state that does not allow it', async (t) => {
  const collection_name = await newCollection('preconditions');
  await api.add(collection_name, 'good', 'fine');
  await api.add(collection_name, 'bad', {
    type: 'auto',
    base64_data: base64(Buffer.from([0, 1, 2, 3, 255])),
  });
  const bad = await api.info(collection_name, 'bad');
  t.equal(bad.index_status, 'parsing_failed');
  t.same(await api.paths(collection_name, { only_failed: true }), ['bad']);
  t.same(await api.paths(collection_name, { only_failed: true, path_gt: 'bad' }), []);
  t.same(await api.paths(collection_name, { only_failed: true, path_prefix: 'g' }), []);
  const filtered = await api.call('documents/get-document-info-list', {
    collection_name,
    path_contains: 'OO',
    index_statuses: ['indexed'],
    sort_by: 'size',
    include_count: true,
  });
  t.match(filtered, { documents: [{ path: 'good' }], next_cursor: null, num_matching: 1 });
  t.same(Object.keys(await api.call('documents/get-document-info-list', { collection_name })), ['documents']);
  t.equal(bad.num_pages, null);
  t.match(bad.error, /\w+/);
  const update = (path: string, change: object) =>
    api.status('documents/update-document', { collection_name, path, ...change });
  t.equal(await update('good', {}), 200, 'a request without fields changes nothing');
  t.equal(await update('bad', {}), 200);
  t.equal(await update('good', { metadata: null, index_status: null }), 200);
  t.equal(await update('good', { metadata: { a: 'b' }, index_status: 'not_parsed' }), 400);
  t.equal(await update('good', { index_status: 'not_parsed' }), 400);
  t.equal(await update('good', { index_status: 'not_indexed' }), 400);
  t.equal(await update('bad', { metadata: { a: 'b' } }), 400);
  t.equal(await update('bad', { index_status: 'not_indexed' }), 400);
  t.equal(await update('nowhere', { metadata: {} }), 404);
  t.equal(await update('nowhere', {}), 404);
  t.same((await api.info(collection_name, 'good')).metadata, {});
  t.equal(await update('bad', { index_status: 'not_parsed' }), 200, 'a failed document can be retried');
  const again = await waitFor('the second attempt', async () => {
    const info = await api.info(collection_name, 'bad');
    return info.index_status === 'parsing_failed' ? info : null;
  });
  t.equal(again.id, bad.id);
  t.equal(again.error, bad.error);
});

await t.test('a document deleted while it is parsed or indexed stays deleted', async (t) => {
  const collection_name = await newCollection('vanishing', 8);
  const pdf = base64(buildPdf(Array.from({ length: 20 }, (_, i) => sentence('paper', i))));
  const long = Array.from({ length: 400 }, (_, i) => sentence('long', i)).join('');
  for (let round = 0; round < 4; round++) {
    await Promise.all([
      api.add(collection_name, 'file.pdf', { type: 'auto', base64_data: pdf }, { wait: false }),
      api.add(collection_name, 'long.txt', long, { wait: false }),
      api.add(collection_name, 'stays.txt', long, { wait: false, overwrite: true }),
    ]);
    await new Promise((resolve) => setTimeout(resolve, round * 30));
    const path = ['file.pdf', 'long.txt'];
    const { deleted_paths } = await api.call('documents/delete-document', { collection_name, path });
    t.same(deleted_paths, path);
    t.same(await api.paths(collection_name), ['stays.txt']);
    const found = new Set(await api.find(collection_name, 'granite quarry'));
    found.delete('stays.txt');
    t.same([...found], []);
  }
  const settled = await waitFor('the counters', async () => {
    const status = await api.call('status/get-status', { collection_name });
    return status.num_indexed_documents === 1 ? status : null;
  });
  t.match(settled, {
    num_documents: 1,
    num_parsing_documents: 0,
    num_indexing_documents: 0,
    num_failed_documents: 0,
  });
  t.equal(settled.num_indexed_bytes, Buffer.byteLength(long));
  t.same(await api.find(collection_name, 'granite quarry'), ['stays.txt']);
});

await t.test(
  'the description of a document has its title, its language and warnings about omitted parts',
  async (t) => {
    const collection_name = await newCollection('described');
    const prose = (page: number) =>
      Array.from({ length: 12 }, (_, i) => ({
        text: `${page}.${i} the granite of the quarry was cut for the bridge and for the house by the river`,
        x: 60,
        y: 680 - i * 14,
      }));
    const pages = [1, 2, 3, 4, 5].map((page) => [
      { text: 'Letters of a mason', x: 60, y: 750, size: 9 },
      ...(page === 1 ? [{ text: 'The granite quarry', x: 60, y: 710, size: 22 }] : []),
      ...prose(page),
      { text: `${page}`, x: 300, y: 40, size: 9 },
    ]);
    await api.add(collection_name, 'quarry.pdf', {
      type: 'auto',
      base64_data: base64(buildPdfWithPlacedText(pages)),
    });
    const info = await api.info(collection_name, 'quarry.pdf', true);
    t.match(info, { title: 'The granite quarry', language: 'en', num_pages: 5 });
    t.match(info, { warnings: [/Repeated headers, footers and page numbers .* \(10 lines\)/] });
    t.match(info.content, /^# The granite quarry\n\n1\.0 the granite/);
    t.notMatch(info.content, /mason/);
    await api.add(collection_name, 'plain.txt', 'only a few words');
    t.match(await api.info(collection_name, 'plain.txt'), { title: null, warnings: [] });
  },
);

await t.test('the last of several overwrites wins, also while a file is still being parsed', async (t) => {
  const collection_name = await newCollection('racing');
  const file = (word: string) => base64(buildPdf(Array.from({ length: 8 }, (_, i) => sentence(word, i))));
  for (const word of ['first', 'second', 'third']) {
    await api.call('documents/add-document', {
      collection_name,
      path: 'race',
      content: { type: 'auto', base64_data: file(word) },
      overwrite: true,
    });
  }
  await api.add(collection_name, 'race', sentence('fourth', 4), { overwrite: true });
  const info = await api.info(collection_name, 'race', true);
  t.equal(info.content, sentence('fourth', 4));
  t.equal(info.num_pages, 1);
  for (let i = 0; i < 10; i++) {
    const { results } = await api.call('queries/top-snippets', { collection_name, query: 'edition', k: 10 });
    t.same(
      results.map(({ content }) => content),
      [sentence('fourth', 4)],
    );
  }
  t.match(await api.call('status/get-status', { collection_name }), {
    num_documents: 1,
    num_indexed_documents: 1,
  });
});

await t.test('a failed overwrite removes the old version from search', async (t) => {
  const collection_name = await newCollection('failing');
  await api.add(collection_name, 'doc', 'granite and marble');
  t.same(await api.find(collection_name, 'granite'), ['doc']);
  const broken = { type: 'auto', base64_data: base64(buildPdf(['x']).slice(0, 40)) } as const;
  const reply = await api.add(collection_name, 'doc', broken, { overwrite: true });
  t.equal(reply.index_status, 'parsing_failed');
  t.match(reply.error, /\w+/);
  t.same(await api.find(collection_name, 'granite'), []);
  t.match(await api.call('status/get-status', { collection_name }), {
    num_documents: 1,
    num_failed_documents: 1,
    num_indexed_documents: 0,
    num_indexed_bytes: 0,
  });
});

await t.test('a repeated path is deleted once; another document with equal bytes remains', async (t) => {
  const collection_name = await newCollection('twins');
  const content = { type: 'auto', base64_data: base64(buildPdf(['The same granite.'])) } as const;
  for (const path of ['a', 'b', 'c']) await api.add(collection_name, path, content);
  const path = ['b', 'a', 'b', 'nowhere'];
  const { deleted_paths } = await api.call('documents/delete-document', { collection_name, path });
  t.same(deleted_paths, ['b', 'a']);
  const { file_url, content: text } = await api.info(collection_name, 'c', true);
  t.match(text, /The same granite/);
  t.equal(
    (await (await fetch(file_url)).arrayBuffer()).byteLength,
    Buffer.from(content.base64_data, 'base64').length,
  );
});

await t.test('the counters of all collections add up to the total', async (t) => {
  const names = (await api.call('collections/get-collection-list')).collection_names;
  t.same(names, [...names].sort());
  const sum = { num_documents: 0, num_indexed_documents: 0, num_failed_documents: 0, num_indexed_bytes: 0 };
  for (const collection_name of names) {
    const status = await api.call('status/get-status', { collection_name });
    const parts =
      status.num_parsing_documents +
      status.num_indexing_documents +
      status.num_indexed_documents +
      status.num_failed_documents;
    t.equal(status.num_documents, parts);
    t.equal((await api.paths(collection_name)).length, status.num_documents, collection_name);
    for (const name of Object.keys(sum) as (keyof typeof sum)[]) sum[name] += status[name];
  }
  t.match(await api.call('status/get-status'), sum);
  t.same(await api.call('status/get-status', { collection_name: null }), await api.call('status/get-status'));
});
