import t from 'tap';
import { dotWithCodes } from '../../src/models/codes.ts';
import type { SearchRequest } from '../../src/search/query-request.ts';
import { Search } from '../../src/search/search.ts';
import { callerWith } from '../base/caller.ts';
import { type Rooms, rooms, textDocument } from '../pipeline/held-store.ts';
import { embed } from '../simulate/process.ts';

function request({ collections, papers }: Rooms, fields: Partial<SearchRequest>): SearchRequest {
  return {
    collection: collections.byId(papers.collectionId)!,
    query: 'herring',
    k: 10,
    filter: null,
    reranker: null,
    wide: false,
    deadlineMs: 20_000,
    caller: callerWith(),
    explain: false,
    ...fields,
  };
}

async function add(first: Rooms, documents: Readonly<Record<string, readonly string[]>>): Promise<void> {
  const { writer, ingest, papers } = first;
  await Promise.all(
    Object.entries(documents).map(async ([path, pages]) => {
      const { version } = await writer.add(papers, { ...textDocument(path, pages.join('\n\n')), pages });
      await ingest.settled(version, AbortSignal.timeout(20_000));
    }),
  );
}

/** One text of hundreds of passages about herring, and many short ones that say it once. */
async function longAndShort(t: Parameters<typeof rooms>[0]): Promise<Rooms> {
  const first = await rooms(t);
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
      const documents = await first.search.documents(request(first, { k }));
      const pages = await first.search.pages(request(first, { k }));
      t.equal(documents.hits.length, k, `${k} documents`);
      t.equal(new Set(documents.hits.map((hit) => hit.version.path)).size, k, 'each once');
      t.equal(pages.hits.length, k, `${k} pages`);
      t.equal(new Set(pages.hits.map((hit) => `${hit.version.path} ${hit.pageIndex}`)).size, k, 'each once');
    }
  },
);

t.test('all results that are asked for come, best first, each once, at every granularity', async (t) => {
  const first = await longAndShort(t);
  const asked = { snippets: 128, preciseSnippets: 128, pages: 61, documents: 61 } as const;
  for (const [kind, k] of Object.entries(asked)) {
    const { hits } = await first.search[kind as keyof typeof asked](
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

t.test('short notes give as many precise snippets as long texts', async (t) => {
  const first = await rooms(t);
  const notes = Array.from({ length: 100 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const);
  await add(first, Object.fromEntries(notes));
  const { hits } = await first.search.preciseSnippets(request(first, { k: 90 }));
  t.equal(new Set(hits.map((hit) => hit.version.path)).size, 90);
});

t.test(
  'a snippet is exactly its slice of the text in code points, and names the pages it lies on',
  async (t) => {
    const first = await rooms(t);
    const pages = Array.from(
      { length: 12 },
      (_, i) => `🐟 page ${i}: ${'the tide came in 🌊 slowly. '.repeat(40)}herring${i}`,
    );
    await add(first, { 'fish.txt': pages });
    const text = [...pages.join('\n\n')];
    for (const kind of ['snippets', 'preciseSnippets'] as const) {
      for (const page of [0, 5, 11]) {
        const { hits } = await first.search[kind](request(first, { query: `herring${page}`, k: 128 }));
        for (const hit of hits) t.equal(hit.text, text.slice(hit.start, hit.end).join(''));
        const best = hits.find((hit) => hit.text.includes(`herring${page}`))!;
        t.ok(
          best.pageStart <= page && page < best.pageEnd,
          `${kind}: page ${page} in [${best.pageStart}, ${best.pageEnd})`,
        );
      }
    }
  },
);

t.test('the page that holds the words comes before its neighbours', async (t) => {
  const first = await rooms(t);
  const pages = Array.from(
    { length: 30 },
    (_, i) => `Page ${i} tells of the weather.${i === 17 ? ' A herring!' : ''}`,
  );
  await add(first, { 'log.txt': pages });
  const { hits } = await first.search.pages(request(first, { query: 'herring', k: 5 }));
  t.equal(hits[0]?.pageIndex, 17);
});

t.test('what a reranker finds better moves up, and it reads each text once', async (t) => {
  const first = await rooms(t);
  const notes = Array.from({ length: 20 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const);
  await add(first, Object.fromEntries(notes));
  const read: string[] = [];
  const search = new Search({
    ...first,
    clock: { now: () => 0, monotonic: () => 0 },
    similarities: dotWithCodes,
    indexOf: (collectionId) => first.indexes.get(collectionId),
    doesWithout: true,
    models: {
      embed: async ({ text }) => embed([text]).vectors,
      rerankWeight: () => 1,
      rerank: async (_model, _query, texts) => {
        read.push(...texts);
        return Float32Array.from(texts, (text) => (text.includes('note 7 ') ? 0.9 : 0.1));
      },
    },
  });
  for (const kind of ['snippets', 'preciseSnippets', 'pages', 'documents'] as const) {
    read.length = 0;
    const { hits } = await search[kind](request(first, { reranker: 'zerank-2', k: 5 }));
    t.equal(hits[0]?.version.path, '7.txt', kind);
    t.match(hits[0]?.origin, { rerank: Math.fround(0.9) }, `${kind} says so`);
    t.equal(new Set(read).size, read.length, `${kind}: no text is read twice`);
  }
});

t.test('a filter without words lists every match once, and an empty collection has nothing', async (t) => {
  const first = await rooms(t);
  t.same((await first.search.documents(request(first, {}))).hits, []);
  t.same((await first.search.pages(request(first, {}))).hits, []);
  await add(first, { 'a.txt': ['one'], 'b.txt': ['two'], 'empty.txt': [''] });
  const { hits } = await first.search.list(request(first, { k: 10 }));
  t.same(hits.map((hit) => hit.version.path).sort(), ['a.txt', 'b.txt', 'empty.txt']);
});

t.test('what was deleted or replaced leaves the memory of queries at once', async (t) => {
  const first = await rooms(t);
  const { reader, writer, papers } = first;
  const snippets = async () => (await first.search.snippets(request(first, {}))).hits;
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
  await first.ingest.settled(version, AbortSignal.timeout(20_000));
  t.equal(reader.bytes, 0, 'the replaced one is gone');
  t.match(await snippets(), [{ version: { path: 'b.txt', metadata: { year: '1887' } } }]);
  await first.deleteCollection(papers);
  t.equal(reader.bytes, 0, 'and so is the whole collection');
});
