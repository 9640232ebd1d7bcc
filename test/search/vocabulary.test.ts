import { queryLimits } from '../../src/core/query-limits.ts';
import { VocabularyBuilder } from '../../src/search/vocabulary-builder.ts';
import t from '../support/tap.ts';

const everything = { allowed: null, limit: 20, stopWords: new Set<string>() };
const neverPause = () => null;

async function build(texts: readonly (string | { title: string; text: string })[]) {
  const builder = new VocabularyBuilder(['en']);
  for (const [version, each] of texts.entries())
    if (typeof each === 'string') builder.add(version, { title: null, texts: [each] });
    else builder.add(version, { title: each.title, texts: [each.text] });
  return builder.build(neverPause);
}

t.test('the last word is completed by words of the documents, the most frequent first', async (t) => {
  const vocabulary = await build([
    'Refund policy: refunds take the usual time',
    'The REFUND form, and a reference',
    'Réfund reform. px-4500B 12345 foo_bar',
  ]);
  const suggest = (query: string, fields: object = {}) =>
    vocabulary
      .suggest(query, { ...everything, ...fields })
      .map((found) => `${found.query} ${found.documents}`);
  t.same(suggest('ref'), ['refund 3', 'reform 1', 'refunds 1', 'reference 1']);
  t.same(suggest('Réf', { limit: 2 }), ['refund 3', 'reform 1']);
  t.same(suggest('r').length, 4, 'one letter');
  t.same(suggest('refund'), ['refunds 1'], 'not the word itself');
  t.same(suggest('ref', { stopWords: new Set(['refund']) }), ['reform 1', 'refunds 1', 'reference 1']);
  t.same(suggest('th'), [], 'stop words of the language');
  t.same(suggest('450'), ['4500b 1'], 'parts of compounds');
  t.same(suggest('ba'), ['bar 1']);
  t.same(suggest('12'), [], 'numbers are not words');
  for (const query of ['', ' ', 'ref?', 'xyz', '退', '💐']) t.same(suggest(query), [], query);
  t.same(suggest('ref', { allowed: Uint8Array.of(0, 0, 1) }), ['reform 1', 'refund 1']);
});

t.test('words before the last one select documents, and unknown words are ignored', async (t) => {
  const vocabulary = await build(['refund policy', 'refund form', 'password policy', 'a pony']);
  const suggest = (query: string) => vocabulary.suggest(query, everything);
  t.same(suggest('refund po'), [{ query: 'refund policy', documents: 1 }]);
  t.same(
    suggest('My  Refund, po'),
    [{ query: 'My  Refund, policy', documents: 1 }],
    'the start stays as typed',
  );
  t.same(
    suggest('unknown po').map(({ query }) => query),
    ['unknown policy', 'unknown pony'],
  );
  t.same(suggest('pony po'), [], 'no document has both');
});

t.test('a full vocabulary forgets the rarest words, but no titles', async (t) => {
  const builder = new VocabularyBuilder([]);
  const wordsPerDocument = 2_000;
  const documents = 40;
  let next = 0;
  for (let version = 0; version < documents; version += 1) {
    const rare = Array.from({ length: wordsPerDocument }, () => `rare${(next++).toString(36)}`);
    builder.add(version, {
      title: `Title number ${version}`,
      texts: ['common ', ...rare.map((word) => `${word} `)],
    });
  }
  const vocabulary = await builder.build(neverPause);
  t.ok(vocabulary.bytes <= queryLimits.vocabularyBytesMax, `${vocabulary.bytes} bytes`);
  t.same(vocabulary.suggest('com', everything), [{ query: 'common', documents }]);
  t.equal(vocabulary.suggest('title number 0', { ...everything, limit: 5 }).length, 0);
  t.same(vocabulary.suggest('title n', { ...everything, limit: 1 })[0]?.documents, documents);
  const last = `rare${(next - 1).toString(36)}`;
  t.same(
    vocabulary
      .suggest(last.slice(0, -1), everything)
      .map(({ query }) => query)
      .includes(last),
    true,
  );
  t.same(
    vocabulary.suggest('rare0', everything).filter(({ query }) => query === 'rare0'),
    [],
    'forgotten',
  );
});

t.test('titles complete the whole query', async (t) => {
  const vocabulary = await build([
    { title: 'Refund policy of 2026', text: 'money' },
    { title: 'Refund policy of 2026', text: 'money' },
    { title: 'Refunds', text: 'money' },
  ]);
  const suggest = (query: string) => vocabulary.suggest(query, everything).map((found) => found.query);
  t.same(suggest('refund p'), ['refund policy', 'Refund policy of 2026']);
  t.same(suggest('Refund policy o'), ['Refund policy of 2026']);
  t.same(suggest('policy o'), [], 'a title is completed from its start');
  t.same(suggest('refu'), ['refund', 'Refund policy of 2026', 'refunds'], 'a title of one word is a word');
});
