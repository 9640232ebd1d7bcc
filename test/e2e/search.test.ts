import t from 'tap';
import { buildPdf } from '../parsing/pdf-fixtures.ts';
import { testFileMsMax } from '../timeouts.ts';
import { CheckedApiClient, type DocumentMetadata } from './checked-api-client.ts';
import type { ReplyOf } from './published-replies.ts';
import { TestServer } from './server.ts';

/** Queries and their results over a small set of documents. */

t.setTimeout(testFileMsMax);
const server = await TestServer.start(t);
const api = new CheckedApiClient(server);

interface Book {
  readonly path: string;
  readonly text: string;
  readonly metadata: DocumentMetadata;
}

/** Attributes cycle with different periods, so that every combination occurs and every filter selects differently. */
const subjects: readonly (readonly [string, string])[] = [
  [
    'refunds',
    'Customers who return a product within two weeks get their money back to the card they paid with.',
  ],
  ['invoice-4711', 'Invoice INV-2024-04711 over 1.250,00 EUR was sent to Müller GmbH; part number XJ-900/B.'],
  [
    'volcano',
    'The eruption of Eyjafjallajökull stopped air traffic over Europe for several days in April 2010.',
  ],
  [
    'bread',
    'Knead flour, water and salt, let the dough rest overnight and bake the loaf in a very hot oven.',
  ],
  [
    'bicycle',
    'To repair a flat tyre take the wheel off, pull out the inner tube and glue a patch on the hole.',
  ],
  [
    'parser.ts',
    'function parseHeader(bytes: Uint8Array) throws ERR_INVALID_CHECKSUM when crc32c does not match.',
  ],
  ['kündigung', 'Der Mietvertrag kann mit einer Frist von drei Monaten schriftlich gekündigt werden.'],
  ['versicherung', 'Die Haftpflichtversicherung zahlt Schäden, die ein Hund bei anderen Leuten anrichtet.'],
  ['上海', '上海的地铁系统每天运送超过一千万名乘客，是世界上最繁忙的地铁之一。'],
  ['京都', '京都の金閣寺は、庭園の池に映る黄金色の建物で知られています。'],
  ['김치', '김치는 배추를 소금에 절여 고춧가루와 마늘을 넣고 발효시킨 음식이다.'],
  ['ต้มยำ', 'ต้มยำกุ้งเป็นอาหารไทยรสเปรี้ยวเผ็ดที่ใส่กุ้ง ตะไคร้ และใบมะกรูด'],
  ['jardin', 'Les tomates demandent beaucoup de soleil et un arrosage régulier au pied de la plante.'],
  ['москва', 'Московский метрополитен открыли в мае тысяча девятьсот тридцать пятого года.'],
];
const colors = ['red', 'green', 'blue'];
const years = ['1999', '2010', '2024', '2025'];
const books: readonly Book[] = Array.from({ length: 70 }, (_, i) => {
  const [name, text] = subjects[i % subjects.length]!;
  const volume = Math.floor(i / subjects.length);
  const metadata: Record<string, string | string[]> = {};
  if (i % 4 !== 3) metadata.colour = colors[i % 3]!;
  if (i % 5 !== 0) metadata.year = years[i % 4]!;
  if (i % 3 !== 1) metadata['list:tags'] = [`t${i % 2}`, `u${i % 7}`].slice(0, i % 4 === 2 ? 0 : 2);
  const notes = volume === 0 ? '' : ` Note ${volume}: shelf ${i}, kept for the archive.`;
  return { path: `${name}/${volume}`, text: text + notes, metadata };
});

const collections = { one: 'library', eight: 'library of eight shards' };
await api.call('collections/add-collection', { collection_name: collections.one });
await api.call('collections/add-collection', { collection_name: collections.eight, num_shards: 8 });
for (const name of Object.values(collections)) {
  await api.addAll(
    name,
    books.map(({ path, text, metadata }) => ({ path, content: { type: 'text', text }, metadata })),
  );
}

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

