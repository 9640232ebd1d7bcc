import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runQuarry } from '../cli/quarry.ts';
import t, { type Test } from '../support/tap.ts';
import { testFileMsMax, waitUntil } from '../timeouts.ts';
import type { CheckedApiClient } from './checked-api-client.ts';
import {
  add,
  ask,
  base64Of,
  byMeaning,
  checkSimilarities,
  cosine,
  dimensions,
  type VectorHit,
  vectorOf,
} from './own-vectors-fixture.ts';
import { joinSharedServer } from './shared-server.ts';
import { createTenant } from './tenant.ts';

/** Collections whose vectors are supplied by the client. The tests share a server; each has its own organization. */

t.setTimeout(testFileMsMax);
const { server } = await joinSharedServer();

/** Organization with an empty collection `notes` for own vectors. */
async function createNotes() {
  const tenant = await createTenant(server);
  await tenant.api.call('collections/add-collection', {
    collection_name: 'notes',
    num_shards: 8,
    embedding_model: 'own',
    dimensions,
  });
  return tenant;
}

t.test('a collection for own vectors requires its number of dimensions', async (t) => {
  const { api } = await createNotes();
  const create = (body: object) =>
    api.request('collections/add-collection', { collection_name: 'other', ...body });
  for (const [body, status, detail] of [
    [{ embedding_model: 'own' }, 400, /requires dimensions.*1 to 8192; it is missing/],
    [{ embedding_model: 'own', dimensions: 0 }, 400, /it is 0/],
    [{ embedding_model: 'own', dimensions: 10_000 }, 400, /it is 10000/],
    [{ dimensions: 5 }, 400, /embedding_model "own"/],
    [{ embedding_model: 'zembed-1', dimensions: 5 }, 400, /embedding_model "own"/],
    [{ embedding_model: 'nothing' }, 404, /"nothing".*zembed-1/],
  ] as const)
    t.match(await create(body), { status, body: { detail } });
});

/** Collections `notes`, with own vectors, and `made`, with those of a model. */
async function createNotesAndModelCollection() {
  const tenant = await createNotes();
  await tenant.api.call('collections/add-collection', {
    collection_name: 'made',
    embedding_model: 'zembed-1',
  });
  return tenant;
}

t.test('invalid and missing vectors of a document are rejected with the reason', async (t) => {
  const { api } = await createNotesAndModelCollection();
  const text = { type: 'text', text: 'Salted herring.' };
  const pages = { type: 'text-pages', pages: ['Salted herring.', 'A gull.'] };
  const [vector, zero] = [vectorOf(1), vectorOf(1).map(() => 0)];
  for (const [collection, body, status, detail] of [
    ['notes', { content: text }, 400, /vector is missing/],
    ['notes', { content: text, vector: [1, 2] }, 400, /vector has 2 dimensions; .* have 5/],
    ['notes', { content: text, vector: [] }, 400, /vector has 0 dimensions/],
    ['notes', { content: text, vector: zero }, 400, /vector must not be the zero vector/],
    [
      'notes',
      { content: text, vector: base64Of([1, Number.NaN, 1, 1, 1]) },
      400,
      /contains NaN at position 1/,
    ],
    [
      'notes',
      { content: text, vector: base64Of([1, 1, 1, 1, Infinity]) },
      400,
      /contains Infinity at position 4/,
    ],
    ['notes', { content: text, vector: 'AAA' }, 400, /vector is not valid base64/],
    ['notes', { content: text, vector: 'AAAA' }, 400, /not a multiple of 4/],
    ['notes', { content: text, vector: ['1'] }, 422, undefined],
    [
      'notes',
      { content: text, vectors: [vector] },
      400,
      /type "text" requires one vector in the field vector/,
    ],
    [
      'notes',
      { content: pages, vector },
      400,
      /type "text-pages" requires one vector per page in the field vectors/,
    ],
    ['notes', { content: pages, vectors: [vector] }, 400, /has 2 pages but 1 vector\./],
    ['notes', { content: pages, vectors: [vector, [1]] }, 400, /vectors\[1\] has 1 dimensions/],
    ['notes', { content: { type: 'auto', base64_data: 'aGk=' }, vector }, 400, /Send the text of the file/],
    [
      'made',
      { content: text, vector },
      400,
      /vector is not accepted: the vectors of "made" come from "zembed-1"/,
    ],
  ] as const) {
    const reply = await api.request('documents/add-document', {
      collection_name: collection,
      path: 'a.txt',
      ...body,
    });
    t.match(reply, { status, ...(detail === undefined ? {} : { body: { detail } }) }, JSON.stringify(body));
  }
});

