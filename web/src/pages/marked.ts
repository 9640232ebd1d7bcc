const word = /[\p{L}\p{N}]+/gu;
/** Letters that an ending may add to the stem that was found. */
const endingMax = 5;
const stemMin = 4;

function folded(text: string): string {
  return text
    .normalize('NFKD')
    .replace(/\p{M}+/gu, '')
    .toLowerCase();
}

/**
 * Whether a word of the text is one that a term stands for. Terms are stems ("compani" for "company", "companies"), so
 * all but the last letter of a longer one has to agree, and what follows may be an ending.
 */
function stands(shown: string, term: string): boolean {
  if (shown === term) return true;
  if (term.length < stemMin || shown.length > term.length + endingMax) return false;
  return shown.startsWith(term.slice(0, Math.max(stemMin - 1, term.length - 1)));
}

/** Splits a text into what is marked and what is not. */
export function marked(
  text: string,
  terms: readonly string[],
): { readonly text: string; readonly isMarked: boolean }[] {
  const wanted = terms.map(folded).filter((term) => term !== '');
  const parts: { text: string; isMarked: boolean }[] = [];
  let end = 0;
  for (const { 0: found, index } of text.matchAll(word)) {
    const shown = folded(found);
    if (!wanted.some((term) => stands(shown, term))) continue;
    if (index > end) parts.push({ text: text.slice(end, index), isMarked: false });
    parts.push({ text: found, isMarked: true });
    end = index + found.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isMarked: false });
  return parts;
}
