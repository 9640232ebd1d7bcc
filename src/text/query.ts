import { limits } from '../core/limits.ts';
import { findQueryStopLanguages, type Language, languages, stemmedLanguages, toTerm } from './languages.ts';
import { detachString, getEntryHashes, Lexicon, type LexiconEntry, toTermKey } from './lexicon.ts';
import { type GramRole, scanWords } from './scan.ts';
import { expandWord, type WordVariant } from './words.ts';

export interface QueryTerm {
  readonly text: string;
  readonly hash: bigint;
  readonly weight: number;
  /** Terms of one group are alternative spellings of one query word: synonyms, not additional evidence. */
  readonly group: number;
}

export interface LexicalQuery {
  readonly terms: readonly QueryTerm[];
  /** The query word of each group, as typed. */
  readonly words: readonly string[];
  /**
   * The word of each group in lower case if it has only letters, else null: only such words are checked for
   * misspelling.
   */
  readonly letterWords: readonly (string | null)[];
}

/** Weight of a pair of hiragana: these are mostly grammar and should only break ties. */
const weakPairWeight = 0.3;

const lexicon = new Lexicon();

interface Spelling {
  readonly text: string;
  readonly hash: bigint;
}

/** Search terms for one piece of a word. */
interface WordPart {
  /** Equal for equal spellings. */
  readonly key: string;
  readonly spellings: readonly Spelling[];
  readonly letterWord: string | null;
  readonly weight: number;
}

/** Analysis of a query word for collections with certain languages. */
interface CachedWord {
  readonly surface: string;
  /** Empty if the word has nothing to search for. */
  readonly parts: readonly WordPart[];
  /** Positions in `languages` of the languages with this stop word. */
  readonly stopLanguages: readonly number[];
}

/**
 * Recent query words by languages and word. Gain with the queries of the bench case `server`: 28 -> 6 us per
 * query in a collection of one language, 2,900 -> 7 us if the languages are unknown and all are used.
 */
const wordCache = new Map<string, Map<string, CachedWord>>();
/** Total number of entries in all inner maps. */
let cachedWordCount = 0;

/**
 * Returns the groups of terms to search for, in query order, at most `queryGroupsMax`. `collectionLanguages`:
 * languages reported by `analyzeChunks` for the documents of the collection (null: unknown, so all are used).
 * Stop words are dropped unless the query has nothing else. Each occurrence of a repeated word counts. No
 * character is an operator.
 */
export function analyzeQuery(
  query: string,
  collectionLanguages: readonly Language[] | null = null,
): LexicalQuery {
  const candidates = collectionLanguages ?? stemmedLanguages;
  const groups = new Map<string, { surface: string; part: WordPart; weight: number }>();
  for (const { surface, parts } of removeFunctionWords(scanQueryWords(query, candidates), candidates)) {
    for (const part of parts) {
      const group = groups.get(part.key);
      if (group !== undefined) group.weight += part.weight;
      else if (groups.size < limits.queryGroupsMax)
        groups.set(part.key, { surface, part, weight: part.weight });
    }
  }
  const terms: QueryTerm[] = [];
  const words: string[] = [];
  const letterWords: (string | null)[] = [];
  for (const { surface, part, weight } of groups.values()) {
    for (const { text, hash } of part.spellings) terms.push({ text, hash, weight, group: words.length });
    words.push(surface);
    letterWords.push(part.letterWord);
  }
  return { terms, words, letterWords };
}

/** A query word, as typed, and the words of a text that match it, as written. */
export interface WordMatch {
  readonly queryWord: string;
  readonly words: readonly string[];
}

/**
 * Returns the query words that a chunk matches, without duplicates, in query order, with the matching words of the
 * text. `language` is that of the row from `analyzeChunks`.
 */
