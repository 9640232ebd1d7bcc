import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

t.test('short documents yield as many fine snippets as long ones', async (t) => {
  const first = await openComponents(t);
  const notes = Array.from({ length: 100 }, (_, i) => [`${i}.txt`, [`note ${i} about a herring`]] as const);
  await addDocuments(first, Object.fromEntries(notes));
  const { hits } = await first.search.searchFineSnippets(searchRequest(first, { k: 90 }));
  t.equal(new Set(hits.map((hit) => hit.version.path)).size, 90);
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
  await addDocuments(first, { 'bay.txt': [sentences(8, [1, 4, 5, 6])] });
  const { hits } = await first.search.searchFineSnippets(searchRequest(first, { k: 3 }));
  t.match(hits[0]?.snippet.text, /Sentence 5/);
});

t.test('a reranker reads a fine snippet with its two neighbors', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, { 'bay.txt': [sentences(7, [3])] });
  const read: string[] = [];
  const search = createSearch(first, {
    rerank: async (_model, _query, texts) => {
      read.push(...texts);
      return new Float32Array(texts.length).fill(0.5);
    },
  });
  const { hits } = await search.searchFineSnippets(searchRequest(first, { reranker: 'zerank-2', k: 1 }));
  t.match(hits[0]?.snippet.text, /^Sentence 3.*\n$/s);
  const around = read.find((text) => text.indexOf(hits[0]!.snippet.text) > 0)!;
  t.match(around, /^Sentence 2[\s\S]*Sentence 3[\s\S]*Sentence 4/);
  t.notMatch(around, /Sentence 1|Sentence 5/);
  t.ok(
    read.some((text) => text.startsWith('Sentence 0') && !text.includes('Sentence 2')),
    'the first snippet has one neighbor',
  );
});