t.test('a document that is too large for its vectors, or that has none, is rejected', async (t) => {
  const { key, api } = await createNotes();
  await api.call('collections/add-collection', {
    collection_name: 'wide',
    embedding_model: 'own',
    dimensions: 8_192,
  });
  const long = await api.request('documents/add-document', {
    collection_name: 'wide',
    path: 'long.txt',
    content: { type: 'text', text: 'word '.repeat(600_000) },
    vector: base64Of(Array.from({ length: 8_192 }, () => 1)),
  });
  t.match(long, { status: 413, body: { detail: /Split the document/ } });
  const put = await fetch(`${server.url}/v1/documents/notes/a.txt`, {
    method: 'PUT',
    body: 'hello',
    headers: { authorization: `Bearer ${key}` },
  });
  t.equal(put.status, 400);
  t.match(await put.json(), { detail: /Send the text of the file and its vectors/ });
});

t.test('queries and model changes that do not fit the vectors of a collection are rejected', async (t) => {
  const { api } = await createNotesAndModelCollection();
  const vector = vectorOf(1);
  for (const [collection, body, detail] of [
    ['notes', { query: 'herring' }, /query_vector is missing/],
    ['notes', { query: 'herring', query_vector: [1] }, /query_vector has 1 dimensions/],
    ['notes', { query: null, query_vector: vector }, /query_vector requires a query/],
    ['made', { query: 'herring', query_vector: vector }, /query_vector is not accepted/],
  ] as const) {
    const request = { collection_name: collection, k: 3, ...body };
    t.match(await api.request('queries/top-documents', request), { status: 400, body: { detail } });
  }
  const change = (collection_name: string, embedding_model: string) =>
    api.request('collections/change-model', { collection_name, embedding_model });
  t.match(await change('notes', 'zembed-1'), {
    status: 400,
    body: { detail: /has vectors supplied by callers/ },
  });
  t.match(await change('made', 'own'), { status: 400, body: { detail: /"own" is not a model/ } });
  t.match(await api.call('status/get-status', { collection_name: 'notes' }), {
    num_documents: 0,
    embedding_model: 'own',
  });
});

/** Seven notes with vectors in all accepted forms; `seeds` are the seeds of their vectors, by path. */
async function createSevenNotes(t: Test) {
  const { api } = await createNotes();
  const words = ['anchor', 'ballast', 'capstan', 'davit', 'ensign', 'fathom'];
  const seeds = new Map<string, number>();
  for (const [i, word] of words.entries()) {
    const path = `${i}.txt`;
    // The length of a vector is irrelevant; one is close to the largest number.
    const vector = vectorOf(i).map((x) => x * (i === 2 ? 1e300 : 7));
    t.match(
      await add(api, path, {
        content: { type: 'text', text: `A note on the ${word}. `.repeat(i === 3 ? 300 : 1) },
        vector: i === 4 ? base64Of(vector) : vector,
        metadata: { parity: i % 2 === 0 ? 'even' : 'odd' },
      }),
      { index_status: 'indexed' },
    );
    seeds.set(path, i);
  }
  const batch = await api.call('documents/add-documents', {
    collection_name: 'notes',
    wait: true,
    documents: [
      { path: '6.txt', content: { type: 'text', text: 'A note on the hawser.' }, vector: vectorOf(6) },
      { path: 'bad.txt', content: { type: 'text', text: 'A note on nothing.' }, vector: [1] },
    ],
  });
  t.match(batch.results, [
    { status: 201, index_status: 'indexed' },
    { status: 400, detail: /1 dimensions/ },
  ]);
  seeds.set('6.txt', 6);
  return { api, seeds, storedVector: ({ path }: VectorHit) => vectorOf(seeds.get(path)!) };
}

