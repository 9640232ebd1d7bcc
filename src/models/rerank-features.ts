import { stopWords } from '../text/stop-words.ts';
import { eachWord, normaliseWord, type WordPiece } from '../text/wordpiece.ts';
import { lightStem } from './light-stem.ts';
import type { TokenTable } from './token-table.ts';
import type { WordRarity } from './word-rarity.ts';

/**
 * What a query and a document have to do with each other, in the order of the network's inputs. 1: more of it never
 * lowers a score; -1: never raises it; 0: either. The training keeps to that, so that no document gains by matching
 * less, also where the training text had no example.
 */
export const featureDirections = {
  bm25Share: 1,
  bm25: 1,
  rarityCoverage: 1,
  countCoverage: 1,
  allMatched: 1,
  rarestMissing: -1,
  rarestMatched: 1,
  exactCoverage: 1,
  pairCoverage: 1,
  nearPairCoverage: 1,
  windowCoverage16: 1,
  windowCoverage48: 1,
  spanDensity: 1,
  leadCoverage: 1,
  softCoverage: 1,
  softMissing: -1,
  functionWordCoverage: 1,
  numberCoverage: 1,
  numberMissing: -1,
  cosine: 1,
  cosineTimesCoverage: 1,
  documentWords: 0,
  queryTerms: 0,
  queryRarity: 0,
} as const;
export const featureCount: number = Object.keys(featureDirections).length;

/** Terms of a query beyond this many (the commonest first) are left out: bounded work for any query. */
const termsMax = 48;
const saturation = 1.2;
const lengthShare = 0.6;
/** Mean words of a passage, fixed with the weights: a score must not depend on the other documents. */
const passageWords = 110;
const leadWords = 24;
const nearWords = 6;
const cachedStemsMax = 100_000;

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));

/** What a raw word comes to; kept, because text repeats itself. */
interface WordForm {
  readonly form: string;
  readonly stem: string;
  readonly tokens: Int32Array;
}

interface QueryWord {
  readonly raw: string;
  readonly form: string;
  readonly stem: string;
  readonly position: number;
}

interface Term {
  readonly stem: string;
  /** First raw form in the query. */
  readonly raw: string;
  /** Normalised forms in the query. */
  readonly forms: Set<string>;
  readonly rarity: number;
  readonly hasDigit: boolean;
}

/** Two terms of a query; `distance` words lie from the one to the other, function words counted. */
interface Pair {
  readonly left: number;
  readonly right: number;
  readonly distance: number;
}

/** A query made ready for many documents. */
export interface PreparedQuery {
  readonly terms: readonly Term[];
  readonly index: ReadonlyMap<string, number>;
  /** Content words that follow each other, each pair once. */
  readonly pairs: readonly Pair[];
  /** Function words of the query when it has other words too. */
  readonly functionStems: ReadonlySet<string>;
  readonly rarityTotal: number;
  readonly vectors: readonly Float32Array[];
  /** Cosine of each term with a token, filled as documents need them; the same for every document. */
  readonly cosines: Map<number, Float32Array>;
}

/** Where the terms of a query stand in a document. */
interface Matches {
  readonly terms: number[];
  readonly positions: number[];
  readonly counts: Int32Array;
  readonly exact: Uint8Array;
  readonly tokens: Set<number>;
  readonly functionFound: Set<string>;
  words: number;
}

export class RerankFeatures {
  readonly #rarity: WordRarity;
  readonly #table: TokenTable;
  readonly #pieces: WordPiece;
  #forms = new Map<string, WordForm>();

  constructor(rarity: WordRarity, table: TokenTable, pieces: WordPiece) {
    this.#rarity = rarity;
    this.#table = table;
    this.#pieces = pieces;
  }