export function findWordMatches(
  query: LexicalQuery,
  text: string,
  language: Language | null,
): readonly WordMatch[] {
  const found = query.words.map(() => new Set<string>());
  scanMatches(query, { text, language }, (group, surface) => found[group]!.add(surface));
  const matches = new Map<string, Set<string>>();
  for (const [group, words] of found.entries()) {
    if (words.size === 0) continue;
    const queryWord = query.words[group]!;
    matches.set(queryWord, new Set([...(matches.get(queryWord) ?? []), ...words]));
  }
  return Array.from(matches, ([queryWord, words]) => ({ queryWord, words: [...words] }));
}

/** Returns only the query words. Fast enough for every candidate of a query. */
export function findMatchedWords(query: LexicalQuery, text: string, language: Language | null): string[] {
  const matched = new Set<number>();
  scanMatches(query, { text, language }, (group) => matched.add(group));
  const inOrder = [...matched].sort((left, right) => left - right);
  return [...new Set(inOrder.map((group) => query.words[group]!))];
}

/**
 * Calls `onMatch` with each word of the text that matches a group of the query. The words of the text are cached in
 * the lexicon.
 */
function scanMatches(
  query: LexicalQuery,
  { text, language }: { readonly text: string; readonly language: Language | null },
  onMatch: (group: number, surface: string) => void,
): void {
  const groups = indexGroups(query);
  const position = language === null ? -1 : languages.indexOf(language);
  const match = (entry: LexiconEntry, surface: string): void => {
    const halves = getEntryHashes(entry, position);
    for (let index = 0; index < halves.length; index += 2) {
      const matchedGroups = groups.get(toMatchKey(halves[index]!, halves[index + 1]!));
      if (matchedGroups !== undefined) for (const group of matchedGroups) onMatch(group, surface);
    }
  };
  scanWords(text, {
    word: (surface) => match(lexicon.getWord(surface), surface),
    gram: (gram) => match(lexicon.getGram(gram), gram),
  });
}

/** Positions of query words in a text: each entry is one match, in text order. */
export interface TermPositions {
  /** Groups of the query's terms. */
  readonly groups: number[];
  /** Word positions in the text (words and n-grams), counted from 0. */
  readonly positions: number[];
}

/** Returns the positions of query words in a chunk. `language` is that of the row from `analyzeChunks`. */
export function findTermPositions(
  query: LexicalQuery,
  text: string,
  language: Language | null,
): TermPositions {
  const groupsOfKey = indexGroups(query);
  const languagePosition = language === null ? -1 : languages.indexOf(language);
  const termPositions: TermPositions = { groups: [], positions: [] };
  let position = 0;
  const match = (entry: LexiconEntry): void => {
    const halves = getEntryHashes(entry, languagePosition);
    const first = termPositions.groups.length;
    for (let index = 0; index < halves.length; index += 2) {
      const matchedGroups = groupsOfKey.get(toMatchKey(halves[index]!, halves[index + 1]!));
      for (const group of matchedGroups ?? []) {
        if (termPositions.groups.includes(group, first)) continue;
        termPositions.groups.push(group);
        termPositions.positions.push(position);
      }
    }
    position += 1;
  };
  scanWords(text, {
    word: (surface) => match(lexicon.getWord(surface)),
    gram: (gram) => match(lexicon.getGram(gram)),
  });
  return termPositions;
}

/** Built once per query: hundreds of short texts are matched against the same query. */
const groupCache = new WeakMap<LexicalQuery, ReadonlyMap<number, readonly number[]>>();

/** Returns the groups of each term, by its `toMatchKey`. */
function indexGroups(query: LexicalQuery): ReadonlyMap<number, readonly number[]> {
  const cached = groupCache.get(query);
  if (cached !== undefined) return cached;
  const groups = new Map<number, readonly number[]>();
  for (const { hash, group } of query.terms) {
    const key = toMatchKey(Number(hash >> 32n), Number(hash & 0xffffffffn));
    groups.set(key, [...(groups.get(key) ?? []), group]);
  }
  groupCache.set(query, groups);
  return groups;
}

/**
 * Returns the upper 53 bits of a hash, which a double represents exactly: enough for comparing with a few
 * terms.
 */
function toMatchKey(high: number, low: number): number {
  return high * 2 ** 21 + (low >>> 11);
}

