import type { Caller } from '../base/caller.ts';
import type { YieldToEventLoop } from '../base/event-loop-scheduler.ts';
import type { CollectionIndex, FilterNode, IndexHits } from '../engine/collection-index.ts';
import type { AnalysedQuery } from '../text/query.ts';
import { askIndex } from './ask-index.ts';
import { fuse, usualWeights, type Weights } from './fuse.ts';
import type { Look } from './second-look.ts';

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
  readonly look?: Look;
}

/** Best first; equal ones keep one fixed order. */
export function byFused(a: Candidate, b: Candidate): number {
  return b.fused - a.fused || a.version - b.version || a.row - b.row;
}

export interface CandidateRequest {
  /** Unit length, as wide as the index; null: words alone decide. */
  readonly vector: Float32Array | null;
  readonly analysed: AnalysedQuery;
  readonly weights: Weights;
  readonly filter: FilterNode | null;
  /** How many rows each side hands in. */
  readonly depth: number;
  /** Search wider: better answers for more time (`latency_mode: high`). */
  readonly wide: boolean;
  readonly deadlineMs: number;
  readonly caller: Caller;
  readonly yieldToEventLoop: YieldToEventLoop;
}

/** How much wider `latency_mode: high` looks. */
const wideFactor = 3;

/** The fused first stage over all shards. Equal scores keep one fixed order, whatever the shard count. */
export class CandidateList {
  readonly length: number;
  readonly #hits: IndexHits;
  readonly #fused: Float32Array;

  constructor(hits: IndexHits, hasVector = true, weights: Weights = usualWeights) {
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
    const least = count >= this.length ? Number.NEGATIVE_INFINITY : nthLargest(fused, count);
    const candidates: Candidate[] = [];
    for (let i = 0; i < this.length; i += 1) if (fused[i]! >= least) candidates.push(this.#candidate(i));
    candidates.sort(byFused);
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
const keptMax = 32;

/** The `nth` largest of at least so many numbers, counted from 1. */
function nthLargest(numbers: Float32Array, nth: number): number {
  if (nth > keptMax) return numbers.slice().sort()[numbers.length - nth]!;
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
  const depth = request.wide ? request.depth * wideFactor : request.depth;
  const { vector, analysed, weights, filter, deadlineMs, caller, yieldToEventLoop } = request;
  const hits = await askIndex(caller, () =>
    index.search({
      vector,
      terms: analysed.terms,
      filter,
      vectorCandidates: depth,
      lexicalCandidates: depth,
      deadlineMs,
      caller,
    }),
  );
  // The engine hands in the hits of many searches at one time.
  const turn = yieldToEventLoop();
  if (turn !== null) await turn;
  if (caller.gone) throw caller.signal.reason;
  return new CandidateList(hits, vector !== null, weights);
}
