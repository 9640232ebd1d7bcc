import { parseOperators } from '../../src/search/operators.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import type { Search } from '../../src/search/search.ts';
import { type IngestComponents, openComponents } from '../ingest/controllable-store.ts';
import { letterVectors } from '../simulate/server-components.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

/** Search over the same modules with a given word list; `read` records the texts passed to the models. */
function searchWithTypos(
  first: IngestComponents,
  knowsWord: ((word: string) => boolean) | null,
  read: string[] = [],
): Search {
  return createSearch(
    first,
    {
      embed: async ({ text }) => {
        read.push(text);
        return letterVectors([text]).vectors;
      },
      rerank: async (_model, query, texts) => {
        read.push(query);
        return new Float32Array(texts.length).fill(0.5);
      },
    },
    knowsWord,
  );
}

t.test('a misspelled word is corrected, and a known word is not', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, {
    'herring.txt': ['the herring swims in the sea'],
    'compressor.txt': ['a compressor and its development'],
    'trout.txt': ['trout live in the river'],
  });
  const words = { lexical: 1, vector: 0 };
  const ask = async (query: string, search = searchWithTypos(first, () => false), control = {}) => {
    const { hits, corrections } = await search.searchDocuments(
      searchRequest(first, { query, control: { ...defaultControl, weights: words, ...control } }),
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
    t.ok(corrections[0]!.terms[0]!.startsWith(term), `${typed} is a correction of ${corrections[0]!.terms}`);
  }
  const none = { paths: [], corrections: [] };
  t.same(await ask('herrng', searchWithTypos(first, null)), none, 'disabled');
  t.same(
    await ask(
      'herrng',
      searchWithTypos(first, (word) => word === 'herrng'),
    ),
    none,
    'a correct word',
  );
  t.same(await ask('h3rrng her0ing'), none, 'words with digits are not corrected');
  t.same(await ask('xylophone'), none, 'no similar word');
  t.same((await ask('herring')).corrections, [], 'existing words are not corrected');
  const operators = parseOperators('"herrng"').operators;
  t.same(await ask('herrng', undefined, { operators }), none, 'quoted phrases are not corrected');
  const read: string[] = [];
  await searchWithTypos(first, () => false, read).searchDocuments(
    searchRequest(first, { query: 'where do Truot live', reranker: 'any' }),
  );
  t.same(read, ['where do trout live', 'where do trout live'], 'models read the corrected word');
});
