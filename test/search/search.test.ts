import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { testEventMsMax } from '../timeouts.ts';
import { addDocuments, openLongAndShort, searchRequest } from './search-fixtures.ts';

t.test('hundreds of matching chunks of one document do not hide other documents or pages', async (t) => {
  const first = await openLongAndShort(t);
  for (const k of [1, 10, 60]) {
    const documents = await first.search.searchDocuments(searchRequest(first, { k }));
    const pages = await first.search.searchPages(searchRequest(first, { k }));
    t.equal(documents.hits.length, k, `${k} documents`);
    t.equal(new Set(documents.hits.map((hit) => hit.version.path)).size, k, 'each once');
    t.equal(pages.hits.length, k, `${k} pages`);
    t.equal(new Set(pages.hits.map((hit) => `${hit.version.path} ${hit.pageIndex}`)).size, k, 'each once');
  }
});

t.test('all k results are returned once, best first, at every granularity', async (t) => {
  const first = await openLongAndShort(t);
  const resultCounts = {
    searchSnippets: 128,
    searchFineSnippets: 128,
    searchPages: 61,
    searchDocuments: 61,
  } as const;
  for (const [kind, k] of Object.entries(resultCounts)) {
    const { hits } = await first.search[kind as keyof typeof resultCounts](
      searchRequest(first, { k, query: 'note herring' }),
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
      `${kind}: scores are in 0..1`,
    );
  }
});

t.test(
  'a snippet is exactly its slice of the text in code points, and names the pages it lies on',
  async (t) => {
    const first = await openComponents(t);
    const pages = Array.from(
      { length: 12 },
      (_, i) => `🐟 page ${i}: ${'the tide came in 🌊 slowly. '.repeat(40)}herring${i}`,
    );
    await addDocuments(first, { 'fish.txt': pages });
    const text = [...pages.join('\n\n')];
    for (const kind of ['searchSnippets', 'searchFineSnippets'] as const) {
      for (const page of [0, 5, 11]) {
        const { hits } = await first.search[kind](searchRequest(first, { query: `herring${page}`, k: 128 }));
        const chunks = hits.map(({ snippet }) => snippet);
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
  await addDocuments(first, { 'log.txt': pages });
  const { hits } = await first.search.searchPages(searchRequest(first, { query: 'herring', k: 5 }));
  t.equal(hits[0]?.pageIndex, 17);
});

t.test(
  'a filter without words lists every match once, and an empty collection returns no results',
  async (t) => {
    const first = await openComponents(t);
    t.same((await first.search.searchDocuments(searchRequest(first, {}))).hits, []);
    t.same((await first.search.searchPages(searchRequest(first, {}))).hits, []);
    await addDocuments(first, { 'a.txt': ['one'], 'b.txt': ['two'], 'empty.txt': [''] });
    const { hits } = await first.search.listDocuments(searchRequest(first, { k: 10 }));
    t.same(hits.map((hit) => hit.version.path).sort(), ['a.txt', 'b.txt', 'empty.txt']);
  },
);

t.test('deleted and replaced versions are evicted from the cache at once', async (t) => {
  const first = await openComponents(t);
  const { reader, writer, papers } = first;
  const snippets = async () => (await first.search.searchSnippets(searchRequest(first, {}))).hits;
  await addDocuments(first, { 'a.txt': ['one herring'], 'b.txt': ['another herring'] });
  t.equal((await snippets()).length, 2);
  const both = reader.bytes;
  await writer.remove(papers, ['a.txt']);
  t.ok(reader.bytes > 0 && reader.bytes < both, 'the deleted document is not found');
  t.same(
    (await snippets()).map((hit) => hit.version.path),
    ['b.txt'],
  );
  await writer.updateMetadata(papers, 'b.txt', { metadata: { year: '1887' } });
  const { version } = first.documents.get(papers.collectionId, 'b.txt')!;
  await first.ingest.waitUntilSettled(version, AbortSignal.timeout(testEventMsMax));
  t.equal(reader.bytes, 0, 'the replaced version is not found');
  t.match(await snippets(), [{ version: { path: 'b.txt', metadata: { year: '1887' } } }]);
  await first.deleteCollection(papers);
  t.equal(reader.bytes, 0, 'the deleted collection is evicted');
});

t.test('a listing yields to the event loop before its filter is evaluated', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, { 'a.txt': ['herring'] });
  let checks = 0;
  const yieldToEventLoop = () => {
    checks += 1;
    return null;
  };
  const { hits } = await first.search.listDocuments(searchRequest(first, { yieldToEventLoop }));
  t.equal(hits.length, 1);
  t.ok(checks > 0);
});
