/** A word of a text, folded for comparison, and where it starts. */
interface Word {
  readonly text: string;
  readonly start: number;
}

interface IndexedText {
  readonly words: readonly Word[];
  readonly places: ReadonlyMap<string, readonly number[]>;
}

/** Words in a row that identify a place. */
const anchorWords = 4;
/** Words at the top of a page among which such a row is looked for: running headers may come first. */
const topWords = 80;

/**
 * Cuts a text where the pages of a drawing of the same document begin: each page's first words are looked for in the text,
 * near where the page before it ended. The pages tile the text, but for blank space at their ends; a page whose words are
 * not found gets as much of the text as it has words.
 */
export function pagesByAnchors(text: string, drawn: readonly string[]): string[] {
  const words = wordsOf(text);
  const places = placesOf(words);
  const cuts: number[] = [];
  let first = 0;
  let expected = 0;
  for (const page of drawn) {
    const ahead = wordsOf(page);
    if (cuts.length > 0) {
      first = Math.min(
        words.length,
        anchorOf(ahead, { words, places }, { least: first, expected }) ?? Math.max(first, expected),
      );
      cuts.push(first === words.length ? text.length : lineStart(text, words[first]!.start));
    } else cuts.push(0);
    expected = first + ahead.length;
  }
  return cuts.map((cut, i) => text.slice(cut, Math.max(cut, cuts[i + 1] ?? text.length)).trim());
}

function wordsOf(text: string): Word[] {
  return Array.from(text.matchAll(/[\p{L}\p{N}]+/gu), ({ 0: word, index }) => ({
    text: word.normalize('NFKC').toLowerCase(),
    start: index,
  }));
}

/** Where each row of words occurs, in order. */
function placesOf(words: readonly Word[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (let i = 0; i + anchorWords <= words.length; i++) {
    const key = keyAt(words, i);
    const known = places.get(key);
    if (known === undefined) places.set(key, [i]);
    else known.push(i);
  }
  return places;
}

function keyAt(words: readonly Word[], at: number): string {
  let key = '';
  for (let i = at; i < at + anchorWords; i++) key += `${words[i]!.text} `;
  return key;
}

/** The word of the text that a page begins with; null when none of its first rows is found near enough. */
function anchorOf(
  page: readonly Word[],
  { words, places }: IndexedText,
  { least, expected }: { readonly least: number; readonly expected: number },
): number | null {
  const reach = Math.max(300, expected - least);
  for (let at = 0; at < topWords && at + anchorWords <= page.length; at++) {
    const found = nearest(places.get(keyAt(page, at)) ?? [], expected + at);
    if (found === null || Math.abs(found - expected - at) > reach) continue;
    if (found < least) continue;
    // Words before it that stand in both belong to the page; others are a header, or numbers that the drawing adds.
    let back = 0;
    while (back < at && found - back > least && page[at - back - 1]!.text === words[found - back - 1]!.text)
      back += 1;
    return found - back;
  }
  return null;
}

/** The element of a sorted list that lies closest to `wanted`. */
function nearest(sorted: readonly number[], wanted: number): number | null {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < wanted) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [sorted[low - 1], sorted[low]];
  if (before === undefined || after === undefined) return before ?? after ?? null;
  return wanted - before < after - wanted ? before : after;
}

/** Marks of headings, lists and tables before the first word of a line belong to it. */
function lineStart(text: string, at: number): number {
  const line = text.lastIndexOf('\n', at - 1) + 1;
  return /[\p{L}\p{N}]/u.test(text.slice(line, at)) ? at : line;
}
