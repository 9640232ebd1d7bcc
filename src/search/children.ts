import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { VersionReader } from '../store/version-reader.ts';
import type { Language } from '../text/languages.ts';
import { type AnalysedQuery, matchedWords } from '../text/query.ts';
import { fuse, type Weights } from './fuse.ts';
import type { Passage } from './passages.ts';

/** One precise chunk of a passage, with its own score. */
export interface Child {
  readonly passage: Passage;
  /** Its number among the passage's precise chunks. */
  readonly index: number;
  /** BM25-like weight of the query words it holds. */
  readonly lexical: number;
  readonly similarity: number;
  /** 0..1: its own words and meaning, joined with those of the passage around it. */
  readonly score: number;
}

/** A query as passages are compared with it. */
export interface ComparedQuery {
  /** Null: words alone decide. */
  readonly vector: Float32Array | null;
  /** The collection's vectors that it is compared with. */
  readonly generation: number;
  readonly analysed: AnalysedQuery;
  readonly weights: Weights;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface ChildSource {
  readonly reader: VersionReader;
  /** Cosine of a query vector with each of the 8-bit vectors that ingest stored. */
  readonly similarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
}

/**
 * How much the passage around a precise chunk says about it, and how much each of the precise chunks beside it: an answer
 * often begins in one and ends in the next. Measured on marked passages (models/README.md).
 */
const passageShare = 0.5;
const neighbourWeight = 0.45;

/**
 * Scores the precise chunks of passages. Words are weighted by how rare they are among all these chunks, since the
 * shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at ingest.
 */
export async function scoreChildren(
  passages: readonly Passage[],
  query: ComparedQuery,
  source: ChildSource,
): Promise<Child[]> {
  const { vector } = query;
  const found: ComparedChild[] = [];
  const codes = source.reader.codes(passages, query.generation);
  for (const [p, passage] of passages.entries()) {
    const turn = p === 0 ? null : query.yieldToEventLoop();
    if (turn !== null) await turn;
    const records = codes[p];
    if (records !== undefined) compareChildren(found, passage, records, { query, source });
  }
  const rarity = wordRarity(found.map(({ words }) => words));
  const lexical = Float32Array.from(found, ({ words }) =>
    words.reduce((sum, word) => sum + rarity.get(word)!, 0),
  );
  const meaning = vector === null ? null : Float32Array.from(found, ({ similarity }) => similarity);
  const fused = fuse(
    withNeighbours(found, lexical),
    meaning === null ? null : withNeighbours(found, meaning),
    query.weights,
  );
  return found.map(({ passage, index, similarity }, i) => ({
    passage,
    index,
    similarity,
    lexical: lexical[i]!,
    score: (1 - passageShare) * fused[i]! + passageShare * passage.candidate.fused,
  }));
}

/** A precise chunk with the words of the query that it holds. */
interface ComparedChild {
  readonly passage: Passage;
  readonly index: number;
  readonly similarity: number;
  readonly words: readonly string[];
}

/** Adds the precise chunks of a passage to `found`. */
function compareChildren(
  found: ComparedChild[],
  passage: Passage,
  codes: Uint8Array,
  { query, source }: { readonly query: ComparedQuery; readonly source: ChildSource },
): void {
  const similarity = query.vector === null ? null : source.similarities(query.vector, codes);
  const language = passage.chunk.language as Language | null;
  for (const [index, { start, end }] of passage.chunk.children.entries()) {
    const text = passage.chunk.text.slice(start, end);
    if (text.trim() === '') continue;
    const words = matchedWords(query.analysed, text, language);
    found.push({ passage, index, similarity: similarity?.[index] ?? 0, words });
  }
}

/** Each value and a share of those of the precise chunks before and behind it in its passage. */
function withNeighbours(
  found: readonly { readonly passage: Passage; readonly index: number }[],
  values: Float32Array,
): Float32Array {
  return values.map((value, i) => {
    const { passage, index } = found[i]!;
    const beside = (step: number) => {
      const other = found[i + step];
      const isNext = other?.passage === passage && other.index === index + step;
      return isNext ? values[i + step]! : 0;
    };
    return value + neighbourWeight * (beside(-1) + beside(1));
  });
}

/**
 * A precise chunk with the two around it, for a reranker: alone it often lacks the words that say what it is about.
 */
export function surroundings({ passage, index }: Child): string {
  const { text, children } = passage.chunk;
  const first = children[Math.max(0, index - 1)]!;
  const last = children[Math.min(children.length - 1, index + 1)]!;
  return text.slice(first.start, last.end);
}

/** Inverse document frequency of each word over the lists it stands in. */
function wordRarity(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const word of list) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (lists.length - count + 0.5) / (count + 0.5))]),
  );
}
