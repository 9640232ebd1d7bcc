import { normalizeCase } from '../../text/fold.ts';
import { toTerm } from '../../text/languages.ts';

/** A part of a page that can be found. */
export interface SearchEntry {
  readonly page: string;
  readonly heading: string;
  readonly address: string;
  /** The part that is searched. */
  readonly text: string;
  /** The part that results show, if there is one: sentences read better than tables and code. */
  readonly prose: string;
}

interface Posting {
  readonly entry: number;
  readonly count: number;
}

const resultsMax = 20;
const queryTermsMax = 16;
/** Words of the page title and of the heading count as often as this many words of the text. */
const titleWeight = 6;
const headingWeight = 4;
/** The usual constants of BM25. */
const saturation = 1.2;
const lengthShare = 0.75;

/** BM25 over the sections of the documentation, in memory, with the stemmer of the search engine. */
export class DocsSearch {
  readonly #entries: readonly SearchEntry[];
  readonly #postings = new Map<string, Posting[]>();
  readonly #lengths: number[] = [];

  constructor(entries: readonly SearchEntry[]) {
    this.#entries = entries;
    for (const [index, entry] of entries.entries()) this.#add(index, entry);
  }

  /** Returns the best sections, best first. */
  find(query: string): readonly SearchEntry[] {
    const scores = new Map<number, number>();
    for (const term of new Set(termsOf(query).slice(0, queryTermsMax))) this.#score(term, scores);
    return [...scores]
      .sort(([a, scoreA], [b, scoreB]) => scoreB - scoreA || a - b)
      .slice(0, resultsMax)
      .flatMap(([index]) => this.#entries[index] ?? []);
  }

  #add(index: number, { page, heading, text }: SearchEntry): void {
    const counts = new Map<string, number>();
    let length = 0;
    for (const [part, weight] of [
      [page, titleWeight],
      [heading, headingWeight],
      [text, 1],
    ] as const)
      for (const term of termsOf(part)) {
        counts.set(term, (counts.get(term) ?? 0) + weight);
        length += weight;
      }
    this.#lengths.push(length);
    for (const [term, count] of counts) {
      const postings = this.#postings.get(term) ?? [];
      postings.push({ entry: index, count });
      this.#postings.set(term, postings);
    }
  }

  #score(term: string, scores: Map<number, number>): void {
    const postings = this.#postings.get(term) ?? [];
    const total = this.#entries.length;
    const meanLength = this.#lengths.reduce((sum, each) => sum + each, 0) / Math.max(1, total);
    const rarity = Math.log(1 + (total - postings.length + 0.5) / (postings.length + 0.5));
    for (const { entry, count } of postings) {
      const relativeLength = (this.#lengths[entry] ?? 0) / meanLength;
      const damping = saturation * (1 - lengthShare + lengthShare * relativeLength);
      const gain = (rarity * count * (saturation + 1)) / (count + damping);
      scores.set(entry, (scores.get(entry) ?? 0) + gain);
    }
  }
}

/** Terms of a text: its words, folded and stemmed. */
export function termsOf(text: string): string[] {
  const words = normalizeCase(text).match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.map((word) => toTerm(word, true, 'en'));
}
