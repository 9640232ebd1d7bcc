import { createRequire } from 'node:module';
import type snowballStemmers from 'snowball-stemmers';
import { limits } from '../core/limits.ts';
import { addon } from '../index/addon.ts';
import { foldDiacritics, normalizeCase } from './fold.ts';
import { type LanguageCode, stopWords } from './stop-words.ts';

export type { LanguageCode as Language } from './stop-words.ts';

/**
 * Languages that can be detected by their stop words, in a fixed order; votes and caches are indexed by
 * position.
 */
export const languages = Object.keys(stopWords) as readonly LanguageCode[];

/**
 * Snowball algorithms of the languages with stemming. The other languages are detected so that no wrong
 * stemmer is used.
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

/** Returns the language of a tag such as "de-AT" or "EN"; null if it is not supported. */
export function parseLanguageTag(tag: string | null | undefined): LanguageCode | null {
  const primary = (tag ?? '').split(/[-_]/)[0]!.toLowerCase();
  const code = primary === 'nb' || primary === 'nn' ? 'no' : primary;
  return languages.find((language) => language === code) ?? null;
}

/**
 * Loaded with `require`: for an import, Node.js would scan its 850 KB for export names, which takes longer
 * than running it.
 */
const snowball: typeof snowballStemmers = createRequire(import.meta.url)('snowball-stemmers');

type Stemmer = ReturnType<typeof snowball.newStemmer>;
const stemmers = new Map<LanguageCode, Stemmer>();

/**
 * Returns the term under which a word piece is indexed in a text of `language` (null: unknown, no stemming).
 * Diacritics are removed after stemming, because stemmers use them.
 */
export function toTerm(piece: string, isStemmable: boolean, language: LanguageCode | null): string {
  if (language === null || !isStemmable) return foldDiacritics(piece);
  return foldDiacritics(stemWord(piece, language));
}

const lowerLetters = /^[a-z]+$/;

function stemWord(word: string, language: LanguageCode): string {
  const algorithm = snowballAlgorithms[language];
  if (algorithm === undefined || word.length < 3 || word.length > limits.stemUnitsMax) return word;
  if (language === 'en' && lowerLetters.test(word)) return addon.englishStem(word);
  if (!isInScript(word, language)) return word;
  let stemmer = stemmers.get(language);
  if (stemmer === undefined) {
    stemmer = snowball.newStemmer(algorithm);
    stemmers.set(language, stemmer);
  }
  return stemmer.stem(word) || word;
}

/**
 * Whether a word is in the script of a language, so that, for example, Latin words are not stemmed as
 * Russian.
 */
function isInScript(word: string, language: LanguageCode): boolean {
  if (language === 'ru') return /^\p{Script=Cyrillic}/u.test(word);
  if (language === 'ar') return /^\p{Script=Arabic}/u.test(word);
  return /^\p{Script=Latin}/u.test(word);
}

/**
 * Stop words mapped to the positions in `languages` of their languages. Keys are normalized with
 * `normalizeCase`.
 */
const languagesOfStopWord: ReadonlyMap<string, readonly number[]> = indexStopWords((word) => word);
/** Same without diacritics, as often typed in queries. */
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

/** Returns the stop words of all languages. */
export function listStopWords(): string[] {
  return [...languagesOfStopWord.keys()];
}

/**
 * Returns the positions in `languages` for which this piece is a stop word. Single letters have none, because
 * they usually are units or list labels.
 */
export function findStopLanguages(piece: string): readonly number[] {
  return /^[a-z]$/.test(piece) ? noLanguages : (languagesOfStopWord.get(piece) ?? noLanguages);
}

/** Same for a piece of a query, with or without its diacritics. */
export function findQueryStopLanguages(piece: string): readonly number[] {
  return (
    languagesOfStopWord.get(piece) ?? languagesOfFoldedStopWord.get(foldDiacritics(piece)) ?? noLanguages
  );
}

/**
 * Returns the language of a text of `words` words if the evidence is clear: stop words make up a minimum
 * share of the text, and the best language leads the second by half; otherwise null. `votes` has one number
 * per language: each stop word adds its share, because a word shared by many languages is weak evidence for
 * each.
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

/** Two stop words, one of which may be shared with another language. */
const votesMin = 1.5;
const votesPerWordMin = 0.05;
const leadMin = 1.5;
