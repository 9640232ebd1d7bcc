import t from 'tap';
import { ModelUnavailableError } from '../../src/core/model-unavailable-error.ts';
import { computeDotProducts } from '../../src/models/quantization.ts';
import { parseOperators } from '../../src/search/operators.ts';
import { defaultControl, type SearchControl, type SearchRequest } from '../../src/search/query-request.ts';
import { Search } from '../../src/search/search.ts';
import { cancellationTokenWith } from '../core/cancellation-token.ts';
import { openComponents, type PipelineComponents, textDocument } from '../ingest/controllable-store.ts';
import { letterVectors } from '../simulate/server-components.ts';
import { testEventMsMax } from '../timeouts.ts';

function request({ collections, papers }: PipelineComponents, fields: Partial<SearchRequest>): SearchRequest {
  return {
    collection: collections.findById(papers.collectionId)!,
    query: 'herring',
    k: 10,
    filter: null,
    reranker: null,
    isWide: false,
    deadlineMs: testEventMsMax,
    yieldToEventLoop: () => null,
    caller: cancellationTokenWith(),
    explain: false,
    control: defaultControl,
    ...fields,
  };
}

/** Request with the given search control, which also determines how operators of the query are parsed. */
function openSearch(
  first: PipelineComponents,
  control: Partial<SearchControl>,
  fields: Partial<SearchRequest> = {},
) {
  return request(first, { ...fields, control: { ...defaultControl, ...control } });
}

async function add(
  first: PipelineComponents,
  documents: Readonly<Record<string, readonly string[]>>,
): Promise<void> {
  const { writer, ingest, papers } = first;
  await Promise.all(
    Object.entries(documents).map(async ([path, pages]) => {
      const { version } = await writer.add(papers, { ...textDocument(path, pages.join('\n\n')), pages });
      await ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
    }),
  );
}

/** One text of hundreds of chunks about herring, and many short ones that mention it once. */
async function longAndShort(t: Parameters<typeof openComponents>[0]): Promise<PipelineComponents> {
  const first = await openComponents(t);
  const long = Array.from(
    { length: 9_000 },
    (_, i) => `herring number ${i} swims past the old harbour wall. `,
  ).join('');
  const notes = Array.from(
    { length: 60 },
    (_, i) => [`note-${i}.txt`, [`a short note ${i} about a herring`]] as const,
  );
  await add(first, { 'long.txt': [long], ...Object.fromEntries(notes) });
  return first;
}

t.test(
  'a document of hundreds of matching passages hides neither other documents nor other pages',
  async (t) => {
    const first = await longAndShort(t);
    for (const k of [1, 10, 60]) {
      const documents = await first.search.searchDocuments(request(first, { k }));
      const pages = await first.search.searchPages(request(first, { k }));
      t.equal(documents.hits.length, k, `${k} documents`);
      t.equal(new Set(documents.hits.map((hit) => hit.version.path)).size, k, 'each once');
      t.equal(pages.hits.length, k, `${k} pages`);
      t.equal(new Set(pages.hits.map((hit) => `${hit.version.path} ${hit.pageIndex}`)).size, k, 'each once');
    }
  },
);

t.test('all k results are returned once, best first, at every granularity', async (t) => {
  const first = await longAndShort(t);
  const resultCounts = {
    searchSnippets: 128,
    searchFineSnippets: 128,
    searchPages: 61,
    searchDocuments: 61,
  } as const;
  for (const [kind, k] of Object.entries(resultCounts)) {
    const { hits } = await first.search[kind as keyof typeof resultCounts](
      request(first, { k, query: 'note herring' }),
    );
    t.equal(hits.length, k, kind);
    const scores = hits.map((hit) => hit.score);
    t.same(
      scores,
      [...scores].sort((a, b) => b - a),
      `${kind}: best first`,
    );
    t.ok(
      scores.every((score) => score >= 0 && score <= 1),
      `${kind}: scores lie in 0..1`,
    );
  }
});

