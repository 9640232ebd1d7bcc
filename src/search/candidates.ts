import type { CollectionIndex, IndexHits } from '../index/collection-index.ts';
import { defaultWeights, fuse, type Weights } from './fuse.ts';
import type { ProximityScores } from './proximity.ts';
import type { QueryRecorder } from './query-recorder.ts';
import type { ExcludedRows } from './query-request.ts';
import { type IndexSearch, searchIndex } from './search-index.ts';

/** A coarse chunk that may answer the query, with its first-stage scores. */
export interface Candidate {
  readonly version: number;
  /** Index of the coarse chunk among the indexed rows of its document. */
  readonly row: number;
  /** BM25 over the whole collection; 0 when no word matches. */
  readonly lexical: number;
  /** Cosine between query and chunk. */
  readonly similarity: number;
  /** Fused score, 0..1, including the proximity score after rescoring; the sort key of the list. */
  readonly fused: number;
  /** Only after proximity rescoring. */
  readonly proximity?: ProximityScores;
}

/** Orders by descending score; ties are broken by version and row, so that the order is deterministic. */
export function compareByFusedScore(a: Candidate, b: Candidate): number {
  return b.fused - a.fused || a.version - b.version || a.row - b.row;
}

export interface CandidateRequest extends IndexSearch {
  readonly weights: Weights;
  /** Increases the search depth: better results for more time (`latency_mode: high`). */
  readonly isWide: boolean;
  readonly excluded?: ExcludedRows | null;
  /** See `SearchRequest`. */
  readonly requiredVersion?: number | null;
  readonly recorder?: Pick<QueryRecorder, 'trace'>;
}

/** Factor of the search depth for `latency_mode: high`. */
const wideFactor = 3;

/**
 * Fused first-stage candidates of all shards. Ties have a deterministic order, regardless of the shard count.
 */
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

  /**
   * Returns the best `count` candidates, or all, best first. Only candidates above the threshold are sorted,
   * so a few of many are cheap.
   */
  best(count = this.length): Candidate[] {
    if (count <= 0 || this.length === 0) return [];
    const fused = this.#fused;
    const minScore = count >= this.length ? Number.NEGATIVE_INFINITY : nthLargest(fused, count);
    const candidates: Candidate[] = [];
    for (let i = 0; i < this.length; i += 1) if (fused[i]! >= minScore) candidates.push(this.#candidate(i));
    candidates.sort(compareByFusedScore);
    return candidates.length > count ? candidates.slice(0, count) : candidates;
  }

  /** Returns the number of distinct versions among the candidates. */
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

/** Working memory of `nthLargest`, because a new array of this size takes longer than the selection. */
let scratch = new Float32Array(1_024);

/**
 * Returns the `nth` largest number, counted from 1. `numbers` must have at least `nth` entries. Partitions the
 * numbers until the position is settled: faster than sorting all of them.
 */
function nthLargest(numbers: Float32Array, nth: number): number {
  if (scratch.length < numbers.length) scratch = new Float32Array(2 * numbers.length);
  const values = scratch;
  values.set(numbers);
  let [first, last] = [0, numbers.length - 1];
  while (first < last) {
    const pivot = values[(first + last) >>> 1]!;
    let [left, right] = [first, last];
    while (left <= right) {
      while (values[left]! > pivot) left += 1;
      while (values[right]! < pivot) right -= 1;
      if (left > right) break;
      const moved = values[left]!;
      values[left] = values[right]!;
      values[right] = moved;
      left += 1;
      right -= 1;
    }
    if (nth - 1 <= right) last = right;
    else if (nth - 1 >= left) first = left;
    else break;
  }
  return values[nth - 1]!;
}

function omitRows(hits: IndexHits, { version, rows }: ExcludedRows): IndexHits {
  const kept: number[] = [];
  for (let i = 0; i < hits.count; i += 1)
    if (hits.version[i] !== version || rows?.has(hits.chunk[i]!) === false) kept.push(i);
  return {
    count: kept.length,
    version: Float64Array.from(kept, (i) => hits.version[i]!),
    chunk: Uint32Array.from(kept, (i) => hits.chunk[i]!),
    shard: Uint16Array.from(kept, (i) => hits.shard[i]!),
    similarity: Float32Array.from(kept, (i) => hits.similarity[i]!),
    lexical: Float32Array.from(kept, (i) => hits.lexical[i]!),
    shards: hits.shards,
  };
}

/** Returns the first row of a version as the only hit, without scores. */
function firstRowOf(version: number, { shards }: IndexHits): IndexHits {
  return {
    count: 1,
    version: Float64Array.of(version),
    chunk: new Uint32Array(1),
    shard: new Uint16Array(1),
    similarity: new Float32Array(1),
    lexical: new Float32Array(1),
    shards,
  };
}

export async function findCandidates(
  index: Pick<CollectionIndex, 'search'>,
  request: CandidateRequest,
): Promise<CandidateList> {
  const depth = request.isWide ? request.depth * wideFactor : request.depth;
  const found = await searchIndex({ ...request, depth }, (query) => index.search(query));
  const { vector, weights, excluded = null, requiredVersion = null } = request;
  const allowed = excluded === null ? found : omitRows(found, excluded);
  const hits = requiredVersion === null || allowed.count > 0 ? allowed : firstRowOf(requiredVersion, allowed);
  const createList = () => new CandidateList(hits, vector !== null, weights);
  return request.recorder === undefined ? createList() : request.recorder.trace('fuse', createList);
}
