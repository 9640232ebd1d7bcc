/**
 * Normalization of spelling differences that must not prevent a match, in two steps, because stemmers need
 * the accents. `normalizeCase` unifies compatibility forms (NFKC), case and digits of other scripts;
 * `foldDiacritics` then removes the marks of Latin, Greek, Arabic and Hebrew and expands letters such as ß
 * and æ. Marks that form a different letter (Indic vowels, kana voicing, Cyrillic й) are kept.
 */
export function normalizeCase(word: string): string {
  if (isAscii(word)) return word.toLowerCase();
  return word
    .normalize('NFKC')
    .toLowerCase()
    .normalize('NFC')
    .replace(nonAsciiDigit, (digit) => String(getDigitValue(digit)))
    .replaceAll('ς', 'σ');
}

/** Removes soft hyphens, joiners and Arabic elongation, which only affect the appearance of a word. */
export function removeInvisible(word: string): string {
  return isAscii(word) ? word : word.replace(invisible, '');
}

/** Expects the result of `normalizeCase`. */
export function foldDiacritics(word: string): string {
  if (isAscii(word)) return word;
  return word
    .replace(spelledOutLetter, (letter) => spelledOutLetters.get(letter) ?? letter)
    .normalize('NFD')
    .replace(foldedMark, (mark: string, dropped: string | undefined) => (dropped === undefined ? mark : ''))
    .normalize('NFC');
}

/** Returns the form in which words are compared that are not stemmed. */
export function foldWord(word: string): string {
  return foldDiacritics(normalizeCase(removeInvisible(word)));
}

const invisible = /\u00ad|\u0640|\u200c|\u200d|\u2060|[\ufe00-\ufe0f]/g;
const nonAsciiDigit = /(?![0-9])\p{Nd}/gu;
/** The breve of й is matched outside the group and therefore kept. */
const foldedMark = /(?<=и)\u0306|([\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670])/g;

const spelledOutLetters: ReadonlyMap<string, string> = new Map([
  ['ß', 'ss'],
  ['æ', 'ae'],
  ['œ', 'oe'],
  ['ø', 'o'],
  ['đ', 'd'],
  ['ð', 'd'],
  ['þ', 'th'],
  ['ł', 'l'],
  ['ı', 'i'],
  ['ħ', 'h'],
  ['ŧ', 't'],
  ['ŋ', 'n'],
  ['ى', 'ي'],
  ['ی', 'ي'],
  ['ک', 'ك'],
  ['ة', 'ه'],
]);
const spelledOutLetter = new RegExp(`[${[...spelledOutLetters.keys()].join('')}]`, 'g');

/**
 * Returns the value of a decimal digit. Decimal digits form runs of ten that start at a multiple of their
 * script's zero.
 */
function getDigitValue(digit: string): number {
  const codePoint = digit.codePointAt(0) ?? 0;
  let value = 0;
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(codePoint - value - 1))) value += 1;
  return value;
}

function isAscii(word: string): boolean {
  for (let index = 0; index < word.length; index += 1) if (word.charCodeAt(index) > 0x7f) return false;
  return true;
}
