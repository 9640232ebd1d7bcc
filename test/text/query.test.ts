import { limits } from '../../src/core/limits.ts';
import { type Language, stemmedLanguages } from '../../src/text/languages.ts';
import { analyzeQuery, findMatchedWords, findWordMatches } from '../../src/text/query.ts';
import { analyzeChunks } from '../../src/text/terms.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';
import { readTermBlock } from './term-block.ts';

/**
 * Words of `query` that match a document of this single chunk, looked up through its term block as the engine
 * does.
 */
function found(text: string, query: string, language: Language | null = null): string[] {
  const { block, languages } = analyzeChunks([{ text, prefix: '' }], language);
  const hashes = new Set(readTermBlock(block)[0]!.map(({ hash }) => hash));
  const spoken = languages.filter((spoken) => spoken !== null);
  const { terms, words } = analyzeQuery(query, spoken);
  const groups = new Set(terms.filter(({ hash }) => hashes.has(hash)).map(({ group }) => group));
  return [...new Set([...groups].map((group) => words[group]!))];
}

const answered: readonly (readonly [string, string, string])[] = [
  ['German plural by singular', `${languageSamples.de} Die Häuser stehen leer.`, 'Haus'],
  ['German singular by plural', `${languageSamples.de} Das Haus steht leer.`, 'Häuser'],
  ['German umlauts spelled out', `${languageSamples.de} Die Häuser stehen leer.`, 'Haeuser'],
  ['German umlauts for spelled-out ones', `${languageSamples.de} Herr Mueller zahlt.`, 'Müller'],
  ['French verb forms', `${languageSamples.fr} Ils continuaient.`, 'continuer'],
  ['French without accents', `${languageSamples.fr} Le téléphone sonne.`, 'telephone'],
  ['Spanish verb forms', `${languageSamples.es} Estaba corriendo.`, 'correr'],
  ['Italian forms', `${languageSamples.it} Una casa abbandonata.`, 'abbandonate'],
  ['Russian cases', `${languageSamples.ru} Между городами.`, 'город'],
  ['English forms', `${languageSamples.en} They were connecting.`, 'connections'],
  ['Arabic article', `${languageSamples.ar} المدارس`, 'مدارس'],
  ['a part number whole', 'Order PX-4500B today', 'px4500b'],
  ['a part number as written', 'Order PX-4500B today', 'PX-4500B'],
  ['a part of a part number', 'Order PX-4500B today', '4500'],
  ['a mixed identifier by its last part', 'set foo-bar_1.2 now', '1.2'],
  ['a mixed identifier by its first part', 'set foo-bar_1.2 now', 'foo'],
  ['camel case by snake case', 'call getUserName here', 'get_user_name'],
  ['camel case in lower case', 'call getUserName here', 'getusername'],
  ['camel case by part', 'call getUserName here', 'username name'],
  ['a version', 'needs Node v20.51.4 or later', '20.51.4'],
  ['a version by its start', 'needs 20.51.4 or later', '20.51'],
  ['a mail address', 'write to jane.doe@example.com soon', 'jane.doe@example.com'],
  ['the domain of a mail address', 'write to jane.doe@example.com soon', 'example'],
  ['a grouped number by its digits', 'costs 1,234,567 dollars', '1234567'],
  ['hyphenated as one word', 'send an e-mail', 'email'],
  ['an abbreviation with points', 'made in the U.S.A. in', 'USA'],
  ['a programming language', 'written in C++ and C#', 'C++'],
  ['a Chinese word', '机器学习是人工智能的一个分支', '人工智能'],
  ['a single Chinese character', '我喜欢喝茶', '茶'],
  ['a Japanese word', '東京都に住んでいます', '東京'],
  ['a Japanese loan word', 'データベースサーバーの設定', 'サーバー'],
  ['a Korean noun with particle', '학교에서 공부합니다', '학교'],
  ['a Korean noun of one syllable', '책을 읽었다', '책'],
  ['a Thai word', 'เขาไปโรงเรียนทุกวัน', 'โรงเรียน'],
  ['full-width text', 'ＡＢＣ株式会社', 'abc'],
  ['Arabic digits', 'في عام ٢٠٢٦', '2026'],
];

for (const [promise, text, query] of answered) {
  t.test(`a text is found: ${promise}`, async (t) => t.ok(found(text, query).length > 0));
}

