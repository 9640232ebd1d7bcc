import { parseOperators } from '../../src/search/operators.ts';
import t from '../support/tap.ts';

const parsedQueries: readonly (readonly [
  string,
  { expectedText: string; phrases?: string[]; excluded?: string[] },
])[] = [
  ['salted herring', { expectedText: 'salted herring' }],
  ['"salted herring" in barrels', { expectedText: 'salted herring in barrels', phrases: ['salted herring'] }],
  ['herring -smoked', { expectedText: 'herring', excluded: ['smoked'] }],
  ['-smoked herring -"red herring"', { expectedText: 'herring', excluded: ['smoked', 'red herring'] }],
  ['well-known - or not -> x--y', { expectedText: 'well-known - or not -> x--y' }],
  [
    '“salted herring” „im Fass“',
    { expectedText: 'salted herring im Fass', phrases: ['salted herring', 'im Fass'] },
  ],
  ['-foo"bar baz"-qux', { expectedText: 'bar baz -qux', phrases: ['bar baz'], excluded: ['foo'] }],
  ['"-not an operator"', { expectedText: '-not an operator', phrases: ['-not an operator'] }],
  ['twice --over', { expectedText: 'twice', excluded: ['-over'] }],
  ['', { expectedText: '' }],
];
t.test('phrases and exclusions are separated from the query text', async (t) => {
  for (const [query, { expectedText, phrases = [], excluded = [] }] of parsedQueries) {
    const found = parseOperators(query);
    t.equal(found.text, expectedText, query);
    t.same([found.operators.phrases, found.operators.excluded], [phrases, excluded], query);
  }
});

t.test('invalid operators are rejected with the reason', async (t) => {
  const refused: readonly (readonly [string, RegExp])[] = [
    ['herring "salted', /unmatched quotation mark/],
    ['herring "salted" "', /unmatched quotation mark/],
    ['herring -"salted', /unmatched quotation mark/],
    ['herring ""', /without any words/],
    ['herring "..." ', /without any words/],
    ['herring -"🌋"', /without any words/],
    ['-smoked', /only exclusions/],
    ['-smoked -"red herring"', /only exclusions/],
    [`herring ${'-x '.repeat(65)}`, /more than 64/],
  ];
  for (const [query, message] of refused)
    t.throws(() => parseOperators(query), { code: 'bad_request', message }, query);
  t.doesNotThrow(() => parseOperators(`herring ${'-x '.repeat(64)}`));
});

const passing: readonly (readonly [string, string, boolean])[] = [
  ['"salted herring"', 'They sell Salted, HERRING!', true],
  ['"salted herring"', 'salted-herring', true],
  ['"salted herring"', 'herring salted', false],
  ['"salted herring"', 'salted herrings', false],
  ['"salted herring"', 'unsalted herring', false],
  ['"salted herring" "in barrels"', 'salted herring, not in a barrel', false],
  ['x -herring', 'herrings', true],
  ['x -herring', 'one Herring.', false],
  ['x -"red herring"', 'a herring that is red', true],
  ['x -"red herring"', 'a red\nherring', false],
  ['x -jane.doe', 'mail jane.doe@example.com', false],
  ['"C++"', 'written in C', false],
  ['"C++"', 'written in c++', true],
  ['"地铁系统"', '上海的地铁系统每天', true],
  ['"地铁系统"', '上海的地铁', false],
  ['x -김치', '김치는 배추를', false],
  ['"อาหารไทย"', 'ต้มยำกุ้งเป็นอาหารไทยรสเปรี้ยว', true],
  ['plain words', 'none of them', true],
];
t.test('a phrase matches word by word, ignoring case, accents and punctuation', async (t) => {
  for (const [query, text, passes] of passing)
    t.equal(parseOperators(query).operators.accepts(text), passes, `${query} in ${text}`);
});
