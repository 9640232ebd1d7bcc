import { limits } from '../base/limits.ts';
import { type Language, languages, queryStopLanguages, stemmedLanguages, termOf } from './languages.ts';
import { detached, entryHashes, Lexicon, type LexiconEntry, termKey } from './lexicon.ts';
import { type GramRole, scanWords } from './scan.ts';
import { expandWord, type WordPiece } from './words.ts';

export interface QueryTerm {
  readonly text: string;
  readonly hash: bigint;
  readonly weight: number;
  /** Terms of one group are alternative spellings of one query word: synonyms, not further evidence. */
  readonly group: number;
}

export interface AnalysedQuery {
  readonly terms: readonly QueryTerm[];
  /** The query word behind each group, as it was typed. */
  readonly words: readonly string[];
  /** The word of each group in lower case where it is one of letters alone, else null: only such are ever misspelled. */
  readonly plain: readonly (string | null)[];
}

/** Two hiragana are mostly grammar: they decide between otherwise equal passages. */
const weakPairWeight = 0.3;

const lexicon = new Lexicon();

interface Spelling {
  readonly text: string;
  readonly hash: bigint;
}

/** What one piece of a word is looked for under. */
interface WordPart {
  /** The same for the same spellings. */
  readonly key: string;
  readonly spellings: readonly Spelling[];
  readonly plain: string | null;
  readonly weight: number;
}

/** What a word is in queries of collections with certain languages. */
interface KnownWord {
  readonly surface: string;
  /** None: there is nothing to look for. */
  readonly parts: readonly WordPart[];
  /** Positions in `languages` of those that have it as a function word. */
  readonly stops: readonly number[];
}

/**
 * Recent query words by languages and word: a stemmer takes some 7 us per word and language, and a look into memory that
 * nobody has used for a while a tenth.
 */
const knownWords = new Map<string, Map<string, KnownWord>>();
/** In all its maps together. */
let wordsKept = 0;

/**
 * Groups of terms to look for, in the order of the query, at most `queryGroupsMax`. `collectionLanguages`
 * are those that `analyseChunks` reported for the documents of the collection (null: not known, so all are
 * tried). Function words are left out unless nothing else is asked for. A word that is repeated counts once
 * for each time. No character is an operator.
 */
export function analyseQuery(
  query: string,
  collectionLanguages: readonly Language[] | null = null,
): AnalysedQuery {
  const candidates = collectionLanguages ?? stemmedLanguages;
  const groups = new Map<string, { surface: string; part: WordPart; weight: number }>();
  for (const { surface, parts } of contentWords(queryWords(query, candidates), candidates)) {
    for (const part of parts) {
      const group = groups.get(part.key);
      if (group !== undefined) group.weight += part.weight;
      else if (groups.size < limits.queryGroupsMax)
        groups.set(part.key, { surface, part, weight: part.weight });
    }
  }
  const terms: QueryTerm[] = [];
  const words: string[] = [];
  const plain: (string | null)[] = [];
  for (const { surface, part, weight } of groups.values()) {
    for (const { text, hash } of part.spellings) terms.push({ text, hash, weight, group: words.length });
    words.push(surface);
    plain.push(part.plain);
  }
  return { terms, words, plain };
}

/**
 * Which words of the query a chunk matched, as they were typed, each once and in order. `language` is the
 * row's from `analyseChunks`. Cheap enough for every candidate of a query: text words come from the lexicon.
 */
export function matchedWords(query: AnalysedQuery, text: string, language: Language | null): string[] {
  const groups = groupsByKey(query);
  const position = language === null ? -1 : languages.indexOf(language);
  const matched = new Set<number>();
  const match = (entry: LexiconEntry): void => {
    const halves = entryHashes(entry, position);
    for (let index = 0; index < halves.length; index += 2) {
      const found = groups.get(matchKey(halves[index]!, halves[index + 1]!));
      if (found !== undefined) for (const group of found) matched.add(group);
    }
  };
  scanWords(text, {
    word: (surface) => match(lexicon.word(surface)),
    gram: (gram) => match(lexicon.gram(gram)),
  });
  const inOrder = [...matched].sort((left, right) => left - right);
  return [...new Set(inOrder.map((group) => query.words[group]!))];
}

/** Where a text holds words of a query: entry i is one of them, in the order of the text. */
export interface Places {
  /** Of the query's terms. */
  readonly groups: number[];
  /** Words and grams of the text, counted from 0. */
  readonly positions: number[];
}

