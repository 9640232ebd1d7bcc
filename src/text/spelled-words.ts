import { characterClass, classAt } from './characters.ts';
import { dropInvisible, foldDiacritics, lowerCase } from './fold.ts';
import { scanWords } from './scan.ts';

/** Most words of most texts, for which the rest would change nothing but their case. */
const plain = /^[A-Za-z0-9]+$/;
/** The parts of a compound; one that ends in `++` or `#` keeps it, so that C++ is not C. */
const part = /[\p{L}\p{N}\p{M}]+(?:(?:\+\+|#)$)?/gu;

/**
 * The words of a text in order, as they are spelled: without case, accents and joints, but not reduced to stems. Where
 * words are written without spaces each character is one, because how such a text is cut into words depends on what
 * stands around it. No word has a blank.
 */
export function spelledWords(text: string): string[] {
  const words: string[] = [];
  const addCharacters = (run: string) => {
    for (const character of spelled(run)) words.push(character);
  };
  scanWords(text, {
    word(surface) {
      if (plain.test(surface)) {
        words.push(surface.toLowerCase());
        return;
      }
      const visible = dropInvisible(surface);
      if (classAt(visible, 0) === characterClass.unspaced) addCharacters(visible);
      else for (const word of visible.match(part) ?? []) words.push(spelled(word));
    },
    run: addCharacters,
  });
  return words;
}

function spelled(word: string): string {
  return foldDiacritics(lowerCase(word)).replaceAll(' ', '');
}
