import t from 'tap';
import { eachWord, normaliseWord, WordPiece } from '../../src/text/wordpiece.ts';

const pieces = new WordPiece([
  '[UNK]',
  'a',
  'b',
  'c',
  '##a',
  '##b',
  '##c',
  'ab',
  '##bc',
  'cab',
  '##cab',
  '1',
  '##1',
  '中',
  'cafe',
  '##é',
]);

const wordsOf = (text: string): string[] => {
  const words: string[] = [];
  eachWord(text, (word) => words.push(word));
  return words;
};

t.test('words are runs of letters, digits and marks; an ideograph is a word of its own', async (t) => {
  const cases: [string, string[]][] = [
    ['', []],
    [' \t\n-_.,', []],
    ['Hello, world!', ['Hello', 'world']],
    ['snake_case kebab-case v2', ['snake', 'case', 'kebab', 'case', 'v2']],
    ['日本語のtext', ['日', '本', '語', 'の', 'text']],
    ['𠀀𠀁x', ['𠀀', '𠀁', 'x']],
    ['हिन्दी ไทย', ['हिन्दी', 'ไทย']],
    ['a\ud800b 😀 c\udc00', ['a', 'b', 'c']],
    ['\ud800', []],
  ];
  for (const [text, words] of cases) t.same(wordsOf(text), words, JSON.stringify(text));
});

t.test('normalising ignores case, accents and compatibility forms', async (t) => {
  t.equal(normaliseWord('CAFÉ'), 'cafe');
  t.equal(normaliseWord('Ｃａｆｅ\u0301'), 'cafe');
  t.equal(normaliseWord('हिन्दी'), 'हिन्दी');
  t.equal(normaliseWord('한국어'), '한국어');
});

t.test('a word is split greedily into the longest pieces, and joins back to itself', async (t) => {
  const cases: [string, string[]][] = [
    ['ab', ['ab']],
    ['abc', ['ab', '##c']],
    ['abbcab', ['ab', '##bc', '##a', '##b']],
    ['cabcab', ['cab', '##cab']],
    ['a1', ['a', '##1']],
    ['Café', ['cafe']],
    ['中', ['中']],
  ];
  for (const [word, expected] of cases) {
    const ids = pieces.encode(word);
    t.same(
      ids.map((id) => pieces.piece(id)),
      expected,
      word,
    );
    t.equal(pieces.decode(ids), normaliseWord(word), `${word} joins back`);
  }
  t.equal(pieces.decode(pieces.encode('ab, CAB: 1')), 'ab cab 1');
});

t.test('a run of unknown characters is one [UNK] and what follows it is still known', async (t) => {
  t.same(
    pieces.encode('zzz').map((id) => pieces.piece(id)),
    ['[UNK]'],
  );
  t.same(
    pieces.encode('azzzb').map((id) => pieces.piece(id)),
    ['a', '[UNK]', '##b'],
  );
});

t.test('the same text has the same tokens, whatever was tokenised before', async (t) => {
  const before = pieces.encode('abcabc 1ab');
  for (let i = 0; i < 1000; i += 1) pieces.encode(`${i.toString(2)}cab ${i}`);
  t.same(pieces.encode('abcabc 1ab'), before);
});

t.test(
  'a word of a million characters is tokenised whole and without a stack or time explosion',
  async (t) => {
    const ids = pieces.encode('abc'.repeat(333_333));
    t.ok(ids.length > 300_000);
    t.equal(pieces.encode('z'.repeat(1_000_000)).filter((id) => id !== 0).length, 0);
    t.ok(pieces.encode(`a${'\u0301\u0323'.repeat(500_000)}`).length > 0, 'also a million stacked accents');
  },
);

t.test('a broken vocabulary is refused', async (t) => {
  t.throws(() => new WordPiece(['a', '[UNK]']), /begins with \[UNK\]/);
  t.throws(() => new WordPiece(['[UNK]', 'a', 'a']), /distinct/);
  t.throws(() => new WordPiece(['[UNK]', '##']), /not empty/);
  t.throws(() => pieces.piece(99), /inside the vocabulary/);
});
