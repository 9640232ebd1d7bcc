import { limits } from '../base/limits.ts';
import { type Language, languages, queryStopLanguages, stemmedLanguages, termOf } from './languages.ts';
import { entryHashes, Lexicon, type LexiconEntry, termKey } from './lexicon.ts';
import { type GramRole, scanWords } from './scan.ts';
import type { WordPiece } from './words.ts';

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

interface Group {
  readonly surface: string;
  readonly spellings: readonly Spelling[];
  readonly plain: string | null;
  weight: number;
}

/**
 * Stems and hashes of recent query words by languages and word: a stemmer takes some 7 us per word and
 * language.
 */
const spellingCache = new Map<string, Map<string, readonly Spelling[]>>();
/** In all its maps together. */
let spellingsKept = 0;

interface QueryWord {
  readonly surface: string;
  readonly pieces: readonly WordPiece[];
  readonly stops: readonly number[];
}

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
  const known = knownSpellings(candidates);
  const groups = new Map<string, Group>();
  for (const { surface, pieces } of contentWords(queryWords(query), candidates)) {
    for (const piece of pieces) {
      const spellings = known.get(spellingKey(piece)) ?? spell(piece, candidates);
      const key = spellings.map(({ text }) => text).join(' ');
      const group = groups.get(key);
      if (group !== undefined) group.weight += piece.weight;
      else if (groups.size < limits.queryGroupsMax)
        groups.set(key, { surface, spellings, plain: plainOf(pieces), weight: piece.weight });
    }
  }
  const ordered = [...groups.values()];
  return {
    terms: ordered.flatMap(({ spellings, weight }, group) =>
      spellings.map(({ text, hash }) => ({ text, hash, weight, group })),
    ),
    words: ordered.map(({ surface }) => surface),
    plain: ordered.map(({ plain }) => plain),
  };
}

function plainOf([first, ...others]: readonly WordPiece[]): string | null {
  return first?.stemmable === true && others.length === 0 ? first.text : null;
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

function queryWords(query: string): QueryWord[] {
  const words: QueryWord[] = [];
  scanWords(query, {
    word(surface) {
      const { pieces } = lexicon.word(surface);
      const only = pieces.length === 1 ? pieces[0] : undefined;
      if (pieces.length === 0) return;
      words.push({ surface, pieces, stops: only === undefined ? [] : queryStopLanguages(only.text) });
    },
    gram(gram: string, role: GramRole) {
      if (role === 'inner') return;
      const weight = role === 'weakPair' ? weakPairWeight : 1;
      words.push({ surface: gram, pieces: [{ text: gram, stemmable: false, weight }], stops: [] });
    },
  });
  return words;
}

/**
 * The words without the function words of the query's language: the only one of the collection, or the
 * candidate for which most words are function words, if that is more than one ("die hard" asks for no
 * German article).
 */
function contentWords(words: readonly QueryWord[], candidates: readonly Language[]): readonly QueryWord[] {
  const votes = candidates.map((language) => {
    const position = languages.indexOf(language);
    return { position, count: words.filter(({ stops }) => stops.includes(position)).length };
  });
  const most = Math.max(0, ...votes.map(({ count }) => count));
  const leaders = votes.filter(({ count }) => count === most && (count > 1 || candidates.length === 1));
  const kept = words.filter(({ stops }) => !leaders.some(({ position }) => stops.includes(position)));
  return kept.length > 0 ? kept : words;
}

function knownSpellings(candidates: readonly Language[]): Map<string, readonly Spelling[]> {
  const languagesKey = candidates.join();
  const known = spellingCache.get(languagesKey) ?? new Map<string, readonly Spelling[]>();
  spellingCache.set(languagesKey, known);
  return known;
}

/** No word has a blank. */
function spellingKey({ text, stemmable }: WordPiece): string {
  return stemmable ? text : ` ${text}`;
}

/** Stems and hashes a word, and keeps what comes of it. */
function spell(piece: WordPiece, candidates: readonly Language[]): readonly Spelling[] {
  const spellings = alternatives(piece, candidates).map((text) => ({ text, hash: termKey(text) }));
  if (spellingsKept >= limits.queryCacheEntriesMax) {
    spellingCache.clear();
    spellingsKept = 0;
  }
  knownSpellings(candidates).set(spellingKey(piece), spellings);
  spellingsKept += 1;
  return spellings;
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
