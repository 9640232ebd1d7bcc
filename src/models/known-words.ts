import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { normaliseWord } from '../text/wordpiece.ts';
import { lightStem } from './light-stem.ts';
import { rerankFolder } from './registry.ts';
import { WordRarity } from './word-rarity.ts';

/**
 * Answers whether a word, or one of its stem, stands in several passages of the built-in models' training text. Reads the
 * file of them at once: for the start of a server.
 */
export function readKnownWords(): (word: string) => boolean {
  const rarity = new WordRarity(readFileSync(join(rerankFolder, 'rarity.bin')));
  return (word) => rarity.lists(lightStem(normaliseWord(word)));
}
