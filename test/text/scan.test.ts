import { limits } from '../../src/core/limits.ts';
import { scanWords } from '../../src/text/scan.ts';
import t from '../support/tap.ts';

function scan(text: string): { words: string[]; grams: string[] } {
  const words: string[] = [];
  const grams: string[] = [];
  scanWords(text, { word: (surface) => words.push(surface), gram: (gram) => grams.push(gram) });
  return { words, grams };
}

const wordCases: readonly (readonly [string, string, readonly string[]])[] = [
  ['sentences', 'The end. Next one, please!', ['The', 'end', 'Next', 'one', 'please']],
  ['compounds keep their connectors', 'foo-bar_1.2 a@b.org', ['foo-bar_1.2', 'a@b.org']],
  ['commas join thousands only', '1,234 1,23 12,3456', ['1,234', '1', '23', '12', '3456']],
  ['slashes separate', 'src/text/scan.ts', ['src', 'text', 'scan.ts']],
  ['code names with signs', 'C++, C# and g++', ['C++', 'C#', 'and', 'g++']],
  ['decomposed letters stay together', 'cafe\u0301 x', ['cafe\u0301', 'x']],
  ['letters beyond the basic plane', '𝒳𝒴 end', ['𝒳𝒴', 'end']],
  ['emoji and symbols are not words', '👍🏽 ok ™ €', ['ok']],
  ['Thai is split into words', 'ภาษาไทย', ['ภาษา', 'ไทย']],
  ['Persian joiners stay inside a word', 'می\u200cخواهم', ['می\u200cخواهم']],
];

for (const [promise, text, expected] of wordCases) {
  t.test(promise, async (t) => t.same(scan(text).words, expected));
}

const gramCases: readonly (readonly [string, string, readonly string[]])[] = [
  ['Chinese by pairs and single characters', '机器学', ['机', '机器', '器', '器学', '学']],
  ['Japanese across its scripts', '食べた', ['食', '食べ', 'べた']],
  ['Korean by pairs and first syllable', '학교에', ['학', '학교', '교에']],
  ['half-width kana as full-width', 'ｶﾞｽ', ['ガス']],
  ['a single character alone', '猫', ['猫']],
  ['characters beyond the basic plane', '𠮷野', ['𠮷', '𠮷野', '野']],
  ['scripts are distinguished', 'iPhone手机2024年', ['手', '手机', '机', '年']],
];

for (const [promise, text, expected] of gramCases) {
  t.test(promise, async (t) => t.same(scan(text).grams, expected));
}

t.test('long Thai text loses no character between its slices', async (t) => {
  const text = 'ภาษาไทยไม่มีช่องว่าง'.repeat(500);
  t.equal(scan(text).words.join(''), text);
});

t.test('Lao, Khmer and Burmese are split into words too', async (t) => {
  for (const text of ['ພາສາລາວແມ່ນ', 'ខ្ញុំស្រលាញ់ភាសាខ្មែរ', 'မြန်မာဘာသာစကား'])
    t.ok(scan(text).words.length > 1, text);
});

const hostile: readonly (readonly [string, string])[] = [
  ['5 MB without a space', 'x'.repeat(5_000_000)],
  ['5 MB of joined letters', 'a-'.repeat(2_500_000)],
  ['5 MB of digits and commas', '1,234'.repeat(1_000_000)],
  ['5 MB of marks', `a${'\u0301'.repeat(2_500_000)}`],
  ['5 MB of apostrophes', "'".repeat(5_000_000)],
  ['2M Thai marks', `ก${'ั'.repeat(2_000_000)}`],
  ['2M Han characters', '天'.repeat(2_000_000)],
  ['lone surrogates', '\ud800'.repeat(1_000_000)],
];

for (const [name, text] of hostile) {
  t.test(`hostile text is scanned completely in bounded words: ${name}`, async (t) => {
    let longest = 0;
    let units = 0;
    scanWords(text, {
      word(surface) {
        longest = Math.max(longest, surface.length);
        units += surface.length;
      },
      gram(gram) {
        longest = Math.max(longest, gram.length);
        units += gram.length;
      },
    });
    t.ok(
      longest <= Math.max(limits.compoundRunsMax * (limits.termUnitsMax + 2), limits.segmenterUnitsMax),
      `${longest}`,
    );
    t.ok(units <= text.length * 3);
  });
}

t.test('a lone surrogate does not hide the text after it', async (t) => {
  t.same(scan('\ud800word').words, ['word']);
});
