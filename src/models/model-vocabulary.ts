import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../core/limits.ts';
import { stopWords } from '../text/stop-words.ts';
import { forEachWord, normalizeWord } from '../text/wordpiece.ts';
import { IdfTable } from './idf-table.ts';
import { toLightStem } from './light-stem.ts';
import { builtInRerankerFolder } from './registry.ts';

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));
const number = /^\p{N}+$/u;

/**
 * Bounds of the share of known words in a text. Below the first, the language is unknown to the models; above
 * the second, it is known. In between are queries that consist mostly of names. Measured shares of judged
 * questions: .94 to .99 in English, .69 in Spanish, .58 in German, .36 in Chinese, below .1 in Russian,
 * Arabic, Hindi and Thai.
 */
const unfamiliarShareMax = 0.5;
const familiarShareMin = 0.9;
/**
 * Bounds of the number of content words in a query. Few training queries exceed the first; from the second
 * on, the query is a long text, most of which no passage contains (models/README.md, "Weight of the reranker").
 */
const queryWordsMax = 20;
const longTextWordsMin = 40;

/** Vocabulary of the built-in models' training text. */
export class ModelVocabulary {
  readonly #idfTable: IdfTable;
  /** Recent answers of `hasWord`. */
  readonly #hasWord = new Map<string, boolean>();

  constructor(idfTable: IdfTable) {
    this.#idfTable = idfTable;
  }

  /** Reads the vocabulary file synchronously; intended for server startup. */
  static load(): ModelVocabulary {
    return new ModelVocabulary(new IdfTable(readFileSync(join(builtInRerankerFolder, 'rarity.bin'))));
  }

  /** Whether a word, or another word with its stem, occurs in several passages. */
  hasWord(word: string): boolean {
    const cached = this.#hasWord.get(word);
    if (cached !== undefined) return cached;
    const isKnown = this.#idfTable.has(toLightStem(normalizeWord(word)));
    if (this.#hasWord.size >= limits.queryCacheEntriesMax) this.#hasWord.clear();
    this.#hasWord.set(word, isKnown);
    return isKnown;
  }

  /**
   * Returns 0 for a query that the models know too little of to judge, 1 for one of usual length in words
   * they know; values in between are interpolated.
   */
  computeFamiliarity(text: string): number {
    let [words, known] = [0, 0];
    forEachWord(text, (raw) => {
      const word = normalizeWord(raw);
      if (functionWords.has(word) || number.test(word)) return;
      words += 1;
      if (this.#idfTable.has(toLightStem(word))) known += 1;
    });
    if (words === 0) return 1;
    const knownShare = rampBetween(unfamiliarShareMax, known / words, familiarShareMin);
    return knownShare * (1 - rampBetween(queryWordsMax, words, longTextWordsMin));
  }
}

/** Linear ramp: 0 up to `low`, 1 from `high`. */
function rampBetween(low: number, value: number, high: number): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
