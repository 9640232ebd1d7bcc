import type { CollectionIndex } from '../index/collection-index.ts';
import { foldDiacritics } from '../text/fold.ts';
import type { Language } from '../text/languages.ts';
import { stemmedLanguages } from '../text/languages.ts';
import { toTermKey } from '../text/lexicon.ts';
import type { LexicalQuery } from '../text/query.ts';
import {
  addEndingVariants,
  applySpellings,
  type Correction,
  findMisspelledWords,
  findStemPrefixes,
  replaceMisspelledWords,
  type SpellingCandidate,
  selectTwoEditWords,
} from '../text/spelling-correction.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';

interface SpellingInput {
  readonly lexicalQuery: LexicalQuery;
  readonly text: string;
  /** What must stand in a text letter by letter, and is not corrected. */
  readonly phrases: readonly string[];
  readonly languages: readonly Language[] | null;
  /** Whether a word is right, although no document has it. */
  readonly isKnownWord: (word: string) => boolean;
  readonly deadlineMs: number;
}

export interface AnalyzedQuery {
  readonly lexicalQuery: LexicalQuery;
  /** What models read. */
  readonly text: string;
  readonly corrections: readonly Correction[];
}

/** What is found for each of the words. */
async function findSpellingsOfEach(
  index: CollectionIndex,
  words: Parameters<CollectionIndex['findSpellings']>[0],
  deadlineMs: number,
): Promise<SpellingCandidate[][]> {
  const spellings = await index.findSpellings(words, deadlineMs);
  return words.map((_, number) => spellings.filter(({ word }) => word === number));
}

/**
 * The query with terms of the collection in the place of words that no document has and that differ from them by one
 * letter, or by two in long words. A query of known words is as it was, for the time of a look-up.
 */
export function correctSpelling(
  index: CollectionIndex,
  input: SpellingInput,
): AnalyzedQuery | Promise<AnalyzedQuery> {
  const { lexicalQuery, text } = input;
  return index.hasWords(lexicalQuery.terms)
    ? { lexicalQuery, text, corrections: [] }
    : applyCorrections(index, input);
}

async function applyCorrections(index: CollectionIndex, input: SpellingInput): Promise<AnalyzedQuery> {
  const { lexicalQuery, text, phrases, deadlineMs } = input;
  const rows = index.countRowsOfTerms(lexicalQuery.terms.map(({ hash }) => hash));
  const quoted = new Set(phrases.flatMap(toUnstemmedWords));
  const isCorrect = (word: string) => quoted.has(foldDiacritics(word)) || input.isKnownWord(word);
  const unknownWords = findMisspelledWords(lexicalQuery, rows, isCorrect);
  if (unknownWords.length === 0) return { lexicalQuery, text, corrections: [] };
  const languages = input.languages ?? stemmedLanguages;
  const words = unknownWords.map((word) => {
    // Few unknown words begin like a stem that is known; the others are spared the work of changing their endings.
    const stems = findStemPrefixes(word).map(toTermKey);
    const hasKnownStem = index.countRowsOfTerms(stems).some((count) => count > 0);
    return hasKnownStem ? addEndingVariants(word, languages) : word;
  });
  const withOneEdit = words.map((word) => ({ ...word, editsMax: 1 }));
  const found = await findSpellingsOfEach(index, withOneEdit, deadlineMs);
  const unresolved = words.filter((_, i) => found[i]!.length === 0);
  const withTwoEditsAllowed = selectTwoEditWords(unresolved);
  const moreSpellings =
    withTwoEditsAllowed.length === 0 ? [] : await findSpellingsOfEach(index, withTwoEditsAllowed, deadlineMs);
  for (const [i, { group }] of withTwoEditsAllowed.entries())
    found[words.findIndex((word) => word.group === group)] = moreSpellings[i]!;
  const { query, corrections } = applySpellings(lexicalQuery, words, found);
  return { lexicalQuery: query, text: replaceMisspelledWords(text, corrections), corrections };
}
