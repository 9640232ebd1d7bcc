import { characterClass, characterClassAt } from './characters.ts';
import { foldDiacritics, normalizeCase, removeInvisible } from './fold.ts';
import { scanWords } from './scan.ts';

/** Matches most words of most texts, for which only lower-casing is needed. */
const asciiWord = /^[A-Za-z0-9]+$/;
/** Matches the parts of a compound; a final `++` or `#` is kept, so that C++ differs from C. */
const compoundPart = /[\p{L}\p{N}\p{M}]+(?:(?:\+\+|#)$)?/gu;

/**
 * Returns the words of a text in order, without case, accents and connectors, but not stemmed. In scripts
 * without spaces each character is one word, because the segmentation of such a text depends on the context.
 * No word contains a space.
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
