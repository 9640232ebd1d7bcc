import stemmers from 'snowball-stemmers';
import { forEachWord, normalizeWord } from '../../src/text/wordpiece.ts';

const stemmer = stemmers.newStemmer('porter');

/** Tokenization of the reference BM25. */
const plainAnalyzers = {
  /** Porter stems, which are designed for English. */
  porter: (raw: string) => stemmer.stem(normalizeWord(raw)),
  plain: normalizeWord,
} as const;
export type PlainAnalyzer = keyof typeof plainAnalyzers;

/** Parses the value of --terms. Errors: Error if it is unknown. */
export function parsePlainAnalyzer(name: string): PlainAnalyzer {
  if (Object.hasOwn(plainAnalyzers, name)) return name as PlainAnalyzer;
  throw new Error(`--terms is one of ${Object.keys(plainAnalyzers).join(', ')}`);
}

/** Cache of analyzed words. */
const termCache = new Map<string, string>();

/** Returns the terms of all words, including stop words. */
export function extractPlainTerms(text: string, analyzer: PlainAnalyzer): string[] {
  const terms: string[] = [];
  forEachWord(text, (raw) => {
    const key = `${analyzer} ${raw}`;
    let term = termCache.get(key);
    if (term === undefined) {
      term = plainAnalyzers[analyzer](raw);
      termCache.set(key, term);
    }
    terms.push(term);
  });
  return terms;
}

/** Parameters that most published results use. */
export const plainBm25Parameters = { k1: 0.9, b: 0.4 } as const;