t.test('documents are found by their vectors, by their words and by both', async (t) => {
  const { api, seeds, storedVector } = await createSevenNotes(t);
  const query = vectorOf(2.1);
  for (const body of [byMeaning, { query: 'ballast' }]) {
    for (const [kind, precise] of [
      ['documents', {}],
      ['pages', {}],
      ['snippets', {}],
      ['snippets', { precise_responses: true }],
    ] as const) {
      const found = await ask(api, kind, { query_vector: query, ...body, ...precise });
      checkSimilarities(t, found, storedVector, query);
      t.same(new Set(found.results.map(({ path }) => path)), new Set(seeds.keys()));
      if (body === byMeaning) t.equal(found.results[0]?.path, '2.txt');
    }
  }
  const hybrid = await ask(api, 'documents', { query: 'ballast', query_vector: base64Of(query) });
  t.same(new Set(hybrid.results.slice(0, 2).map(({ path }) => path)), new Set(['1.txt', '2.txt']));
  const filtered = await ask(api, 'snippets', {
    query_vector: query,
    filter: { parity: 'odd' },
    ...byMeaning,
  });
  t.same(new Set(filtered.results.map(({ path }) => path)), new Set(['1.txt', '3.txt', '5.txt']));
  const reranked = await ask(api, 'snippets', {
    query: 'the ballast',
    query_vector: query,
    reranker: 'zerank-2',
  });
  t.equal(typeof reranked.results[0]?.explain?.rerank, 'number');
  const lexical = await ask(api, 'snippets', { query: 'ballast', weights: { lexical: 1, vector: 0 } });
  t.match(lexical.results, [{ path: '1.txt', explain: { vector: { similarity: null } } }]);
  const listed = await api.find('notes', null, { filter: { parity: 'odd' }, k: 9 });
  t.same(new Set(listed), new Set(['1.txt', '3.txt', '5.txt']));
});

/** Enough that most are not indexed when the reply arrives. */
const acknowledgedCount = 80;

async function addWaitingNotes(): Promise<CheckedApiClient> {
  const { api } = await createNotes();
  const documents = Array.from({ length: acknowledgedCount }, (_, i) => ({
    path: `${i}.txt`,
    content: { type: 'text', text: `Note ${i}. `.repeat(1 + (i % 40) * 20) },
    vector: vectorOf(i),
  }));
  await api.call('documents/add-documents', { collection_name: 'notes', documents });
  return api;
}

async function checkIndexed(t: Test, api: CheckedApiClient): Promise<void> {
  await waitUntil('all documents are indexed', async () => {
    const status = await api.call('status/get-status', { collection_name: 'notes' });
    if (status.num_failed_documents > 0) t.fail('a document failed');
    return status.num_indexed_documents === acknowledgedCount;
  });
  for (const seed of [0, 17, acknowledgedCount - 1]) {
    const query = vectorOf(seed);
    const found = await ask(api, 'documents', { query_vector: query, ...byMeaning, k: acknowledgedCount });
    t.equal(found.results.length, acknowledgedCount);
    checkSimilarities(t, found, ({ path }) => vectorOf(Number.parseInt(path, 10)), query);
    t.equal(found.results[0]?.path, `${seed}.txt`);
  }
}

t.test('an overwritten document has its new vector, also after a kill', async (t) => {
  const { api, seeds, storedVector } = await createSevenNotes(t);
  const query = vectorOf(2.1);
  await add(api, '0.txt', {
    content: { type: 'text', text: 'Other words.' },
    vector: vectorOf(9),
    overwrite: true,
  });
  seeds.set('0.txt', 9);
  await api.call('documents/update-document', {
    collection_name: 'notes',
    path: '1.txt',
    metadata: { parity: 'none' },
  });
  const acknowledged = await addWaitingNotes();
  await server.stop('SIGKILL');
  await server.restart();
  const after = await ask(api, 'snippets', { query_vector: query, ...byMeaning });
  checkSimilarities(t, after, storedVector, query);
  t.same(new Set(after.results.map(({ path }) => path)), new Set(seeds.keys()));
  await t.test('documents acknowledged before a kill are found by their vectors afterwards', async (t) => {
    await checkIndexed(t, acknowledged);
  });
});

