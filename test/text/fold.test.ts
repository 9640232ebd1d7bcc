import { foldDiacritics, normalizeCase } from '../../src/text/fold.ts';
import t from '../support/tap.ts';

const same: readonly (readonly [string, string, string])[] = [
  ['case', 'HOUSE', 'house'],
  ['accents', 'Café', 'cafe'],
  ['decomposed accents', 'Cafe\u0301', 'cafe'],
  ['sharp s', 'STRAẞE', 'strasse'],
  ['ligatures', 'ﬁnance', 'finance'],
  ['full width', 'ＡＢＣ１２', 'abc12'],
  ['Turkish dotted capital', 'İstanbul', 'istanbul'],
  ['Turkish dotless letter', 'ışık', 'isik'],
  ['Scandinavian letters', 'Ærø', 'aero'],
  ['Polish l', 'Łódź', 'lodz'],
  ['final sigma', 'ΟΔΥΣΣΕΥΣ', 'οδυσσευσ'],
  ['Greek accents', 'Αθήνα', 'αθηνα'],
  ['Russian yo', 'ЁЛКА', 'елка'],
  ['Arabic digits', '٢٠٢٦', '2026'],
  ['Devanagari digits', '१२३', '123'],
  ['Arabic vowel signs', 'كِتَاب', 'كتاب'],
  ['Arabic hamza', 'أحمد', 'احمد'],
  ['Hebrew points', 'שָׁלוֹם', 'שלום'],
];

for (const [what, written, plain] of same) {
  t.test(`a word is found across: ${what}`, async (t) => {
    t.equal(foldDiacritics(normalizeCase(written)), plain);
    t.equal(foldDiacritics(normalizeCase(plain)), plain, 'folding twice changes nothing more');
  });
}

const different: readonly (readonly [string, string, string])[] = [
  ['Cyrillic й and и', 'бой', 'бои'],
  ['kana voicing', 'かき', 'がき'],
  ['Hindi vowels', 'की', 'का'],
  ['Thai tones', 'ป่า', 'ป้า'],
];

for (const [what, left, right] of different) {
  t.test(`diacritics that change the word are kept: ${what}`, async (t) => {
    t.not(foldDiacritics(normalizeCase(left)), foldDiacritics(normalizeCase(right)));
  });
}
