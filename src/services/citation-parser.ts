/** A sentence of a model, without the numbers of the snippets that it cites. */
export interface CitedSentence {
  readonly text: string;
  /** In the order of the text, each once. */
  readonly numbers: readonly number[];
}

/** Numbers in brackets, with the spaces before them unless a word follows: ` [1]`, `[2, 3]`. */
const numbers = String.raw`\[\s*\d{1,4}(?:\s*,\s*\d{1,4})*\s*\]`;
const citationPattern = new RegExp(String.raw`[ \t]*${numbers}(?![\p{L}\p{N}])|${numbers}`, 'gu');
/** Start of a citation at the end of a text that continues. */
const openCitation = /[ \t]*\[[\d,\s]*$/;

/**
 * Ends of segments that are no ends of sentences: initials, ordinals and numbers of lists, and common abbreviations, after
 * which the segmenter of ICU splits.
 */
const abbreviation =
  /(?:^|[\s(])(?:\p{L}|\d{1,2}|Dr|Mr|Mrs|Ms|Prof|St|Nr|No|Art|Abs|Fig|Abb|Sec|Vol|vs|bzw|ca|etc|vgl|approx|[eE]\.g|[iI]\.e|z\.\s?B|d\.\s?h)\.\s*$/u;

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** A citation in a text. `at`: its offset after all citations were removed from the text. */
interface FoundCitation {
  readonly at: number;
  readonly units: number;
  readonly numbers: readonly number[];
  /** Whether it is the start of a line that continues, and so belongs to the sentence after it. */
  readonly startsLine: boolean;
}

interface Segment {
  readonly start: number;
  readonly end: number;
  readonly citations: FoundCitation[];
}

/**
 * Splits the reply of a model into sentences while it arrives. A citation belongs to the sentence before it, so that both
 * `Text [1].` and `Text. [1]` work.
 */
export class CitationParser {
  /** Text after the last complete sentence, as the model wrote it. */
  #rest = '';
  /** Length of the rest at which it is examined again: growing steps, so that the work is linear in the text. */
  #examinedAt = 0;

  /** Adds a piece of the text. Returns the sentences that are now complete. */
  push(piece: string): CitedSentence[] {
    this.#rest += piece;
    if (this.#rest.length < this.#examinedAt) return [];
    const open = openCitation.exec(this.#rest)?.[0].length ?? 0;
    const { sentences, units } = split(this.#rest.slice(0, this.#rest.length - open), false);
    this.#rest = this.#rest.slice(units);
    this.#examinedAt = this.#rest.length + (this.#rest.length >> 3) + 1;
    return sentences;
  }

  /** Returns the remaining sentences. */
  end(): CitedSentence[] {
    const { sentences } = split(this.#rest, true);
    this.#rest = '';
    return sentences;
  }
}

/** Returns the sentences and the number of UTF-16 units that they have. `isWhole`: no text follows. */
function split(raw: string, isWhole: boolean): { sentences: CitedSentence[]; units: number } {
  const { text, citations } = removeCitations(raw);
  const segments = findSegments(text, citations);
  const sentences: CitedSentence[] = [];
  let units = 0;
  let group: Segment[] = [];
  for (const [i, segment] of segments.entries()) {
    // The segmenter decides about the end of a segment by the next letter.
    if (!isWhole && !/\p{L}/u.test(text.slice(segment.end))) break;
    group.push(segment);
    const isLast = i === segments.length - 1;
    if (!isLast && segment.citations.length === 0 && isAbbreviated(text, segment)) continue;
    units += countUnits(group);
    const sentence = toSentence(text, group);
    if (sentence !== null) sentences.push(sentence);
    group = [];
  }
  return { sentences, units };
}

function removeCitations(raw: string): { text: string; citations: FoundCitation[] } {
  const citations: FoundCitation[] = [];
  let text = '';
  let end = 0;
  for (const match of raw.matchAll(citationPattern)) {
    text += raw.slice(end, match.index);
    end = match.index + match[0].length;
    const previous = citations.at(-1);
    const isAtLineStart =
      /(?:^|\n)[ \t]*$/.test(text) || (previous?.startsLine === true && previous.at === text.length);
    citations.push({
      at: text.length,
      units: match[0].length,
      numbers: [...match[0].matchAll(/\d+/g)].map(([digits]) => Number(digits)),
      startsLine: isAtLineStart && /^(?:[ \t]*\[[\d,\s]*\])*[ \t]*[^\s[]/.test(raw.slice(end)),
    });
  }
  return { text: text + raw.slice(end), citations };
}

function findSegments(text: string, citations: readonly FoundCitation[]): Segment[] {
  const segments: Segment[] = [...segmenter.segment(text)].map(({ index, segment }) => ({
    start: index,
    end: index + segment.length,
    citations: [],
  }));
  // Only citations, without a text.
  if (segments.length === 0) segments.push({ start: 0, end: 0, citations: [] });
  for (const citation of citations) {
    const before = text.slice(0, citation.at).trimEnd().length;
    const at = citation.startsLine ? citation.at : Math.max(0, before - 1);
    (segments.find(({ end }) => at < end) ?? segments.at(-1)!).citations.push(citation);
  }
  return segments;
}

function countUnits(group: readonly Segment[]): number {
  return group.reduce(
    (sum, { start, end, citations }) =>
      sum + end - start + citations.reduce((removed, { units }) => removed + units, 0),
    0,
  );
}

function isAbbreviated(text: string, { start, end }: Segment): boolean {
  return abbreviation.test(text.slice(start, end));
}

/** Returns null for a segment without words. */
function toSentence(text: string, group: readonly Segment[]): CitedSentence | null {
  const [first] = group;
  const words = text.slice(first?.start, group.at(-1)?.end).replace(/\s+/g, ' ').trim();
  if (!/[\p{L}\p{N}]/u.test(words)) return null;
  const cited = group.flatMap(({ citations }) => citations.flatMap((citation) => citation.numbers));
  return { text: words, numbers: [...new Set(cited)] };
}