t.test('each page has its own vector, and no chunk spans two pages', async (t) => {
  const { api } = await createNotes();
  const pages = ['Short.', 'A page that is long. '.repeat(300), '', 'The last page.'];
  const vectors = pages.map((_, i) => vectorOf(i));
  for (const type of ['text-pages', 'text-pages-unordered'])
    t.match(await add(api, type, { content: { type, pages }, vectors }), { index_status: 'indexed' });
  t.match(await add(api, 'none', { content: { type: 'text-pages', pages: [] }, vectors: [] }), {
    index_status: 'indexed',
  });
  for (const isRestarted of [false, true]) {
    if (isRestarted) await server.restart();
    for (const seed of [0, 1, 3]) {
      const query = vectorOf(seed);
      const found = await ask(api, 'pages', { query_vector: query, ...byMeaning });
      checkSimilarities(t, found, ({ page_index }) => vectorOf(page_index!), query);
      t.same(new Set(found.results.slice(0, 2).map(({ page_index }) => page_index)), new Set([seed]));
      for (const precise of [false, true]) {
        const body = { query_vector: query, ...byMeaning, precise_responses: precise };
        const snippets = (await ask(api, 'snippets', body)) as unknown as {
          results: readonly (VectorHit & { page_span: [number, number] })[];
        };
        t.ok(snippets.results.every(({ page_span: [first, end] }) => end === first + 1));
        const similarities = snippets.results.map(({ page_span: [page], explain }) =>
          Math.abs((explain?.vector.similarity ?? 9) - cosine(vectorOf(page), query)),
        );
        t.ok(Math.max(...similarities) < 0.01);
      }
    }
  }
  const { document } = await api.call('documents/get-document-info', {
    collection_name: 'notes',
    path: 'text-pages',
    include_content: true,
  });
  t.equal(document.content, pages.join('\n\n'));
});

t.test('the command line creates, fills and queries a collection with own vectors', async (t) => {
  const { key, api } = await createNotes();
  const variables = { QUARRY_URL: server.url, QUARRY_API_KEY: key };
  const run = (...words: string[]) => runQuarry(words, { variables });
  t.match(await run('collections', 'add', 'lines', '--model', 'own', '--dimensions', String(dimensions)), {
    code: 0,
  });
  t.match(await run('collections', 'add', 'more', '--model', 'own'), { code: 1, err: /requires dimensions/ });
  const file = join(server.data, '..', 'lines.jsonl');
  const lines = [
    { path: 'a.txt', text: 'Salted herring.', vector: vectorOf(1), metadata: { kind: 'fish' } },
    { path: 'b.txt', pages: ['A gull.', 'A tern.'], vectors: [vectorOf(2), vectorOf(3)] },
    { path: 'c.txt', content: { type: 'text', text: 'The tide.' }, vector: base64Of(vectorOf(4)) },
    { path: 'd.txt', text: 'No vector.' },
    { text: 'No path.', vector: vectorOf(5) },
  ];
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n\n')}\n`);
  t.match(await run('documents', 'add', file, '-c', 'lines'), {
    code: 1,
    err: /3 documents added, 2 rejected\.[\s\S]*line 7, d\.txt: .*vector is missing[\s\S]*line 9, without a path: /,
  });
  t.same(await api.paths('lines'), ['a.txt', 'b.txt', 'c.txt']);
  t.match(await run('documents', 'add', file, '-c', 'lines', '--json'), { code: 1, out: /"added":0/ });
  t.match(await run('documents', 'add', file, '-c', 'lines', '--overwrite', '--no-wait'), {
    code: 1,
    err: /3 doc/,
  });
  t.match(await run('documents', 'add', `${file}x`), { code: 2, err: /cannot be read/ });
  const searchArguments = [
    'search',
    '-c',
    'lines',
    '--documents',
    '--vector',
    JSON.stringify(vectorOf(3.01)),
  ];
  t.match(await run(...searchArguments, '--weights', '0:1', 'x'), { code: 0, out: /^1\. +b\.txt/ });
  t.match(await run('search', '-c', 'lines', '--vector', '[1, "a"]', 'x'), {
    code: 2,
    err: /--vector must be/,
  });
  t.match(await run('search', '-c', 'lines', 'herring'), { code: 1, err: /query_vector is missing/ });
  t.match(await run('collections', 'update', 'lines', '--weights', '1:0', '--max-per-document', '1'), {
    code: 0,
    out: /Query defaults of lines: .*"vector":0.*"max_per_document":1/,
  });
  t.match(await run('search', '-c', 'lines', '--documents', 'herring'), { code: 0, out: /^1\. +a\.txt/ });
});
