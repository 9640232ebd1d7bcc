/** Ranks names by how well a typed text matches them. */

const scores = { consecutive: 8, wordStart: 10, letter: 1 } as const;

/**
 * Returns how well the letters of `typed` occur in `name` in their order, higher is better; null if they do not.
 * Letters at the start of words and next to each other count more. Takes the first possible place of each letter,
 * after trying the text as a whole.
 */
export function fuzzyScore(typed: string, name: string): number | null {
  const [wanted, text] = [fold(typed).replaceAll(' ', ''), fold(name)];
  if (wanted === '') return 0;
  const whole = text.indexOf(fold(typed).trim());
  if (whole >= 0) {
    const start = whole === 0 || isSeparator(text[whole - 1]) ? scores.wordStart : 0;
    return wanted.length * (scores.consecutive + scores.letter) + start + 1 / name.length;
  }
  let [score, last] = [0, -1];
  for (const letter of wanted) {
    const at = text.indexOf(letter, last + 1);
    if (at < 0) return null;
    score += scores.letter;
    if (at === last + 1 && last >= 0) score += scores.consecutive / 2;
    else if (at === 0 || isSeparator(text[at - 1])) score += scores.wordStart / 2;
    last = at;
  }
  return score + 1 / name.length;
}

function fold(text: string): string {
  return text.normalize('NFKD').replace(/\p{M}/gu, '').toLowerCase();
}

function isSeparator(letter: string | undefined): boolean {
  return letter !== undefined && /[\s/_.:-]/.test(letter);
}