await t.test('questions in words, codes and many languages find their passage first', async (t) => {
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
    for (const extra of [{}, { filter: { colour: 'red' } }, { reranker: 'zerank-1' }]) {
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

/** Reference implementation of filters, as simple as possible. */
function matchesFilter(filter: unknown, metadata: DocumentMetadata): boolean {
  if (filter === null) return true;
  return Object.entries(filter as object).every(([key, condition]) => {
    if (key === '$and') return (condition as unknown[]).every((each) => matchesFilter(each, metadata));
    if (key === '$or') return (condition as unknown[]).some((each) => matchesFilter(each, metadata));
    const operators = typeof condition === 'string' ? { $eq: condition } : (condition as object);
    return Object.entries(operators).every(([name, operand]) => holds(metadata[key], name, operand));
  });
}

function holds(value: string | readonly string[] | undefined, name: string, operand: unknown): boolean {
  if (value === undefined) return name === '$ne' || name === '$nin';
  if (name === '$in') return [value].flat().some((each) => (operand as string[]).includes(each));
  if (name === '$nin') return ![value].flat().some((each) => (operand as string[]).includes(each));
  const order = Buffer.compare(Buffer.from(value as string), Buffer.from(operand as string));
  const truth: Record<string, boolean> = {
    $eq: order === 0,
    $ne: order !== 0,
    $gt: order > 0,
    $gte: order >= 0,
    $lt: order < 0,
    $lte: order <= 0,
  };
  return truth[name]!;
}

const filters: readonly unknown[] = [
  null,
  {},
  { colour: 'red' },
  { colour: { $eq: 'red' } },
  { colour: { $ne: 'red' } },
  { colour: 'purple' },
  { colour: { $ne: 'purple' } },
  { year: { $gt: '1999' } },
  { year: { $gte: '2010', $lt: '2025' } },
  { year: { $lte: '2010' } },
  { year: { $lt: '' } },
  { year: { $gt: 'a' } },
  { colour: { $in: ['red', 'blue'] } },
  { colour: { $in: [] } },
  { colour: { $nin: [] } },
  { colour: { $nin: ['red', 'blue'] } },
  { 'list:tags': { $in: ['t1'] } },
  { 'list:tags': { $in: ['u3', 'u5', 'nothing'] } },
  { 'list:tags': { $nin: ['t1', 'u0'] } },
  { 'list:tags': { $in: [] } },
  { 'list:tags': { $nin: [] } },
  { 'list:missing': { $in: ['x'] } },
  { 'list:missing': { $nin: ['x'] } },
  { missing: { $ne: 'x' } },
  { missing: { $gte: '' } },
  { colour: 'green', year: { $ne: '2024' } },
  { $or: [{ colour: 'red' }, { 'list:tags': { $in: ['u2'] } }] },
  { $and: [{ $or: [{ colour: 'red' }, { colour: 'blue' }] }, { year: { $gte: '2010' } }] },
  {
    $or: [
      { $and: [{ colour: 'red' }, { year: '2024' }] },
      { $and: [{ colour: { $ne: 'red' } }, { year: '1999' }] },
    ],
  },
  { $and: [{ colour: { $nin: ['red'] } }], year: { $in: ['1999', '2025'] } },
];

await t.test('a filter lets through exactly what its meaning says, listed or searched', async (t) => {
  for (const filter of filters) {
    const expected = books
      .filter(({ metadata }) => matchesFilter(filter, metadata))
      .map(({ path }) => path)
      .sort();
    for (const collection_name of Object.values(collections)) {
      const name = `${JSON.stringify(filter)} in ${collection_name}`;
      t.same((await api.find(collection_name, null, { filter, k: 2048 })).sort(), expected, `listed ${name}`);
      t.same(
        (await api.find(collection_name, 'archive', { filter, k: 2048 })).sort(),
        expected,
        `searched ${name}`,
      );
    }
  }
});

await t.test('results come best first, at most k, each document once', async (t) => {
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

await t.test('what was not asked for is null, what was asked for is there', async (t) => {
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

await t.test('the page that holds the answer is the page that is found', async (t) => {
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

await t.test('explain says how each result was found, and changes nothing else', async (t) => {
  for (const [collection_name, shards] of [
    [collections.one, 1],
    [collections.eight, 8],
  ] as const) {
    for (const operation of ['queries/top-documents', 'queries/top-pages', 'queries/top-snippets'] as const) {
      for (const extra of [{}, { reranker: 'zerank-2' }, { precise_responses: true }]) {
        const body = { collection_name, query: 'flat tyre ERR_INVALID_CHECKSUM', k: 12, ...extra };
        const plain = await api.call(operation, body);
        const explainedReply: ReplyOf<typeof operation> = await api.call(operation, {
          ...body,
          explain: true,
        });
        const same = (reply: ReplyOf<typeof operation>) =>
          reply.results.map(({ path, score }) => `${path} ${score}`);
        t.same(same(explainedReply), same(plain));
        t.equal(plain.explain, undefined);
        t.equal(explainedReply.explain?.shards.length, shards);
        for (const result of explainedReply.results) {
          t.ok(result.explain, 'every result is explained');
          t.equal(result.explain?.rerank === null, !('reranker' in extra));
        }
        const parser = explainedReply.results.find(({ path }) => path.startsWith('parser.ts'));
        t.ok((parser?.explain?.lexical.score ?? 0) > 0);
        t.match(parser?.explain?.lexical.terms.join(' '), /ERR_INVALID_CHECKSUM/i);
        t.equal(typeof parser?.explain?.vector.similarity, 'number');
      }
    }
  }
});

const operations = ['queries/top-documents', 'queries/top-pages', 'queries/top-snippets'] as const;
const precise = ['queries/top-snippets', { precise_responses: true }] as const;
/** Paths found by each kind of query, sorted. */
async function explainSearch(body: Readonly<Record<string, unknown>>): Promise<[string, string[]][]> {
  const queryRequest = [...operations.map((operation) => [operation, {}] as const), precise];
  return Promise.all(
    queryRequest.map(async ([operation, extra]) => {
      const { results } = await api.call(operation, { k: 40, ...body, ...extra });
      const name = `${operation} ${JSON.stringify(extra)}`;
      return [name, [...new Set(results.map(({ path }) => path))].sort()];
    }),
  );
}

await t.test(
  'with operators a phrase must stand in what is found, and an excluded word must not',
  async (t) => {
    const collection_name = 'operators';
    await api.call('collections/add-collection', { collection_name });
    const texts = {
      a: 'The cook fries salted herring with onions.',
      b: 'The herring was salted before it was smoked.',
      c: 'Salted herring, smoked over beech.',
      d: 'A red herring is a false trail.',
      e: 'Fresh SALTED-HERRING for naïve cooks.',
      f: '上海的地铁系统每天运送乘客。',
    };
    for (const [path, text] of Object.entries(texts)) await api.add(collection_name, path, text);
    const cases: readonly (readonly [string, string])[] = [
      ['herring', 'abcdef'],
      ['"salted herring"', 'ace'],
      ['“salted herring” -fries', 'ce'],
      ['herring -smoked', 'adef'],
      ['herring -"red herring" -smoked', 'aef'],
      ['"naive cooks"', 'e'],
      ['"herring salted"', ''],
      ['"salted herring" "false trail"', ''],
      ['trains "地铁系统"', 'f'],
      ['trains -地铁', 'abcde'],
      ['salted - herring -> trail', 'abcdef'],
    ];
    for (const [query, paths] of cases) {
      for (const [name, found] of await explainSearch({ collection_name, query, syntax: 'operators' }))
        t.equal(found.join(''), paths, `${query} with ${name}`);
    }
    for (const [name, found] of await explainSearch({ collection_name, query: '"salted herring" -smoked' }))
      t.equal(found.length, 6, `natural language has no operators: ${name}`);
  },
);

await t.test('weights decide who is asked, and who counts', async (t) => {
  const query = 'fixing a punctured inner tube';
  const [wordsOnly, meaningOnly] = [
    { lexical: 1, vector: 0 },
    { lexical: 0, vector: 1 },
  ];
  for (const collection_name of Object.values(collections)) {
    for (const operation of operations) {
      const ask = (weights: object | null) =>
        api.call(operation, { collection_name, query, k: 20, weights, explain: true });
      const usual = await ask(null);
      t.same((await ask({ lexical: 1, vector: 0.6 })).results, usual.results, 'these are the usual weights');
      t.same((await ask({ lexical: 5, vector: 3 })).results, usual.results, 'only how they compare counts');
      const words = await ask(wordsOnly);
      t.ok(words.results.length > 0 && words.results.length < 20, 'only what has a word of the question');
      for (const { explain } of words.results) {
        t.ok((explain?.lexical.score ?? 0) > 0);
        t.equal(explain?.vector.similarity, null);
      }
      t.equal(words.results[0]?.score, 1, 'the best has all there is to have');
      const meaning = await ask(meaningOnly);
      t.equal(meaning.results.length, 20);
      t.equal(meaning.results[0]?.score, 1);
      const similar = meaning.results.map(({ explain }) => explain?.vector.similarity ?? -1);
      t.same(
        similar,
        [...similar].sort((a, b) => b - a),
        'the nearest first',
      );
    }
    const nothing = { collection_name, query: '🌋', weights: wordsOnly };
    for (const [name, found] of await explainSearch(nothing))
      t.same(found, [], `no words, no results: ${name}`);
  }
});

await t.test('a least score leaves out what scores less, and nothing else', async (t) => {
  const collection_name = collections.eight;
  const query = 'archive shelf bicycle';
  for (const operation of operations) {
    for (const extra of [{}, { reranker: 'zerank-2' }]) {
      const body = { collection_name, query, k: 40, ...extra };
      const all = (await api.call(operation, body)).results as { path: string; score: number }[];
      const bound = all[12]!.score;
      const paths = (results: readonly { path: string }[]) => results.map(({ path }) => path);
      const few = (await api.call(operation, { ...body, min_score: bound })).results;
      t.same(paths(few), paths(all.filter(({ score }) => score >= bound)), operation);
      t.same(paths((await api.call(operation, { ...body, min_score: 0 })).results), paths(all));
    }
  }
});

await t.test('of one document come at most as many pages or snippets as wanted', async (t) => {
  const collection_name = 'reports';
  await api.call('collections/add-collection', { collection_name });
  const page = (i: number, about: string) => `Page ${i} about the harbour ${about}. `.repeat(60);
  for (const [path, pages, about] of [
    ['long', 60, 'harbour harbour'],
    ['middle', 6, 'wall'],
    ['short', 1, 'and other things'],
    ['other', 1, 'and nothing else'],
  ] as const) {
    const texts = Array.from({ length: pages }, (_, i) => page(i, about));
    await api.add(collection_name, path, { type: 'text-pages', pages: texts });
  }
  for (const [operation, extra] of [...operations.slice(1).map((one) => [one, {}] as const), precise]) {
    for (const reranker of [null, 'zerank-2']) {
      const body = { collection_name, query: 'harbour', k: 5, reranker, ...extra };
      const plain = (await api.call(operation, body)).results;
      t.ok(new Set(plain.map(({ path }) => path)).size < plain.length, 'one document comes twice');
      for (const [max_per_document, expected] of [
        [1, 4],
        [2, 5],
      ] as const) {
        const { results } = await api.call(operation, { ...body, max_per_document });
        t.equal(results.length, expected, `${operation}, ${reranker}: ${max_per_document}`);
        for (const { path } of results)
          t.ok(results.filter((other) => other.path === path).length <= max_per_document);
        const scores = results.map(({ score }) => score);
        t.same(
          scores,
          [...scores].sort((a, b) => b - a),
        );
      }
    }
  }
});

await t.test('a collection remembers what its queries ask unless they say otherwise', async (t) => {
  const collection_name = 'with defaults';
  const query_defaults = { syntax: 'operators', weights: { lexical: 1, vector: 0 }, max_per_document: 1 };
  await api.call('collections/add-collection', { collection_name, query_defaults });
  const pages = ['salted herring', 'smoked herring', 'fresh herring'];
  await api.add(collection_name, 'a', { type: 'text-pages', pages });
  await api.add(collection_name, 'b', 'a red herring');
  const find = async (extra: object) => {
    const body = { collection_name, k: 9, query: 'herring -red', explain: true, ...extra };
    const { results, explain } = await api.call('queries/top-pages', body);
    const control = (explain as { control?: unknown } | undefined)?.control;
    return { found: results.map(({ path, page_index }) => `${path}${page_index}`).sort(), control };
  };
  const usual = await find({});
  t.match(usual.control, { ...query_defaults, excluded: ['red'], min_score: null });
  t.match(usual.found, [/^a/]);
  t.equal(usual.found.length, 1);
  t.same((await find({ max_per_document: null })).found, ['a0', 'a1', 'a2']);
  t.same((await find({ max_per_document: null, syntax: 'natural' })).found, ['a0', 'a1', 'a2', 'b0']);
  t.match((await find({ weights: null })).control, { weights: { lexical: 1, vector: 0.6 } });
  const listed: object = await api.call('collections/get-collection-list');
  t.match(listed, { query_defaults: [{ collection_name, query_defaults }] });
});

await t.test('no character of a question is an operator, and odd questions get an answer', async (t) => {
  const collection_name = collections.eight;
  const odd = [
    '',
    ' ',
    '*',
    '"bread" AND NOT (bread)',
    '-bread',
    'colour:red',
    '\u0000',
    '\ud800',
    '🌋',
    'a'.repeat(4096),
  ];
  for (const query of odd) {
    for (const operation of ['queries/top-documents', 'queries/top-pages', 'queries/top-snippets'] as const) {
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

await t.test('latency_mode high, and many questions at once, give the same kind of answers', async (t) => {
  const queryRequest = questions.flatMap(([query, name]) =>
    ['low', 'high'].map(async (latency_mode) => {
      const [best = ''] = await api.find(collections.eight, query, { latency_mode });
      t.equal(best.split('/').slice(0, -1).join('/'), name, `${query} with ${latency_mode}`);
    }),
  );
  await Promise.all(queryRequest);
});

await t.test(
  'a document is found by the next question after it is indexed, and never after it is deleted',
  async (t) => {
    const collection_name = collections.eight;
    for (let i = 0; i < 10; i++) {
      const path = `fresh/${i}`;
      await api.add(collection_name, path, `The zeppelin number ${i} is moored at the mast.`);
      t.ok((await api.find(collection_name, `zeppelin number ${i}`)).includes(path), `${path} is found`);
      await api.call('documents/delete-document', { collection_name, path });
      t.notOk((await api.find(collection_name, `zeppelin number ${i}`)).includes(path), `${path} is gone`);
    }
  },
);
