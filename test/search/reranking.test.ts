import { defaultControl } from '../../src/search/query-request.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, searchRequest } from './search-fixtures.ts';

t.test(
  'proximity rescoring prefers words in query order, at every granularity, and explains it',
  async (t) => {
    const first = await openComponents(t);
    const filler = 'the sea is wide and the boats are small and old. '.repeat(5);
    await addDocuments(first, {
      'apart.txt': [`${filler} red sails and a herring ${filler} harbour pier`],
      'together.txt': [`${filler} the red herring harbour pier ${filler}`],
      'other.txt': [`${filler}`],
    });
    const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
    const query = 'red herring harbour pier';
    for (const kind of ['searchDocuments', 'searchSnippets', 'searchFineSnippets', 'searchPages'] as const) {
      const once = await first.search[kind](searchRequest(first, { query, control, explain: true }));
      const twice = await first.search[kind](
        searchRequest(first, { query, control, isWide: true, explain: true }),
      );
      t.equal(once.selection.rescored, 0, kind);
      t.ok(
        once.hits.every(({ origin }) => origin.proximity === null),
        `${kind}: no chunk was rescored`,
      );
      t.ok(twice.selection.rescored >= 2, `${kind}: some chunks were rescored`);
      t.equal(twice.hits[0]!.version.path, 'together.txt', `${kind}: the words in query order are first`);
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
  await addDocuments(first, Object.fromEntries(notes));
  const read: string[] = [];
  const search = createSearch(first, {
    rerank: async (_model, _query, texts) => {
      read.push(...texts);
      return Float32Array.from(texts, (text) => (text.includes('note 7 ') ? 0.9 : 0.1));
    },
  });
  for (const kind of ['searchSnippets', 'searchFineSnippets', 'searchPages', 'searchDocuments'] as const) {
    read.length = 0;
    const { hits } = await search[kind](searchRequest(first, { reranker: 'zerank-2', k: 5 }));
    t.equal(hits[0]?.version.path, '7.txt', kind);
    t.match(hits[0]?.origin, { rerank: Math.fround(0.9) }, `${kind} explains the score`);
    t.equal(new Set(read).size, read.length, `${kind}: no text is read twice`);
  }
});
