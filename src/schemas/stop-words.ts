import { AppError } from '../core/app-error.ts';
import { queryLimits } from '../core/query-limits.ts';
import { isSingleWord } from './synonyms.ts';
import { type Static, Type } from './typebox.ts';

export const StopWords = Type.Array(Type.String(), {
  description:
    'Words that lexical search ignores in queries of this collection, unless a query has no others. Each is one word of letters and digits, at most 64 characters; at most 1,000 words. Case and accents do not matter.',
  examples: [['acme', 'inc']],
});
export type StopWords = Static<typeof StopWords>;

/** Errors: AppError `bad_request` that names the word. */
export function checkStopWords(words: StopWords): void {
  const { stopWordsMax, stopWordUnitsMax } = queryLimits;
  if (words.length > stopWordsMax)
    throw new AppError(
      'bad_request',
      `stop_words has ${words.length} words; at most ${stopWordsMax} are allowed.`,
    );
  const i = words.findIndex((word) => !isSingleWord(word, stopWordUnitsMax));
  if (i === -1) return;
  throw new AppError(
    'bad_request',
    `stop_words[${i}]: ${JSON.stringify(words[i]!.slice(0, stopWordUnitsMax))} must be one word of letters and digits, at most ${stopWordUnitsMax} characters.`,
  );
}
