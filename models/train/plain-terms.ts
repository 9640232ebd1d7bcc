import stemmers from 'snowball-stemmers';
import { forEachWord, normalizeWord } from '../../src/text/wordpiece.ts';

const stemmer = stemmers.newStemmer('porter');

/** How a BM25 that is compared with cuts a text into terms. */
const plainAnalyzers = {
  /** Porter stems, which are made for English. */
  porter: (raw: string) => stemmer.stem(normalizeWord(raw)),
  plain: normalizeWord,
} as const;
export type PlainAnalyzer = keyof typeof plainAnalyzers;

/** The way of cutting that a flag names; throws when there is none of this name. */
export function parsePlainAnalyzer(name: string): PlainAnalyzer {
  if (Object.hasOwn(plainAnalyzers, name)) return name as PlainAnalyzer;
  throw new Error(`--terms is one of ${Object.keys(plainAnalyzers).join(', ')}`);
}

/** Of the words that were seen. */
const termCache = new Map<string, string>();

/** All words, stop words too. */
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

/** As most published figures have them. */
export const plainBm25Parameters = { k1: 0.9, b: 0.4 } as const;
