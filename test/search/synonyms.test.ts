import { defaultControl } from '../../src/search/query-request.ts';
import { addSynonyms } from '../../src/search/synonyms.ts';
import { analyzeQuery } from '../../src/text/query.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

const synonyms = [
  ['refund', 'reimbursement', 'Rückzahlung'],
  ['k8s', 'kubernetes'],
  ['kubernetes', 'orchestration'],
];
const expand = (text: string) => addSynonyms(analyzeQuery(text, ['en']), synonyms, ['en']);

t.test('synonyms are alternatives of the word of the query, found as typed or by its stem', async (t) => {
  const { terms, words } = expand('Refunds for orders');
  t.same(words, ['Refunds', 'orders'], 'no word is added');
  const texts = (group: number) => terms.filter((term) => term.group === group).map(({ text }) => text);
  t.ok(texts(0).includes('reimbursement') && texts(0).includes('refund'), String(texts(0)));
  t.same(
    texts(1),
    analyzeQuery('orders', ['en']).terms.map(({ text }) => text),
    'no synonyms',
  );
  t.same(
    terms.map(({ group }) => group),
    terms.map(({ group }) => group).toSorted((a, b) => a - b),
    'the terms of a word stay together',
  );
  t.equal(new Set(terms.map(({ hash }) => hash)).size, terms.length, 'no term is repeated');
  t.ok(
    expand('RÜCKZAHLUNG').terms.some(({ text }) => text === 'refund'),
    'in any case',
  );
  const both = expand('kubernetes').terms.map(({ text }) => text);
  t.ok(both.includes('k8s') && both.includes('orchestration'), 'a word may be in several lists');
  t.notOk(
    expand('k8s').terms.some(({ text }) => text === 'orchestration'),
    'lists are not connected',
  );
  const plain = analyzeQuery('bread', ['en']);
  t.equal(addSynonyms(plain, synonyms, ['en']), plain);
  t.equal(addSynonyms(plain, undefined, ['en']), plain);
});

t.test('documents with a synonym are found and highlighted, at every granularity', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, {
    'a.txt': ['the reimbursement takes two weeks'],
    'b.txt': ['bread and butter'],
  });
  const search = createSearch(first, {});
  const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
  for (const kind of granularities) {
    const request = searchRequest(first, { query: 'refund', control });
    t.equal((await search[kind](request)).hits.length, 0, kind);
    const collection = { ...request.collection, synonyms };
    const { hits } = await search[kind]({ ...request, collection });
    t.same(
      hits.map(({ version }) => version.path),
      ['a.txt'],
      kind,
    );
    t.match(hits[0]!.origin.matchesIn('A Reimbursement'), [
      { queryWord: 'refund', words: ['Reimbursement'] },
    ]);
  }
});
