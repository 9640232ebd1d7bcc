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
  type MisspelledWord,
  replaceMisspelledWords,
  type SpellingCandidate,
  selectTwoEditWords,
} from '../text/spelling-correction.ts';
import { toUnstemmedWords } from '../text/unstemmed-words.ts';
import { CorrectionCache, cachedCorrectionsMax } from './correction-cache.ts';
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

const cache = new CorrectionCache(cachedCorrectionsMax);

/** A word, and how its spellings are searched. */
interface WordSearch {
  /** Equal for equal searches in one index. */
  readonly question: string;
  /** Adds the fields that only the search needs. */
  readonly prepare: () => MisspelledWord;
}

/** Returns the spellings found for each word, from the cache where possible. */
async function findCorrectionsOfEach(
  index: SearchableIndex,
  searches: readonly WordSearch[],
  deadlineMs: number,
): Promise<(readonly SpellingCandidate[])[]> {
  const { commits } = index;
  const found = searches.map(({ question }) => cache.find(index, question));
  const missing = searches.filter((_, i) => found[i] === undefined);
  if (missing.length === 0) return found.map((candidates) => candidates!);
  const words = missing.map(({ prepare }) => prepare());
  const spellings = await index.findCorrections(words, deadlineMs);
  const answers = missing.map(({ question }, number) => {
    const candidates = spellings.filter(({ word }) => word === number);
    cache.put(index, commits, { question, candidates });
    return candidates;
  });
  let next = 0;
  return found.map((candidates) => candidates ?? answers[next++]!);
}

/** A search for terms with one edit. */
function toOneEditSearch(
  index: SearchableIndex,
  word: MisspelledWord,
  languages: readonly Language[],
): WordSearch {
  return {
    question: ['1', languages.join(), word.letters, ...word.forms].join(' '),
    prepare: () => {
      // Few unknown words begin with a known stem; the others skip the costly ending variants.
      const stems = findStemPrefixes(word).map(toTermKey);
      const hasKnownStem = index.countRowsOfTerms(stems).some((count) => count > 0);
      return { ...(hasKnownStem ? addEndingVariants(word, languages) : word), editsMax: 1 };
    },
  };
}

function toTwoEditSearch(word: MisspelledWord): WordSearch {
  return { question: ['2', word.letters, ...word.forms].join(' '), prepare: () => word };
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
  const words = findMisspelledWords(lexicalQuery, rows, isCorrect);
  if (words.length === 0) return { lexicalQuery, text, corrections: [] };
  const languages = input.languages ?? stemmedLanguages;
  const oneEdit = words.map((word) => toOneEditSearch(index, word, languages));
  const found = await findCorrectionsOfEach(index, oneEdit, deadlineMs);
  const unresolved = words.filter((_, i) => found[i]!.length === 0);
  const withTwoEdits = selectTwoEditWords(unresolved);
  const more = await findCorrectionsOfEach(index, withTwoEdits.map(toTwoEditSearch), deadlineMs);
  for (const [i, { group }] of withTwoEdits.entries())
    found[words.findIndex((word) => word.group === group)] = more[i]!;
  const { query, corrections } = applySpellings(lexicalQuery, words, found);
  return { lexicalQuery: query, text: replaceMisspelledWords(text, corrections), corrections };
}
