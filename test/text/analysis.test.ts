import { limits } from '../../src/core/limits.ts';
import { Lexicon } from '../../src/text/lexicon.ts';
import { type AnalysisRow, analyzeChunks, encodeFineTerms } from '../../src/text/terms.ts';
import { expandWord } from '../../src/text/words.ts';
import { seededRandom } from '../chunking/sample-texts.ts';
import t from '../support/tap.ts';
import { languageSamples } from './language-samples.ts';
import { RandomUnicodeText } from './random-text.ts';
import { referenceChunks } from './reference-terms.ts';

const seed = 20_261_121;
const random = seededRandom(seed);

/** Returns fine chunks that tile a text, most of them with ends at white space. */
function randomChildren(text: string): { readonly end: number }[] {
  const children: { readonly end: number }[] = [];
  for (let end = Math.floor(random() * 60); end < text.length; end += 1 + Math.floor(random() * 60)) {
    const space = text.indexOf(' ', end) + 1;
    if (random() < 0.7 && space > 0) end = space;
    if (end < text.length) children.push({ end });
  }
  return [...children, { end: text.length }];
}

/** Whether the fine terms of one row, encoded without the others, are those of the document. */
function encodesAlone(
  row: { readonly text: string; readonly children: readonly { readonly end: number }[] },
  { fineTerms, languages }: ReturnType<typeof referenceChunks>,
  i: number,
): boolean {
  const sizes = new Uint32Array(new Uint8Array(fineTerms).buffer, 0, languages.length);
  const start = 4 * languages.length + sizes.slice(0, i).reduce((sum, size) => sum + size, 0);
  const stored = fineTerms.subarray(start, start + sizes[i]!);
  return Buffer.compare(encodeFineTerms(row, languages[i]!), stored) === 0;
}

const expandedText = (word: string) =>
  expandWord(word)
    .map(({ text }) => text)
    .join();

const same = (texts: readonly AnalysisRow[], language: string | null = null): boolean => {
  const rows = texts.map((row) => ({ ...row, children: randomChildren(row.text) }));
  const found = analyzeChunks(rows, language);
  const expected = referenceChunks(rows, language);
  return (
    Buffer.compare(found.block, expected.block) === 0 &&
    found.languages.join() === expected.languages.join() &&
    found.tokens === expected.tokens &&
    found.terms === expected.terms &&
    Buffer.compare(found.fineTerms, expected.fineTerms) === 0 &&
    (rows.length === 1 || rows.every((row, i) => encodesAlone(row, expected, i)))
  );
};

t.test(`random texts have the terms of the reference implementation (seed ${seed})`, async (t) => {
  const randomText = new RandomUnicodeText(seed);
  const differences: string[] = [];
  for (let document = 0; document < 300; document += 1) {
    const rows = Array.from({ length: document % 5 }, () => ({
      text: `${randomText.next()} ${randomText.next()}${randomText.next()}`,
      prefix: document % 2 === 0 ? randomText.next() : '',
    }));
    if (!same(rows, document % 3 === 0 ? 'de-AT' : null)) differences.push(JSON.stringify(rows));
  }
  t.same(differences, []);
});

t.test('real text of every language has the same terms, row by row and mixed', async (t) => {
  const texts = Object.entries(languageSamples);
  for (const [language, text] of texts) {
    t.ok(same([{ text, prefix: 'Title > Part' }], language), language);
    t.ok(same([{ text: text.repeat(40), prefix: text.slice(0, 100) }]), `${language}, long`);
  }
  t.ok(same(texts.map(([, text]) => ({ text, prefix: text.slice(0, 60) }))));
  t.ok(same(texts.map(([, text]) => ({ text: text.slice(0, 25), prefix: '' }))));
});

