import { buildPdf } from '../parsing/pdf-fixtures.ts';
import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { books, collections, joinLibrary, queryOperations } from './library-fixture.ts';

/** Queries and their results over a small set of documents. */

t.setTimeout(testFileMsMax);
const api = await joinLibrary();

const questions: readonly (readonly [string, string])[] = [
  ['can I get my money back for something I bought', 'refunds'],
  ['INV-2024-04711', 'invoice-4711'],
  ['part XJ-900/B', 'invoice-4711'],
  ['volcanic eruption Iceland air traffic', 'volcano'],
  ['eyjafjallajokull', 'volcano'],
  ['how do I bake a loaf', 'bread'],
  ['fixing a punctured inner tube', 'bicycle'],
  ['ERR_INVALID_CHECKSUM', 'parser.ts'],
  ['parseHeader', 'parser.ts'],
  ['Wie kündige ich meinen Mietvertrag?', 'kündigung'],
  ['Wer zahlt den Schaden, den mein Hund angerichtet hat', 'versicherung'],
  ['上海地铁乘客', '上海'],
  ['金閣寺の庭園', '京都'],
  ['배추 김치', '김치'],
  ['อาหารไทยใส่กุ้ง', 'ต้มยำ'],
  ['arroser les tomates', 'jardin'],
  ['московское метро', 'москва'],
];

await t.test('queries with words, codes and in many languages rank their chunk first', async (t) => {
  for (const [query, name] of questions) {
    for (const collection_name of Object.values(collections)) {
      const [best = ''] = await api.find(collection_name, query);
      t.equal(best.split('/').slice(0, -1).join('/'), name, `${query} in ${collection_name}`);
    }
  }
});

await t.test('one shard and eight give the same results with the same scores', async (t) => {
  const ranked = async <O extends 'queries/top-documents' | 'queries/top-snippets'>(
    operation: O,
    collection_name: string,
    extra: object,
  ) => {
    const { results } = await api.call(operation, { collection_name, k: 40, ...extra });
    return results.map(({ path, score }) => `${score.toFixed(5)} ${path}`).sort();
  };
  for (const [query] of questions) {
    for (const extra of [{}, { filter: { color: 'red' } }, { reranker: 'zerank-1' }]) {
      t.same(
        await ranked('queries/top-documents', collections.eight, { query, ...extra }),
        await ranked('queries/top-documents', collections.one, { query, ...extra }),
        `${query} ${JSON.stringify(extra)}`,
      );
    }
    t.same(
      await ranked('queries/top-snippets', collections.eight, { query, precise_responses: true }),
      await ranked('queries/top-snippets', collections.one, { query, precise_responses: true }),
      `${query}, precise`,
    );
  }
});

await t.test('at most k results are returned, best first, each document once', async (t) => {
  const collection_name = collections.eight;
  const query = 'archive shelf notes';
  for (const k of [1, 3, 70, 128]) {
    const documents = await api.call('queries/top-documents', { collection_name, query, k });
    const pages = await api.call('queries/top-pages', { collection_name, query, k });
    const snippets = await api.call('queries/top-snippets', { collection_name, query, k });
    for (const { results } of [documents, pages, snippets]) {
      t.equal(results.length, Math.min(k, books.length));
      const scores = results.map(({ score }) => score);
      t.same(
        scores,
        [...scores].sort((a, b) => b - a),
        'scores descend',
      );
    }
    t.equal(new Set(documents.results.map(({ path }) => path)).size, documents.results.length);
    for (const { results, document_results } of [pages, snippets]) {
      t.same(
        document_results.map(({ path }) => path),
        [...new Set(results.map(({ path }) => path))],
        'document_results name each document once, best first',
      );
      const scores = document_results.map(({ score }) => score);
      t.same(
        scores,
        [...scores].sort((a, b) => b - a),
      );
    }
  }
});

await t.test('fields are null unless requested', async (t) => {
  const collection_name = collections.one;
  const query = 'bake bread';
  const book = books.find(({ path }) => path === 'bread/0')!;
  const nothing = await api.call('queries/top-pages', { collection_name, query, k: 1 });
  t.match(nothing.results[0], { path: 'bread/0', page_index: 0, content: null, image_url: null });
  t.match(nothing.document_results[0], { path: 'bread/0', metadata: null });
  const all = { collection_name, query, k: 1, include_content: true, include_metadata: true };
  const pages = await api.call('queries/top-pages', all);
  t.equal(pages.results[0]?.content, book.text);
  t.same(pages.document_results[0]?.metadata, book.metadata);
  t.same((await api.call('queries/top-documents', all)).results[0]?.metadata, book.metadata);
  const bare = await api.call('queries/top-snippets', { collection_name, query, k: 1 });
  t.equal(bare.document_results[0]?.metadata, null);
  const snippets = await api.call('queries/top-snippets', { ...all, include_document_metadata: true });
  t.same(snippets.document_results[0]?.metadata, book.metadata);
  t.same(snippets.document_results[0]?.file_url, pages.document_results[0]?.file_url);
  t.equal(await (await fetch(snippets.document_results[0]!.file_url)).text(), book.text);
});

