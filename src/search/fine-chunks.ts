import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { VersionReader } from '../storage/version-reader.ts';
import type { Language } from '../text/languages.ts';
import { findMatchedWords, type LexicalQuery } from '../text/query.ts';
import type { ChunkHit } from './chunk-hits.ts';
import { fuse, type Weights } from './fuse.ts';

/** One precise chunk of a passage, with its own score. */
export interface ScoredFineChunk {
  readonly parent: ChunkHit;
  /** Its number among the passage's precise chunks. */
  readonly index: number;
  /** BM25-like weight of the query words it holds. */
  readonly lexical: number;
  readonly similarity: number;
  /** 0..1: its own words and meaning, joined with those of the passage around it. */
  readonly score: number;
}

/** A query as passages are compared with it. */
export interface ScoringQuery {
  /** Null: words alone decide. */
  readonly vector: Float32Array | null;
  /** The collection's vectors that it is compared with. */
  readonly generation: number;
  readonly lexicalQuery: LexicalQuery;
  readonly weights: Weights;
  readonly yieldToEventLoop: YieldToEventLoop;
}

export interface FineChunkSource {
  readonly reader: VersionReader;
  /** Cosine of a query vector with each of the 8-bit vectors that ingest stored. */
  readonly computeSimilarities: (query: Float32Array, codes: Uint8Array) => Float32Array;
}

/**
 * How much the passage around a precise chunk says about it, and how much each of the precise chunks beside it: an answer
 * often begins in one and ends in the next. Measured on marked passages (models/README.md).
 */
const parentWeight = 0.5;
const neighborWeight = 0.45;

/**
 * Scores the precise chunks of passages. Words are weighted by how rare they are among all these chunks, since the
 * shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at ingest.
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

/** A precise chunk with the words of the query that it holds. */
interface MatchedFineChunk {
  readonly parent: ChunkHit;
  readonly index: number;
  readonly similarity: number;
  readonly words: readonly string[];
}

/** Adds the precise chunks of a passage to `found`. */
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

/** Each value and a share of those of the precise chunks before and behind it in its passage. */
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
 * A precise chunk with the two around it, for a reranker: alone it often lacks the words that say what it is about.
 */
export function textWithNeighbors({ parent, index }: ScoredFineChunk): string {
  const { text, children } = parent.chunk;
  const first = children[Math.max(0, index - 1)]!;
  const last = children[Math.min(children.length - 1, index + 1)]!;
  return text.slice(first.start, last.end);
}

/** Inverse document frequency of each word over the lists it stands in. */
function inverseDocumentFrequencies(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const word of list) counts.set(word, (counts.get(word) ?? 0) + 1);
  return new Map(
    [...counts].map(([word, count]) => [word, Math.log(1 + (lists.length - count + 0.5) / (count + 0.5))]),
  );
}
