/** Highlights and the best sentence of a result text. Shared by the dashboard and the command line. */

/** Half-open range of a text, in UTF-16 units. */
export interface TextSpan {
  readonly start: number;
  readonly end: number;
}

/** Longer sentences (tables, code) are cut, so that a preview shows the matches. */
const sentenceUnitsMax = 400;
/** A heading names a subject, but seldom answers a question about it. */
const headingUnitsMax = 60;
const headingWeight = 0.6;

/**
 * Returns the sentence that contains most of the query terms, rare terms counting more; null if the text contains
 * none. `wordsOfTerms`: for each query term, the words of the text that match it. Of equal sentences, one with a
 * figure (a date, an amount, a period) is preferred, then the first.
 */
export function findBestSentence(
  text: string,
  wordsOfTerms: readonly (readonly string[])[],
): TextSpan | null {
  const sentences = splitSentences(text);
  const matchedTerms = sentences.map(() => new Set<number>());
  for (const [term, words] of wordsOfTerms.entries()) {
    let sentence = 0;
    for (const { start } of findWords(text, words)) {
      while (sentence < sentences.length && sentences[sentence]!.end <= start) sentence += 1;
      matchedTerms[sentence]?.add(term);
    }
  }
  const weights = wordsOfTerms.map((_, term) => {
    const count = matchedTerms.filter((terms) => terms.has(term)).length;
    return Math.log(1 + sentences.length / Math.max(1, count));
  });
  let best: TextSpan | null = null;
  let highest = 0;
  for (const [index, span] of sentences.entries()) {
    const sentence = text.slice(span.start, span.end).replace(numbering, '');
    const hasFigure = /\p{N}/u.test(sentence);
    const sum = [...matchedTerms[index]!].reduce((all, term) => all + weights[term]!, 0);
    const isHeading =
      !hasFigure && sentence.length <= headingUnitsMax && !/[.!?…。！？]["'”’」』)]*$/.test(sentence);
    const score = sum * (isHeading ? headingWeight : 1) * (hasFigure ? 1.001 : 1);
    if (score > highest) [best, highest] = [span, score];
  }
  return best;
}

/** Number of a section or list item at the start of a sentence. */
const numbering = /^[\s\p{N}.()•*#-]+/u;

/**
 * Positions where a sentence may end: after a full stop (first group), after one of East Asian scripts (second
 * group), at a line break. `isSentenceEnd` rejects some of them.
 */
const possibleEnd =
  /(?<=[.!?…]["'”’»)\]]{0,3})(\s+)(?=["'“„«([]{0,2}[\p{Lu}\p{Lt}\p{Lo}\p{N}])|(?<=[。！？]["”’」』）]{0,3})(\s*)(?!["”’」』）])|\n/gu;
const abbreviation =
  /(?:^|[\s("“„])(?:\p{L}|\p{N}{1,3}(?:\.\p{N}{1,3})*|No|Nr|Art|Sec|Fig|Mr|Mrs|Ms|Dr|Prof|St|vs|e\.g|i\.e|z\.B|bzw|ca|approx|incl)\.$/u;
const listItem = /^\s*(?:[-*•|#]|\p{N}{1,3}(?:\.\p{N}{1,3})*[.)]?\s|\([\p{L}\p{N}]{1,4}\)\s)/u;
/** A word that is not capitalized in a heading. */
const plainWord = /(?<!\p{L})(?!(?:and|the|for|with)(?!\p{L}))\p{Ll}\p{L}{2}/u;

/**
 * Returns the sentences of a text, without surrounding space. A line break ends a sentence only at a blank line, a
 * list item or after a heading, because texts of PDF files have one per printed line.
 */
function splitSentences(text: string): TextSpan[] {
  const ends: number[] = [];
  for (const match of text.matchAll(possibleEnd))
    if (isSentenceEnd(text, match)) ends.push(match.index + match[0].length);
  const sentences: TextSpan[] = [];
  let start = 0;
  for (const end of [...ends, text.length]) {
    pushTrimmed(sentences, text, { start, end });
    start = end;
  }
  return sentences;
}

function isSentenceEnd(
  text: string,
  { 0: found, 1: stop, 2: eastAsianStop, index }: RegExpExecArray,
): boolean {
  if (eastAsianStop !== undefined) return true;
  const before = text.slice(Math.max(0, index - headingUnitsMax - 1), index);
  const next = text.slice(index + found.length, index + found.length + 16);
  if (found.includes('\n') && (/\n\s*\n/.test(found) || /^\s*\n/.test(next) || listItem.test(next)))
    return true;
  if (stop !== undefined) return !abbreviation.test(before);
  const line = before.slice(before.lastIndexOf('\n') + 1).trim();
  return line.length <= headingUnitsMax && /^[\p{Lu}\p{N}]/u.test(line) && !plainWord.test(line);
}

function pushTrimmed(sentences: TextSpan[], text: string, { start, end }: TextSpan): void {
  let first = start;
  while (first < end && /\s/.test(text[first]!)) first += 1;
  let last = end;
  while (last > first && /\s/.test(text[last - 1]!)) last -= 1;
  while (last - first > sentenceUnitsMax) {
    const cut = text.slice(first, first + sentenceUnitsMax).search(/\s\S*$/);
    const pieceEnd = first + (cut > 0 ? cut + 1 : sentenceUnitsMax);
    sentences.push({ start: first, end: pieceEnd });
    first = pieceEnd;
  }
  if (last > first) sentences.push({ start: first, end: last });
}

/** Scripts without spaces between words. */
const unspacedScript =
  '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Katakana}\\p{sc=Hangul}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]';
const unspaced = new RegExp(`^${unspacedScript}`, 'u');
/** A character that is part of the same word as a letter next to it. */
const spacedCharacter = `(?!${unspacedScript})[\\p{L}\\p{N}\\p{M}]`;

/**
 * Returns the occurrences of the words in a text, in order and without overlaps: whole words, except in scripts
 * without spaces, where words that overlap or touch are one range (the words of a search are pairs of characters).
 */
export function findWords(text: string, words: readonly string[]): TextSpan[] {
  const alternatives = (isUnspaced: boolean) =>
    [...new Set(words)]
      .filter((word) => word !== '' && unspaced.test(word) === isUnspaced)
      .sort((one, other) => other.length - one.length)
      .map((word) => word.replace(/[\^$\\.*+?()[\]{}|/]/g, '\\$&'))
      .join('|');
  const [spaced, others] = [alternatives(false), alternatives(true)];
  const patterns = [
    ...(spaced === '' ? [] : [`(?<!${spacedCharacter})(?:${spaced})(?!${spacedCharacter})`]),
    // A lookahead finds words that overlap the previous one.
    ...(others === '' ? [] : [`(?=(${others}))`]),
  ];
  if (patterns.length === 0) return [];
  const spans: { start: number; end: number }[] = [];
  for (const { 0: found, 1: ahead, index } of text.matchAll(new RegExp(patterns.join('|'), 'gu'))) {
    const end = index + (ahead ?? found).length;
    const last = spans.at(-1);
    if (ahead !== undefined && last !== undefined && index <= last.end) last.end = Math.max(last.end, end);
    else spans.push({ start: index, end });
  }
  return spans;
}

export interface TextPart {
  readonly text: string;
  readonly isHighlighted: boolean;
}

/** Splits a text into parts that are one of the words, and other parts. */
export function splitHighlights(text: string, words: readonly string[]): TextPart[] {
  const parts: TextPart[] = [];
  let last = 0;
  for (const { start, end } of findWords(text, words)) {
    if (start > last) parts.push({ text: text.slice(last, start), isHighlighted: false });
    parts.push({ text: text.slice(start, end), isHighlighted: true });
    last = end;
  }
  if (last < text.length) parts.push({ text: text.slice(last), isHighlighted: false });
  return parts;
}