t.test('short documents yield as many fine snippets as long ones', async (t) => {
  const first = await openComponents(t);
  const notes = Array.from({ length: 100 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const);
  await add(first, Object.fromEntries(notes));
  const { hits } = await first.search.searchFineSnippets(request(first, { k: 90 }));
  t.equal(new Set(hits.map((hit) => hit.version.path)).size, 90);
});

t.test(
  'a snippet is exactly its slice of the text in code points, and names the pages it lies on',
  async (t) => {
    const first = await openComponents(t);
    const pages = Array.from(
      { length: 12 },
      (_, i) => `🐟 page ${i}: ${'the tide came in 🌊 slowly. '.repeat(40)}herring${i}`,
    );
    await add(first, { 'fish.txt': pages });
    const text = [...pages.join('\n\n')];
    for (const kind of ['searchSnippets', 'searchFineSnippets'] as const) {
      for (const page of [0, 5, 11]) {
        const { hits } = await first.search[kind](request(first, { query: `herring${page}`, k: 128 }));
        const chunks = hits.map(({ snippet }) => snippet.chunk);
        for (const { text: chunkText, start, end } of chunks)
          t.equal(chunkText, text.slice(start, end).join(''));
        const best = chunks.find(({ text: chunkText }) => chunkText.includes(`herring${page}`))!;
        t.ok(
          best.pageStart <= page && page < best.pageEnd,
          `${kind}: page ${page} in [${best.pageStart}, ${best.pageEnd})`,
        );
      }
    }
  },
);

t.test('the page that contains the words ranks above its neighbors', async (t) => {
  const first = await openComponents(t);
  const pages = Array.from(
    { length: 30 },
    (_, i) => `Page ${i} tells of the weather.${i === 17 ? ' A herring!' : ''}`,
  );
  await add(first, { 'log.txt': pages });
  const { hits } = await first.search.searchPages(request(first, { query: 'herring', k: 5 }));
  t.equal(hits[0]?.pageIndex, 17);
});

/** Search over the same modules with a given word list; `read` records the texts passed to the models. */
function searchWithTypos(
  first: PipelineComponents,
  knowsWord: ((word: string) => boolean) | null,
  read: string[] = [],
): Search {
  return new Search({
    ...first,
    clock: { now: () => 0, monotonic: () => 0 },
    computeSimilarities: computeDotProducts,
    getIndex: (collectionId) => first.indexes.get(collectionId),
    mayDegrade: true,
    isKnownWord: knowsWord,
    models: {
      embed: async ({ text }) => {
        read.push(text);
        return letterVectors([text]).vectors;
      },
      rerankWeight: () => 1,
      rerank: async (_model, query, texts) => {
        read.push(query);
        return new Float32Array(texts.length).fill(0.5);
      },
    },
  });
}

t.test('a misspelled word is corrected, and a known word is not', async (t) => {
  const first = await openComponents(t);
  await add(first, {
    'herring.txt': ['the herring swims in the sea'],
    'compressor.txt': ['a compressor and its development'],
    'trout.txt': ['trout live in the river'],
  });
  const words = { lexical: 1, vector: 0 };
  const ask = async (query: string, search = searchWithTypos(first, () => false), control = {}) => {
    const { hits, corrections } = await search.searchDocuments(
      request(first, { query, control: { ...defaultControl, weights: words, ...control } }),
    );
    return { paths: hits.map(({ version }) => version.path), corrections };
  };
  for (const [typed, path, term] of [
    ['herrng', 'herring.txt', 'her'],
    ['Hrering', 'herring.txt', 'her'],
    ['comrpessro', 'compressor.txt', 'compressor'],
    ['developmetn', 'compressor.txt', 'develop'],
    ['truot river', 'trout.txt', 'trout'],
  ] as const) {
    const { paths, corrections } = await ask(typed);
    t.equal(paths[0], path, typed);
    t.ok(corrections[0]!.terms[0]!.startsWith(term), `${typed} stands for ${corrections[0]!.terms}`);
  }
  const none = { paths: [], corrections: [] };
  t.same(await ask('herrng', searchWithTypos(first, null)), none, 'switched off');
  t.same(
    await ask(
      'herrng',
      searchWithTypos(first, (word) => word === 'herrng'),
    ),
    none,
    'a word that is right',
  );
  t.same(await ask('h3rrng her0ing'), none, 'no letters, no spelling');
  t.same(await ask('xylophone'), none, 'nothing like it');
  t.same((await ask('herring')).corrections, [], 'nothing is corrected that is there');
  const operators = parseOperators('"herrng"').operators;
  t.same(await ask('herrng', undefined, { operators }), none, 'not what has to stand in the text as it is');
  const read: string[] = [];
  await searchWithTypos(first, () => false, read).searchDocuments(
    request(first, { query: 'where do Truot live', reranker: 'any' }),
  );
  t.same(read, ['where do trout live', 'where do trout live'], 'the models read the word that was meant');
});

t.test(
  'proximity rescoring prefers words in query order, at every granularity, and explains it',
  async (t) => {
    const first = await openComponents(t);
    const filler = 'the sea is wide and the boats are small and old. '.repeat(5);
    await add(first, {
      'apart.txt': [`${filler} red sails and a herring ${filler} harbour pier`],
      'together.txt': [`${filler} the red herring harbour pier ${filler}`],
      'other.txt': [`${filler}`],
    });
    const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
    const query = 'red herring harbour pier';
    for (const kind of ['searchDocuments', 'searchSnippets', 'searchFineSnippets', 'searchPages'] as const) {
      const once = await first.search[kind](request(first, { query, control, explain: true }));
      const twice = await first.search[kind](request(first, { query, control, isWide: true, explain: true }));
      t.equal(once.selection.rescored, 0, kind);
      t.ok(
        once.hits.every(({ origin }) => origin.proximity === null),
        `${kind}: nothing was looked at`,
      );
      t.ok(twice.selection.rescored >= 2, `${kind}: some were`);
      t.equal(twice.hits[0]!.version.path, 'together.txt', `${kind}: the words in their order come first`);
      t.ok(twice.hits[0]!.origin.proximity!.order > 0);
      const scores = twice.hits.map(({ score }) => score);
      t.same(
        scores,
        scores.toSorted((a, b) => b - a),
        `${kind}: best first`,
      );
      t.ok(scores.every((score) => score >= 0 && score <= 1));
    }
  },
);

t.test('a reranker reorders results and reads each text once', async (t) => {
  const first = await openComponents(t);
  const notes = Array.from({ length: 20 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const);
  await add(first, Object.fromEntries(notes));
  const read: string[] = [];
  const search = new Search({
    ...first,
    clock: { now: () => 0, monotonic: () => 0 },
    computeSimilarities: computeDotProducts,
    getIndex: (collectionId) => first.indexes.get(collectionId),
    mayDegrade: true,
    isKnownWord: () => false,
    models: {
      embed: async ({ text }) => letterVectors([text]).vectors,
      rerankWeight: () => 1,
      rerank: async (_model, _query, texts) => {
        read.push(...texts);
        return Float32Array.from(texts, (text) => (text.includes('note 7 ') ? 0.9 : 0.1));
      },
    },
  });
  for (const kind of ['searchSnippets', 'searchFineSnippets', 'searchPages', 'searchDocuments'] as const) {
    read.length = 0;
    const { hits } = await search[kind](request(first, { reranker: 'zerank-2', k: 5 }));
    t.equal(hits[0]?.version.path, '7.txt', kind);
    t.match(hits[0]?.origin, { rerank: Math.fround(0.9) }, `${kind} says so`);
    t.equal(new Set(read).size, read.length, `${kind}: no text is read twice`);
  }
});

/** Sentences of about 200 characters, so that each is a fine chunk; those at `about` mention herring. */
function sentences(count: number, about: readonly number[]): string {
  const tide = 'the tide came in slowly over the sand and the stones of the bay. '.repeat(3);
  return Array.from({ length: count }, (_, i) =>
    about.includes(i) ? `Sentence ${i} is about herring. ${tide}` : `Sentence ${i} says little. ${tide}`,
  ).join('\n');
}

t.test('of equal fine snippets the one with matching neighbors ranks first', async (t) => {
  const first = await openComponents(t);
  await add(first, { 'bay.txt': [sentences(8, [1, 4, 5, 6])] });
  const { hits } = await first.search.searchFineSnippets(request(first, { k: 3 }));
  t.match(hits[0]?.snippet.chunk.text, /Sentence 5/);
});

t.test('a reranker reads a fine snippet with its two neighbors', async (t) => {
  const first = await openComponents(t);
  await add(first, { 'bay.txt': [sentences(7, [3])] });
  const read: string[] = [];
  const search = new Search({
    ...first,
    clock: { now: () => 0, monotonic: () => 0 },
    computeSimilarities: computeDotProducts,
    getIndex: (collectionId) => first.indexes.get(collectionId),
    mayDegrade: true,
    isKnownWord: () => false,
    models: {
      embed: async ({ text }) => letterVectors([text]).vectors,
      rerankWeight: () => 1,
      rerank: async (_model, _query, texts) => {
        read.push(...texts);
        return new Float32Array(texts.length).fill(0.5);
      },
    },
  });
  const { hits } = await search.searchFineSnippets(request(first, { reranker: 'zerank-2', k: 1 }));
  t.match(hits[0]?.snippet.chunk.text, /^Sentence 3.*\n$/s);
  const around = read.find((text) => text.indexOf(hits[0]!.snippet.chunk.text) > 0)!;
  t.match(around, /^Sentence 2[\s\S]*Sentence 3[\s\S]*Sentence 4/);
  t.notMatch(around, /Sentence 1|Sentence 5/);
  t.ok(
    read.some((text) => text.startsWith('Sentence 0') && !text.includes('Sentence 2')),
    'the first has one beside it',
  );
});

t.test('a filter without words lists every match once, and an empty collection has nothing', async (t) => {
  const first = await openComponents(t);
  t.same((await first.search.searchDocuments(request(first, {}))).hits, []);
  t.same((await first.search.searchPages(request(first, {}))).hits, []);
  await add(first, { 'a.txt': ['one'], 'b.txt': ['two'], 'empty.txt': [''] });
  const { hits } = await first.search.listDocuments(request(first, { k: 10 }));
  t.same(hits.map((hit) => hit.version.path).sort(), ['a.txt', 'b.txt', 'empty.txt']);
});

const granularities = ['searchSnippets', 'searchFineSnippets', 'searchPages', 'searchDocuments'] as const;

t.test('max_per_document bounds the results of a document, and other documents fill the list', async (t) => {
  const first = await longAndShort(t);
  for (const kind of ['searchSnippets', 'searchFineSnippets', 'searchPages'] as const) {
    for (const [k, maxPerDocument] of [
      [40, 1],
      [61, 1],
      [20, 3],
    ] as const) {
      const { hits, selection: choice } = await first.search[kind](
        openSearch(first, { maxPerDocument }, { k }),
      );
      const counts = new Map<string, number>();
      for (const { version } of hits) counts.set(version.path, (counts.get(version.path) ?? 0) + 1);
      t.equal(hits.length, k, `${kind}, ${k}`);
      t.ok(Math.max(...counts.values()) <= maxPerDocument, `${kind}, ${maxPerDocument} of a document`);
      t.ok(choice.complete);
    }
  }
  const { hits } = await first.search.searchSnippets(openSearch(first, { maxPerDocument: 1 }, { k: 128 }));
  t.equal(hits.length, 61, 'one of each document, and no more');
});

t.test('a chunk that the operators accept is found at any rank', async (t) => {
  const first = await openComponents(t);
  const barrelDocuments = Array.from(
    { length: 300 },
    (_, i) => [`${i}.txt`, ['herring in a barrel']] as const,
  );
  const rare = 'Long ago, and far from the sea, somebody told somebody else about a herring once. ';
  await add(first, {
    ...Object.fromEntries(barrelDocuments),
    'far.txt': [rare],
    'farther.txt': [rare + rare],
  });
  const { text: query, operators } = parseOperators('herring -barrel');
  const control = { operators, maxPerDocument: 1, weights: { lexical: 1, vector: 0 } };
  for (const kind of granularities) {
    const { hits, selection: choice } = await first.search[kind](openSearch(first, control, { query, k: 2 }));
    t.same(hits.map(({ version }) => version.path).sort(), ['far.txt', 'farther.txt'], kind);
    t.ok(choice.checked > 300, `${kind}: it looked at ${choice.checked}`);
  }
  const all = parseOperators('herring -herring').operators;
  for (const kind of granularities) {
    const { hits, selection: choice } = await first.search[kind](openSearch(first, { operators: all }));
    t.same([hits, choice.complete], [[], true], `${kind}: nothing is left`);
  }
});

t.test('a page matches by its own text, not by that of adjacent pages', async (t) => {
  const first = await openComponents(t);
  await add(first, {
    'slides.txt': ['salted herring', 'smoked herring', 'a red herring', 'salted, smoked: herring'],
  });
  const pages = async (typed: string) => {
    const { text: query, operators } = parseOperators(typed);
    const { hits } = await first.search.searchPages(openSearch(first, { operators }, { query }));
    return hits.map(({ pageIndex }) => pageIndex).sort();
  };
  t.same(await pages('"salted herring"'), [0]);
  t.same(await pages('herring -smoked'), [0, 2]);
  t.same(await pages('"herring smoked"'), [], 'no phrase goes over the edge of a page');
});

t.test('a side with weight 0 is not searched', async (t) => {
  const first = await openComponents(t);
  await add(first, { 'a.txt': ['one herring'], 'b.txt': ['two cods'] });
  const embedded: string[] = [];
  let isThere = true;
  const search = new Search({
    ...first,
    clock: { now: () => 0, monotonic: () => 0 },
    computeSimilarities: computeDotProducts,
    getIndex: (collectionId) => first.indexes.get(collectionId),
    mayDegrade: true,
    isKnownWord: () => false,
    models: {
      embed: async ({ text }) => {
        if (!isThere) throw new ModelUnavailableError('letters', 'it is away', { retryAfterMs: 1 });
        embedded.push(text);
        return letterVectors([text]).vectors;
      },
      rerankWeight: () => 1,
      rerank: async (_model, _query, texts) => new Float32Array(texts.length),
    },
  });
  const words = { weights: { lexical: 1, vector: 0 } };
  const meaning = { weights: { lexical: 0, vector: 1 } };
  for (const kind of granularities) {
    embedded.length = 0;
    const byWords = await search[kind](openSearch(first, words, { explain: true }));
    t.same([embedded, byWords.models.embedded], [[], false], kind);
    t.match(byWords.hits, [{ version: { path: 'a.txt' }, score: 1, origin: { similarity: null } }]);
    t.equal(byWords.hits.length, 1, `${kind}: what has no word of the query is not found`);
    const byMeaning = await search[kind](openSearch(first, meaning, { explain: true }));
    t.same(embedded, ['herring']);
    t.equal(byMeaning.hits.length, 2, kind);
    t.ok(byMeaning.hits.every(({ origin }) => origin.lexical === 0 && origin.words.length === 0));
  }
  isThere = false;
  t.same((await search.searchSnippets(openSearch(first, words))).models.missing, [], 'words need no model');
  await t.rejects(
    search.searchSnippets(openSearch(first, meaning)),
    { code: 'unavailable' },
    'nothing is left to ask',
  );
});

t.test('min_score removes exactly the results below it, at every granularity', async (t) => {
  const first = await longAndShort(t);
  for (const kind of granularities) {
    const all = (await first.search[kind](request(first, { k: 60, query: 'note herring' }))).hits;
    const bound = all[20]!.score;
    const { hits } = await first.search[kind](
      openSearch(first, { minScore: bound }, { k: 60, query: 'note herring' }),
    );
    const expected = all.filter(({ score }) => score >= bound);
    t.same(
      hits.map(({ score }) => score),
      expected.map(({ score }) => score),
      kind,
    );
  }
});

t.test('deleted and replaced versions are evicted from the cache at once', async (t) => {
  const first = await openComponents(t);
  const { reader, writer, papers } = first;
  const snippets = async () => (await first.search.searchSnippets(request(first, {}))).hits;
  await add(first, { 'a.txt': ['one herring'], 'b.txt': ['another herring'] });
  t.equal((await snippets()).length, 2);
  const both = reader.bytes;
  await writer.remove(papers, ['a.txt']);
  t.ok(reader.bytes > 0 && reader.bytes < both, 'the deleted one is gone');
  t.same(
    (await snippets()).map((hit) => hit.version.path),
    ['b.txt'],
  );
  await writer.updateMetadata(papers, 'b.txt', { year: '1887' });
  const { version } = first.documents.get(papers.collectionId, 'b.txt')!;
  await first.ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
  t.equal(reader.bytes, 0, 'the replaced one is gone');
  t.match(await snippets(), [{ version: { path: 'b.txt', metadata: { year: '1887' } } }]);
  await first.deleteCollection(papers);
  t.equal(reader.bytes, 0, 'and so is the whole collection');
});
