import { findBestSentence, type TextSpan } from '../../../../src/core/excerpt.ts';

/** Scripts without spaces between words, in which pairs of characters are compared. */
const unspacedRun = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]/u;

/**
 * Returns the sentence of a snippet that has most words of a sentence of the answer, rare words counting more: the model
 * names snippets, not sentences. Null if they share no word. In UTF-16 units.
 */
export function findCitedSentence(content: string, sentence: string): TextSpan | null {
  const wordsByTerm = new Map<string, Set<string>>();
  for (const word of wordsOf(content)) {
    const term = word.toLowerCase();
    wordsByTerm.set(term, (wordsByTerm.get(term) ?? new Set()).add(word));
  }
  const terms = new Set(wordsOf(sentence).map((word) => word.toLowerCase()));
  return findBestSentence(
    content,
    [...terms].flatMap((term) => {
      const words = wordsByTerm.get(term);
      return words === undefined ? [] : [[...words]];
    }),
  );
}

function wordsOf(text: string): string[] {
  const runs = text.match(
    /[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]+|(?:(?![\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}])[\p{L}\p{N}\p{M}])+/gu,
  );
  return (runs ?? []).flatMap((run) => {
    if (!unspacedRun.test(run)) return [run];
    const characters = [...run];
    return characters.length === 1 ? [run] : characters.slice(1).map((each, i) => characters[i] + each);
  });
}
