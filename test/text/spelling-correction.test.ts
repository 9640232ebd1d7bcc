import { analyzeQuery } from '../../src/text/query.ts';
import {
  addEndingVariants,
  applySpellings,
  findMisspelledWords,
  findStemPrefixes,
  hasSuspects,
  replaceMisspelledWords,
  type SpellingCandidate,
} from '../../src/text/spelling-correction.ts';
import { createTestRandom } from '../storage/test-random.ts';
import t from '../support/tap.ts';

const wrong = (_word: string) => false;
const none = (query: ReturnType<typeof analyzeQuery>) => new Float64Array(query.terms.length);
const unknownIn = (text: string, isRight = wrong) => {
  const query = analyzeQuery(text, ['en']);
  return findMisspelledWords(query, none(query), isRight).map(({ surface }) => surface);
};

t.test('only plain, long words of letters can be misspelled', async (t) => {
  for (const [query, expected] of [
    ['herrng', ['herrng']],
    ['Herrng soup', ['Herrng', 'soup']],
    ['her', []],
    ['px4500 b2b 12345', []],
    ['foo-barr get_userr getUserNmae john.doee@example.com', []],
    ['самолт', ['самолт']],
    ['鯡鯡鯡鯡鯡', []],
    ['ปลาทูน่าแช่แข็ง', []],
    ['mixедword', []],
    [`${'x'.repeat(25)}`, []],
    ['aaaab aaaac aaaad aaaae aaaaf aaaag aaaah aaaai aaaaj', 8],
  ] as const) {
    const found = unknownIn(query);
    if (typeof expected === 'number') t.equal(found.length, expected, `at most ${expected}`);
    else t.same(found, expected, query);
  }
  t.same(
    unknownIn('herrng soup', (word) => word === 'soup'),
    ['herrng'],
    'known words are not corrected',
  );
});

const random = createTestRandom();

t.test(`a query without suspects has no misspelled word (seed ${random.seed})`, async (t) => {
  const words = [
    'herrng',
    'soup',
    'her',
    'px4500',
    'foo-barr',
    'самолт',
    '鯡鯡',
    'Überraschng',
    'x'.repeat(25),
  ];
  const counts = { suspects: 0, others: 0 };
  for (let round = 0; round < 500; round += 1) {
    const text = Array.from({ length: random.below(4) }, () => words[random.below(words.length)]).join(' ');
    const correct = new Set(words.filter(() => random.below(2) === 0).map((word) => word.toLowerCase()));
    const isCorrect = (word: string) => correct.has(word);
    const query = analyzeQuery(text, ['en', 'de']);
    const misspelled = findMisspelledWords(query, none(query), isCorrect);
    const suspects = hasSuspects(query, isCorrect);
    if (misspelled.length > 0 && !suspects) t.fail(text);
    counts[suspects ? 'suspects' : 'others'] += 1;
  }
  t.ok(counts.suspects > 50 && counts.others > 50, JSON.stringify(counts));
});

t.test('a word with one known term is not corrected', async (t) => {
  const query = analyzeQuery('herrings trouts', ['en']);
  const rows = Float64Array.from(query.terms, ({ text }) => (text === 'trout' ? 1 : 0));
  t.same(
    findMisspelledWords(query, rows, wrong).map(({ surface, editsMax }) => [surface, editsMax]),
    [['herrings', 2]],
  );
});

t.test('the corrected query text keeps the ending only where it was removed', async (t) => {
  for (const [typed, term, read] of [
    ['tiide', 'tide', 'tide'],
    ['asthmattics', 'asthmat', 'asthmatics'],
    ['herrngs', 'herring', 'herrings'],
  ] as const) {
    const query = analyzeQuery(typed, ['en']);
    const words = findMisspelledWords(query, none(query), wrong);
    const { corrections } = applySpellings(query, words, [[{ term, edits: 1, rows: 1 }]]);
    t.match(corrections, [{ typed, replacement: read }]);
  }
});

t.test('a misspelled ending is searched without it', async (t) => {
  const query = analyzeQuery('developmetn', ['en']);
  const [word] = findMisspelledWords(query, none(query), wrong);
  t.ok(findStemPrefixes(word!).includes('develop'));
  t.notOk(word!.forms.includes('develop'));
  t.ok(addEndingVariants(word!, ['en']).terms.includes('develop'));
});

t.test('corrections are added with a lower weight, and models read the corrected text', async (t) => {
  const query = analyzeQuery('How do Airplnaes fly?', ['en']);
  const words = findMisspelledWords(query, none(query), (word) => word === 'fly');
  const found: SpellingCandidate[] = [
    { term: 'airplan', edits: 1, rows: 40 },
    { term: 'airplane', edits: 1, rows: 20 },
    { term: 'airplna', edits: 1, rows: 3 },
  ];
  const { query: analyzedQuery, corrections } = applySpellings(query, words, [found]);
  t.same(corrections, [{ typed: 'Airplnaes', terms: ['airplan', 'airplane'], replacement: 'airplanes' }]);
  const group = words[0]!.group;
  t.same(
    analyzedQuery.terms.filter((term) => term.group === group).map(({ weight }) => weight),
    [...query.terms.filter((term) => term.group === group).map(() => 1), 0.8, 0.8],
  );
  t.equal(replaceMisspelledWords('How do Airplnaes fly?', corrections), 'How do airplanes fly?');
  for (const text of ['xAirplnaes', 'Airplnaesé', '\u{1d400}Airplnaes', 'Airplnaes2', 'Airplnaes\u0301'])
    t.equal(replaceMisspelledWords(text, corrections), text, 'whole words only');
  t.equal(
    replaceMisspelledWords('Airplnaes/xAirplnaes Airplnaes\u{1f600}Airplnaes', corrections),
    'airplanes/xAirplnaes airplanes\u{1f600}airplanes',
  );
  t.same(applySpellings(query, words, [[]]), { query, corrections: [] });
});
