const wordPattern = /[\p{L}\p{N}]+/gu;
/** Maximum length of an ending after the matched stem, in letters. */
const endingLengthMax = 5;
const stemLengthMin = 4;

function foldText(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

/**
 * Whether a term matches a word of the text. Terms are stems ("compani" for "company", "companies"), so all
 * but the last letter of longer terms must match, and an ending may follow.
 */
function matchesTerm(foldedWord: string, term: string): boolean {
  if (foldedWord === term) return true;
  if (term.length < stemLengthMin || foldedWord.length > term.length + endingLengthMax) return false;
  return foldedWord.startsWith(term.slice(0, Math.max(stemLengthMin - 1, term.length - 1)));
}

/** Splits a text into highlighted and other parts. */
export function splitHighlights(
  text: string,
  terms: readonly string[],
): { readonly text: string; readonly isHighlighted: boolean }[] {
  const foldedTerms = terms.map(foldText).filter((term) => term !== '');
  const parts: { text: string; isHighlighted: boolean }[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(wordPattern)) {
    const foldedWord = foldText(found);
    if (!foldedTerms.some((term) => matchesTerm(foldedWord, term))) continue;
    if (index > end) parts.push({ text: text.slice(end, index), isHighlighted: false });
    parts.push({ text: found, isHighlighted: true });
    end = index + found.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isHighlighted: false });
  return parts;
}
