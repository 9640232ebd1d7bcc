import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { stopWords } from '../text/stop-words.ts';
import { eachWord, normaliseWord } from '../text/wordpiece.ts';
import { lightStem } from './light-stem.ts';
import { rerankFolder } from './registry.ts';
import { WordRarity } from './word-rarity.ts';

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));
const number = /^\p{N}+$/u;

/**
 * A text of which a smaller share of words is known is in a language that the models do not know; one of which a larger
 * share is, in one they do. In between lie queries full of names. Of judged questions .94 to .99 are known in English, .69
 * in Spanish, .58 in German, .36 in Chinese, less than .1 in Russian, Arabic, Hindi and Thai.
 */
const strangeShare = 0.5;
const familiarShare = 0.9;
/**
 * Content words of a query: hardly one of their training had more than the first, and with the second it is a text, of which
 * no passage holds much (models/README.md, "A second opinion").
 */
const usualWordsMax = 20;
const textWordsMin = 40;

/** The words of the built-in models' training text. */
export class KnownWords {
  readonly #rarity: WordRarity;

  constructor(rarity: WordRarity) {
    this.#rarity = rarity;
  }

  /** Reads the file of them at once: for the start of a server. */
  static read(): KnownWords {
    return new KnownWords(new WordRarity(readFileSync(join(rerankFolder, 'rarity.bin'))));
  }

  /** Whether a word, or one of its stem, stands in several passages. */
  knows(word: string): boolean {
    return this.#rarity.lists(lightStem(normaliseWord(word)));
  }

  /** 0 for a query of which the models know too little to judge it, 1 for one of usual length in words they know. */
  familiarity(text: string): number {
    let [words, known] = [0, 0];
    eachWord(text, (raw) => {
      const word = normaliseWord(raw);
      if (functionWords.has(word) || number.test(word)) return;
      words += 1;
      if (this.#rarity.lists(lightStem(word))) known += 1;
    });
    if (words === 0) return 1;
    const ofWords = between(strangeShare, known / words, familiarShare);
    return ofWords * (1 - between(usualWordsMax, words, textWordsMin));
  }
}

/** 0 up to `low`, 1 from `high`. */
function between(low: number, value: number, high: number): number {
  return Math.min(1, Math.max(0, (value - low) / (high - low)));
}
