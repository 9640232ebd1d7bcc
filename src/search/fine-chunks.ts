import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { Language } from '../text/languages.ts';
import { findMatchedWords, type LexicalQuery } from '../text/query.ts';
import type { ChunkHit } from './chunk-hits.ts';
import { fuse, type Weights } from './fuse.ts';

/** A fine chunk of a coarse chunk, with its own score. */
export interface ScoredFineChunk {
  readonly parent: ChunkHit;
  /** Index among the fine chunks of its coarse chunk. */
  readonly index: number;
  /** Sum of the inverse document frequencies of its query words. */
  readonly lexical: number;
  readonly similarity: number;
  /** 0..1: its own fused score combined with that of its coarse chunk. */
  readonly score: number;
}

/** A query as used for scoring chunks. */
export interface ScoringQuery {
  /** Null for lexical scoring only. */
  readonly vector: Float32Array | null;
  /** Generation of the collection's vectors that the query is compared with. */
  readonly generation: number;
  readonly lexicalQuery: LexicalQuery;
  readonly weights: Weights;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface FineChunkSource {
  readonly reader: VersionReader;
  /** Returns the cosine of a query vector with each stored 8-bit vector. */
  readonly computeSimilarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
}

/**
 * Weights of the coarse chunk of a fine chunk, and of each adjacent fine chunk: an answer often begins in one
 * and ends in the next. Measured on labeled chunks (models/README.md).
 */
const parentWeight = 0.5;
const neighborWeight = 0.45;

/**
 * Scores the fine chunks of coarse chunks. Words are weighted by their inverse document frequency among all
 * these chunks, since the shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at
 * ingest.
 */
export async function scoreFineChunks(
  parents: readonly ChunkHit[],
  query: ScoringQuery,
  source: FineChunkSource,
): Promise<ScoredFineChunk[]> {
  const { vector } = query;
  const fineChunks: MatchedFineChunk[] = [];
  const codes = source.reader.readCodes(parents, query.generation);
  for (const [p, parent] of parents.entries()) {
    const pause = p === 0 ? null : query.yieldToEventLoop();
    if (pause !== null) await pause;
    const records = codes[p];
    if (records !== undefined) matchFineChunks(fineChunks, parent, records, { query, source });
  }
  const idfs = inverseDocumentFrequencies(fineChunks.map(({ words }) => words));
  const lexical = Float32Array.from(fineChunks, ({ words }) =>
    words.reduce((sum, word) => sum + idfs.get(word)!, 0),
  );
  const similarities = vector === null ? null : Float32Array.from(fineChunks, ({ similarity }) => similarity);
  const fused = fuse(
    addNeighborScores(fineChunks, lexical),
    similarities === null ? null : addNeighborScores(fineChunks, similarities),
    query.weights,
  );
  return fineChunks.map(({ parent, index, similarity }, i) => ({
    parent,
    index,
    similarity,
    lexical: lexical[i]!,
    score: (1 - parentWeight) * fused[i]! + parentWeight * parent.candidate.fused,
  }));
}

/** A fine chunk with its matched query words. */
interface MatchedFineChunk {
  readonly parent: ChunkHit;
  readonly index: number;
  readonly similarity: number;
  readonly words: readonly string[];
}

/** Appends the fine chunks of a coarse chunk to `fineChunks`. */
function matchFineChunks(
  fineChunks: MatchedFineChunk[],
  parent: ChunkHit,
  codes: Uint8Array,
  { query, source }: { readonly query: ScoringQuery; readonly source: FineChunkSource },
): void {
  const similarity = query.vector === null ? null : source.computeSimilarities(query.vector, codes);
  const language = parent.chunk.language as Language | null;
  for (const [index, { start, end }] of parent.chunk.children.entries()) {
    const text = parent.chunk.text.slice(start, end);
    if (text.trim() === '') continue;
    const words = findMatchedWords(query.lexicalQuery, text, language);
    fineChunks.push({ parent, index, similarity: similarity?.[index] ?? 0, words });
  }
}

/** Adds to each value a share of the values of the adjacent fine chunks in the same coarse chunk. */
function addNeighborScores(
  fineChunks: readonly { readonly parent: ChunkHit; readonly index: number }[],
  values: Float32Array,
): Float32Array {
  return values.map((value, i) => {
    const { parent, index } = fineChunks[i]!;
    const neighborScore = (step: number) => {
      const other = fineChunks[i + step];
      const isNext = other?.parent === parent && other.index === index + step;
      return isNext ? values[i + step]! : 0;
    };
    return value + neighborWeight * (neighborScore(-1) + neighborScore(1));
  });
}

/**
 * Returns a fine chunk with its two neighbors, for a reranker: alone it often lacks the words that name its
 * subject.
 */
export function textWithNeighbors({ parent, index }: ScoredFineChunk): string {
  const { text, children } = parent.chunk;
  const first = children[Math.max(0, index - 1)]!;
  const last = children[Math.min(children.length - 1, index + 1)]!;
  return text.slice(first.start, last.end);
}

/** Returns the inverse document frequency of each word over the given lists. */
function inverseDocumentFrequencies(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const word of list) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (lists.length - count + 0.5) / (count + 0.5))]),
  );
}
