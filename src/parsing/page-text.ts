import { toWellFormed } from './text-budget.ts';

/** Cleaning that both PDF engines need, and the test for text that is not worth keeping. */

const presentationForms = /[\ufb00-\ufb06\ufb13-\ufb17\ufb1d-\ufb4f\ufb50-\ufdff\ufe70-\ufefc]/g;

/**
 * The text of one page as a person would type it: ligatures and Arabic presentation forms decomposed (NFKC of exactly
 * these), words that a line-end hyphen cut (U+FFFE, soft hyphen) joined, control characters and trailing spaces gone.
 */
export function cleanPageText(raw: string): string {
  return toWellFormed(raw)
    .replace(/\ufffe(?:\r?\n)?|\xad\r?\n|\xad/g, '')
    .replace(/\r\n?/g, '\n')
    .replace(/(?![\t\n])\p{Cc}|\uffff/gu, '')
    .replace(presentationForms, (form) => form.normalize('NFKC'))
    .replace(/[ \t\xa0]+$/gm, '')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/** Share of replacement and private-use characters above which a page's font has no usable character map. */
const unreadableShareMax = 0.2;

/** Characters that show something, and those among them that say a font maps no characters. */
export interface CharacterCounts {
  readonly visible: number;
  readonly broken: number;
}

/** True when most of what an engine returned is not text: the font maps no characters. */
export function isUnreadable({ visible, broken }: CharacterCounts): boolean {
  return visible >= 16 && broken > unreadableShareMax * visible;
}

/** Control characters, the replacement character and private use are broken; a hyphen at a line end (U+FFFE) is not. */
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

/** `[0, 1, 2, 6]` -> `1-3, 7`: zero-based page indexes as a person counts pages. */
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
