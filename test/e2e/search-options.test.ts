import t from '../support/tap.ts';
import { testFileMsMax } from '../timeouts.ts';
import { collections, joinLibrary, queryOperations } from './library-fixture.ts';
import type { ReplyOf } from './published-replies.ts';

/** Options of queries: explain, operators, weights, bounds and defaults. */

t.setTimeout(testFileMsMax);
const api = await joinLibrary();

await t.test('explain shows how each result was found, and changes nothing else', async (t) => {
  for (const [collection_name, shards] of [
    [collections.one, 1],
    [collections.eight, 8],
  ] as const) {
    for (const operation of queryOperations) {
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

const precise = ['queries/top-snippets', { precise_responses: true }] as const;
/** Paths found by each kind of query, sorted. */
async function findPaths(body: Readonly<Record<string, unknown>>): Promise<[string, string[]][]> {
  const queryRequest = [...queryOperations.map((operation) => [operation, {}] as const), precise];
  return Promise.all(
    queryRequest.map(async ([operation, extra]) => {
      const { results } = await api.call(operation, { k: 40, ...body, ...extra });
      const name = `${operation} ${JSON.stringify(extra)}`;
      return [name, [...new Set(results.map(({ path }) => path))].sort()];
    }),
  );
}

await t.test('with operators each result contains the phrases and no excluded word', async (t) => {
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
    for (const [name, found] of await findPaths({ collection_name, query, syntax: 'operators' }))
      t.equal(found.join(''), paths, `${query} with ${name}`);
  }
  for (const [name, found] of await findPaths({ collection_name, query: '"salted herring" -smoked' }))
    t.equal(found.length, 6, `natural language has no operators: ${name}`);
});

await t.test('weights select the searches and their influence', async (t) => {
  const query = 'fixing a punctured inner tube';
  const [wordsOnly, meaningOnly] = [
    { lexical: 1, vector: 0 },
    { lexical: 0, vector: 1 },
  ];
  for (const collection_name of Object.values(collections)) {
    for (const operation of queryOperations) {
      const ask = (weights: object | null) =>
        api.call(operation, { collection_name, query, k: 20, weights, explain: true });
      const byDefault = await ask(null);
      t.same(
        (await ask({ lexical: 1, vector: 0.6 })).results,
        byDefault.results,
        'these are the default weights',
      );
      t.same((await ask({ lexical: 5, vector: 3 })).results, byDefault.results, 'only their ratio matters');
      const words = await ask(wordsOnly);
      t.ok(words.results.length > 0 && words.results.length < 20, 'only results with a word of the query');
      for (const { explain } of words.results) {
        t.ok((explain?.lexical.score ?? 0) > 0);
        t.equal(explain?.vector.similarity, null);
      }
      t.equal(words.results[0]?.score, 1, 'the best result has the maximum score');
      const meaning = await ask(meaningOnly);
      t.equal(meaning.results.length, 20);
      t.equal(meaning.results[0]?.score, 1);
      const similar = meaning.results.map(({ explain }) => explain?.vector.similarity ?? -1);
      t.same(
        similar,
        [...similar].sort((a, b) => b - a),
        'the nearest result is first',
      );
    }
    const nothing = { collection_name, query: '🌋', weights: wordsOnly };
    for (const [name, found] of await findPaths(nothing)) t.same(found, [], `no words, no results: ${name}`);
  }
});

await t.test('min_score removes exactly the results with a lower score', async (t) => {
  const collection_name = collections.eight;
  const query = 'archive shelf bicycle';
  for (const operation of queryOperations) {
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

await t.test('max_per_document limits the pages or snippets of a document', async (t) => {
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
  for (const [operation, extra] of [...queryOperations.slice(1).map((one) => [one, {}] as const), precise]) {
    for (const reranker of [null, 'zerank-2']) {
      const body = { collection_name, query: 'harbour', k: 5, reranker, ...extra };
      const plain = (await api.call(operation, body)).results;
      t.ok(new Set(plain.map(({ path }) => path)).size < plain.length, 'one document is found twice');
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

await t.test('a collection stores query defaults that a query can override', async (t) => {
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

/** Reads the fields that the published replies do not have. */
function readRelevance(reply: { readonly results: readonly object[]; readonly explain?: object }) {
  const results = reply.results as readonly { readonly explain: { readonly relevance: number | null } }[];
  const { good_match } = reply.explain as { readonly good_match: boolean | null };
  return { goodMatch: good_match, relevance: results.map(({ explain }) => explain.relevance) };
}

await t.test('explain distinguishes results with an answer from results without one', async (t) => {
  const collection_name = 'contracts';
  await api.call('collections/add-collection', { collection_name });
  const texts = {
    term: 'The initial term of this agreement is sixty (60) months from the commencement date.',
    deposit: 'The tenant shall pay a security deposit of two monthly rents before the keys are handed over.',
    parking: 'Vehicles may be parked only in the marked spaces behind the building.',
    cellar: 'The cellar must be kept dry and free of flammable materials.',
  };
  await api.addAll(
    collection_name,
    Object.entries(texts).map(([path, text]) => ({ path, content: { type: 'text', text } })),
  );
  for (const operation of queryOperations) {
    const ask = (query: string) => api.call(operation, { collection_name, query, k: 4, explain: true });
    const answered = await ask('how long is the initial term of the agreement?');
    t.equal(answered.results[0]?.path, 'term');
    const { goodMatch, relevance } = readRelevance(answered);
    t.equal(goodMatch, true, operation);
    t.ok(relevance[0]! >= 0.5);
    const unanswered = readRelevance(await ask('when do electricity bills have to be paid?'));
    t.equal(unanswered.goodMatch, false, operation);
    t.equal(unanswered.relevance.length, 4);
    for (const value of unanswered.relevance) t.ok(value! < 0.5);
  }
});

await t.test('a listing by filter has no relevance', async (t) => {
  const listed = await api.call('queries/top-documents', {
    collection_name: collections.one,
    query: null,
    filter: { year: '2010' },
    k: 3,
    explain: true,
  });
  t.same(readRelevance(listed), { goodMatch: null, relevance: [null, null, null] });
});
