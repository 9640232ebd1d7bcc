import snowball from 'snowball-stemmers';
import { addon } from '../../src/index/addon.ts';
import { toTerm } from '../../src/text/languages.ts';
import { seededRandom } from '../chunking/sample-texts.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';

const seed = 20_261_127;
const random = seededRandom(seed);
const pick = <T>(items: ArrayLike<T>): T => items[Math.floor(random() * items.length)]!;

const stemmer = snowball.newStemmer('english');
const snowballStem = (word: string) => stemmer.stem(word);
const differences = (words: Iterable<string>) =>
  [...words].filter((word) => addon.englishStem(word) !== snowballStem(word));

const suffixes = `
  s sses ied ies us ss eed eedly ed edly ing ingly y e l ll tional enci anci abli entli izer ization ational ation ator
  alism aliti alli fulness ousli ousness iveness iviti biliti bli ogi fulli lessli li alize icate iciti ical ful ness
  ative al ance ence er ic able ible ant ement ment ent ism ate iti ous ive ize sion tion`
  .trim()
  .split(/\s+/);
/** Words with rules of their own, and words next to them. */
const exceptions = `
  skis skies dying lying tying idly gently ugly early only singly sky news howe atlas cosmos bias andes inning innings
  outing canning herrings earring proceeds exceed succeeds yes boyish say by cry gas this gaps`
  .trim()
  .split(/\s+/);
const roots = [
  '',
  'b',
  'gener',
  'commun',
  'arsen',
  'hop',
  'hopp',
  'fall',
  'roll',
  'luxuri',
  'yy',
  'ay',
  'stay',
];

function randomWord(): string {
  const letters = Array.from({ length: 1 + Math.floor(random() * 6) }, () => pick('aeiouybcdfghlmnprstvwxz'));
  return letters.join('') + pick(suffixes) + (random() < 0.3 ? pick(suffixes) : '');
}

t.test(`stems equal those of snowball-stemmers (seed ${seed})`, async (t) => {
  t.same(differences(exceptions), []);
  t.same(differences(roots.flatMap((root) => suffixes.map((suffix) => root + suffix))), []);
  t.same(differences(Array.from({ length: 20_000 }, randomWord)), []);
  t.same(
    differences(
      Object.values(languageSamples)
        .join(' ')
        .toLowerCase()
        .match(/\b[a-z]+\b/g) ?? [],
    ),
    [],
  );
});

t.test('words with other characters are left to snowball-stemmers', async (t) => {
  for (const word of ['', 'a', 'Running', 'running1', 'cafés', "o'neills"])
    t.equal(addon.englishStem(word), word);
  t.equal(toTerm('cafés', true, 'en'), 'cafe');
  t.equal(toTerm('running', true, 'en'), 'run');
});