/** Where a chunk holds which words of the query. `language` is the row's from `analyseChunks`. */
export function matchedPlaces(query: AnalysedQuery, text: string, language: Language | null): Places {
  const known = groupsByKey(query);
  const inLanguage = language === null ? -1 : languages.indexOf(language);
  const places: Places = { groups: [], positions: [] };
  let position = 0;
  const match = (entry: LexiconEntry): void => {
    const halves = entryHashes(entry, inLanguage);
    const first = places.groups.length;
    for (let index = 0; index < halves.length; index += 2) {
      const found = known.get(matchKey(halves[index]!, halves[index + 1]!));
      for (const group of found ?? []) {
        if (places.groups.includes(group, first)) continue;
        places.groups.push(group);
        places.positions.push(position);
      }
    }
    position += 1;
  };
  scanWords(text, {
    word: (surface) => match(lexicon.word(surface)),
    gram: (gram) => match(lexicon.gram(gram)),
  });
  return places;
}

/** Made once for each query: hundreds of short texts are matched against the same one. */
const knownGroups = new WeakMap<AnalysedQuery, ReadonlyMap<number, readonly number[]>>();

/** The groups that a term belongs to, by its `matchKey`. */
function groupsByKey(query: AnalysedQuery): ReadonlyMap<number, readonly number[]> {
  const known = knownGroups.get(query);
  if (known !== undefined) return known;
  const groups = new Map<number, readonly number[]>();
  for (const { hash, group } of query.terms) {
    const key = matchKey(Number(hash >> 32n), Number(hash & 0xffffffffn));
    groups.set(key, [...(groups.get(key) ?? []), group]);
  }
  knownGroups.set(query, groups);
  return groups;
}

/** The upper 53 bits of a hash, which a double holds exactly: enough to compare with a handful of terms. */
function matchKey(high: number, low: number): number {
  return high * 2 ** 21 + (low >>> 11);
}

function queryWords(query: string, candidates: readonly Language[]): KnownWord[] {
  const languagesKey = candidates.join();
  const known = knownWords.get(languagesKey) ?? new Map<string, KnownWord>();
  knownWords.set(languagesKey, known);
  const words: KnownWord[] = [];
  scanWords(query, {
    word(surface) {
      const word = known.get(surface) ?? remember(known, knownWord(detached(surface), candidates));
      if (word.parts.length > 0) words.push(word);
    },
    gram(gram: string, role: GramRole) {
      if (role !== 'inner') words.push(known.get(gram) ?? remember(known, knownGram(gram, role, candidates)));
    },
  });
  return words;
}

function remember(known: Map<string, KnownWord>, word: KnownWord): KnownWord {
  if (wordsKept >= limits.queryCacheEntriesMax) {
    knownWords.clear();
    wordsKept = 0;
  }
  known.set(word.surface, word);
  wordsKept += 1;
  return word;
}

function knownWord(surface: string, candidates: readonly Language[]): KnownWord {
  const pieces = expandWord(surface);
  const only = pieces.length === 1 ? pieces[0] : undefined;
  const plain = only?.stemmable === true ? only.text : null;
  return {
    surface,
    parts: pieces.map((piece) => wordPart(piece, plain, candidates)),
    stops: only === undefined ? [] : queryStopLanguages(only.text),
  };
}

/** What role it has follows from its characters. */
function knownGram(gram: string, role: GramRole, candidates: readonly Language[]): KnownWord {
  const weight = role === 'weakPair' ? weakPairWeight : 1;
  const part = wordPart({ text: gram, stemmable: false, weight }, null, candidates);
  return { surface: gram, parts: [part], stops: [] };
}

function wordPart(piece: WordPiece, plain: string | null, candidates: readonly Language[]): WordPart {
  const texts = alternatives(piece, candidates);
  const spellings = texts.map((text) => ({ text, hash: termKey(text) }));
  return { key: texts.join(' '), spellings, plain, weight: piece.weight };
}

/**
 * The words without the function words of the query's language: the only one of the collection, or the
 * candidate for which most words are function words, if that is more than one ("die hard" asks for no
 * German article).
 */
function contentWords(words: readonly KnownWord[], candidates: readonly Language[]): readonly KnownWord[] {
  const votes = candidates.map((language) => {
    const position = languages.indexOf(language);
    return { position, count: words.filter(({ stops }) => stops.includes(position)).length };
  });
  const most = Math.max(0, ...votes.map(({ count }) => count));
  const leaders = votes.filter(({ count }) => count === most && (count > 1 || candidates.length === 1));
  const kept = words.filter(({ stops }) => !leaders.some(({ position }) => stops.includes(position)));
  return kept.length > 0 ? kept : words;
}

/**
 * The surface first, then what each language makes of it; in German also with umlauts spelled the other
 * way.
 */
function alternatives(piece: WordPiece, candidates: readonly Language[]): string[] {
  const terms = new Set([termOf(piece.text, piece.stemmable, null)]);
  for (const language of candidates) {
    terms.add(termOf(piece.text, piece.stemmable, language));
    if (language !== 'de' || !piece.stemmable) continue;
    terms.add(
      termOf(
        piece.text.replace(/[äöü]/g, (umlaut) => spelledUmlauts[umlaut]!),
        true,
        language,
      ),
    );
    terms.add(
      termOf(
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
