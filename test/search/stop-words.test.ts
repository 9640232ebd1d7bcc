import { defaultControl } from '../../src/search/query-request.ts';
import { removeStopWords } from '../../src/search/stop-words.ts';
import { analyzeQuery } from '../../src/text/query.ts';
import { openComponents } from '../ingest/controllable-store.ts';
import t from '../support/tap.ts';
import { addDocuments, createSearch, granularities, searchRequest } from './search-fixtures.ts';

const stopWords = ['Acme', 'Gmbh', 'café', 'px4500'];
const wordsOf = (text: string) => removeStopWords(analyzeQuery(text, ['en']), stopWords).words;

t.test('stop words are removed in any case, with and without accents, as whole words', async (t) => {
  t.same(wordsOf('ACME refund gmbh policy'), ['refund', 'policy']);
  t.same(wordsOf('cafe opening CAFÉ'), ['opening']);
  t.same(wordsOf('acmes refund'), ['acmes', 'refund'], 'another form is another word');
  t.same(new Set(wordsOf('PX4500 manual')), new Set(['manual']), 'with the parts of a compound');
  t.same(new Set(wordsOf('acme-api manual')), new Set(['acme-api', 'manual']), 'in a compound');
});

t.test('a query of stop words only is searched as typed', async (t) => {
  const query = analyzeQuery('acme gmbh', ['en']);
  t.equal(removeStopWords(query, stopWords), query);
  const plain = analyzeQuery('refund', ['en']);
  t.equal(removeStopWords(plain, stopWords), plain);
  t.equal(removeStopWords(query, undefined), query);
  t.equal(removeStopWords(query, []), query);
});

t.test('the groups of the other words stay complete and in order', async (t) => {
  const query = removeStopWords(analyzeQuery('acme refunds cafe policies', ['en']), stopWords);
  t.same(
    query.terms.map(({ text, group }) => [text, group]),
    analyzeQuery('refunds policies', ['en']).terms.map(({ text, group }) => [text, group]),
  );
  t.same(query.letterWords, ['refunds', 'policies']);
});

t.test('documents that contain only stop words of a query are not found by words', async (t) => {
  const first = await openComponents(t);
  await addDocuments(first, {
    'a.txt': ['the refund policy of acme'],
    'b.txt': ['acme sells bread'],
  });
  const search = createSearch(first, {});
  const control = { ...defaultControl, weights: { lexical: 1, vector: 0 } };
  for (const kind of granularities) {
    const find = async (query: string) => {
      const request = searchRequest(first, { query, control });
      const { hits } = await search[kind]({ ...request, collection: { ...request.collection, stopWords } });
      return hits.map(({ version }) => version.path).sort();
    };
    t.same(await find('acme refund'), ['a.txt'], kind);
    t.same(await find('Acme'), ['a.txt', 'b.txt'], kind);
  }
});
