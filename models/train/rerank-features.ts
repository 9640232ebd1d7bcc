import type { IdfTable } from '../../src/models/idf-table.ts';
import { toLightStem } from '../../src/models/light-stem.ts';
import { stopWords } from '../../src/text/stop-words.ts';
import { forEachWord, normalizeWord, type WordPiece } from '../../src/text/wordpiece.ts';
import type { TokenVectorTable } from './token-vector-table.ts';

/**
 * Features of a query-document pair in the order of the network's inputs, with their monotonicity. 1: a
 * higher value never lowers the score; -1: never raises it; 0: unconstrained. The training enforces these
 * constraints, so that no document gains by matching less, even where the training text has no example.
 */
export const featureDirections = {
  bm25Share: 1,
  bm25: 1,
  idfCoverage: 1,
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
  queryIdf: 0,
} as const;
export const featureCount: number = Object.keys(featureDirections).length;

/** Maximum number of query terms; the terms with the lowest IDF are dropped. Bounds the work per query. */
const termsMax = 48;
const saturation = 1.2;
const lengthNorm = 0.6;
/** Mean words of a passage, fixed with the weights: a score must not depend on the other documents. */
const passageWords = 110;
const leadWordsMax = 24;
const nearWordsMax = 6;
const cachedStemsMax = 100_000;

const functionWords: ReadonlySet<string> = new Set(stopWords.en.split(/\s+/));

/** Normalized form, stem and tokens of a raw word; cached, because words recur. */
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
  /** Normalized forms in the query. */
  readonly forms: Set<string>;
  readonly idf: number;
  readonly hasDigit: boolean;
}

/** Two terms of a query; `distance` is the difference of their word positions, function words included. */
interface Pair {
  readonly left: number;
  readonly right: number;
  readonly distance: number;
}

/** A query prepared for scoring many documents. */
export interface FeatureQuery {
  readonly terms: readonly Term[];
  readonly index: ReadonlyMap<string, number>;
  /** Adjacent content words, each pair once. */
  readonly pairs: readonly Pair[];
  /** Function words of the query; empty if it has no other words. */
  readonly functionStems: ReadonlySet<string>;
  readonly idfTotal: number;
  readonly vectors: readonly Float32Array[];
  /** Cosines of each term with a token, computed on first use and shared by all documents. */
  readonly cosines: Map<number, Float32Array>;
}

/** Positions of the query terms in a document. */
interface TermMatches {
  readonly terms: number[];
  readonly positions: number[];
  readonly counts: Int32Array;
  readonly exact: Uint8Array;
  readonly tokens: Set<number>;
  readonly functionStemsFound: Set<string>;
  wordCount: number;
}

export class RerankFeatureBuilder {
  readonly #idfTable: IdfTable;
  readonly #table: TokenVectorTable;
  readonly #pieces: WordPiece;
  #wordForms = new Map<string, WordForm>();

  constructor(idf: IdfTable, table: TokenVectorTable, pieces: WordPiece) {
    this.#idfTable = idf;
    this.#table = table;
    this.#pieces = pieces;
  }