/** Blocks whose characters have one class each: Han, Hangul syllables, surrogates, private use. */
const uniformBlocks = [
  [0x3400, 0x4dbf],
  [0x4e00, 0x9fff],
  [0xac00, 0xd7a3],
  [0xd800, 0xdbff],
  [0xdc00, 0xdfff],
  [0xe000, 0xf8ff],
] as const;

t.test('every character of the basic plane is split, joined and grouped the same', async (t) => {
  for (let first = 0; first < 0x10000; first += 0x400) {
    const texts = Array.from({ length: 0x400 }, (_, i) => {
      const codePoint = first + i;
      const character = String.fromCharCode(codePoint);
      const isUniform = uniformBlocks.some(([from, to]) => codePoint >= from && codePoint <= to);
      // The other texts show the class again, in more contexts.
      if (isUniform && codePoint % 64 > 0) return `a${character}${character}b`;
      return `${character} a${character}b 1${character}2 ${character}${character}a x${character}`;
    });
    t.ok(same([{ text: texts.join(' \n '), prefix: '' }]), `from U+${first.toString(16)}`);
  }
});

t.test(`words with hyphens, apostrophes and capitals have the same terms (seed ${seed})`, async (t) => {
  const units = ['a', 's', 'S', 'B', 'ing', 'The', "'", '’', '-', '-', '1', 'é', ' '];
  const randomWords = () =>
    Array.from({ length: 400 }, () => units[Math.floor(random() * units.length)]!).join('');
  for (const [language, sample] of Object.entries(languageSamples))
    t.ok(same([{ text: `${sample} ${randomWords()}`, prefix: randomWords() }], language), language);
  t.ok(same([{ text: `12 45 total 99 ${randomWords()}`, prefix: '' }]), 'no language');
});

t.test('connectors, numbers, codes and long runs are split the same', async (t) => {
  const text = [
    'foo-bar_1.2 getUserName PX-4500B john.doe@example.com 1,234.5 1,2345 C++ C# c## a++b AT&T',
    "o'neill’s rock'n'roll a.b.c.d.e.f.g.h.i.j.k 12,345,678 1,234,5678",
    'x'.repeat(127),
    'x'.repeat(128),
    'x'.repeat(129),
    `${'x'.repeat(127)}𝐀y`,
    '東京都に住んでいます 한국어를 배워요 ｶﾀｶﾅ ㍿ 々 〆 𠮷野家',
    'ภาษาไทยเป็นภาษาที่มีระบบเสียง'.repeat(80),
    'ဗမာစာ ភាសាខ្មែរ ພາສາລາວ'.repeat(20),
    'soft\u00adhyphen zero\u200dwidth \u0301alone',
  ];
  t.ok(same(text.map((entry) => ({ text: entry, prefix: entry.slice(0, 50) }))));
  t.ok(same([{ text: text.join(' '), prefix: '' }]));
});

t.test('more distinct words than the caches hold change nothing', async (t) => {
  // Most words are numbers, which have one piece and no stems, so they fill the caches at little cost.
  const words = Array.from({ length: limits.wordCacheEntriesMax + 5_000 }, (_, i) =>
    i % 8 === 0 ? `w${i.toString(36)}` : String(i),
  );
  const rowWords = 17_500;
  const rows = Array.from({ length: Math.ceil(words.length / rowWords) }, (_, i) => ({
    text: words.slice(i * rowWords, (i + 1) * rowWords).join(' '),
    prefix: '',
  }));
  analyzeChunks(rows);
  const lexicon = new Lexicon();
  for (const word of words) lexicon.getWord(word);
  const differences = words.slice(-6_000).filter(
    (word) =>
      lexicon
        .getWord(word)
        .pieces.map(({ text }) => text)
        .join() !== expandedText(word),
  );
  t.same(differences, [], 'in TypeScript');
  // Some of its words are cached, and the others no longer are.
  t.ok(same([{ text: `${words.slice(-6_000).join(' ')} ${words.slice(0, 1_000).join(' ')}`, prefix: '' }]));
});
