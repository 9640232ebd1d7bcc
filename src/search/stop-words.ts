import { foldWord } from '../text/fold.ts';
import type { LexicalQuery } from '../text/query.ts';

/** Folded stop words. Built once per setting. */
const foldedCache = new WeakMap<readonly string[], ReadonlySet<string>>();

/**
 * Removes the stop words of a collection from a query, in any case and with any accents, but not their other forms. A
 * query without other words is returned unchanged.
 */
export function removeStopWords(query: LexicalQuery, stopWords: readonly string[] | undefined): LexicalQuery {
  if (stopWords === undefined || stopWords.length === 0) return query;
  const folded = foldStopWords(stopWords);
  // The first term of a group is the folded word. A part of a compound is a word, too.
  const stopped = new Set<number>();
  const seen = new Set<number>();
  for (const { text, group } of query.terms) {
    if (!seen.has(group) && (folded.has(text) || folded.has(foldWord(query.words[group]!))))
      stopped.add(group);
    seen.add(group);
  }
  if (stopped.size === 0 || stopped.size === query.words.length) return query;
  const kept = [...query.words.keys()].filter((group) => !stopped.has(group));
  const groups = new Map(kept.map((group, at) => [group, at]));
  return {
    terms: query.terms.flatMap((term) => {
      const group = groups.get(term.group);
      return group === undefined ? [] : [{ ...term, group }];
    }),
    words: kept.map((group) => query.words[group]!),
    letterWords: kept.map((group) => query.letterWords[group]!),
  };
}

/** Returns the form in which words are compared with stop words. */
export function foldStopWords(stopWords: readonly string[]): ReadonlySet<string> {
  const cached = foldedCache.get(stopWords);
  if (cached !== undefined) return cached;
  const folded = new Set(stopWords.map(foldWord));
  foldedCache.set(stopWords, folded);
  return folded;
}
