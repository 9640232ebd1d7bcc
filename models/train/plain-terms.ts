import stemmers from 'snowball-stemmers';
import { eachWord, normaliseWord } from '../../src/text/wordpiece.ts';

const stemmer = stemmers.newStemmer('porter');

/** How a BM25 that is compared with cuts a text into terms. */
const plainCuts = {
  /** Porter stems, which are made for English. */
  porter: (raw: string) => stemmer.stem(normaliseWord(raw)),
  plain: normaliseWord,
} as const;
export type PlainCut = keyof typeof plainCuts;

/** The way of cutting that a flag names; throws when there is none of this name. */
export function plainCut(name: string): PlainCut {
  if (Object.hasOwn(plainCuts, name)) return name as PlainCut;
  throw new Error(`--terms is one of ${Object.keys(plainCuts).join(', ')}`);
}

/** Of the words that were seen. */
const known = new Map<string, string>();

/** All words, stop words too. */
export function plainTerms(text: string, cut: PlainCut): string[] {
  const terms: string[] = [];
  eachWord(text, (raw) => {
    const key = `${cut} ${raw}`;
    let term = known.get(key);
    if (term === undefined) {
      term = plainCuts[cut](raw);
      known.set(key, term);
    }
    terms.push(term);
  });
  return terms;
}

/** As most published figures have them. */
export const plainParameters = { k1: 0.9, b: 0.4 } as const;
