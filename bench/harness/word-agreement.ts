/** Agreement of the words of two texts; each score is from 0 to 1. */
export interface WordAgreement {
  /** F1 of the words with multiplicity, independent of order. */
  readonly words: number;
  /** F1 of the pairs of adjacent words: decreases if the order differs. */
  readonly pairs: number;
  /** Number of words of the reference text. */
  readonly wanted: number;
}

/**
 * Compares texts, ignoring case, punctuation, ligatures and markup; a character of a script without spaces
 * counts as a word.
 */
export function wordAgreement(found: string, expected: string): WordAgreement {
  const [own, other] = [wordsOf(found), wordsOf(expected)];
  return { words: f1(own, other), pairs: f1(pairsOf(own), pairsOf(other)), wanted: other.length };
}

const wordPattern =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}])[\p{L}\p{N}\p{M}])+/gu;

export function wordsOf(text: string): string[] {
  // Bidirectional control characters separate words, even without a space.
  const plain = text.replace(/<!--[\s\S]*?-->|[\u202a-\u202e]/g, ' ').replace(/[\u00ad\u200b-\u200f]/g, '');
  return plain.normalize('NFKC').toLowerCase().match(wordPattern) ?? [];
}

function pairsOf(words: readonly string[]): string[] {
  return words.slice(1).map((word, i) => `${words[i]} ${word}`);
}

/** Returns F1 with multiplicity; 1 for two empty lists. */
function f1(found: readonly string[], expected: readonly string[]): number {
  if (found.length + expected.length === 0) return 1;
  const left = new Map<string, number>();
  for (const one of expected) left.set(one, (left.get(one) ?? 0) + 1);
  let common = 0;
  for (const one of found) {
    const count = left.get(one) ?? 0;
    if (count === 0) continue;
    left.set(one, count - 1);
    common += 1;
  }
  return (2 * common) / (found.length + expected.length);
}
