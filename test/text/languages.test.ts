import { type Language, parseLanguageTag, toTerm } from '../../src/text/languages.ts';
import { analyzeChunks } from '../../src/text/terms.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';

const detectLanguage = (text: string) => analyzeChunks([{ text, prefix: '' }]).languages[0];

for (const [language, passage] of Object.entries(languageSamples)) {
  t.test(`text in ${language} is recognized`, async (t) => {
    t.equal(detectLanguage(passage), language);
  });
}

const unsure: readonly (readonly [string, string])[] = [
  ['a table of numbers', '12 45 67 total 99 net 14.5 sum 1,200 kg 15 m 30 s'],
  ['names', 'Miller Smith Johnson Garcia Rossi Silva'],
  [
    'Chinese with a few foreign words',
    '机器学习是人工智能的一个分支。de la 模型可以从数据中学习，不需要明确编程。',
  ],
  ['nothing', ''],
];

for (const [what, text] of unsure) {
  t.test(`no language is guessed for ${what}`, async (t) => t.equal(detectLanguage(text), null));
}

const sameStem: readonly (readonly [Language, readonly string[]])[] = [
  ['en', ['connect', 'connected', 'connecting', 'connections']],
  ['de', ['haus', 'hauses', 'häuser', 'häusern']],
  ['fr', ['continu', 'continue', 'continuait', 'continuer']],
  ['es', ['torear', 'toreado', 'toreándolo']],
  ['it', ['abbandonata', 'abbandonate', 'abbandonati']],
  ['pt', ['cidade', 'cidades']],
  ['nl', ['lichamelijk', 'lichamelijke', 'lichamelijkheden']],
  ['sv', ['flicka', 'flickor', 'flickorna']],
  ['da', ['hus', 'huset', 'husene']],
  ['no', ['hus', 'huset', 'husene']],
  ['fi', ['talo', 'talossa', 'taloissa']],
  ['hu', ['ház', 'házak', 'házakban']],
  ['ro', ['copil', 'copilului']],
  ['tr', ['ev', 'evler', 'evlerimizde']],
  ['ru', ['город', 'города', 'городами']],
  ['ar', ['مدارس', 'المدارس']],
];

for (const [language, words] of sameStem) {
  t.test(`forms of a word in ${language} share a term`, async (t) => {
    const terms = new Set(words.map((word) => toTerm(word, true, language)));
    t.equal(terms.size, 1, [...terms].join(' '));
  });
}

t.test('a stemmer does not change words of another script, numbers and codes', async (t) => {
  t.equal(toTerm('houses', true, 'ru'), 'houses');
  t.equal(toTerm('городами', true, 'en'), 'городами');
  t.equal(toTerm('px4500s', false, 'en'), 'px4500s');
});

t.test('language tags are parsed in common spellings', async (t) => {
  t.equal(parseLanguageTag('de-AT'), 'de');
  t.equal(parseLanguageTag('EN_us'), 'en');
  t.equal(parseLanguageTag('nb-NO'), 'no');
  t.equal(parseLanguageTag('tlh'), null);
  t.equal(parseLanguageTag(null), null);
});
