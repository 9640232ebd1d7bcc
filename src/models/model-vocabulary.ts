import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopWords } from '../text/stop-words.ts';
import { forEachWord, normalizeWord } from '../text/wordpiece.ts';
import { IdfTable } from './idf-table.ts';
import { toLightStem } from './light-stem.ts';
import { builtInRerankerFolder } from './registry.ts';

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));
const number = /^\p{N}+$/u;

/**
 * A text of which a smaller share of words is known is in a language that the models do not know; one of which a larger
 * share is, in one they do. In between lie queries full of names. Of judged questions .94 to .99 are known in English, .69
 * in Spanish, .58 in German, .36 in Chinese, less than .1 in Russian, Arabic, Hindi and Thai.
 */
const unfamiliarShareMax = 0.5;
const familiarShareMin = 0.9;
/**
 * Content words of a query: hardly one of their training had more than the first, and with the second it is a text, of which
 * no passage holds much (models/README.md, "A second opinion").
 */
const queryWordsMax = 20;
const longTextWordsMin = 40;

/** The words of the built-in models' training text. */
export class ModelVocabulary {
  readonly #idfTable: IdfTable;

  constructor(rarity: IdfTable) {
    this.#idfTable = rarity;
  }

  /** Reads the file of them at once: for the start of a server. */
  static load(): ModelVocabulary {
    return new ModelVocabulary(new IdfTable(readFileSync(join(builtInRerankerFolder, 'rarity.bin'))));
  }

  /** Whether a word, or one of its stem, stands in several passages. */
  hasWord(word: string): boolean {
    return this.#idfTable.has(toLightStem(normalizeWord(word)));
  }

  /** 0 for a query of which the models know too little to judge it, 1 for one of usual length in words they know. */
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

/** 0 up to `low`, 1 from `high`. */
function rampBetween(low: number, value: number, high: number): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