await t.test('the page that contains the answer is found', async (t) => {
  const collection_name = 'pages';
  await api.call('collections/add-collection', { collection_name });
  const filler = (i: number) =>
    `This is page number ${i} of the yearly report of the harbour. `.repeat(i % 3 === 0 ? 40 : 1);
  const facts: Record<number, string> = {
    2: 'The lighthouse keeper is called Winifred.',
    7: 'A new crane lifts ninety tonnes.',
    13: 'Ferries to the island leave at noon.',
    21: 'The canteen serves herring on Fridays.',
  };
  const pages = Array.from({ length: 24 }, (_, i) => filler(i) + (facts[i] ?? ''));
  await api.add(collection_name, 'report', { type: 'text-pages', pages });
  await api.add(collection_name, 'rows', { type: 'text-pages-unordered', pages });
  await api.add(collection_name, 'short', {
    type: 'text-pages',
    pages: Array.from({ length: 24 }, (_, i) => facts[i] ?? `Slide ${i}.`),
  });
  const pdf = Buffer.from(buildPdf(pages.map((text) => text.slice(-300).replace(/(.{80}) /g, '$1\n'))));
  await api.add(collection_name, 'report.pdf', { type: 'auto', base64_data: pdf.toString('base64') });
  const queryRequest = {
    2: 'Winifred',
    7: 'how much does the crane lift',
    13: 'ferries to the island',
    21: 'herring',
  };
  for (const [index, query] of Object.entries(queryRequest)) {
    const body = { collection_name, query, k: 100, include_content: true };
    const { results } = await api.call('queries/top-pages', body);
    for (const path of ['report', 'rows', 'short', 'report.pdf']) {
      const best = results.find((result) => result.path === path);
      t.equal(best?.page_index, Number(index), `${query} in ${path}`);
      if (path !== 'report.pdf') t.match(best?.content, facts[Number(index)]!);
    }
    t.equal(new Set(results.map(({ path, page_index }) => `${path} ${page_index}`)).size, results.length);
    const ok = results.every(({ path, image_url }) => (image_url === null) === (path !== 'report.pdf'));
    t.ok(ok, 'the pages of the PDF have images, the others none');
  }
});

await t.test('no character of a query is an operator, and unusual queries succeed', async (t) => {
  const collection_name = collections.eight;
  const odd = [
    '',
    ' ',
    '*',
    '"bread" AND NOT (bread)',
    '-bread',
    'color:red',
    '\u0000',
    '\ud800',
    '🌋',
    'a'.repeat(4096),
  ];
  for (const query of odd) {
    for (const operation of queryOperations) {
      t.equal(
        (await api.call(operation, { collection_name, query, k: 5 })).results.length,
        5,
        JSON.stringify(query.slice(0, 20)),
      );
    }
  }
  t.equal((await api.find(collection_name, '-bread AND NOT bread'))[0]?.split('/')[0], 'bread');
  t.equal((await api.find(collection_name, '🌋'.repeat(4096))).length, 10, '4,096 characters, not bytes');
});

await t.test('latency_mode high and concurrent queries return the same kind of results', async (t) => {
  const queryRequest = questions.flatMap(([query, name]) =>
    ['low', 'high'].map(async (latency_mode) => {
      const [best = ''] = await api.find(collections.eight, query, { latency_mode });
      t.equal(best.split('/').slice(0, -1).join('/'), name, `${query} with ${latency_mode}`);
    }),
  );
  await Promise.all(queryRequest);
});

await t.test(
  'a document is found by the next query after it is indexed, and never after it is deleted',
  async (t) => {
    const collection_name = collections.eight;
    for (let i = 0; i < 10; i++) {
      const path = `fresh/${i}`;
      await api.add(collection_name, path, `The zeppelin number ${i} is moored at the mast.`);
      t.ok((await api.find(collection_name, `zeppelin number ${i}`)).includes(path), `${path} is found`);
      await api.call('documents/delete-document', { collection_name, path });
      t.notOk(
        (await api.find(collection_name, `zeppelin number ${i}`)).includes(path),
        `${path} is not found`,
      );
    }
  },
);