  prepareQuery(query: string): FeatureQuery {
    const all: QueryWord[] = [];
    forEachWord(query, (raw) => all.push({ raw, position: all.length, ...this.#getWordForm(raw) }));
    const content = all.filter(({ form }) => !functionWords.has(form));
    const words = content.length > 0 ? content : all;
    const terms = this.#collectTerms(words);
    const index = new Map(terms.map(({ stem }, number) => [stem, number]));
    const functionStems = words === all ? [] : all.filter(({ form }) => functionWords.has(form));
    return {
      terms,
      index,
      pairs: findAdjacentPairs(words, index),
      functionStems: new Set(functionStems.map(({ stem }) => stem)),
      idfTotal: terms.reduce((sum, { idf }) => sum + idf, 0),
      vectors: terms.map(({ raw }) => this.#table.computeWordVector(raw)),
      cosines: new Map(),
    };
  }

  /** Writes the features of one document at `offset` of `out`; `cosine` is that of the two texts' embeddings. */
  writeFeatures(
    query: FeatureQuery,
    document: string,
    cosine: number,
    out: Float32Array,
    offset: number,
  ): void {
    const matches = this.#findMatches(query, document);
    const features = computeFeatures(query, matches, this.#computeSoftMatches(query, matches), cosine);
    out.set(features, offset);
  }

  #collectTerms(words: readonly QueryWord[]): Term[] {
    const terms = new Map<string, Term>();
    for (const { raw, form, stem } of words) {
      const known = terms.get(stem);
      if (known !== undefined) {
        known.forms.add(form);
        continue;
      }
      const idf = this.#idfTable.get(stem);
      terms.set(stem, { stem, raw, forms: new Set([form]), idf, hasDigit: /\p{N}/u.test(form) });
    }
    const list = [...terms.values()];
    if (list.length <= termsMax) return list;
    return list.sort((a, b) => b.idf - a.idf).slice(0, termsMax);
  }

  #getWordForm(raw: string): WordForm {
    const cached = this.#wordForms.get(raw);
    if (cached !== undefined) return cached;
    const form = normalizeWord(raw);
    const wordForm = { form, stem: toLightStem(form), tokens: this.#pieces.wordTokens(raw) };
    if (this.#wordForms.size >= cachedStemsMax) this.#wordForms = new Map();
    this.#wordForms.set(raw, wordForm);
    return wordForm;
  }

  #findMatches(query: FeatureQuery, document: string): TermMatches {
    const count = query.terms.length;
    const matches: TermMatches = {
      terms: [],
      positions: [],
      counts: new Int32Array(count),
      exact: new Uint8Array(count),
      tokens: new Set(),
      functionStemsFound: new Set(),
      wordCount: 0,
    };
    forEachWord(document, (raw) => {
      const { form, stem, tokens } = this.#getWordForm(raw);
      const term = query.index.get(stem);
      if (term !== undefined) {
        matches.terms.push(term);
        matches.positions.push(matches.wordCount);
        matches.counts[term]! += 1;
        if (query.terms[term]!.forms.has(form)) matches.exact[term] = 1;
      } else if (query.functionStems.has(stem)) matches.functionStemsFound.add(stem);
      for (const token of tokens) matches.tokens.add(token);
      matches.wordCount += 1;
    });
    return matches;
  }

  /**
   * Returns, for each term, the highest cosine with a token of the document; 1 if the term itself occurs in
   * it.
   */
  #computeSoftMatches(query: FeatureQuery, matches: TermMatches): Float32Array {
    const highest = new Float32Array(query.terms.length);
    for (const token of matches.tokens) {
      let cosines = query.cosines.get(token);
      if (cosines === undefined) {
        // A loop, because `Float32Array.from` takes longer than the cosines themselves.
        cosines = new Float32Array(query.vectors.length);
        for (let term = 0; term < cosines.length; term += 1)
          cosines[term] = this.#table.computeCosine(query.vectors[term]!, token);
        query.cosines.set(token, cosines);
      }
      for (let term = 0; term < highest.length; term += 1) {
        if (cosines[term]! > highest[term]!) highest[term] = cosines[term]!;
      }
    }
    return highest.map((cosine, term) => (matches.counts[term]! > 0 ? 1 : Math.min(1, cosine)));
  }
}

function findAdjacentPairs(words: readonly QueryWord[], index: ReadonlyMap<string, number>): Pair[] {
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

/** Returns the features in the order of `featureDirections`. */
function computeFeatures(
  query: FeatureQuery,
  matches: TermMatches,
  soft: Float32Array,
  cosine: number,
): number[] {
  const { terms } = query;
  const idfTotal = Math.max(query.idfTotal, 1e-6);
  const share = (weightOf: (term: number) => number): number =>
    terms.reduce((sum, { idf }, term) => sum + idf * weightOf(term), 0) / idfTotal;
  const hasMatch = (term: number): boolean => matches.counts[term]! > 0;
  const norm = saturation * (1 - lengthNorm + (lengthNorm * matches.wordCount) / passageWords);
  const bm25 = share((term) => matches.counts[term]! / (matches.counts[term]! + norm));
  const coverage = share((term) => (hasMatch(term) ? 1 : 0));
  const matchedCount = terms.filter((_, term) => hasMatch(term)).length;
  const maxIdf = (isMatched: boolean): number =>
    terms.reduce((most, { idf }, term) => (hasMatch(term) === isMatched ? Math.max(most, idf) : most), 0);
  const numbers = terms.filter(({ hasDigit }) => hasDigit).length;
  const matchedNumbers = terms.filter(({ hasDigit }, term) => hasDigit && hasMatch(term)).length;
  const pairs = computePairCoverage(query, matches);
  return [
    bm25,
    Math.log1p(bm25 * idfTotal),
    coverage,
    matchedCount / Math.max(1, terms.length),
    terms.length > 0 && matchedCount === terms.length ? 1 : 0,
    maxIdf(false) / 10,
    maxIdf(true) / 10,
    share((term) => matches.exact[term]!),
    pairs.adjacent,
    pairs.near,
    computeWindowCoverage(query, matches, 16),
    computeWindowCoverage(query, matches, 48),
    computeSpanDensity(matches, matchedCount),
    computeLeadCoverage(query, matches),
    share((term) => soft[term]!),
    share((term) => (hasMatch(term) ? 0 : 1 - soft[term]!)),
    query.functionStems.size === 0 ? 0 : matches.functionStemsFound.size / query.functionStems.size,
    numbers === 0 ? 0 : matchedNumbers / numbers,
    numbers === 0 ? 0 : 1 - matchedNumbers / numbers,
    cosine,
    cosine * coverage,
    Math.log1p(matches.wordCount),
    Math.log1p(terms.length),
    idfTotal / Math.max(1, terms.length) / 10,
  ];
}

/**
 * Returns the IDF-weighted share of the query's pairs that occur in the document at the same distance
 * (`adjacent`), and near each other in any order (`near`).
 */
function computePairCoverage(query: FeatureQuery, matches: TermMatches): { adjacent: number; near: number } {
  const key = (left: number, right: number): number => left * termsMax + right;
  const distancesByPair = new Map<number, Set<number>>();
  for (let i = 0; i < matches.terms.length; i += 1) {
    for (let j = i + 1; j < matches.terms.length; j += 1) {
      const distance = matches.positions[j]! - matches.positions[i]!;
      if (distance > nearWordsMax) break;
      const pair = key(matches.terms[i]!, matches.terms[j]!);
      const distances = distancesByPair.get(pair) ?? new Set();
      distancesByPair.set(pair, distances.add(distance));
    }
  }
  const total = { adjacent: 0, near: 0, all: 1e-6 };
  for (const { left, right, distance } of query.pairs) {
    const weight = query.terms[left]!.idf + query.terms[right]!.idf;
    const distances = distancesByPair.get(key(left, right));
    total.all += weight;
    if (distances?.has(distance)) total.adjacent += weight;
    if (distances !== undefined || distancesByPair.has(key(right, left))) total.near += weight;
  }
  return { adjacent: total.adjacent / total.all, near: total.near / total.all };
}

/** Returns the largest share of the query, weighted by IDF, that occurs within `width` words. */
function computeWindowCoverage(query: FeatureQuery, matches: TermMatches, width: number): number {
  const inside = new Int32Array(query.terms.length);
  let covered = 0;
  let highest = 0;
  let start = 0;
  for (const [end, term] of matches.terms.entries()) {
    if (inside[term]! === 0) covered += query.terms[term]!.idf;
    inside[term]! += 1;
    while (matches.positions[end]! - matches.positions[start]! >= width) {
      const left = matches.terms[start]!;
      inside[left]! -= 1;
      if (inside[left]! === 0) covered -= query.terms[left]!.idf;
      start += 1;
    }
    highest = Math.max(highest, covered);
  }
  return highest / Math.max(query.idfTotal, 1e-6);
}

/**
 * Returns the number of matched terms divided by the words of the shortest span that contains them all; 0 if
 * fewer than two match.
 */
function computeSpanDensity(matches: TermMatches, matchedCount: number): number {
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

/**
 * Returns the share of the query, weighted by IDF, that occurs in the first words, which are usually titles
 * and headings.
 */
function computeLeadCoverage(query: FeatureQuery, matches: TermMatches): number {
  const leadTerms = new Set<number>();
  for (const [index, term] of matches.terms.entries()) {
    if (matches.positions[index]! >= leadWordsMax) break;
    leadTerms.add(term);
  }
  let sum = 0;
  for (const term of leadTerms) sum += query.terms[term]!.idf;
  return sum / Math.max(query.idfTotal, 1e-6);
}
