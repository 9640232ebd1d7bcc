import { goodMatchMin } from '../../src/core/good-match.ts';
import { measuredHitsMax } from '../../src/search/relevance.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

const kinds = ['searchSnippets', 'searchFineSnippets', 'searchPages', 'searchDocuments'] as const;
const notes = Object.fromEntries(
  Array.from({ length: 15 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const),
);

t.test('the relevance of the first hits is measured only when a query is explained', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, notes);
  const measured: (readonly string[])[] = [];
  const search = createSearch(first, {
    measureRelevance: async (_query, texts) => {
      measured.push(texts);
      return Float32Array.from(texts, (text) => (text.includes('note 7') ? 0.75 : 0.25));
    },
  });
  for (const kind of kinds) {
    const plain = await search[kind](searchRequest(first, { k: 15 }));
    t.same([measured.length, plain.goodMatch], [0, null], kind);
    t.ok(plain.hits.every(({ origin }) => origin.relevance === null));
    const { hits, goodMatch } = await search[kind](searchRequest(first, { k: 15, explain: true }));
    t.same(
      hits.map(({ version, score }) => [version.path, score]),
      plain.hits.map(({ version, score }) => [version.path, score]),
      `${kind}: the order stays`,
    );
    t.equal(measured.pop()!.length, measuredHitsMax);
    hits.forEach(({ version, origin }, i) => {
      const expected = i >= measuredHitsMax ? null : version.path === '7.txt' ? 0.75 : 0.25;
      t.equal(origin.relevance, expected, `${kind} ${i}`);
    });
    const sevenRank = hits.findIndex(({ version }) => version.path === '7.txt');
    t.equal(goodMatch, sevenRank < measuredHitsMax);
  }
});

t.test('one hit at the threshold is a good match, and none below it', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, notes);
  for (const [score, expected] of [
    [goodMatchMin, true],
    [goodMatchMin - 0.01, false],
  ] as const) {
    const measureRelevance = async (_query: string, texts: readonly string[]) =>
      Float32Array.from(texts, (_, i) => (i === 3 ? score : 0));
    const search = createSearch(first, { measureRelevance });
    const { goodMatch } = await search.searchSnippets(searchRequest(first, { explain: true }));
    t.equal(goodMatch, expected);
  }
});

t.test(
  'a query continues without relevance when the rerank threads are busy, and a listing has none',
  async (t) => {
    const first = await openComponents(t);
    await addDocuments(first, notes);
    const search = createSearch(first, { measureRelevance: async () => null });
    const request = searchRequest(first, { explain: true });
    const busy = await search.searchSnippets(request);
    t.ok(busy.hits.length > 0);
    t.equal(busy.goodMatch, null);
    const listed = await createSearch(first, {
      measureRelevance: async () => t.fail('a listing measures nothing') as never,
    }).listDocuments(request);
    t.same([listed.hits.length > 0, listed.goodMatch], [true, null]);
  },
);
