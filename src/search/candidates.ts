import type { CancellationToken } from '../core/async/cancellation-token.ts';
import type { YieldToEventLoop } from '../core/async/event-loop-scheduler.ts';
import type { CollectionIndex, FilterNode, IndexHits } from '../index/collection-index.ts';
import type { LexicalQuery } from '../text/query.ts';
import { callIndex } from './call-index.ts';
import { defaultWeights, fuse, type Weights } from './fuse.ts';
import type { ProximityScores } from './proximity.ts';

/** A coarse chunk that may answer the query, with what each side of the search thinks of it. */
export interface Candidate {
  readonly version: number;
  /** Number of the coarse chunk among the indexed rows of its document. */
  readonly row: number;
  /** BM25 over the whole collection; 0 when no word matches. */
  readonly lexical: number;
  /** Cosine between query and chunk. */
  readonly similarity: number;
  /** Both fused, 0..1, with what a second look added; what the list is sorted by. */
  readonly fused: number;
  /** Of a search that looks twice. */
  readonly proximity?: ProximityScores;
}

/** Best first; equal ones keep one fixed order. */
export function compareByFusedScore(a: Candidate, b: Candidate): number {
  return b.fused - a.fused || a.version - b.version || a.row - b.row;
}

export interface CandidateRequest {
  /** Unit length, as wide as the index; null: words alone decide. */
  readonly vector: Float32Array | null;
  readonly lexicalQuery: LexicalQuery;
  readonly weights: Weights;
  readonly filter: FilterNode | null;
  /** How many rows each side hands in. */
  readonly depth: number;
  /** Search wider: better answers for more time (`latency_mode: high`). */
  readonly isWide: boolean;
  readonly deadlineMs: number;
  readonly caller: CancellationToken;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** How much wider `latency_mode: high` looks. */
const wideFactor = 3;

/** The fused first stage over all shards. Equal scores keep one fixed order, whatever the shard count. */
export class CandidateList {
  readonly length: number;
  readonly #hits: IndexHits;
  readonly #fused: Float32Array;

  constructor(hits: IndexHits, hasVector = true, weights: Weights = defaultWeights) {
    this.length = hits.count;
    this.#hits = hits;
    this.#fused = fuse(hits.lexical, hasVector ? hits.similarity : null, weights);
  }

  get shards(): IndexHits['shards'] {
    return this.#hits.shards;
  }

  /** The best `count` of all, or all, best first. Few of many cost little: only those are compared with each other. */
  best(count = this.length): Candidate[] {
    if (count <= 0 || this.length === 0) return [];
    const fused = this.#fused;
    const minScore = count >= this.length ? Number.NEGATIVE_INFINITY : nthLargest(fused, count);
    const candidates: Candidate[] = [];
    for (let i = 0; i < this.length; i += 1) if (fused[i]! >= minScore) candidates.push(this.#candidate(i));
    candidates.sort(compareByFusedScore);
    return candidates.length > count ? candidates.slice(0, count) : candidates;
  }

  /** How many versions the candidates belong to. */
  countVersions(): number {
    return new Set(this.#hits.version).size;
  }

  #candidate(i: number): Candidate {
    const { version, chunk, lexical, similarity } = this.#hits;
    return {
      version: version[i]!,
      row: chunk[i]!,
      lexical: lexical[i]!,
      similarity: similarity[i]!,
      fused: this.#fused[i]!,
    };
  }
}

/** Up to so many are kept in order while the rest pass by; beyond, sorting all of them is faster. */
const insertionSortMax = 32;

/** The `nth` largest of at least so many numbers, counted from 1. */
function nthLargest(numbers: Float32Array, nth: number): number {
  if (nth > insertionSortMax) return numbers.slice().sort()[numbers.length - nth]!;
  const largest = numbers.slice(0, nth).sort();
  for (let i = nth; i < numbers.length; i += 1) {
    const number = numbers[i]!;
    if (number <= largest[0]!) continue;
    let at = 1;
    for (; at < nth && largest[at]! < number; at += 1) largest[at - 1] = largest[at]!;
    largest[at - 1] = number;
  }
  return largest[0]!;
}

export async function findCandidates(
  index: CollectionIndex,
  request: CandidateRequest,
): Promise<CandidateList> {
  const depth = request.isWide ? request.depth * wideFactor : request.depth;
  const { vector, lexicalQuery, weights, filter, deadlineMs, caller, yieldToEventLoop } = request;
  const hits = await callIndex(caller, () =>
    index.search({
      vector,
      terms: lexicalQuery.terms,
      filter,
      vectorCandidates: depth,
      lexicalCandidates: depth,
      deadlineMs,
      caller,
    }),
  );
  // The engine hands in the hits of many searches at one time.
  const pause = yieldToEventLoop();
  if (pause !== null) await pause;
  if (caller.isCanceled) throw caller.signal.reason;
  return new CandidateList(hits, vector !== null, weights);
}
