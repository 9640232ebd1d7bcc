import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { projectRoot } from '../../src/core/root.ts';
import { forEachWord, normalizeWord, WordPiece } from '../../src/text/wordpiece.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';
import { RandomUnicodeText } from './random-text.ts';
import * as reference from './reference-word-piece.ts';
import { findBuiltInDifference, findPlainDifference } from './tokenizer-differences.ts';
import { vocabularyPieces } from './vocabulary-pieces.ts';

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
  forEachWord(text, (word) => words.push(word));
  return words;
};

t.test('words are runs of letters, digits and marks; each ideograph is a separate word', async (t) => {
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

t.test('normalization ignores case, accents and compatibility forms', async (t) => {
  t.equal(normalizeWord('CAFÉ'), 'cafe');
  t.equal(normalizeWord('Ｃａｆｅ\u0301'), 'cafe');
  t.equal(normalizeWord('हिन्दी'), 'हिन्दी');
  t.equal(normalizeWord('한국어'), '한국어');
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
      Array.from(ids, (id) => pieces.getPiece(id)),
      expected,
      word,
    );
    t.equal(pieces.decode(ids), normalizeWord(word), `${word} joins back`);
  }
  t.equal(pieces.decode(pieces.encode('ab, CAB: 1')), 'ab cab 1');
});

t.test('a run of unknown characters is one [UNK], and the next word is recognized', async (t) => {
  t.same(
    Array.from(pieces.encode('zzz'), (id) => pieces.getPiece(id)),
    ['[UNK]'],
  );
  t.same(
    Array.from(pieces.encode('azzzb'), (id) => pieces.getPiece(id)),
    ['a', '[UNK]', '##b'],
  );
});

t.test('the same text has the same tokens, regardless of earlier calls', async (t) => {
  const before = pieces.encode('abcabc 1ab');
  for (let i = 0; i < 1000; i += 1) pieces.encode(`${i.toString(2)}cab ${i}`);
  t.same(pieces.encode('abcabc 1ab'), before);
});

t.test('a word of a million characters is tokenized in linear time and bounded stack', async (t) => {
  const ids = pieces.encode('abc'.repeat(333_333));
  t.ok(ids.length > 300_000);
  t.equal(pieces.encode('z'.repeat(1_000_000)).filter((id) => id !== 0).length, 0);
  t.ok(pieces.encode(`a${'\u0301\u0323'.repeat(500_000)}`).length > 0, 'also a million stacked accents');
});

t.test('an invalid vocabulary is rejected', async (t) => {
  t.throws(() => new WordPiece(['a', '[UNK]']), /must begin with \[UNK\]/);
  t.throws(() => new WordPiece(['[UNK]', 'a', 'a']), /distinct/);
  t.throws(() => new WordPiece(['[UNK]', '##']), /not empty/);
  t.throws(() => pieces.getPiece(99), /is in the vocabulary/);
});

const seed = 20_261_121;
/** `tokenizers.slow.ts` compares 500,000 texts. */
const count = 3_000;

t.test(`random texts have the token IDs of the original implementation (seed ${seed})`, async (t) => {
  const randomText = new RandomUnicodeText(seed);
  t.equal(findPlainDifference(Array.from({ length: count }, () => randomText.next())), null);
  t.equal(findPlainDifference(Object.values(languageSamples).map((text) => text.repeat(20))), null);
});

t.test(`words have the token IDs of @huggingface/tokenizers (seed ${seed})`, async (t) => {
  const randomText = new RandomUnicodeText(seed);
  const difference = findBuiltInDifference();
  t.equal(difference(Array.from({ length: count }, () => randomText.next())), null);
  t.equal(difference(Object.values(languageSamples)), null);
});

const tableFile = join(projectRoot, 'native', 'text', 'unicode_tables.inc');
const tables = readFileSync(tableFile, 'utf8');

/** Code point ranges covered by the committed tables. */
const assigned = /Code points that this version assigns: (.*)/
  .exec(tables)![1]!
  .split(' ')
  .map((range) => range.split('-').map((end) => Number.parseInt(end, 16)) as [number, number]);

t.test('every assigned character is split, lower-cased and decomposed as in Node.js', async (t) => {
  const words = (text: string, each: typeof forEachWord): string[] => {
    const found: string[] = [];
    each(text, (word) => found.push(word));
    return found;
  };
  const differences: string[] = [];
  for (const [first, last] of assigned) {
    if (first >= 0x100000 || first === 0xf0000) continue;
    for (let codePoint = first; codePoint <= last; codePoint += 1) {
      const character = String.fromCodePoint(codePoint);
      const text = `${character} Ae${character}\u0301\u0323b Σ${character} ΑΣ${character}α ${character}Σ`;
      const found = words(text, forEachWord);
      const expectedWords = words(text, reference.eachWord);
      const same =
        found.join('|') === expectedWords.join('|') &&
        expectedWords.every((word) => normalizeWord(word) === reference.normalizeWord(word));
      if (!same) differences.push(codePoint.toString(16));
    }
  }
  t.same(differences, []);
});

t.test('threads share a vocabulary, and one may be terminated while using it', async (t) => {
  const work = `
    const { WordPiece } = await import(${JSON.stringify(new URL('../../src/text/wordpiece.js', import.meta.url).href)});
    const { parentPort, workerData } = await import('node:worker_threads');
    const pieces = new WordPiece(workerData);
    for (;;) parentPort.postMessage(pieces.encode('The quick brown fox '.repeat(50)).length);
  `;
  const url = new URL(`data:text/javascript,${encodeURIComponent(work)}`);
  const builtIn = new WordPiece(vocabularyPieces());
  const expectedWords = builtIn.encode('The quick brown fox '.repeat(50)).length;
  const lengths = await Promise.all(
    Array.from({ length: 3 }, async () => {
      const worker = new Worker(url, { workerData: vocabularyPieces(), execArgv: [] });
      const length = await new Promise((resolve, reject) => {
        worker.once('message', resolve);
        worker.once('error', reject);
      });
      await worker.terminate();
      return length;
    }),
  );
  t.same(lengths, [expectedWords, expectedWords, expectedWords]);
  t.equal(builtIn.encode('fox').length, 1, 'the vocabulary is still there');
});
