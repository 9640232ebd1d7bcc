import { addon } from '../index/addon.ts';
import type { NativeFineQuery } from '../index/native-text.ts';
import type { FineSpec } from '../index/written-reply.ts';
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
  /** Returns the best `count` fine chunks, or all, best first; not more than `bestMax`. */
  best(count?: number): ScoredFineChunk[];
}

/**
 * Weights of the coarse chunk of a fine chunk, and of each adjacent fine chunk: an answer often begins in one
 * and ends in the next. Measured on labeled chunks (models/README.md).
 */
const chunkWeights = { parentWeight: 0.5, neighborWeight: 0.45 } as const;

/** Numbers per row of `addon.fineChunksScore`. */
const rowNumbers = 6;

/**
 * Scores the fine chunks of coarse chunks. Words are weighted by their inverse document frequency among all
 * these chunks, since the shards keep statistics of coarse chunks only; vectors are the 8-bit codes made at
 * ingest. `bestMax`: maximum number that `best` returns.
 */
export async function scoreFineChunks(
  source: Pick<SearchComponents, 'reader'>,
  query: PreparedQuery,
  candidates: readonly Candidate[],
  bestMax = 0xffffffff,
): Promise<FineChunkScores> {
  const found = await readFineChunks(source, query, candidates);
  const parents: Candidate[] = [];
  const terms: Uint8Array[] = [];
  const codes: Uint8Array[] = [];
  for (let i = 0; i < found.length; i += 1) {
    const fineChunks = found[i];
    if (fineChunks === undefined) continue;
    parents.push(candidates[i]!);
    terms.push(fineChunks.terms);
    codes.push(fineChunks.codes);
  }
  const rows = addon.fineChunksScore(
    {
      ...toFineTerms(query.lexicalQuery),
      ...chunkWeights,
      vector: query.vector,
      lexicalWeight: query.weights.lexical,
      vectorWeight: query.weights.vector,
      bestMax,
    },
    terms,
    codes,
    Float64Array.from(parents, ({ fused }) => fused),
  );
  return new FineChunkRows(parents, rows, bestMax);
}

/** Returns how the engine scores the fine chunks of `parents` coarse chunks. */
export function toFineSpec({ lexicalQuery, generation }: PreparedQuery, parents: number): FineSpec {
  return { parents, ...chunkWeights, generation, words: toFineTerms(lexicalQuery).words };
}

class FineChunkRows implements FineChunkScores {
  readonly length: number;
  readonly #parents: readonly Candidate[];
  readonly #rows: Float64Array;
  readonly #bestMax: number;

  constructor(parents: readonly Candidate[], rows: Float64Array, bestMax: number) {
    this.length = rows.length / rowNumbers;
    this.#parents = parents;
    this.#rows = rows;
    this.#bestMax = bestMax;
  }

  at(position: number): ScoredFineChunk {
    const rows = this.#rows;
    const start = position * rowNumbers;
    return {
      candidate: this.#parents[rows[start]!]!,
      index: rows[start + 1]!,
      lexical: rows[start + 2]!,
      similarity: rows[start + 3]!,
      score: rows[start + 4]!,
    };
  }

  best(count: number = this.length): ScoredFineChunk[] {
    const best: ScoredFineChunk[] = [];
    const end = Math.min(count, this.length, this.#bestMax);
    for (let i = 0; i < end; i += 1) best.push(this.at(this.#rows[i * rowNumbers + 5]!));
    return best;
  }
}

type FineTerms = Pick<NativeFineQuery, 'prefixes' | 'groups' | 'words'>;

/** Built once per query, because a query scores fine chunks in several calls. */
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