  prepare(query: string): PreparedQuery {
    const all: QueryWord[] = [];
    eachWord(query, (raw) => all.push({ raw, position: all.length, ...this.#formOf(raw) }));
    const content = all.filter(({ form }) => !functionWords.has(form));
    const words = content.length > 0 ? content : all;
    const terms = this.#termsOf(words);
    const index = new Map(terms.map(({ stem }, number) => [stem, number]));
    const functionStems = words === all ? [] : all.filter(({ form }) => functionWords.has(form));
    return {
      terms,
      index,
      pairs: neighbours(words, index),
      functionStems: new Set(functionStems.map(({ stem }) => stem)),
      rarityTotal: terms.reduce((sum, { rarity }) => sum + rarity, 0),
      vectors: terms.map(({ raw }) => this.#table.wordVector(raw)),
      cosines: new Map(),
    };
  }

  /** Writes the features of one document at `offset` of `out`; `cosine` is that of the two texts' embeddings. */
  write(query: PreparedQuery, document: string, cosine: number, out: Float32Array, offset: number): void {
    const matches = this.#match(query, document);
    const features = describe(query, matches, this.#soften(query, matches), cosine);
    out.set(features, offset);
  }

  #termsOf(words: readonly QueryWord[]): Term[] {
    const terms = new Map<string, Term>();
    for (const { raw, form, stem } of words) {
      const known = terms.get(stem);
      if (known !== undefined) {
        known.forms.add(form);
        continue;
      }
      const rarity = this.#rarity.of(stem);
      terms.set(stem, { stem, raw, forms: new Set([form]), rarity, hasDigit: /\p{N}/u.test(form) });
    }
    const list = [...terms.values()];
    if (list.length <= termsMax) return list;
    return list.sort((a, b) => b.rarity - a.rarity).slice(0, termsMax);
  }

  #formOf(raw: string): WordForm {
    const known = this.#forms.get(raw);
    if (known !== undefined) return known;
    const form = normaliseWord(raw);
    const made = { form, stem: lightStem(form), tokens: this.#pieces.wordTokens(raw) };
    if (this.#forms.size >= cachedStemsMax) this.#forms = new Map();
    this.#forms.set(raw, made);
    return made;
  }

  #match(query: PreparedQuery, document: string): Matches {
    const count = query.terms.length;
    const matches: Matches = {
      terms: [],
      positions: [],
      counts: new Int32Array(count),
      exact: new Uint8Array(count),
      tokens: new Set(),
      functionFound: new Set(),
      words: 0,
    };
    eachWord(document, (raw) => {
      const { form, stem, tokens } = this.#formOf(raw);
      const term = query.index.get(stem);
      if (term !== undefined) {
        matches.terms.push(term);
        matches.positions.push(matches.words);
        matches.counts[term]! += 1;
        if (query.terms[term]!.forms.has(form)) matches.exact[term] = 1;
      } else if (query.functionStems.has(stem)) matches.functionFound.add(stem);
      for (const token of tokens) matches.tokens.add(token);
      matches.words += 1;
    });
    return matches;
  }

  /** For each term the highest cosine with a token of the document; 1 where the term itself stands there. */
  #soften(query: PreparedQuery, matches: Matches): Float32Array {
    const highest = new Float32Array(query.terms.length);
    for (const token of matches.tokens) {
      let cosines = query.cosines.get(token);
      if (cosines === undefined) {
        // Filled in a loop: `Float32Array.from` takes longer than the cosines.
        cosines = new Float32Array(query.vectors.length);
        for (let term = 0; term < cosines.length; term += 1)
          cosines[term] = this.#table.cosine(query.vectors[term]!, token);
        query.cosines.set(token, cosines);
      }
      for (let term = 0; term < highest.length; term += 1) {
        if (cosines[term]! > highest[term]!) highest[term] = cosines[term]!;
      }
    }
    return highest.map((cosine, term) => (matches.counts[term]! > 0 ? 1 : Math.min(1, cosine)));
  }
}

function neighbours(words: readonly QueryWord[], index: ReadonlyMap<string, number>): Pair[] {
  const pairs = new Map<string, Pair>();
  for (const [i, word] of words.entries()) {
    const next = words[i + 1];
    if (next === undefined) break;
    const left = index.get(word.stem);
    const right = index.get(next.stem);
    if (left === undefined || right === undefined || left === right) continue;
    pairs.set(`${left} ${right}`, { left, right, distance: next.position - word.position });
  }
  return [...pairs.values()];
}

/** The features in the order of `featureDirections`. */
function describe(query: PreparedQuery, matches: Matches, soft: Float32Array, cosine: number): number[] {
  const { terms } = query;
  const rarities = Math.max(query.rarityTotal, 1e-6);
  const share = (weigh: (term: number) => number): number =>
    terms.reduce((sum, { rarity }, term) => sum + rarity * weigh(term), 0) / rarities;
  const matched = (term: number): boolean => matches.counts[term]! > 0;
  const norm = saturation * (1 - lengthShare + (lengthShare * matches.words) / passageWords);
  const bm25 = share((term) => matches.counts[term]! / (matches.counts[term]! + norm));
  const coverage = share((term) => (matched(term) ? 1 : 0));
  const matchedCount = terms.filter((_, term) => matched(term)).length;
  const rarest = (wanted: boolean): number =>
    terms.reduce((most, { rarity }, term) => (matched(term) === wanted ? Math.max(most, rarity) : most), 0);
  const numbers = terms.filter(({ hasDigit }) => hasDigit).length;
  const numbersFound = terms.filter(({ hasDigit }, term) => hasDigit && matched(term)).length;
  const pairs = pairCoverage(query, matches);
  return [
    bm25,
    Math.log1p(bm25 * rarities),
    coverage,
    matchedCount / Math.max(1, terms.length),
    terms.length > 0 && matchedCount === terms.length ? 1 : 0,
    rarest(false) / 10,
    rarest(true) / 10,
    share((term) => matches.exact[term]!),
    pairs.adjacent,
    pairs.near,
    windowCoverage(query, matches, 16),
    windowCoverage(query, matches, 48),
    spanDensity(matches, matchedCount),
    leadCoverage(query, matches),
    share((term) => soft[term]!),
    share((term) => (matched(term) ? 0 : 1 - soft[term]!)),
    query.functionStems.size === 0 ? 0 : matches.functionFound.size / query.functionStems.size,
    numbers === 0 ? 0 : numbersFound / numbers,
    numbers === 0 ? 0 : 1 - numbersFound / numbers,
    cosine,
    cosine * coverage,
    Math.log1p(matches.words),
    Math.log1p(terms.length),
    rarities / Math.max(1, terms.length) / 10,
  ];
}

/** Share of the query's pairs that stand in the document as in the query; and near each other, in any order. */
function pairCoverage(query: PreparedQuery, matches: Matches): { adjacent: number; near: number } {
  const key = (left: number, right: number): number => left * termsMax + right;
  const found = new Map<number, Set<number>>();
  for (let i = 0; i < matches.terms.length; i += 1) {
    for (let j = i + 1; j < matches.terms.length; j += 1) {
      const distance = matches.positions[j]! - matches.positions[i]!;
      if (distance > nearWords) break;
      const pair = key(matches.terms[i]!, matches.terms[j]!);
      const distances = found.get(pair) ?? new Set();
      found.set(pair, distances.add(distance));
    }
  }
  const total = { adjacent: 0, near: 0, all: 1e-6 };
  for (const { left, right, distance } of query.pairs) {
    const weight = query.terms[left]!.rarity + query.terms[right]!.rarity;
    const distances = found.get(key(left, right));
    total.all += weight;
    if (distances?.has(distance)) total.adjacent += weight;
    if (distances !== undefined || found.has(key(right, left))) total.near += weight;
  }
  return { adjacent: total.adjacent / total.all, near: total.near / total.all };
}

/** The largest share of the query, by rarity, that stands within `width` words. */
function windowCoverage(query: PreparedQuery, matches: Matches, width: number): number {
  const inside = new Int32Array(query.terms.length);
  let covered = 0;
  let most = 0;
  let start = 0;
  for (const [end, term] of matches.terms.entries()) {
    if (inside[term]! === 0) covered += query.terms[term]!.rarity;
    inside[term]! += 1;
    while (matches.positions[end]! - matches.positions[start]! >= width) {
      const left = matches.terms[start]!;
      inside[left]! -= 1;
      if (inside[left]! === 0) covered -= query.terms[left]!.rarity;
      start += 1;
    }
    most = Math.max(most, covered);
  }
  return most / Math.max(query.rarityTotal, 1e-6);
}

/** Matched terms over the words of the shortest span that holds them all; 0 when fewer than two match. */
function spanDensity(matches: Matches, matchedCount: number): number {
  if (matchedCount < 2) return 0;
  const inside = new Map<number, number>();
  let shortest = Number.POSITIVE_INFINITY;
  let start = 0;
  for (const [end, term] of matches.terms.entries()) {
    inside.set(term, (inside.get(term) ?? 0) + 1);
    while (inside.size === matchedCount) {
      shortest = Math.min(shortest, matches.positions[end]! - matches.positions[start]! + 1);
      const left = matches.terms[start]!;
      const rest = inside.get(left)! - 1;
      if (rest === 0) inside.delete(left);
      else inside.set(left, rest);
      start += 1;
    }
  }
  return matchedCount / shortest;
}

/** Share of the query, by rarity, that stands in the first words, where titles and headings are. */
function leadCoverage(query: PreparedQuery, matches: Matches): number {
  const seen = new Set<number>();
  for (const [index, term] of matches.terms.entries()) {
    if (matches.positions[index]! >= leadWords) break;
    seen.add(term);
  }
  let sum = 0;
  for (const term of seen) sum += query.terms[term]!.rarity;
  return sum / Math.max(query.rarityTotal, 1e-6);
}
