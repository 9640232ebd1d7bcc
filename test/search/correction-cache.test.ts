import { CorrectionCache } from '../../src/search/correction-cache.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import { toTermKey } from '../../src/text/lexicon.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

/** An index with a number of rows for each term. */
function createIndex(rows: Record<string, number>) {
  const byHash = new Map(Object.entries(rows).map(([term, count]) => [toTermKey(term), count]));
  return {
    commits: 0,
    byHash,
    countRowsOfTerms: (hashes: readonly bigint[]) =>
      Float64Array.from(hashes, (hash) => byHash.get(hash) ?? 0),
  };
}

t.test('an answer is valid until a commit, and while the rows of its terms are unchanged', async (t) => {
  const cache = new CorrectionCache(2);
  const [index, other] = [createIndex({ herring: 3 }), createIndex({ herring: 3 })];
  const candidates = [{ term: 'herring', edits: 1, rows: 3 }];
  cache.put(index, 0, { question: 'herrng', candidates });
  cache.put(index, 0, { question: 'xylophone', candidates: [] });
  t.same(cache.find(index, 'herrng'), candidates);
  t.same(cache.find(index, 'xylophone'), []);
  t.equal(cache.find(index, 'trout'), undefined);
  t.equal(cache.find(other, 'herrng'), undefined, 'of another index');
  index.byHash.set(toTermKey('herring'), 2);
  t.equal(cache.find(index, 'herrng'), undefined, 'a compaction has removed a row');
  index.byHash.set(toTermKey('herring'), 3);
  index.commits += 1;
  t.equal(cache.find(index, 'herrng'), undefined);
  t.equal(cache.find(index, 'xylophone'), undefined);
  cache.put(index, 0, { question: 'herrng', candidates });
  t.equal(cache.find(index, 'herrng'), undefined, 'found before the commit');
});

t.test('at the limit all answers of the index are discarded', async (t) => {
  const cache = new CorrectionCache(2);
  const index = createIndex({});
  for (const question of ['a', 'b', 'c']) cache.put(index, 0, { question, candidates: [] });
  t.same(
    ['a', 'b', 'c'].map((question) => cache.find(index, question)),
    [undefined, undefined, []],
  );
});

t.test('a repeated query is corrected alike, and by the terms of new documents', async (t) => {
  const components = await openComponents(t);
  await addDocuments(components, { 'sea.txt': ['the herring swims in the sea'] });
  const search = createSearch(components, {}, () => false);
  const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
  const findTerms = async (query: string) => {
    const { corrections } = await search.searchDocuments(searchRequest(components, { query, control }));
    return corrections.map(({ terms }) => terms);
  };
  t.same(await findTerms('herrng'), [['herring']]);
  t.same(await findTerms('herrng'), [['herring']]);
  t.same(await findTerms('comrpessro'), []);
  t.same(await findTerms('comrpessro'), []);
  await addDocuments(components, { 'compressor.txt': ['a compressor'] });
  t.same(await findTerms('comrpessro'), [['compressor']]);
  t.same(await findTerms('herrng comrpessro'), [['herring'], ['compressor']]);
});
