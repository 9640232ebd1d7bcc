import { toUnstemmedWords } from '../../src/text/unstemmed-words.ts';
import t from '../support/tap.ts';

const unstemmedWordsOf: readonly (readonly [string, string, string])[] = [
  ['case and accents are removed, endings are kept', 'Les Éléphants volent', 'les elephants volent'],
  ['punctuation is ignored', '(salted) herring, "smoked"...', 'salted herring smoked'],
  [
    'a compound is split into its parts',
    'well-known jane.doe@example.com',
    'well known jane doe example com',
  ],
  ['an apostrophe separates words', "don't l’eau", 'don t l eau'],
  ['C++ and C# are not C', 'C++ C# C', 'c++ c# c'],
  ['letters that are spelled out', 'Straße Æsop', 'strasse aesop'],
  ['full-width letters and other digits', 'ＡＢＣ ٢٠٢٦', 'abc 2026'],
  ['soft hyphens are invisible', 'her\u00adring', 'herring'],
  ['Chinese by characters', '上海的地铁', '上 海 的 地 铁'],
  ['Japanese by characters', '金閣寺は', '金 閣 寺 は'],
  ['Korean by characters', '김치는', '김 치 는'],
  ['Thai by characters', 'ไทย', 'ไ ท ย'],
  ['words of two scripts side by side', 'iPhone手机5', 'iphone 手 机 5'],
  ['no words', ' \u0000 🌋 -- !? ', ''],
];
for (const [name, text, words] of unstemmedWordsOf) {
  t.test(name, async (t) => t.same(toUnstemmedWords(text).join(' '), words));
}

t.test(
  'a part of a text has the words of the text, also in scripts whose characters are words',
  async (t) => {
    for (const text of [
      '上海的地铁系统每天运送乘客',
      'ต้มยำกุ้งเป็นอาหารไทยรสเปรี้ยวเผ็ด',
      '京都の金閣寺は黄金色です',
    ]) {
      const whole = ` ${toUnstemmedWords(text).join(' ')} `;
      for (let at = 0; at + 4 <= text.length; at += 1) {
        const piece = ` ${toUnstemmedWords(text.slice(at, at + 4)).join(' ')} `;
        // A mark without its base letter forms no word.
        if (/^\p{M}/u.test(text.slice(at))) continue;
        t.ok(whole.includes(piece), `${piece} in ${whole}`);
      }
    }
  },
);
