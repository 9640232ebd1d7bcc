import { createRequire } from 'node:module';
import type snowballStemmers from 'snowball-stemmers';
import { limits } from '../core/limits.ts';
import { foldDiacritics, normalizeCase } from './fold.ts';
import { type LanguageCode, stopWords } from './stop-words.ts';

export type { LanguageCode as Language } from './stop-words.ts';

/**
 * Every language that can be told from its function words, in a fixed order; votes and caches are indexed
 * by it.
 */
export const languages = Object.keys(stopWords) as readonly LanguageCode[];

/**
 * The languages whose words are reduced to stems. The others are told apart so that no wrong stemmer is
 * used.
 */
const snowballAlgorithms: Readonly<Partial<Record<LanguageCode, string>>> = {
  en: 'english',
  de: 'german',
  fr: 'french',
  es: 'spanish',
  it: 'italian',
  pt: 'portuguese',
  nl: 'dutch',
  sv: 'swedish',
  da: 'danish',
  no: 'norwegian',
  fi: 'finnish',
  hu: 'hungarian',
  ro: 'romanian',
  cs: 'czech',
  ca: 'catalan',
  tr: 'turkish',
  ru: 'russian',
  ar: 'arabic',
};

export const stemmedLanguages = languages.filter((language) => snowballAlgorithms[language] !== undefined);

/** The language of a tag such as "de-AT" or "EN", or null when it is not one of ours. */
export function parseLanguageTag(tag: string | null | undefined): LanguageCode | null {
  const primary = (tag ?? '').split(/[-_]/)[0]!.toLowerCase();
  const code = primary === 'nb' || primary === 'nn' ? 'no' : primary;
  return languages.find((language) => language === code) ?? null;
}

/** Required: for an import, Node.js would search its 850 KB for names of exports, which takes longer than running it. */
const snowball: typeof snowballStemmers = createRequire(import.meta.url)('snowball-stemmers');

type Stemmer = ReturnType<typeof snowball.newStemmer>;
const stemmers = new Map<LanguageCode, Stemmer>();

/**
 * The term under which a word piece is indexed in a text of `language` (null: unsure, no stemming).
 * Accents go after stemming, because stemmers read them.
 */
export function toTerm(piece: string, isStemmable: boolean, language: LanguageCode | null): string {
  if (language === null || !isStemmable) return foldDiacritics(piece);
  return foldDiacritics(stemWord(piece, language));
}

function stemWord(word: string, language: LanguageCode): string {
  const algorithm = snowballAlgorithms[language];
  if (algorithm === undefined || word.length < 3 || word.length > limits.stemUnitsMax) return word;
  if (!isInScript(word, language)) return word;
  let stemmer = stemmers.get(language);
  if (stemmer === undefined) {
    stemmer = snowball.newStemmer(algorithm);
    stemmers.set(language, stemmer);
  }
  return stemmer.stem(word) || word;
}

/** A Russian stemmer has no say about Latin words, and so on. */
function isInScript(word: string, language: LanguageCode): boolean {
  if (language === 'ru') return /^\p{Script=Cyrillic}/u.test(word);
  if (language === 'ar') return /^\p{Script=Arabic}/u.test(word);
  return /^\p{Script=Latin}/u.test(word);
}

/** Function words -> positions in `languages` of those that have them. Keys are `lowerCase`d. */
const languagesOfStopWord: ReadonlyMap<string, readonly number[]> = indexStopWords((word) => word);
/** The same without diacritics, as people type queries. */
const languagesOfFoldedStopWord: ReadonlyMap<string, readonly number[]> = indexStopWords(foldDiacritics);

function indexStopWords(spell: (word: string) => string): Map<string, number[]> {
  const index = new Map<string, number[]>();
  for (const [position, language] of languages.entries()) {
    for (const word of new Set(stopWords[language].split(/\s+/).map((word) => spell(normalizeCase(word))))) {
      const positions = index.get(word) ?? [];
      positions.push(position);
      index.set(word, positions);
    }
  }
  return index;
}

const noLanguages: readonly number[] = [];

/**
 * Positions in `languages` for which this piece is a function word; single letters say more about units and
 * lists.
 */
export function findStopLanguages(piece: string): readonly number[] {
  return /^[a-z]$/.test(piece) ? noLanguages : (languagesOfStopWord.get(piece) ?? noLanguages);
}

/** The same for a piece of a query, with or without its diacritics. */
export function findQueryStopLanguages(piece: string): readonly number[] {
  return (
    languagesOfStopWord.get(piece) ?? languagesOfFoldedStopWord.get(foldDiacritics(piece)) ?? noLanguages
  );
}

/**
 * The language of a passage of `words` words, when the evidence is clear: function words make up a due part of the
 * passage, and the best language leads the next by half. Null otherwise. `votes` has one number per language: for each
 * function word its share, because a word that many languages share says little about each.
 */
export function chooseLanguage(votes: Float64Array, words: number): LanguageCode | null {
  const { best, lead } = rankVotes(votes);
  const votesRequired = Math.max(votesMin, words * votesPerWordMin);
  return votes[best]! >= votesRequired && lead >= leadMin ? languages[best]! : null;
}

function rankVotes(votes: Float64Array): { best: number; lead: number } {
  let best = 0;
  let second = -1;
  for (let position = 1; position < languages.length; position += 1) {
    if (votes[position]! > votes[best]!) {
      second = best;
      best = position;
    } else if (second < 0 || votes[position]! > votes[second]!) {
      second = position;
    }
  }
  return { best, lead: votes[best]! / Math.max(votes[second] ?? 0, Number.EPSILON) };
}

/** Two function words, of which one may be shared with another language. */
const votesMin = 1.5;
const votesPerWordMin = 0.05;
const leadMin = 1.5;
