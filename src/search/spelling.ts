import { foldDiacritics } from '../text/fold.ts';
import type { Language } from '../text/languages.ts';
import { stemmedLanguages } from '../text/languages.ts';
import { toTermKey } from '../text/lexicon.ts';
import type { LexicalQuery } from '../text/query.ts';
import {
  addEndingVariants,
  applySpellings,
  findMisspelledWords,
  findStemPrefixes,
  hasSuspects,
  replaceMisspelledWords,
  type SpellingCandidate,
  selectTwoEditWords,
} from '../text/spelling-correction.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';
import type { AnalyzedQuery } from './prepared-query.ts';
import type { SearchableIndex } from './search-components.ts';

interface SpellingInput {
  readonly lexicalQuery: LexicalQuery;
  readonly text: string;
  /** Phrases that must match exactly and are not corrected. */
  readonly phrases: readonly string[];
  readonly languages: readonly Language[] | null;
  /** Whether a word is correct although no document contains it. */
  readonly isKnownWord: (word: string) => boolean;
  readonly deadlineMs: number;
}

/** Returns the spellings found for each word. */
async function findCorrectionsOfEach(
  index: SearchableIndex,
  words: Parameters<SearchableIndex['findCorrections']>[0],
  deadlineMs: number,
): Promise<SpellingCandidate[][]> {
  const spellings = await index.findCorrections(words, deadlineMs);
  return words.map((_, number) => spellings.filter(({ word }) => word === number));
}

/**
 * Replaces words that occur in no document by terms of the collection that differ by one letter, or by two in
 * long words. A query of known words is returned unchanged.
 */
export async function correctSpelling(index: SearchableIndex, input: SpellingInput): Promise<AnalyzedQuery> {
  const { lexicalQuery, text, phrases, isKnownWord } = input;
  const quoted = new Set(phrases.flatMap(toUnstemmedWords));
  const isCorrect = (word: string) =>
    isKnownWord(word) || (quoted.size > 0 && quoted.has(foldDiacritics(word)));
  return !hasSuspects(lexicalQuery, isCorrect) || index.hasWords(lexicalQuery.terms)
    ? { lexicalQuery, text, corrections: [] }
    : applyCorrections(index, input, isCorrect);
}

async function applyCorrections(
  index: SearchableIndex,
  input: SpellingInput,
  isCorrect: (word: string) => boolean,
): Promise<AnalyzedQuery> {
  const { lexicalQuery, text, deadlineMs } = input;
  const rows = index.countRowsOfTerms(lexicalQuery.terms.map(({ hash }) => hash));
  const unknownWords = findMisspelledWords(lexicalQuery, rows, isCorrect);
  if (unknownWords.length === 0) return { lexicalQuery, text, corrections: [] };
  const languages = input.languages ?? stemmedLanguages;
  const words = unknownWords.map((word) => {
    // Few unknown words begin with a known stem; the others skip the costly ending variants.
    const stems = findStemPrefixes(word).map(toTermKey);
    const hasKnownStem = index.countRowsOfTerms(stems).some((count) => count > 0);
    return hasKnownStem ? addEndingVariants(word, languages) : word;
  });
  const withOneEdit = words.map((word) => ({ ...word, editsMax: 1 }));
  const found = await findCorrectionsOfEach(index, withOneEdit, deadlineMs);
  const unresolved = words.filter((_, i) => found[i]!.length === 0);
  const withTwoEditsAllowed = selectTwoEditWords(unresolved);
  const moreSpellings =
    withTwoEditsAllowed.length === 0
      ? []
      : await findCorrectionsOfEach(index, withTwoEditsAllowed, deadlineMs);
  for (const [i, { group }] of withTwoEditsAllowed.entries())
    found[words.findIndex((word) => word.group === group)] = moreSpellings[i]!;
  const { query, corrections } = applySpellings(lexicalQuery, words, found);
  return { lexicalQuery: query, text: replaceMisspelledWords(text, corrections), corrections };
}
