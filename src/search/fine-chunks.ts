import { addon } from '../index/addon.ts';
import type { NativeFineQuery } from '../index/native-text.ts';
import type { LexicalQuery } from '../text/query.ts';
import type { Candidate } from './candidates.ts';
import { readFineChunks } from './chunk-hits.ts';
import type { PreparedQuery } from './prepared-query.ts';
import type { SearchComponents } from './search-components.ts';

/** A fine chunk of a coarse chunk, with its own score. */
export interface ScoredFineChunk {
  /** Its coarse chunk. */
  readonly candidate: Candidate;
  /** Index among the fine chunks of its coarse chunk. */
  readonly index: number;
  /** Sum of the inverse document frequencies of its query words. */
  readonly lexical: number;
  readonly similarity: number;
  /** 0..1: its own fused score combined with that of its coarse chunk. */
  readonly score: number;
}

/** The scored fine chunks of coarse chunks. */
export interface FineChunkScores {
  readonly length: number;
  /** Returns the fine chunk at a position; they are in the order of their coarse chunks. */
  at(position: number): ScoredFineChunk;
  /** Returns the best `count` fine chunks, or all, best first. */
  best(count?: number): ScoredFineChunk[];
}

/**
 * Weights of the coarse chunk of a fine chunk, and of each adjacent fine chunk: an answer often begins in one
 * and ends in the next. Measured on labeled chunks (models/README.md).
 */
const chunkWeights = { parentWeight: 0.5, neighborWeight: 0.45 } as const;

/**
 * Scores the fine chunks of coarse chunks. Words are weighted by their inverse document frequency among all
 * these chunks, since the shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at
 * ingest.
 */
export async function scoreFineChunks(
  source: Pick<SearchComponents, 'reader'>,
  query: PreparedQuery,
  candidates: readonly Candidate[],
): Promise<FineChunkScores> {
  const found = await readFineChunks(source, query, candidates);
  const parents = candidates.filter((_, i) => found[i] !== undefined);
  const data = found.filter((fineChunks) => fineChunks !== undefined);
  const {
    parents: parentOf,
    indexes,
    lexical,
    similarities,
    scores,
    order,
  } = addon.fineChunksScore(
    {
      ...toFineTerms(query.lexicalQuery),
      ...chunkWeights,
      vector: query.vector,
      lexicalWeight: query.weights.lexical,
      vectorWeight: query.weights.vector,
    },
    data.map(({ terms }) => terms),
    data.map(({ codes }) => codes),
    Float64Array.from(parents, ({ fused }) => fused),
  );
  const at = (i: number): ScoredFineChunk => ({
    candidate: parents[parentOf[i]!]!,
    index: indexes[i]!,
    lexical: lexical[i]!,
    similarity: similarities[i]!,
    score: scores[i]!,
  });
  return {
    length: scores.length,
    at,
    best: (count = scores.length) => Array.from(order.subarray(0, count), at),
  };
}

type FineTerms = Pick<NativeFineQuery, 'prefixes' | 'groups' | 'words'>;

/** Built once per query: its pages are scored chunk by chunk. */
const fineTermsCache = new WeakMap<LexicalQuery, FineTerms>();

/** Returns the terms of a query. A word that occurs in several groups counts once per fine chunk. */
function toFineTerms(query: LexicalQuery): FineTerms {
  const cached = fineTermsCache.get(query);
  if (cached !== undefined) return cached;
  const { terms, words } = query;
  const fineTerms = {
    prefixes: Uint32Array.from(terms, ({ hash }) => Number(hash >> 32n)),
    groups: Uint32Array.from(terms, ({ group }) => group),
    words: Uint32Array.from(words, (word) => words.indexOf(word)),
  };
  fineTermsCache.set(query, fineTerms);
  return fineTerms;
}
