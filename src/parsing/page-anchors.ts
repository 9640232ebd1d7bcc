/** A word of a text, folded for comparison, with its start offset. */
interface Word {
  readonly text: string;
  readonly start: number;
}

interface IndexedText {
  readonly words: readonly Word[];
  readonly positionsByAnchor: ReadonlyMap<string, readonly number[]>;
}

/** Consecutive words that identify a position. */
const anchorWords = 4;
/** Words at the top of a page that are searched for an anchor; running headers may come first. */
const topWordsMax = 80;

/**
 * Cuts a text at the page starts of a rendering of the same document. The first words of each rendered page
 * are searched in the text near the end of the previous page. The pages tile the text except for white space
 * at their ends; a page whose words are not found gets as many words of the text as it has itself.
 */
export function splitByPageAnchors(text: string, renderedPages: readonly string[]): string[] {
  const words = splitWords(text);
  const positionsByAnchor = indexAnchors(words);
  const cuts: number[] = [];
  let first = 0;
  let expected = 0;
  for (const page of renderedPages) {
    const pageWords = splitWords(page);
    if (cuts.length > 0) {
      first = Math.min(
        words.length,
        findAnchor(pageWords, { words, positionsByAnchor }, { least: first, expected }) ??
          Math.max(first, expected),
      );
      cuts.push(first === words.length ? text.length : findLineStart(text, words[first]!.start));
    } else cuts.push(0);
    expected = first + pageWords.length;
  }
  return cuts.map((cut, i) => text.slice(cut, Math.max(cut, cuts[i + 1] ?? text.length)).trim());
}

function splitWords(text: string): Word[] {
  return Array.from(text.matchAll(/[\p{L}\p{N}]+/gu), ({ 0: word, index }) => ({
    text: word.normalize('NFKC').toLowerCase(),
    start: index,
  }));
}

/** Returns the ascending word positions of each anchor. */
function indexAnchors(words: readonly Word[]): ReadonlyMap<string, readonly number[]> {
  const places = new Map<string, number[]>();
  for (let i = 0; i + anchorWords <= words.length; i++) {
    const key = anchorKeyAt(words, i);
    const positions = places.get(key);
    if (positions === undefined) places.set(key, [i]);
    else positions.push(i);
  }
  return places;
}

function anchorKeyAt(words: readonly Word[], at: number): string {
  let key = '';
  for (let i = at; i < at + anchorWords; i++) key += `${words[i]!.text} `;
  return key;
}

/**
 * Returns the index of the text word at which a page begins; null when none of its top anchors is near the
 * expected position.
 */
function findAnchor(
  page: readonly Word[],
  { words, positionsByAnchor: places }: IndexedText,
  { least: positionMin, expected }: { readonly least: number; readonly expected: number },
): number | null {
  const distanceMax = Math.max(300, expected - positionMin);
  for (let at = 0; at < topWordsMax && at + anchorWords <= page.length; at++) {
    const found = findNearest(places.get(anchorKeyAt(page, at)) ?? [], expected + at);
    if (found === null || Math.abs(found - expected - at) > distanceMax) continue;
    if (found < positionMin) continue;
    // Preceding words that occur in both belong to the page; others are a header, or numbers that the
    // rendering adds.
    let wordsBefore = 0;
    while (
      wordsBefore < at &&
      found - wordsBefore > positionMin &&
      page[at - wordsBefore - 1]!.text === words[found - wordsBefore - 1]!.text
    )
      wordsBefore += 1;
    return found - wordsBefore;
  }
  return null;
}

/** Returns the element of a sorted list that is closest to `target`. */
function findNearest(sorted: readonly number[], target: number): number | null {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle]! < target) low = middle + 1;
    else high = middle;
  }
  const [before, after] = [sorted[low - 1], sorted[low]];
  if (before === undefined || after === undefined) return before ?? after ?? null;
  return target - before < after - target ? before : after;
}

/** Returns the start of the line when only heading, list or table marks precede the word, else `at`. */
function findLineStart(text: string, at: number): number {
  const line = text.lastIndexOf('\n', at - 1) + 1;
  return /[\p{L}\p{N}]/u.test(text.slice(line, at)) ? at : line;
}
