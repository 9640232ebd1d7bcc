import { characterClass, characterClassAt } from './characters.ts';
import { foldDiacritics, normalizeCase, removeInvisible } from './fold.ts';
import { scanWords } from './scan.ts';

/** Most words of most texts, for which the rest would change nothing but their case. */
const asciiWord = /^[A-Za-z0-9]+$/;
/** The parts of a compound; one that ends in `++` or `#` keeps it, so that C++ is not C. */
const compoundPart = /[\p{L}\p{N}\p{M}]+(?:(?:\+\+|#)$)?/gu;

/**
 * The words of a text in order, as they are spelled: without case, accents and joints, but not reduced to stems. Where
 * words are written without spaces each character is one, because how such a text is cut into words depends on what
 * stands around it. No word has a blank.
 */
export function toUnstemmedWords(text: string): string[] {
  const words: string[] = [];
  const addCharacters = (run: string) => {
    for (const character of foldSpelling(run)) words.push(character);
  };
  scanWords(text, {
    word(surface) {
      if (asciiWord.test(surface)) {
        words.push(surface.toLowerCase());
        return;
      }
      const visible = removeInvisible(surface);
      if (characterClassAt(visible, 0) === characterClass.unspaced) addCharacters(visible);
      else for (const word of visible.match(compoundPart) ?? []) words.push(foldSpelling(word));
    },
    run: addCharacters,
  });
  return words;
}

function foldSpelling(word: string): string {
  return foldDiacritics(normalizeCase(word)).replaceAll(' ', '');
}