function scanQueryWords(query: string, candidates: readonly Language[]): CachedWord[] {
  const languagesKey = candidates.join();
  const cache = wordCache.get(languagesKey) ?? new Map<string, CachedWord>();
  wordCache.set(languagesKey, cache);
  const words: CachedWord[] = [];
  scanWords(query, {
    word(surface) {
      const word = cache.get(surface) ?? cacheWord(cache, buildWord(detachString(surface), candidates));
      if (word.parts.length > 0) words.push(word);
    },
    gram(gram: string, role: GramRole) {
      if (role !== 'inner')
        words.push(cache.get(gram) ?? cacheWord(cache, buildGram(gram, role, candidates)));
    },
  });
  return words;
}

function cacheWord(cache: Map<string, CachedWord>, word: CachedWord): CachedWord {
  if (cachedWordCount >= limits.queryCacheEntriesMax) {
    wordCache.clear();
    cachedWordCount = 0;
  }
  cache.set(word.surface, word);
  cachedWordCount += 1;
  return word;
}

function buildWord(surface: string, candidates: readonly Language[]): CachedWord {
  const pieces = expandWord(surface);
  const only = pieces.length === 1 ? pieces[0] : undefined;
  const letterWord = only?.isStemmable === true ? only.text : null;
  return {
    surface,
    parts: pieces.map((piece) => buildWordPart(piece, letterWord, candidates)),
    stopLanguages: only === undefined ? [] : findQueryStopLanguages(only.text),
  };
}

/** The role is determined by the characters, so the n-gram is a sufficient cache key. */
function buildGram(gram: string, role: GramRole, candidates: readonly Language[]): CachedWord {
  const weight = role === 'weakPair' ? weakPairWeight : 1;
  const part = buildWordPart({ text: gram, isStemmable: false, weight }, null, candidates);
  return { surface: gram, parts: [part], stopLanguages: [] };
}

function buildWordPart(
  piece: WordVariant,
  letterWord: string | null,
  candidates: readonly Language[],
): WordPart {
  const texts = listSpellings(piece, candidates);
  const spellings = texts.map((text) => ({ text, hash: toTermKey(text) }));
  return { key: texts.join(' '), spellings, letterWord, weight: piece.weight };
}

/**
 * Removes the stop words of the query's language: the only language of the collection, or the candidate with
 * the most stop words in the query, if more than one ("die hard" has no German article).
 */
function removeFunctionWords(
  words: readonly CachedWord[],
  candidates: readonly Language[],
): readonly CachedWord[] {
  const votes = candidates.map((language) => {
    const position = languages.indexOf(language);
    return { position, count: words.filter(({ stopLanguages }) => stopLanguages.includes(position)).length };
  });
  const most = Math.max(0, ...votes.map(({ count }) => count));
  const leaders = votes.filter(({ count }) => count === most && (count > 1 || candidates.length === 1));
  const content = words.filter(
    ({ stopLanguages }) => !leaders.some(({ position }) => stopLanguages.includes(position)),
  );
  return content.length > 0 ? content : words;
}

/**
 * Returns the folded word first, then its term in each language; for German also with umlauts and their
 * transcriptions exchanged.
 */
function listSpellings(piece: WordVariant, candidates: readonly Language[]): string[] {
  const terms = new Set([toTerm(piece.text, piece.isStemmable, null)]);
  for (const language of candidates) {
    terms.add(toTerm(piece.text, piece.isStemmable, language));
    if (language !== 'de' || !piece.isStemmable) continue;
    terms.add(
      toTerm(
        piece.text.replace(/[äöü]/g, (umlaut) => spelledUmlauts[umlaut]!),
        true,
        language,
      ),
    );
    terms.add(
      toTerm(
        piece.text.replace(/[aou]e/g, (pair) => umlautOf[pair]!),
        true,
        language,
      ),
    );
  }
  return [...terms];
}

const spelledUmlauts: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue' };
const umlautOf: Readonly<Record<string, string>> = { ae: 'ä', oe: 'ö', ue: 'ü' };
