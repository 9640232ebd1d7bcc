import { queryLimits } from '../core/query-limits.ts';
import { foldWord } from '../text/fold.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';

/** A completed query. */
export interface Suggestion {
  readonly query: string;
  /** Number of documents with the completed word, or title. */
  readonly documents: number;
}

/** A word or a title, and the documents that contain it. */
export interface VocabularyEntry {
  /** Folded; in titles, words are separated by spaces. */
  readonly key: string;
  /** Form in suggestions. */
  readonly shown: string;
  /** Positions of its documents among those of the vocabulary, ascending. */
  readonly documents: Uint16Array;
}

/** Document of the vocabulary that expires. */
export interface ExpiringDocument {
  /** Position of the document among those of the vocabulary. */
  readonly document: number;
  /** Milliseconds since the epoch. */
  readonly at: number;
}

/** Restriction of suggestions. */
export interface SuggestionScope {
  /** 1 for each document that counts; null: all. */
  readonly allowed: Uint8Array | null;
  readonly limit: number;
  /** Folded words that are not suggested. */
  readonly stopWords: ReadonlySet<string>;
}

const lastWord = /[\p{L}\p{N}\p{M}]+$/u;
const words = /[\p{L}\p{N}\p{M}]+/gu;
/** Entries are grouped by this many UTF-16 units, the least length of a word. */
const groupUnits = 2;

/** Words and titles of documents, which complete queries. Immutable. */
export class Vocabulary {
  /** Versions of the documents, ascending. */
  readonly versions: Float64Array;
  /** In the order of the times. */
  readonly expirations: readonly ExpiringDocument[];
  /** Estimated memory. */
  readonly bytes: number;
  /** Entries by their first units, those with the most documents first, so that few of them are counted. */
  readonly #groups: ReadonlyMap<string, readonly VocabularyEntry[]>;

  constructor({
    versions,
    expirations,
    groups,
    bytes,
  }: Pick<Vocabulary, 'versions' | 'expirations' | 'bytes'> & {
    readonly groups: ReadonlyMap<string, readonly VocabularyEntry[]>;
  }) {
    this.versions = versions;
    this.expirations = expirations;
    this.bytes = bytes;
    this.#groups = groups;
  }

  /** Returns how many of `expirations` have passed. */
  countExpired(now: number): number {
    let count = 0;
    while (count < this.expirations.length && this.expirations[count]!.at <= now) count += 1;
    return count;
  }

  /**
   * Completes the last word of a query with words that occur together with the words before it, and the whole query with
   * titles; the most frequent first. Words before the last that no document contains are ignored.
   */
  suggest(query: string, scope: SuggestionScope): Suggestion[] {
    const text = query.trimEnd();
    const typed = lastWord.exec(text)?.[0];
    if (typed === undefined) return [];
    const head = text.slice(0, text.length - typed.length);
    const prefix = foldWord(typed);
    const best = new BestSuggestions(scope.limit);
    const earlier = (head.match(words) ?? []).map(foldWord).slice(-queryLimits.suggestContextWordsMax);
    const typedWords = new Set([...earlier, prefix]);
    const among = this.#findTogether(earlier, scope.allowed);
    const isNewWord = ({ key }: VocabularyEntry) =>
      key.startsWith(prefix) && !key.includes(' ') && !typedWords.has(key) && !scope.stopWords.has(key);
    for (const entries of this.#groupsOf(prefix)) {
      for (const entry of entries) {
        if (entry.documents.length < best.documentsMin) break;
        if (isNewWord(entry)) best.add(head + entry.shown, count(entry, among));
      }
    }
    const whole = toUnstemmedWords(text).join(' ');
    const isTitle = ({ key }: VocabularyEntry) => key.startsWith(whole) && key.includes(' ') && key !== whole;
    for (const entries of this.#groupsOf(whole)) {
      for (const entry of entries) {
        if (entry.documents.length < best.documentsMin) break;
        if (isTitle(entry)) best.add(entry.shown, count(entry, scope.allowed));
      }
    }
    return best.list();
  }

  /** Returns the allowed documents with all of these words that occur in any; null for all documents. */
  #findTogether(earlier: readonly string[], allowed: Uint8Array | null): Uint8Array | null {
    let together = allowed;
    for (const word of earlier) {
      const entry = this.#groups.get(word.slice(0, groupUnits))?.find(({ key }) => key === word);
      if (entry === undefined || count(entry, allowed) === 0) continue;
      const next = new Uint8Array(this.versions.length);
      for (const document of entry.documents) next[document] = together === null ? 1 : together[document]!;
      together = next;
    }
    return together;
  }

  /** Returns the groups with entries that start with a text. */
  #groupsOf(prefix: string): (readonly VocabularyEntry[])[] {
    if (prefix.length >= groupUnits) return [this.#groups.get(prefix.slice(0, groupUnits)) ?? []];
    const groups = [...this.#groups].filter(([start]) => start.startsWith(prefix));
    return groups.map(([, entries]) => entries);
  }
}

function count({ documents }: VocabularyEntry, allowed: Uint8Array | null): number {
  if (allowed === null) return documents.length;
  let found = 0;
  for (const document of documents) found += allowed[document]!;
  return found;
}

/** The most frequent suggestions, without repetitions. */
class BestSuggestions {
  readonly #limit: number;
  readonly #best: Suggestion[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Number of documents below which nothing is added. */
  get documentsMin(): number {
    return this.#best.length < this.#limit ? 1 : this.#best.at(-1)!.documents;
  }

  add(query: string, documents: number): void {
    if (documents === 0) return;
    const best = this.#best;
    const suggestion = { query, documents };
    if (best.length >= this.#limit && compare(suggestion, best.at(-1)!) >= 0) return;
    const folded = foldWord(query);
    const known = best.findIndex((other) => foldWord(other.query) === folded);
    if (known !== -1) {
      if (compare(suggestion, best[known]!) >= 0) return;
      best.splice(known, 1);
    }
    const at = best.findIndex((other) => compare(suggestion, other) < 0);
    best.splice(at === -1 ? best.length : at, 0, suggestion);
    if (best.length > this.#limit) best.pop();
  }

  list(): Suggestion[] {
    return this.#best;
  }
}

/** Orders by descending number of documents; then the shorter one, and the order of the text. */
function compare(left: Suggestion, right: Suggestion): number {
  return (
    right.documents - left.documents ||
    left.query.length - right.query.length ||
    (left.query < right.query ? -1 : left.query > right.query ? 1 : 0)
  );
}
