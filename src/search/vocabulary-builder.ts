import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import { queryLimits } from '../core/query-limits.ts';
import { foldWord, normalizeCase, removeInvisible } from '../text/fold.ts';
import { findQueryStopLanguages, languages } from '../text/languages.ts';
import { scanWords } from '../text/scan.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';
import { type ExpiringDocument, Vocabulary, type VocabularyEntry } from './vocabulary.ts';

/** Text of a document from which words are taken. */
export interface VocabularyText {
  readonly title: string | null;
  readonly texts: readonly string[];
}

interface GrowingEntry {
  readonly shown: string;
  readonly documents: number[];
}

const wordPart = /[\p{L}\p{N}\p{M}]+/gu;
const letter = /\p{L}/u;
const wordUnitsMin = 2;
const wordUnitsMax = 40;
const titleUnitsMax = 100;
/** Estimated memory of an entry besides its text and documents. */
const entryBytes = 200;
const bytesPerUnit = 2;
const bytesPerDocument = 2;
/** Entries that are packed before other work may run. */
const packedEntries = 256;

/** Collects the words and titles of documents, within the limits of a vocabulary. */
export class VocabularyBuilder {
  readonly #versions: number[] = [];
  readonly #entries = new Map<string, GrowingEntry>();
  readonly #stopLanguages: ReadonlySet<number>;
  readonly #expirations: ExpiringDocument[] = [];
  #bytes = 0;

  /** `stopLanguages`: languages whose stop words are left out. */
  constructor(stopLanguages: readonly string[]) {
    this.#stopLanguages = new Set(stopLanguages.map((language) => languages.indexOf(language as never)));
  }

  /** Adds a document, at most `vocabularyDocumentsMax`. Versions must ascend. `expiresAt`: milliseconds since the epoch. */
  add(version: number, { title, texts }: VocabularyText, expiresAt?: number): void {
    const document = this.#versions.push(version) - 1;
    if (expiresAt !== undefined) this.#expirations.push({ document, at: expiresAt });
    const seen = new Set<string>();
    const sink = {
      word: (surface: string) => {
        if (seen.has(surface)) return;
        seen.add(surface);
        for (const part of surface.match(wordPart) ?? []) this.#addWord(part, document);
      },
      // Runs of Chinese, Japanese and Korean have no words that could be completed.
      run: () => undefined,
    };
    if (title !== null) {
      scanWords(title, sink);
      this.#addTitle(title, document);
    }
    for (const text of texts) scanWords(text, sink);
  }

  /** Returns the vocabulary. */
  async build(yieldToEventLoop: YieldToEventLoop): Promise<Vocabulary> {
    const groups = new Map<string, VocabularyEntry[]>();
    let packed = 0;
    for (const [key, { shown, documents }] of this.#entries) {
      const pause = packed % packedEntries === 0 ? yieldToEventLoop() : null;
      if (pause !== null) await pause;
      packed += 1;
      const start = key.slice(0, wordUnitsMin);
      const group = groups.get(start) ?? [];
      groups.set(start, group);
      group.push({ key, shown, documents: Uint16Array.from(documents) });
    }
    for (const group of groups.values()) {
      const pause = yieldToEventLoop();
      if (pause !== null) await pause;
      group.sort((left, right) => right.documents.length - left.documents.length);
    }
    return new Vocabulary({
      versions: Float64Array.from(this.#versions),
      expirations: this.#expirations.sort((left, right) => left.at - right.at),
      groups,
      bytes: this.#bytes,
    });
  }

  #addWord(part: string, document: number): void {
    if (part.length < wordUnitsMin || part.length > wordUnitsMax || !letter.test(part)) return;
    const shown = normalizeCase(removeInvisible(part));
    const isStopWord = findQueryStopLanguages(shown).some((language) => this.#stopLanguages.has(language));
    if (!isStopWord) this.#add(foldWord(part), shown, document);
  }

  #addTitle(title: string, document: number): void {
    const shown = title.replace(/\s+/gu, ' ').trim();
    const key = shown.length > titleUnitsMax ? '' : toUnstemmedWords(shown).join(' ');
    // A title of one word is a word.
    if (key.includes(' ')) this.#add(key, shown, document);
  }

  #add(key: string, shown: string, document: number): void {
    if (key.length < wordUnitsMin) return;
    const known = this.#entries.get(key);
    if (known !== undefined) {
      if (known.documents.at(-1) === document) return;
      known.documents.push(document);
      this.#bytes += bytesPerDocument;
      return;
    }
    if (this.#bytes >= queryLimits.vocabularyBytesMax) this.#forgetRareWords();
    const entry = { shown, documents: [document] };
    this.#entries.set(key, entry);
    this.#bytes += bytesOf(key, entry);
  }

  /**
   * Frees a quarter of the memory: most words of a text occur in one or two documents, and suggestions are the most frequent
   * ones. A word that occurs again is counted from then on (lossy counting). Titles stay.
   */
  #forgetRareWords(): void {
    const target = queryLimits.vocabularyBytesMax * 0.75;
    const { vocabularyDocumentsMax } = queryLimits;
    for (
      let documentsMin = 2;
      this.#bytes > target && documentsMin <= vocabularyDocumentsMax;
      documentsMin *= 2
    ) {
      for (const [key, entry] of this.#entries) {
        if (entry.documents.length >= documentsMin || key.includes(' ')) continue;
        this.#entries.delete(key);
        this.#bytes -= bytesOf(key, entry);
      }
    }
  }
}

/** Returns the estimated memory of an entry. */
function bytesOf(key: string, { shown, documents }: GrowingEntry): number {
  const units = key.length + (shown === key ? 0 : shown.length);
  return entryBytes + bytesPerUnit * units + bytesPerDocument * (documents.length - 1);
}