t.test('a word is found by its exact form regardless of the detected language', async (t) => {
  for (const guess of [null, ...stemmedLanguages]) {
    for (const [name, passage] of Object.entries(languageSamples)) {
      const text = passage.replaceAll(/[.,]/g, ' ');
      const { block, languages } = analyzeChunks(
        [{ text: languageSamples[guess as 'en'] ?? '42', prefix: text }],
        guess,
      );
      const hashes = new Set(readTermBlock(block)[0]!.map(({ hash }) => hash));
      const missing = text.split(/\s+/).filter((word) => {
        const { terms } = analyzeQuery(
          word,
          languages.filter((language) => language !== null),
        );
        return terms.length > 0 && !terms.some(({ hash }) => hashes.has(hash));
      });
      t.same(missing, [], `${name} detected as ${guess}`);
    }
  }
});

t.test('function words of the query are left out', async (t) => {
  const { words } = analyzeQuery('What are the obligations of the tenant?', ['en']);
  t.same(words, ['obligations', 'tenant']);
  t.same(analyzeQuery('Welche Pflichten hat der Mieter?', ['de', 'en']).words, ['Pflichten', 'Mieter']);
  t.same(
    analyzeQuery('Ou sont les tres vieux chateaux', ['fr']).words,
    ['vieux', 'chateaux'],
    'without accents',
  );
});

t.test('function words are kept when the query has no others', async (t) => {
  t.same(analyzeQuery('to be or not to be', ['en']).words, ['to', 'be', 'or', 'not']);
  t.same(analyzeQuery('The Who', ['en']).words, ['The', 'Who']);
});

t.test('a single foreign function word counts as a word', async (t) => {
  t.same(analyzeQuery('die hard', ['en', 'de']).words, ['die', 'hard']);
});

t.test('each query word is one group of alternatives', async (t) => {
  const { terms } = analyzeQuery('Häuser', ['de', 'en']);
  t.same(new Set(terms.map(({ group }) => group)), new Set([0]));
  t.ok(terms.some(({ text }) => text === 'hauser') && terms.some(({ text }) => text === 'haus'));
  t.equal(new Set(terms.map(({ hash }) => hash)).size, terms.length, 'no alternative twice');
});

t.test('a repeated word weighs more, not twice as many groups', async (t) => {
  const { terms, words } = analyzeQuery('rent rent deposit', []);
  t.same(words, ['rent', 'deposit']);
  t.same(
    terms.map(({ weight }) => weight),
    [2, 1],
  );
});

t.test('a query without words finds nothing and does not fail', async (t) => {
  for (const query of ['', '   ', '?!', '👍', '\ud800', '"AND" ()'.replace('AND', '')]) {
    t.same(analyzeQuery(query), { terms: [], words: [], letterWords: [] });
  }
});

t.test('no character of a query is an operator', async (t) => {
  t.same(analyzeQuery('+rent -deposit "late fee" lease* AND(x)', []).words, [
    'rent',
    'deposit',
    'late',
    'fee',
    'lease',
    'AND',
    'x',
  ]);
});

t.test('a query of the greatest length has a bounded number of groups', async (t) => {
  const han = Array.from({ length: 4_096 }, (_, index) => String.fromCharCode(0x4e00 + index)).join('');
  t.equal(new Set(analyzeQuery(han).terms.map(({ group }) => group)).size, limits.queryGroupsMax);
});

t.test('explain names the query words that a text matched, as they were typed', async (t) => {
  const query = analyzeQuery('Which houses were SOLD in Berlin?', ['en']);
  t.same(findMatchedWords(query, 'The house was sold yesterday', 'en'), ['houses', 'SOLD']);
  t.same(findMatchedWords(query, 'Nothing of it', 'en'), []);
  t.same(
    findMatchedWords(query, 'The house was sold yesterday', null),
    ['SOLD'],
    'in the form in which the row was indexed',
  );
  t.same(findMatchedWords(analyzeQuery('人工智能', []), '人工', null), ['人工']);
});

t.test('explain lists the words of a text that match, and no words with the same start', async (t) => {
  const query = analyzeQuery('How long is the initial term?', ['en']);
  t.same(findWordMatches(query, 'The initial Term ends. Terms end; we terminate, terminally.', 'en'), [
    { queryWord: 'initial', words: ['initial'] },
    { queryWord: 'term', words: ['Term', 'Terms'] },
  ]);
  t.same(findWordMatches(query, 'Nothing of it', 'en'), []);
  t.same(findWordMatches(analyzeQuery('人工智能', []), '在人工中', null), [
    { queryWord: '人工', words: ['人工'] },
  ]);
});
