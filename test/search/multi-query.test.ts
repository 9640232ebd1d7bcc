import { ModelUnavailableError } from '../../src/core/model-unavailable-error.ts';
import { defaultControl } from '../../src/search/query-request.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

const lexical = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
const otherQueries = (...texts: string[]) => texts.map((query) => ({ query, operators: null }));

t.test('the results of all queries are fused, each once, at every granularity', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, {
    'herring.txt': ['salted herring in barrels'],
    'trout.txt': ['trout in the river'],
    'both.txt': ['herring and trout at the market'],
    'none.txt': ['bread and butter'],
  });
  const search = createSearch(first, {});
  for (const kind of granularities) {
    const request = searchRequest(first, { control: lexical, otherQueries: otherQueries('trout', 'truot') });
    const { hits, corrections, candidates } = await search[kind](request);
    const paths = hits.map(({ version }) => version.path);
    t.equal(paths[0], 'both.txt', `${kind}: the document of all queries is first`);
    t.same(new Set(paths), new Set(['both.txt', 'herring.txt', 'trout.txt']), kind);
    const words = hits[0]!.origin.matchesIn('Trout, herring, bread').flatMap((match) => match.words);
    t.same(
      new Set(words),
      new Set(['herring', 'Trout']),
      `${kind}: the words of all queries are highlighted`,
    );
    t.equal(paths.length, 3, kind);
    t.match(corrections, [{ typed: 'truot' }], kind);
    t.equal(candidates.shards.length, 24, 'the shards of three searches');
    const one = await search[kind]({ ...request, k: 1 });
    t.same(
      one.hits.map(({ version }) => version.path),
      ['both.txt'],
      'k limits the fused results',
    );
  }
});

t.test('limits per document and minimum scores hold, and operators belong to a query', async (t) => {
  const first = await openComponents(t);
  const pages = Array.from({ length: 6 }, (_, i) => `herring and trout ${i} `.repeat(60));
  await addDocuments(first, { 'long.txt': pages, 'short.txt': ['a trout'] });
  const search = createSearch(first, {});
  const control = { ...lexical, maxPerDocument: 2 };
  const request = searchRequest(first, { control, otherQueries: otherQueries('trout') });
  for (const kind of ['searchSnippets', 'searchFineSnippets', 'searchPages'] as const) {
    const { hits } = await search[kind](request);
    const long = hits.filter(({ version }) => version.path === 'long.txt');
    t.equal(long.length, 2, `${kind}: two results of the long document`);
    t.equal(hits.length, 3, kind);
  }
  const all = await search.searchDocuments({ ...request, control: lexical });
  const [best, ...others] = all.hits;
  t.ok(others.length > 0 && others.every(({ score }) => score < best!.score));
  const strict = await search.searchDocuments({ ...request, control: { ...lexical, minScore: best!.score } });
  t.equal(strict.hits.length, 1, 'the minimum applies to the fused score');
  t.equal(strict.control.minScore, best!.score);
});

t.test('an unavailable model is reported once', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, { 'a.txt': ['herring and trout'] });
  const search = createSearch(first, {
    embed: async () => {
      throw new ModelUnavailableError('letters', 'it is stopped', { retryAfterMs: 1 });
    },
  });
  const { hits, models } = await search.searchDocuments(
    searchRequest(first, { otherQueries: otherQueries('trout') }),
  );
  t.equal(hits.length, 1);
  t.match(models, { embedded: false, missing: [{ part: 'vector', model: 'letters' }] });
  t.equal(models.missing.length, 1);
});
