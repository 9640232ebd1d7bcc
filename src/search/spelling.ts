import type { CollectionIndex } from '../engine/collection-index.ts';
import { foldDiacritics } from '../text/fold.ts';
import type { Language } from '../text/languages.ts';
import { stemmedLanguages } from '../text/languages.ts';
import { termKey } from '../text/lexicon.ts';
import {
  beginnings,
  type Correction,
  type FoundSpelling,
  misspelledWords,
  withCorrections,
  withEndings,
  withSpellings,
  withTwoEdits,
} from '../text/misspelled.ts';
import type { AnalysedQuery } from '../text/query.ts';
import { spelledWords } from '../text/spelled-words.ts';

interface Asked {
  readonly analysed: AnalysedQuery;
  readonly text: string;
  /** What must stand in a text letter by letter, and is not corrected. */
  readonly phrases: readonly string[];
  readonly languages: readonly Language[] | null;
  /** Whether a word is right, although no document has it. */
  readonly knowsWord: (word: string) => boolean;
  readonly deadlineMs: number;
}

export interface Understood {
  readonly analysed: AnalysedQuery;
  /** What models read. */
  readonly text: string;
  readonly corrections: readonly Correction[];
}

/** What is found for each of the words. */
async function findEach(
  index: CollectionIndex,
  words: Parameters<CollectionIndex['spellings']>[0],
  deadlineMs: number,
): Promise<FoundSpelling[][]> {
  const spellings = await index.spellings(words, deadlineMs);
  return words.map((_, number) => spellings.filter(({ word }) => word === number));
}

/**
 * The query with terms of the collection in the place of words that no document has and that differ from them by one
 * letter, or by two in long words. A query of known words is as it was, for the time of a look-up.
 */
export function correctSpelling(index: CollectionIndex, asked: Asked): Understood | Promise<Understood> {
  const { analysed, text } = asked;
  return index.hasWords(analysed.terms) ? { analysed, text, corrections: [] } : corrected(index, asked);
}

async function corrected(index: CollectionIndex, asked: Asked): Promise<Understood> {
  const { analysed, text, phrases, deadlineMs } = asked;
  const rows = index.rowsOfTerms(analysed.terms.map(({ hash }) => hash));
  const quoted = new Set(phrases.flatMap(spelledWords));
  const isRight = (word: string) => quoted.has(foldDiacritics(word)) || asked.knowsWord(word);
  const unknown = misspelledWords(analysed, rows, isRight);
  if (unknown.length === 0) return { analysed, text, corrections: [] };
  const languages = asked.languages ?? stemmedLanguages;
  const words = unknown.map((word) => {
    // Few unknown words begin like a stem that is known; the others are spared the work of changing their endings.
    const stems = beginnings(word).map(termKey);
    const begins = index.rowsOfTerms(stems).some((count) => count > 0);
    return begins ? withEndings(word, languages) : word;
  });
  const once = words.map((word) => ({ ...word, editsMax: 1 }));
  const found = await findEach(index, once, deadlineMs);
  const left = words.filter((_, i) => found[i]!.length === 0);
  const twice = withTwoEdits(left);
  const more = twice.length === 0 ? [] : await findEach(index, twice, deadlineMs);
  for (const [i, { group }] of twice.entries())
    found[words.findIndex((word) => word.group === group)] = more[i]!;
  const { query, corrections } = withSpellings(analysed, words, found);
  return { analysed: query, text: withCorrections(text, corrections), corrections };
}
