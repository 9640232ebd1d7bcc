import { ModelUnavailableError } from '../../src/core/model-unavailable-error.ts';
import { parseOperators } from '../../src/search/operators.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import { letterVectors } from '../simulate/server-components.ts';
import t from '../support/tap.ts';
import {
  addDocuments,
  controlledRequest,
  createSearch,
  granularities,
  openLongAndShort,
  searchRequest,
} from './search-fixtures.ts';

t.test('max_per_document bounds the results of a document, and other documents fill the list', async (t) => {
  const first = await openLongAndShort(t);
  for (const kind of ['searchSnippets', 'searchFineSnippets', 'searchPages'] as const) {
    for (const [k, maxPerDocument] of [
      [40, 1],
      [61, 1],
      [20, 3],
    ] as const) {
      const { hits, selection: choice } = await first.search[kind](
        controlledRequest(first, { maxPerDocument }, { k }),
      );
      const counts = new Map<string, number>();
      for (const { version } of hits) counts.set(version.path, (counts.get(version.path) ?? 0) + 1);
      t.equal(hits.length, k, `${kind}, ${k}`);
      t.ok(Math.max(...counts.values()) <= maxPerDocument, `${kind}, ${maxPerDocument} of a document`);
      t.ok(choice.complete);
    }
  }
  const { hits } = await first.search.searchSnippets(
    controlledRequest(first, { maxPerDocument: 1 }, { k: 128 }),
  );
  t.equal(hits.length, 61, 'one result per document');
});

t.test('a chunk that the operators accept is found at any rank', async (t) => {
  const first = await openComponents(t);
  const barrelDocuments = Array.from(
    { length: 300 },
    (_, i) => [`${i}.txt`, ['herring in a barrel']] as const,
  );
  const rare = 'Long ago, and far from the sea, somebody told somebody else about a herring once. ';
  await addDocuments(first, {
    ...Object.fromEntries(barrelDocuments),
    'far.txt': [rare],
    'farther.txt': [rare + rare],
  });
  const { text: query, operators } = parseOperators('herring -barrel');
  const control = { operators, maxPerDocument: 1, weights: { lexical: 1, vector: 0 } };
  for (const kind of granularities) {
    const { hits, selection: choice } = await first.search[kind](
      controlledRequest(first, control, { query, k: 2 }),
    );
    t.same(hits.map(({ version }) => version.path).sort(), ['far.txt', 'farther.txt'], kind);
    t.ok(choice.checked > 300, `${kind}: it checked ${choice.checked}`);
  }
  const all = parseOperators('herring -herring').operators;
  for (const kind of granularities) {
    const { hits, selection: choice } = await first.search[kind](
      controlledRequest(first, { operators: all }),
    );
    t.same([hits, choice.complete], [[], true], `${kind}: no result remains`);
  }
});

t.test('a page matches by its own text, not by that of adjacent pages', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, {
    'slides.txt': ['salted herring', 'smoked herring', 'a red herring', 'salted, smoked: herring'],
  });
  const pages = async (typed: string) => {
    const { text: query, operators } = parseOperators(typed);
    const { hits } = await first.search.searchPages(controlledRequest(first, { operators }, { query }));
    return hits.map(({ pageIndex }) => pageIndex).sort();
  };
  t.same(await pages('"salted herring"'), [0]);
  t.same(await pages('herring -smoked'), [0, 2]);
  t.same(await pages('"herring smoked"'), [], 'no phrase spans two pages');
});

t.test('a search with weight 0 is skipped', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, { 'a.txt': ['one herring'], 'b.txt': ['two cods'] });
  const embedded: string[] = [];
  let isThere = true;
  const search = createSearch(first, {
    embed: async ({ text }) => {
      if (!isThere)
        throw new ModelUnavailableError('letters', 'the model is unavailable', { retryAfterMs: 1 });
      embedded.push(text);
      return letterVectors([text]).vectors;
    },
  });
  const words = { weights: { lexical: 1, vector: 0 } };
  const meaning = { weights: { lexical: 0, vector: 1 } };
  for (const kind of granularities) {
    embedded.length = 0;
    const byWords = await search[kind](controlledRequest(first, words, { explain: true }));
    t.same([embedded, byWords.models.embedded], [[], false], kind);
    t.match(byWords.hits, [{ version: { path: 'a.txt' }, score: 1, origin: { similarity: null } }]);
    t.equal(byWords.hits.length, 1, `${kind}: documents without a word of the query are not found`);
    const byMeaning = await search[kind](controlledRequest(first, meaning, { explain: true }));
    t.same(embedded, ['herring']);
    t.equal(byMeaning.hits.length, 2, kind);
    t.ok(byMeaning.hits.every(({ origin }) => origin.lexical === 0 && origin.matches.length === 0));
  }
  isThere = false;
  t.same(
    (await search.searchSnippets(controlledRequest(first, words))).models.missing,
    [],
    'lexical search needs no model',
  );
  await t.rejects(
    search.searchSnippets(controlledRequest(first, meaning)),
    { code: 'unavailable' },
    'no search remains',
  );
});

t.test('min_score removes exactly the results below it, at every granularity', async (t) => {
  const first = await openLongAndShort(t);
  for (const kind of granularities) {
    const all = (await first.search[kind](searchRequest(first, { k: 60, query: 'note herring' }))).hits;
    const bound = all[20]!.score;
    const { hits } = await first.search[kind](
      controlledRequest(first, { minScore: bound }, { k: 60, query: 'note herring' }),
    );
    const expected = all.filter(({ score }) => score >= bound);
    t.same(
      hits.map(({ score }) => score),
      expected.map(({ score }) => score),
      kind,
    );
  }
});
