import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, controlledRequest } from './search-fixtures.ts';

const words = ['herring', 'harbour', 'tide', 'pier', 'sand', 'gull', 'rope', 'sail'];

/** Pages of many lengths, so that some have several chunks and some chunks span several pages. */
function pagesOf(document: number): string[] {
  return Array.from({ length: 9 }, (_, page) => {
    const sentenceCount = 1 + ((document * 7 + page * 5) % 40);
    return Array.from({ length: sentenceCount }, (_sentence, i) => {
      const wordOf = (step: number) => words[(document * step + page + i * i) % words.length]!;
      return `The ${wordOf(1)} of number ${i} lies beside the ${wordOf(3)} and the ${wordOf(5)}.`;
    }).join(' ');
  });
}

t.test('pages are the same whether a search reads all chunks or the first that suffice', async (t) => {
  const first = await openComponents(t);
  await addDocuments(
    first,
    Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`${i}.txt`, pagesOf(i)] as const)),
  );
  // With a maximum per document, however high, a search reads all chunks.
  const findPages = (query: string, k: number, maxPerDocument: number) =>
    first.search.searchPages(controlledRequest(first, { maxPerDocument }, { query, k, explain: true }));
  for (const query of ['herring', 'tide pier', 'gull rope sail', 'number of the harbour', 'sand 7 herring']) {
    for (const k of [1, 2, 5, 10, 40]) {
      const some = await findPages(query, k, Number.POSITIVE_INFINITY);
      const all = await findPages(query, k, 1_000_000);
      t.ok(all.selection.checked >= some.hits.length);
      t.same(some.hits, all.hits, `${query}, ${k}`);
    }
  }
});
