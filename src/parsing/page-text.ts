import { type LineText, replaceInLines, trimLines } from './line-text.ts';
import { toWellFormed } from './text-budget.ts';

/** Cleaning of page text shared by both PDF engines, and detection of unusable text. */

const presentationForms = /[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]/g;

/**
 * Normalizes the text of one page: decomposes ligatures and Arabic presentation forms (NFKC of exactly
 * these), joins words hyphenated at a line end (U+FFFE, soft hyphen), and removes control characters and
 * trailing spaces.
 */
export function cleanPageText({ text: raw, edges }: LineText): LineText {
  let cleaned: LineText = { text: toWellFormed(raw), edges };
  for (const [pattern, replacement] of cleaningSteps) cleaned = replaceInLines(cleaned, pattern, replacement);
  return trimLines(cleaned);
}

const cleaningSteps: readonly (readonly [RegExp, string | ((match: string) => string)])[] = [
  [/\ufffe(?:\r?\n)?|\xad\r?\n|\xad/g, ''],
  [/\r\n?/g, '\n'],
  [/(?![\t\n])\p{Cc}|\uffff/gu, ''],
  [presentationForms, (form) => form.normalize('NFKC')],
  [/[ \t\xa0]+$/gm, ''],
  [/\n{3,}/g, '\n\n'],
];

/**
 * Share of replacement and private-use characters above which the font of a page has no usable character map.
 */
const unreadableShareMax = 0.2;

/** Numbers of visible characters, and of those that indicate a missing character map. */
export interface CharacterCounts {
  readonly visible: number;
  readonly broken: number;
}

/** Whether most of the returned characters are not text because the font has no character map. */
export function isUnreadable({ visible, broken }: CharacterCounts): boolean {
  return visible >= 16 && broken > unreadableShareMax * visible;
}

/**
 * Whether a character is a control character, the replacement character or private use; a hyphen at a line
 * end (U+FFFE) is not.
 */
export function isBrokenCharacter(code: number): boolean {
  return (
    (code < 0x20 && code !== 0x09 && code !== 0x0a && code !== 0x0d) ||
    (code >= 0x7f && code <= 0x9f) ||
    code === 0xfffd ||
    (code >= 0xe000 && code <= 0xf8ff) ||
    code >= 0xf0000
  );
}

export function countCharacters(text: string): CharacterCounts {
  let [visible, broken] = [0, 0];
  for (const character of text) {
    if (/\s/.test(character)) continue;
    visible += 1;
    if (isBrokenCharacter(character.codePointAt(0)!)) broken += 1;
  }
  return { visible, broken };
}

/** Formats zero-based page indexes as one-based ranges: `[0, 1, 2, 6]` -> `1-3, 7`. */
export function formatPageRanges(indexes: readonly number[]): string {
  const ranges: string[] = [];
  for (let i = 0; i < indexes.length; ) {
    let last = i;
    while (indexes[last + 1] === indexes[last]! + 1) last += 1;
    ranges.push(last === i ? `${indexes[i]! + 1}` : `${indexes[i]! + 1}-${indexes[last]! + 1}`);
    i = last + 1;
  }
  return ranges.join(', ');
}
